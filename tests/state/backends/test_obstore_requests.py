"""Requests to an `obstore` store: which errors say something to us, and what the others tell."""

from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.exceptions import (
    AlreadyExistsError,
    GenericError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
)
from obstore.store import LocalStore, MemoryStore

from langgraph_filesystem.state.backends.obstore_requests import ObstoreClient, ObstoreRequests
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FilesystemError,
    PathRefused,
    PermissionDenied,
)
from langgraph_filesystem.state.io import Awaiting


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    for number in range(3):
        obstore.put(store, f"d/{number}", b"%d" % number)
    return store


@pytest.fixture
def requests(store: MemoryStore) -> ObstoreRequests:
    return ObstoreRequests(ObstoreClient(store), "", Awaiting())


async def test_a_function_and_its_twin_give_the_same(store: MemoryStore) -> None:
    client = ObstoreClient(store)
    assert client.do("head", "d/1") == await client.ado("head", "d/1")
    called, awaited = client.fetch("d/1", {}), await client.afetch("d/1", {})
    assert (called[1], awaited[1]) == (b"1", b"1")
    assert called[0].meta == awaited[0].meta


async def test_pages_are_turned_until_an_empty_one(store: MemoryStore) -> None:
    client = ObstoreClient(store)
    for prefix, count in (("d", 3), (None, 3), ("x", 0)):
        pages, awaited = client.pages(prefix), client.pages(prefix)
        assert len(client.turn(pages)) == len(await client.aturn(awaited)) == count
        assert list(client.turn(pages)) == list(await client.aturn(awaited)) == []


@pytest.mark.parametrize(
    "error",
    [AlreadyExistsError("a"), PreconditionError("a"), NotSupportedError("a"), FileNotFoundError()],
    ids=repr,
)
def test_an_error_that_says_something_to_us_passes(
    requests: ObstoreRequests, error: Exception
) -> None:
    assert requests._kept("/a", error) is error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (GenericError("<Code>NotImplemented</Code>"), NotImplementedError),
        (GenericError("Not a directory (os error 20)"), FileNotFoundError),
        (FileNotFoundError("<Code>NoSuchBucket</Code>"), BackendFailed),
        (PermissionDeniedError("https://host/secret"), PermissionDenied),
        (GenericError("https://host/secret"), BackendFailed),
        (ValueError("https://host/secret"), PathRefused),
    ],
    ids=repr,
)
def test_any_other_error_is_told_in_our_words(
    requests: ObstoreRequests, error: Exception, expected: type[Exception]
) -> None:
    told = requests._kept("/a", error)
    assert isinstance(told, expected)
    assert "secret" not in str(told)
    assert not isinstance(told, FilesystemError) or "/a" in str(told)


async def test_what_is_not_there_is_no_error(requests: ObstoreRequests) -> None:
    assert [await requests._head(path) for path in ("/", "/d", "/x", "/d/1/x")] == [None] * 4
    assert await requests._fetch("/x", 0, {}) is None
    assert await requests._fetch("/x", 0, {"range": (0, 9)}) is None
    found: Any = await requests._listed("/x", "x")
    assert (list(found["objects"]), list(found["common_prefixes"])) == ([], [])


async def test_a_range_behind_the_end_has_no_bytes(requests: ObstoreRequests) -> None:
    for start in (1, 7):
        fetched = await requests._fetch("/d/1", start, {"range": (start, start + 9)})
        assert fetched is not None
        assert (fetched[0]["size"], fetched[1]) == (1, b"")


async def test_a_disk_that_has_a_file_where_a_directory_would_be_says_that_nothing_is_there(
    tmp_path: Path,
) -> None:
    requests = ObstoreRequests(ObstoreClient(LocalStore(tmp_path)), "", Awaiting())
    await requests._put("/a", b"1")
    assert await requests._head("/a/b") is None
    with pytest.raises(FilesystemError, match="/a/b") as told:
        await requests._put("/a/b", b"2")
    assert str(tmp_path) not in str(told.value)


def test_only_a_bucket_may_have_objects_that_stand_for_directories(tmp_path: Path) -> None:
    bucket = obstore.store.S3Store("bucket", region="us-east-1", skip_signature=True)
    stores = (MemoryStore(), LocalStore(tmp_path), bucket)
    assert [ObstoreClient(store).has_markers for store in stores] == [False, False, True]
