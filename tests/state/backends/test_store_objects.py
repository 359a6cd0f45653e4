"""A namespace of a store as objects: what goes into one batch, and what is not overwritten."""

from typing import Any

import pytest
from langgraph.store.base import PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem.state.backends.object_access import ChangedMeanwhile
from langgraph_filesystem.state.backends.objects import Changed, Survey
from langgraph_filesystem.state.backends.store_objects import StoreObjects
from langgraph_filesystem.state.errors import FileExists, PathRefused
from langgraph_filesystem.state.io import Awaiting, Blocking, Io, finished
from tests.state.backends.counting import CountingStore

HERE = ("files",)
FOREIGN = {"text": "of others"}


@pytest.fixture
def store() -> CountingStore:
    return CountingStore(InMemoryStore())


@pytest.fixture
def objects(store: CountingStore) -> StoreObjects:
    return StoreObjects(store, HERE, Awaiting())


async def contents(objects: StoreObjects) -> dict[str, bytes]:
    paths = [entry.path for entry in (await objects.below("/")).files]
    blobs = await objects.get_many(sorted(paths))
    return {path: blob.content for path, blob in zip(sorted(paths), blobs, strict=True) if blob}


@pytest.mark.parametrize(("io", "called"), [(Awaiting(), "abatch"), (Blocking(), "batch")])
async def test_a_store_is_called_or_awaited(store: CountingStore, io: Io, called: str) -> None:
    objects = StoreObjects(store, HERE, io)
    if isinstance(io, Blocking):
        finished(objects.create("/a", b"1"), "create")
    else:
        await objects.create("/a", b"1")
    assert store.called == {called}
    assert store.store.get(HERE, "/a") is not None


async def test_a_store_that_can_not_be_awaited_is_called_aside() -> None:
    class CalledStore(InMemoryStore):
        async def abatch(self, ops: Any) -> Any:
            raise NotImplementedError

    objects = StoreObjects(CalledStore(), HERE, Awaiting())
    await objects.create("/a", b"1")
    assert await contents(objects) == {"/a": b"1"}


async def test_a_file_is_created_once(objects: StoreObjects) -> None:
    await objects.create("/a", b"1")
    with pytest.raises(Changed):
        await objects.create("/a", b"2")
    assert await contents(objects) == {"/a": b"1"}


async def test_a_file_and_its_marker_are_written_in_one_batch(store: CountingStore) -> None:
    batches: list[list[Any]] = []

    class Batches(CountingStore):
        async def abatch(self, ops: Any) -> Any:
            batches.append(list(ops))
            return await super().abatch(batches[-1])

    objects = StoreObjects(Batches(store), HERE, Awaiting())
    await objects.create("/a", b"1")
    await objects.rename([("/a", "/b")])
    await objects.remove(["/b"])
    writes = [[op for op in ops if isinstance(op, PutOp)] for ops in batches]
    assert [sorted(op.key for op in ops) for ops in writes if ops] == [
        ["/a", "/a"],
        ["/a", "/a", "/b", "/b"],
        ["/b", "/b"],
    ]


async def test_items_of_others_are_not_overwritten(
    objects: StoreObjects, store: CountingStore
) -> None:
    store.store.put(HERE, "/a", FOREIGN)
    with pytest.raises(Exception, match="/a: the store has an item there that is no file"):
        await objects.create("/a", b"1")
    failed = await objects.replace({"/a": b"1", "/b": b"2"})
    assert list(failed) == ["/a"]
    item = store.store.get(HERE, "/a")
    assert item is not None
    assert item.value == FOREIGN
    assert await contents(objects) == {"/b": b"2"}


async def test_a_write_that_is_gone_at_once_is_told(store: CountingStore) -> None:
    class Forgetful(CountingStore):
        async def abatch(self, ops: Any) -> Any:
            return await super().abatch([op for op in ops if not isinstance(op, PutOp)] or [])

    with pytest.raises(ChangedMeanwhile, match="/a"):
        await StoreObjects(Forgetful(store), HERE, Awaiting()).create("/a", b"1")


