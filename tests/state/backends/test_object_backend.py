"""A backend of objects: every method with its twin, and errors as answers."""

import inspect

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem.state.backends.object_backend import ObjectBackend
from langgraph_filesystem.state.backends.objects import Objects
from langgraph_filesystem.state.backends.protocol import Backend
from langgraph_filesystem.state.backends.store_objects import StoreObjects
from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.io import Io
from tests.state.backends.counting import CountingStore

METHODS = (
    *("ls", "read", "write", "edit", "delete", "move", "glob", "grep", "digest", "recall"),
    *("upload_files", "download_files"),
)


class OnStore(ObjectBackend):
    def __init__(self) -> None:
        super().__init__(1)
        self.store = CountingStore(InMemoryStore())

    def _objects(self, io: Io) -> Objects:
        return StoreObjects(self.store, ("files",), io)


class Nowhere(ObjectBackend):
    def _objects(self, io: Io) -> Objects:
        raise BackendFailed("There is no store.")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_twin_with_the_same_parameters(name: str) -> None:
    blocked, awaited = getattr(ObjectBackend, name), getattr(ObjectBackend, f"a{name}")
    assert inspect.signature(blocked).parameters == inspect.signature(awaited).parameters
    assert (blocked.__name__, awaited.__name__) == (name, f"a{name}")
    assert not inspect.iscoroutinefunction(blocked)
    assert inspect.iscoroutinefunction(awaited)


def test_it_is_a_backend() -> None:
    assert isinstance(OnStore(), Backend)


def test_a_call_blocks_and_never_awaits_the_store() -> None:
    backend = OnStore()
    assert backend.write("/a", "one").error is None
    assert backend.edit("/a", "one", "two").error is None
    found = backend.read("/a").file_data
    assert found is not None
    assert found["content"] == "two"
    assert backend.store.called == {"batch"}


async def test_its_twin_awaits_the_store_and_never_blocks_on_it() -> None:
    backend = OnStore()
    assert (await backend.awrite("/a", "one")).error is None
    assert (await backend.aedit("/a", "one", "two")).error is None
    found = (await backend.aread("/a")).file_data
    assert found is not None
    assert found["content"] == "two"
    assert backend.store.called == {"abatch"}


async def test_a_backend_without_a_place_says_so_in_its_answers() -> None:
    backend = Nowhere(1)
    assert backend.ls("/").error == "There is no store."
    assert (await backend.awrite("/a", "")).error == "There is no store."
    assert [answer.error for answer in backend.upload_files([("/a", b"")])] == [
        "There is no store."
    ]
    assert [answer.error for answer in backend.download_files(["/a"])] == ["There is no store."]


@pytest.mark.parametrize("size", [0, -1])
def test_a_limit_that_is_none_is_refused(size: float) -> None:
    with pytest.raises(ValueError, match="more than 0"):
        ObjectBackend(size)


def test_a_fraction_of_a_megabyte_is_a_limit() -> None:
    backend = Nowhere(0.5)
    assert backend._limit == 1 << 19
