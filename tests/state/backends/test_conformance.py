"""Every backend of ours does what `langgraph_filesystem.testing` asks for, and skips nothing."""

import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from obstore.store import LocalStore, MemoryStore

from langgraph_filesystem.state.backends import disk_search
from langgraph_filesystem.state.backends.composite import CompositeBackend
from langgraph_filesystem.state.backends.execution.sandbox import SandboxBackend
from langgraph_filesystem.state.backends.execution.shell import LocalShellBackend
from langgraph_filesystem.state.backends.filesystem import FilesystemBackend
from langgraph_filesystem.state.backends.remote import RemoteBackend
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.backends.store import StoreBackend
from langgraph_filesystem.testing import (
    Applied,
    BackendConformance,
    RecallCommandConformance,
    RecallConformance,
)
from tests.state.backends import buckets
from tests.state.backends.disks import fast_place


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory in memory: thousands of flushed writes take minutes on a disk."""
    with fast_place() as place:
        yield place.root


class TestStateBackend(BackendConformance):
    """Files in the state: nothing of them lies outside, so there is nothing to recall."""

    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return Applied(StateBackend().bind)


@pytest.mark.soak
class TestStateBackendMounted(BackendConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return Applied(lambda files: StateBackend().bind(files, "/deep/mount"))


class TestFilesystemBackend(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return FilesystemBackend(tmp_path)


class TestFilesystemBackendWithLess(RecallConformance):
    """Where the kernel has no `openat2` and nobody has installed `rg`."""

    complete = True

    @pytest.fixture(autouse=True)
    def without_rg(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(disk_search, "find_ripgrep", lambda: None)

    def make_backend(self, tmp_path: Path) -> Any:
        return FilesystemBackend(tmp_path, resolver="walk")


class TestStoreBackend(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return StoreBackend(("files",), store=InMemoryStore())


class TestStoreBackendInSqlite(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        self.connection = sqlite3.connect(
            tmp_path / "store.db", check_same_thread=False, isolation_level=None
        )
        store = SqliteStore(self.connection)
        store.setup()
        return StoreBackend(("files",), store=store)

    def end_backend(self, backend: Any) -> None:
        self.connection.close()


class TestLocalShellBackend(RecallCommandConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return LocalShellBackend(tmp_path)


class TestSandboxBackend(RecallCommandConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return SandboxBackend(tmp_path)


class TestRemoteBackendInMemory(RecallConformance):
    complete = True
    control_names = False

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(MemoryStore(), "below/here")


@pytest.mark.soak
class TestRemoteBackendOnDisk(RecallConformance):
    complete = True
    control_names = False
    longest_name = 253  # a file is staged under its name and two characters

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(LocalStore(tmp_path, automatic_cleanup=True))


class TestRemoteBackendOnS3(RecallConformance):
    complete = True
    control_names = False
    many = 50  # each is a request that a server in Python answers

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.s3_store(), f"tests/{uuid.uuid4().hex}")


class TestRemoteBackendOfFsspec(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.disk(), str(tmp_path))


class TestCompositeBackend(RecallConformance):
    """Of the disk, with mounts that none of the tests touch."""

    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return CompositeBackend(FilesystemBackend(tmp_path))


class TestCompositeBackendOfStates(BackendConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return Applied(CompositeBackend(StateBackend()).bind)