async def test_a_move_of_many_that_fails_leaves_all_where_they_were(objects: StoreObjects) -> None:
    files = {f"/d/{number:03}": b"1" for number in range(60)}  # more than one batch
    await objects.replace(files)
    pairs = [(path, f"/e{path}") for path in files]
    with pytest.raises(Changed):
        await objects.rename([*pairs, ("/d/gone", "/e/gone")])
    assert await contents(objects) == files
    await objects.rename(pairs)
    assert await contents(objects) == {f"/e{path}": b"1" for path in files}


async def test_a_survey_says_what_is_at_paths_by_one_batch(
    objects: StoreObjects, store: CountingStore
) -> None:
    await objects.replace({"/a": b"1", "/d/e/f": b"2"})
    store.forget()
    assert await objects.survey(["/a", "/a/b/c", "/d", "/d/e/f", "/new"]) == [
        Survey(is_file=True),
        Survey(above="/a"),
        Survey(is_directory=True),
        Survey(is_file=True),
        Survey(),
    ]
    assert store.called == {"abatch"}
    assert not [op for op in store.ops if isinstance(op, PutOp)]


def test_a_path_that_postgres_could_not_hold_is_refused(objects: StoreObjects) -> None:
    objects.check("/" + "é" * 899)
    with pytest.raises(PathRefused, match="1,800 bytes"):
        objects.check("/" + "é" * 900)


async def test_many_paths_are_surveyed_like_few_but_not_one_by_one(
    objects: StoreObjects, store: CountingStore
) -> None:
    await objects.replace({"/dir/a": b"", "/dir/sub/b": b"", "/file": b""})
    paths = [
        "/dir",
        "/dir/sub",
        "/dir/a",
        "/file",
        "/file/x",
        "/new",
        "/dir/new",
        "/n/e/w",
        "/dirt",
    ]
    few = [survey for path in paths for survey in await objects.survey([path])]
    store.forget()
    assert await objects.survey(paths) == few
    assert len([op for op in store.ops if isinstance(op, SearchOp)]) == 1


async def test_for_the_parts_of_a_message_the_directories_are_found_once(
    objects: StoreObjects, store: CountingStore
) -> None:
    await objects.replace({"/dir/a": b""})
    parts = [[f"/new/{part}/{number}" for number in range(20)] for part in range(5)]
    for paths in parts:
        assert await objects.survey(paths, "s.1") == [Survey()] * 20
        await objects.create_each(dict.fromkeys(paths, b""))
    looks = len([op for op in store.ops if isinstance(op, SearchOp)])
    await objects.survey(parts[0], "s.2")
    assert (looks, len([op for op in store.ops if isinstance(op, SearchOp)])) == (1, 2)


async def test_what_becomes_a_directory_and_what_is_none_any_more_is_known(
    objects: StoreObjects,
) -> None:
    paths = [f"/d/{number}" for number in range(20)]
    await objects.replace({"/d/3/a": b""})
    is_directory = [Survey(is_directory=path == "/d/3") for path in paths]
    assert await objects.survey(paths, "s.1") == is_directory
    await objects.remove(["/d/3/a"])
    assert await objects.survey(paths, "s.1") == [Survey()] * 20
    below = [f"/d/5/{number}" for number in range(20)]
    await objects.survey(below, "s.1")
    await objects.create_each(dict.fromkeys(below, b""))
    assert (await objects.survey(paths, "s.1"))[5] == Survey(is_directory=True)


async def test_of_many_files_those_are_written_that_are_not_there(objects: StoreObjects) -> None:
    await objects.create("/a", b"1")
    failed = await objects.create_each({"/a": b"2", "/b": b"2"})
    assert list(failed) == ["/a"]
    assert isinstance(failed["/a"], FileExists)
    assert await contents(objects) == {"/a": b"1", "/b": b"2"}
