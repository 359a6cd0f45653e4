"""Searching objects: in order, some at a time, and with a word on what was left out."""

from collections.abc import Sequence

import pytest
from obstore.store import MemoryStore

from langgraph_filesystem.state.backends import object_search
from langgraph_filesystem.state.backends.object_search import search_objects
from langgraph_filesystem.state.backends.objects import Blob, Entry
from langgraph_filesystem.state.backends.obstore_objects import ObstoreObjects
from langgraph_filesystem.state.backends.obstore_requests import ObstoreClient
from langgraph_filesystem.state.backends.protocol import GrepResult
from langgraph_filesystem.state.io import Awaiting
from langgraph_filesystem.state.search import Query

IO = Awaiting()
FOO = Query("foo")


class Fetched(ObstoreObjects):
    """Remembers what was fetched together."""

    def __init__(self) -> None:
        super().__init__(ObstoreClient(MemoryStore()), "", IO)
        self.batches: list[Sequence[str]] = []

    async def get_many(self, paths: Sequence[str]) -> list[Blob | None]:
        self.batches.append(paths)
        return await super().get_many(paths)


async def searched(
    objects: Fetched, files: dict[str, bytes], query: Query = FOO, limit: int = 1_000
) -> GrepResult:
    await objects.replace(files)
    found = await objects.below("/")
    found.files.reverse()  # the order of a store is its own
    return await search_objects(objects, IO, found, query, limit)


@pytest.fixture
def objects() -> Fetched:
    return Fetched()


async def test_matches_come_in_the_order_of_the_paths(objects: Fetched) -> None:
    result = await searched(objects, {"/b": b"foo", "/a": b"x\nfoo\nfoo\n", "/c": b"bar"})
    matches = [(match["path"], match["line"]) for match in result.matches or ()]
    assert matches == [("/a", 2), ("/a", 3), ("/b", 1)]
    assert (result.counts, result.truncated, result.note) == ({"/a": 2, "/b": 1}, False, None)


async def test_what_is_no_text_or_gone_meanwhile_is_passed_over(objects: Fetched) -> None:
    await objects.replace({"/nul": b"foo\0", "/latin": b"foo\xff", "/text": b"foo"})
    found = await objects.below("/")
    found.files.append(Entry("/gone", 3))
    result = await search_objects(objects, IO, found, FOO, 1_000)
    assert result.counts == {"/text": 1}


async def test_files_that_are_too_large_are_named_and_not_fetched(objects: Fetched) -> None:
    files = {"/a": b"foo", "/big": b"foo" * 9, "/bigger": b"foo" * 10, "/edge": b"foo\n" * 2}
    result = await searched(objects, files, limit=8)
    assert result.counts == {"/a": 1, "/edge": 2}
    assert result.note == "Not searched, because larger than 8 bytes: /big and 1 more."
    assert objects.batches == [["/a", "/edge"]]


async def test_no_more_is_fetched_when_there_is_enough(objects: Fetched) -> None:
    files = {f"/{number:03}": b"foo\n" for number in range(200)}
    result = await searched(objects, files, Query("foo", max_count=70))
    assert sum((result.counts or {}).values()) == 70
    assert result.truncated
    assert [len(batch) for batch in objects.batches] == [64, 64]


async def test_a_limit_that_is_just_met_is_no_cut(objects: Fetched) -> None:
    files = {f"/{number:03}": b"foo\n" for number in range(64)} | {"/last": b"bar"}
    result = await searched(objects, files, Query("foo", max_count=64))
    assert (len(result.counts or ()), result.truncated) == (64, False)


async def test_large_files_are_fetched_one_by_one(
    objects: Fetched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_search, "_BATCH_BYTES", 10)
    await searched(objects, {"/a": b"1" * 4, "/b": b"1" * 6, "/c": b"1", "/d": b"1" * 99})
    assert objects.batches == [["/a", "/b"], ["/c"], ["/d"]]


async def test_a_search_ends_when_its_time_is_up(
    objects: Fetched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_search, "SECONDS", -1.0)
    result = await searched(objects, {"/a": b"foo"})
    assert (result.counts, result.truncated, objects.batches) == ({}, True, [])
    assert "smaller directory" in (result.note or "")


async def test_a_list_that_was_cut_makes_an_answer_that_is(objects: Fetched) -> None:
    await objects.replace({"/a": b"foo"})
    found = await objects.below("/")
    found.whole, found.note = False, "The list stopped."
    result = await search_objects(objects, IO, found, FOO, 1)
    assert result.truncated
    assert result.note == "The list stopped. Not searched, because larger than 1 bytes: /a."
