"""An `obstore` store as objects: ranges, conditions, and moves that cover nothing."""

from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore

from langgraph_filesystem.state.backends.objects import Changed, Entry
from langgraph_filesystem.state.backends.obstore_objects import ObstoreObjects
from langgraph_filesystem.state.backends.obstore_requests import ObstoreClient
from langgraph_filesystem.state.errors import PathRefused
from langgraph_filesystem.state.io import Awaiting, Blocking, finished

IO = Awaiting()


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path)


@pytest.fixture
def objects(store: Any) -> ObstoreObjects:
    return ObstoreObjects(ObstoreClient(store), "team/files", IO)


async def contents(objects: ObstoreObjects) -> dict[str, bytes]:
    paths = sorted(entry.path for entry in (await objects.below("/")).files)
    blobs = await objects.get_many(paths)
    return {path: blob.content for path, blob in zip(paths, blobs, strict=True) if blob}


async def test_files_are_below_the_prefix_and_nothing_else_is_seen(
    objects: ObstoreObjects, store: Any
) -> None:
    for key in ("team/files2/a", "team/a", "a"):
        obstore.put(store, key, b"of others")
    await objects.create("/d/a", b"1")
    assert bytes(obstore.get(store, "team/files/d/a").bytes()) == b"1"
    assert await contents(objects) == {"/d/a": b"1"}
    assert (await objects.children("/")).directories == {"/d"}
    await objects.remove(["/d/a", "/a", "/nothing"])
    assert bytes(obstore.get(store, "team/a").bytes()) == b"of others"


async def test_bytes_are_fetched_by_their_range(objects: ObstoreObjects) -> None:
    await objects.replace({"/a": b"12345", "/empty": b""})
    for path, start, length, expected in (
        ("/a", 0, None, b"12345"),
        ("/a", 2, None, b"345"),
        ("/a", 1, 2, b"23"),
        ("/a", 3, 9, b"45"),
        ("/a", 5, 9, b""),
        ("/empty", 0, 9, b""),
    ):
        blob = await objects.get(path, start, length)
        assert blob is not None
        assert (blob.content, blob.size) == (expected, 5 * (path == "/a"))
    assert await objects.get("/x", 0, 9) is None


async def test_who_is_slower_notices(objects: ObstoreObjects) -> None:
    await objects.create("/a", b"1")
    with pytest.raises(Changed):
        await objects.create("/a", b"2")
    old = await objects.get("/a")
    assert old is not None
    await objects.update("/a", b"22", old)
    with pytest.raises(Changed):
        await objects.update("/a", b"333", old)
    with pytest.raises(Changed):
        await objects.get("/a", 1, 1, old)
    await objects.remove(["/a"])
    with pytest.raises(Changed):
        await objects.update("/a", b"333", old)
    assert await contents(objects) == {}


async def test_a_move_covers_nothing_and_is_whole_or_not_at_all(objects: ObstoreObjects) -> None:
    files = {"/d/a": b"1", "/d/b": b"2", "/e/b": b"3"}
    await objects.replace(files)
    for bad in (("/d/b", "/e/b"), ("/d/gone", "/e/gone")):
        with pytest.raises(Changed):
            await objects.rename([("/d/a", "/e/a"), bad])
        assert await contents(objects) == files
    await objects.rename([("/d/a", "/f/a"), ("/d/b", "/f/b")])
    assert await contents(objects) == {"/e/b": b"3", "/f/a": b"1", "/f/b": b"2"}


async def test_a_list_has_more_than_one_page_or_says_that_it_stopped() -> None:
    objects = ObstoreObjects(ObstoreClient(MemoryStore()), "", IO)
    await objects.replace({f"/d/{number}": b"" for number in range(1_500)})
    found = await objects.below("/d")
    assert (len(found.files), found.whole, found.note) == (1_500, True, None)
    found = await objects.below("/d", -1.0)
    assert (len(found.files), found.whole) == (1_000, False)
    assert "smaller directory" in (found.note or "")


async def test_a_directory_is_what_something_is_below(objects: ObstoreObjects) -> None:
    await objects.replace({"/d/e/f": b"", "/d2": b""})
    paths = ("/d", "/d/e", "/d/e/f", "/d2", "/x")
    assert [path for path in paths if await objects.is_directory(path)] == ["/d", "/d/e"]
    assert [entry.path for entry in (await objects.below("/d")).files] == ["/d/e/f"]
    entry = await objects.info("/d2")
    assert isinstance(entry, Entry)
    assert await objects.info("/d") is None


async def test_notes_are_kept_and_in_no_list(objects: ObstoreObjects) -> None:
    assert await objects.note_names("scope") == []
    await objects.put_note("scope", "1.0", b"{}")
    await objects.put_note("scope", "1.1", b"{}")
    await objects.remove_notes("scope", ["1.1", "1.2"])
    assert await objects.note_names("scope") == ["1.0"]
    assert await objects.note("scope", "1.0") == b"{}"
    assert await objects.note("scope", "1.1") is None
    assert await contents(objects) == {}
    assert (await objects.children("/")).directories == set()
    with pytest.raises(PathRefused):
        objects.check("/.langgraph-filesystem/scope/1.0")


def test_all_of_it_works_without_a_loop(store: Any) -> None:
    objects = ObstoreObjects(ObstoreClient(store), "", Blocking())
    finished(objects.replace({"/a": b"1", "/d/b": b"2"}), "replace")
    finished(objects.rename([("/a", "/d/a")]), "rename")
    found = finished(objects.below("/"), "below")
    assert sorted(entry.path for entry in found.files) == ["/d/a", "/d/b"]
