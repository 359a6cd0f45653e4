"""What every operation on objects needs: where they are, whole files, why one is missing."""

import pytest
from obstore.store import MemoryStore

from langgraph_filesystem.state.backends.object_access import (
    CHUNK,
    Access,
    ChangedMeanwhile,
    Tidied,
    digest_of,
)
from langgraph_filesystem.state.backends.object_pages import Bookmarks
from langgraph_filesystem.state.backends.objects import Objects
from langgraph_filesystem.state.backends.obstore_objects import ObstoreObjects
from langgraph_filesystem.state.backends.obstore_requests import ObstoreClient
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
)
from langgraph_filesystem.state.io import Awaiting

IO = Awaiting()
LIMIT = 2 * CHUNK


@pytest.fixture
async def objects() -> ObstoreObjects:
    objects = ObstoreObjects(ObstoreClient(MemoryStore()), "", IO)
    await objects.replace({"/a": b"1", "/d/b": b"2", "/empty": b""})
    return objects


@pytest.fixture
def access(objects: ObstoreObjects) -> Access:
    return Access(lambda: objects, IO, LIMIT, Bookmarks())


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, LIMIT])
async def test_a_digest_is_of_all_that_is_in_a_file(
    access: Access, objects: ObstoreObjects, size: int
) -> None:
    content = b"x" * size
    await objects.replace({"/f": content})
    assert await access.digest("/f") == digest_of(content)
    assert await access.digest("//f") == digest_of(content)


async def test_a_larger_file_has_another_digest_for_each_state(
    access: Access, objects: ObstoreObjects
) -> None:
    digests = []
    for _ in range(2):
        await objects.replace({"/f": b"x" * (LIMIT + 1)})
        digests += [await access.digest("/f"), await access.digest("/f")]
    assert digests[0] == digests[1] != digests[2] == digests[3]


@pytest.mark.parametrize("path", ["/", "/d", "/nothing", "/a/b", "relative/../..", "/a\0"])
async def test_what_is_no_file_has_no_digest(access: Access, path: str) -> None:
    assert await access.digest(path) is None


async def test_the_rest_of_a_file_that_has_changed_is_not_taken(
    access: Access, objects: ObstoreObjects
) -> None:
    await objects.replace({"/f": b"old old"})
    half = await objects.get("/f", 0, 3)
    assert half is not None
    assert (await access._whole("/f", half)).content == b"old old"
    await objects.replace({"/f": b"new new"})
    with pytest.raises(ChangedMeanwhile, match="/f: somebody else changed it"):
        await access._whole("/f", half)
    await objects.remove(["/f"])
    with pytest.raises(ChangedMeanwhile):
        await access._whole("/f", half)


@pytest.mark.parametrize(
    ("path", "expected"), [("/", IsDirectory), ("/d", IsDirectory), ("/nothing", FileNotFound)]
)
async def test_it_says_why_there_is_no_file(
    access: Access, path: str, expected: type[FilesystemError]
) -> None:
    assert type(await access._missing(path)) is expected


@pytest.mark.parametrize(
    ("path", "expected"), [("/", None), ("/d", None), ("/a", NotDirectory), ("/x", FileNotFound)]
)
async def test_it_says_why_there_is_no_directory(
    access: Access, path: str, expected: type[FilesystemError] | None
) -> None:
    if expected is None:
        await access._check_directory(path)
        return
    with pytest.raises(expected):
        await access._check_directory(path)


def test_a_path_that_the_store_can_not_hold_is_refused(access: Access) -> None:
    assert access._path("//d/./b") == "/d/b"
    with pytest.raises(PathRefused):
        access._path("/.langgraph-filesystem/x")


def test_the_place_is_asked_for_when_it_is_needed() -> None:
    def nowhere() -> Objects:
        raise BackendFailed("There is no store.")

    access = Access(nowhere, IO, LIMIT, Bookmarks())
    with pytest.raises(BackendFailed):
        access._path("/a")


def test_of_many_messages_the_last_ones_are_remembered() -> None:
    tidied = Tidied()
    for number in range(1_000):
        tidied.add(number)
    assert tidied.has(999)
    assert tidied.has(900)
    assert not tidied.has(0)
