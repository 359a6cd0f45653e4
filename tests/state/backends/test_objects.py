"""Every store that files can be objects in behaves as every other backend.

One of each kind is tested each time, the others by `make soak`: they run the same code but for the
store itself, and `test_store.py` and `test_remote.py` have all of them.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from obstore.store import LocalStore, MemoryStore

from langgraph_filesystem.state.backends.remote import RemoteBackend
from langgraph_filesystem.state.backends.store import StoreBackend
from langgraph_filesystem.testing import RecallConformance
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


@pytest.mark.soak
class TestSqliteStore(_OnDatabase):
    kind = "sqlite"


class TestPostgresStore(_OnDatabase):
    kind = "postgres"


@pytest.mark.soak
class TestS3(RecallConformance):
    complete = True
    control_names = False
    many = 1_010  # one more page than the first

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.s3_store(), prefix=f"tests/{uuid.uuid4()}")


@pytest.mark.soak
class TestObstoreOfADirectory(RecallConformance):
    complete = True
    control_names = False
    longest_name = 253  # it needs two more characters for a name of its own beside the file

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(LocalStore(prefix=tmp_path, automatic_cleanup=True))


class TestObstoreInMemory(RecallConformance):
    complete = True
    control_names = False

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(MemoryStore())


class TestFsspecOfADirectory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.directory(tmp_path))


@pytest.mark.soak
class TestFsspecInMemory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.memory(), prefix=f"/{uuid.uuid4()}")
