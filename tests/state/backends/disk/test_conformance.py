"""`FilesystemBackend` does what `langgraph_filesystem.testing` asks for, and skips nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk import grep
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.testing import RecallConformance
from langgraph_filesystem.testing.paths import Paths
from langgraph_filesystem.testing.searching import Glob, Grep, GrepOptions
from langgraph_filesystem.testing.suite import BackendFixture
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


class WithLess(BackendFixture):
    """Where the kernel has no `openat2` and nobody has installed `rg`."""

    complete = True

    @pytest.fixture(autouse=True)
    def without_rg(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(grep, "find_ripgrep", lambda: None)

    def make_backend(self, tmp_path: Path) -> Any:
        return FilesystemBackend(tmp_path, resolver="walk")


class TestSearchWithLess(WithLess, Glob, Grep, GrepOptions, Paths):
    pass


@pytest.mark.soak
class TestFilesystemBackendWithLess(WithLess, RecallConformance):
    pass
