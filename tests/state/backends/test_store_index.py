"""The names of the files in a store: read without contents, checked, and put right."""

from typing import Any

import pytest
from langgraph.store.base import SearchOp
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem.state.backends.namespaces import OURS
from langgraph_filesystem.state.backends.objects import Blob, Listing
from langgraph_filesystem.state.backends.store_index import Directories, Index, digest_of_namespace
from langgraph_filesystem.state.backends.store_items import item_value
from tests.state.backends.counting import CountingStore

HERE = ("files",)
OWN = (OURS, "names", digest_of_namespace(HERE))


@pytest.fixture
def store() -> CountingStore:
    return CountingStore(InMemoryStore())


@pytest.fixture
def index(store: CountingStore) -> Index:
    return Index(store.abatch, HERE, None)


def put(store: CountingStore, path: str, content: str = "text") -> dict[str, Any]:
    """Write a file as others do, who know of no markers."""
    value = item_value(content.encode())
    store.store.put(HERE, path, value)
    return value


async def put_with_marker(
    store: CountingStore, index: Index, path: str, content: str = "text"
) -> None:
    value = put(store, path, content)
    blob = Blob(b"", len(content), None, value["created_at"], value["modified_at"])
    await store.abatch([index.mark(path, blob)])


def paths(listing: Listing) -> list[str]:
    return sorted(entry.path for entry in listing.files)


def markers(store: CountingStore) -> list[str]:
    return sorted(item.key for item in store.store.search(OWN, limit=999))


async def test_a_list_is_made_of_markers_alone(store: CountingStore, index: Index) -> None:
    for number in range(20):
        await put_with_marker(store, index, f"/d/{number:02}", "x" * 10_000)
    store.forget()
    listing = await index.files()
    assert paths(listing) == [f"/d/{number:02}" for number in range(20)]
    assert {entry.size for entry in listing.files} == {10_000}
    assert all(entry.modified_at for entry in listing.files)
    assert store.given < 50_000  # two files, and not twenty


async def test_files_without_a_marker_are_found_and_get_one(
    store: CountingStore, index: Index
) -> None:
    for number in range(150):  # more than one page
        put(store, f"/{number}")
    assert len((await index.files()).files) == 150
    assert len(markers(store)) == 150
    store.forget()
    assert len((await index.files()).files) == 150
    assert not [op for op in store.ops if isinstance(op, SearchOp) and op.limit == 100]


async def test_markers_without_a_file_are_dropped(store: CountingStore, index: Index) -> None:
    for path in ("/a", "/b", "/c"):
        await put_with_marker(store, index, path)
    store.store.delete(HERE, "/b")
    assert paths(await index.files()) == ["/a", "/c"]
    assert markers(store) == ["/a", "/c"]


async def test_a_file_that_others_wrote_last_has_its_new_size(
    store: CountingStore, index: Index
) -> None:
    await put_with_marker(store, index, "/a", "1")
    put(store, "/a", "12345")
    assert [entry.size for entry in (await index.files()).files] == [5]


async def test_an_item_that_is_no_file_is_noted_once_it_is_known(
    store: CountingStore, index: Index
) -> None:
    await put_with_marker(store, index, "/a")
    for key in ("z", "memory", "x"):
        store.store.put(HERE, key, {"text": "of others"})
    for _ in range(2):
        listing = await index.files()
        assert paths(listing) == ["/a"]
        assert listing.note is not None
        assert "'memory' of the store and 2 more" in listing.note


async def test_a_directory_is_what_a_marker_is_below(store: CountingStore, index: Index) -> None:
    await put_with_marker(store, index, "/a/b/c.txt")
    found = [
        path
        for path in ("/a", "/a/b", "/a/b/c.txt", "/a/b/c", "/b")
        if await index.is_directory(path)
    ]
    assert found == ["/a", "/a/b"]
    await store.abatch([index.drop("/a/b/c.txt")])
    assert not await index.is_directory("/a")


async def test_namespaces_have_markers_of_their_own(store: CountingStore, index: Index) -> None:
    places = [("files",), ("files", "a"), ("filesa",), ("a", "files")]
    assert len({digest_of_namespace(place) for place in places}) == len(places)
    await put_with_marker(store, index, "/a")
    assert (await Index(store.abatch, ("files2",), None).files()).files == []


async def test_directories_are_all_that_lie_above_files(store: CountingStore, index: Index) -> None:
    assert await index.directories() == set()
    for path in ("/a", "/d/b", "/d/e/f/c"):
        await put_with_marker(store, index, path)
    assert await index.directories() == {"/d", "/d/e", "/d/e/f"}


def test_the_directories_of_the_last_messages_are_remembered() -> None:
    known = Directories()
    for number in range(10):
        known.keep(number, {"/d"}, [f"/d/{number}/a"])
    assert known.find(9) == {"/d", "/d/9"}
    assert known.find(6) == {"/d", "/d/6"}
    assert known.find(5) is None
