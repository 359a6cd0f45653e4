"""Stores that files can be objects in, beside those of `test_conformance.py`: they behave alike."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.remote import RemoteBackend
from langgraph_filesystem.state.backends.store import StoreBackend
from langgraph_filesystem.testing import RecallConformance
from tests import databases
from tests.state.backends import buckets


class TestPostgresStore(RecallConformance):
    """Each test has a namespace of its own: to make a database for each takes half a second."""

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


@pytest.mark.soak
class TestFsspecOfADirectory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.directory(tmp_path))


@pytest.mark.soak
class TestFsspecInMemory(RecallConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return RemoteBackend(buckets.memory(), prefix=f"/{uuid.uuid4()}")
