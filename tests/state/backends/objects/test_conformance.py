"""`StoreBackend` and `RemoteBackend` pass the conformance suite on every kind of store."""

import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from obstore.store import LocalStore, MemoryStore

from langgraph_filesystem.state.backends.objects.remote import RemoteBackend
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from langgraph_filesystem.testing import RecallConformance
from langgraph_filesystem.testing.commands import Journal
from langgraph_filesystem.testing.reading import Listing
from langgraph_filesystem.testing.suite import BackendFixture
from langgraph_filesystem.testing.writing import Concurrency, Deleting, Editing, Moving, Writing
from tests import databases
from tests.state.backends.objects import buckets


class TestStoreInMemory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return StoreBackend(("files",), store=InMemoryStore())


class TestStoreInSqlite(RecallConformance):
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


class InPostgres(BackendFixture):
    """Each test has a namespace of its own: creating a database for each takes half a second."""

    complete = True
    store: Any = None

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _opened(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        path = tmp_path_factory.mktemp("store") / "file"
        with databases.choose("postgres"), databases.open_database(path) as (_, cls.store):
            yield

    def make_backend(self, tmp_path: Path) -> Any:
        return StoreBackend(("files", str(uuid.uuid4())), store=self.store)


class TestStoreInPostgres(InPostgres, Writing, Editing, Listing, Journal):
    pass


@pytest.mark.soak
class TestAllOfAStoreInPostgres(InPostgres, RecallConformance):
    pass


class TestObstoreInMemory(RecallConformance):
    complete = True
    control_names = False

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(MemoryStore(), "below/here")


class InS3(BackendFixture):
    complete = True
    control_names = False
    many = 50  # each is a request that a server in Python answers

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.s3_store(), f"tests/{uuid.uuid4().hex}")


class TestS3(InS3, Writing, Editing, Listing, Concurrency, Journal):
    pass


@pytest.mark.soak
class TestAllOfS3(InS3, RecallConformance):
    pass


class TestFsspecInMemory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.memory(), prefix=f"/{uuid.uuid4()}")


class OnDisk(BackendFixture, Writing, Editing, Deleting, Moving, Listing, Journal):
    """Not `Concurrency`: a filesystem that writes in place shows half a file for a moment."""

    complete = True


class TestFsspecOnDisk(OnDisk):
    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.disk(), str(tmp_path))


@pytest.mark.soak
class TestObstoreOnDisk(RecallConformance):
    complete = True
    control_names = False
    longest_name = 253  # obstore stages a file under its name and two characters

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(LocalStore(tmp_path, automatic_cleanup=True))


@pytest.mark.soak
class TestFsspecOfADirectory(OnDisk):
    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.directory(tmp_path))
