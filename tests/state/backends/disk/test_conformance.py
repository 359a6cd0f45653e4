"""`FilesystemBackend` does what `langgraph_filesystem.testing` asks for, and skips nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.testing import RecallConformance
from tests.state.backends.disk.places import fast_place


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory in memory, which is faster."""
    with fast_place() as place:
        yield place.root


class TestFilesystemBackend(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return FilesystemBackend(tmp_path)


class TestWithoutOpenat2(RecallConformance):
    """Where the kernel has no `openat2`."""

    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return FilesystemBackend(tmp_path, resolver="walk")
