"""Every store that files can be objects in behaves as every other backend."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from obstore.store import LocalStore, MemoryStore

from langgraph_filesystem.state.backends.remote import RemoteBackend
from langgraph_filesystem.state.backends.store import StoreBackend
from langgraph_filesystem.testing import Driven, RecallConformance
from tests import databases
from tests.state.backends import buckets


class TestInMemoryStore(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return StoreBackend(("files",), store=InMemoryStore())


class _OnDatabase(RecallConformance):
    """Each test has a namespace of its own: to make a database for each takes half a second."""

    complete = True
    kind = ""
    store: Any = None

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _opened(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        path = tmp_path_factory.mktemp("store") / "file"
        with databases.choose(cls.kind), databases.open_database(path) as (_, cls.store):
            yield

    def make_backend(self, tmp_path: Path) -> Any:
        return StoreBackend(("files", str(uuid.uuid4())), store=self.store)


class TestSqliteStore(_OnDatabase):
    kind = "sqlite"


class TestPostgresStore(_OnDatabase):
    kind = "postgres"


class TestS3(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.s3_store(), prefix=f"tests/{uuid.uuid4()}")


class TestObstoreOfADirectory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(LocalStore(prefix=tmp_path, automatic_cleanup=True))

    def test_the_longest_name_is_a_name(self, fs: Driven) -> None:
        """It needs two more characters for a name of its own beside the file."""
        assert fs.write(f"/{'n' * 253}", "x").error is None
        assert "longer than the remote store allows" in str(fs.write(f"/{'n' * 255}", "x").error)


class TestObstoreInMemory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(MemoryStore())


class TestFsspecOfADirectory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.directory(tmp_path))


class TestFsspecInMemory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.memory(), prefix=f"/{uuid.uuid4()}")
