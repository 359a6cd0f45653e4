"""Updates of a backend that keeps nothing itself, applied as a graph does."""

import asyncio
import inspect
from typing import Any

import pytest

from langgraph_filesystem.state.workspace.composite import CompositeBackend
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.testing import Applied


def test_what_a_call_changes_is_there_for_the_next() -> None:
    files: Files = {"/old": {"content": "x"}}
    backend = Applied(StateBackend().bind, files)
    assert backend.write("/a", "one").error is None
    assert backend.edit("/a", "one", "two").occurrences == 1
    assert backend.read("/a").file_data["content"] == "two"
    assert backend.delete("/old").error is None
    assert list(files) == ["/a"]


def test_each_file_of_an_upload_is_applied() -> None:
    backend = Applied(StateBackend().bind)
    backend.upload_files([("/a", b"1"), ("/b", b"2")])
    assert sorted(backend.files) == ["/a", "/b"]


def test_what_a_twin_changes_is_applied_too() -> None:
    backend = Applied(CompositeBackend(StateBackend()).bind)
    asyncio.run(backend.awrite("/a", "one"))
    assert list(backend.files) == ["/a"]


def test_it_has_what_the_backend_has_and_takes_what_it_takes() -> None:
    backend: Any = Applied(StateBackend().bind)
    assert "overwrite" in inspect.signature(backend.write).parameters
    assert "write" in backend.instant
    for name in ("execute", "awrite", "_files", "nothing"):
        with pytest.raises(AttributeError):
            getattr(backend, name)
