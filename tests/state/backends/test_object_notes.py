"""The journal of objects: what became of a call that a crash may have cut short."""

import pytest
from obstore.store import MemoryStore

from langgraph_filesystem.state.backends.object_access import CHUNK, Tidied, digest_of
from langgraph_filesystem.state.backends.object_notes import Journaled
from langgraph_filesystem.state.backends.object_pages import Bookmarks
from langgraph_filesystem.state.backends.obstore_objects import ObstoreObjects
from langgraph_filesystem.state.backends.obstore_requests import ObstoreClient
from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.backends.remote import RemoteBackend
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import Awaiting

IO = Awaiting()
ONCE = "scope.1.0"
OLD, NEW, OTHER = b"old", b"new", b"other"
LONG = b"x" * (CHUNK + 1)
DONE, UNKNOWN = Outcome(finished=True), Outcome(finished=False)


@pytest.fixture
def objects() -> ObstoreObjects:
    return ObstoreObjects(ObstoreClient(MemoryStore()), "", IO)


@pytest.fixture
def journaled(objects: ObstoreObjects) -> Journaled:
    return Journaled(lambda: objects, IO, 1_000, Bookmarks())


async def put(objects: ObstoreObjects, *found: tuple[str, bytes | None]) -> None:
    for path, content in found:
        if content is None:
            await objects.remove([path])
        else:
            await objects.replace({path: content})


async def test_what_was_not_noted_is_not_known(journaled: Journaled) -> None:
    await journaled._begin(None, [("/a", None, digest_of(NEW))])
    assert await journaled.recall(ONCE) is None


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (NEW, NEW, Outcome(finished=True, occurrences=3)),
        (OLD, None, None),
        (NEW, None, None),  # in part: done again, it leads to the same
        (OTHER, NEW, Outcome(finished=False, occurrences=3)),
        (None, NEW, Outcome(finished=False, occurrences=3)),
    ],
)
async def test_it_is_told_by_what_is_there(
    journaled: Journaled,
    objects: ObstoreObjects,
    a: bytes | None,
    b: bytes | None,
    expected: Outcome | None,
) -> None:
    states = [("/a", digest_of(OLD), digest_of(NEW)), ("/b", None, digest_of(NEW))]
    await journaled._begin(ONCE, states, occurrences=3)
    await put(objects, ("/a", a), ("/b", b))
    assert await journaled.recall(ONCE) == expected


@pytest.mark.parametrize(("a", "expected"), [(OLD, None), (None, DONE), (OTHER, UNKNOWN)])
async def test_a_file_was_deleted_if_it_is_gone(
    journaled: Journaled, objects: ObstoreObjects, a: bytes | None, expected: Outcome | None
) -> None:
    await put(objects, ("/a", OLD))
    await journaled._begin_deleting(ONCE, "/a", ["/a"])
    await put(objects, ("/a", a))
    assert await journaled.recall(ONCE) == expected


@pytest.mark.parametrize(("left", "expected"), [(OLD, None), (None, DONE)])
async def test_a_directory_was_deleted_if_nothing_is_below(
    journaled: Journaled, objects: ObstoreObjects, left: bytes | None, expected: Outcome | None
) -> None:
    await put(objects, ("/d/a", OLD), ("/d/b", OLD))
    await journaled._begin_deleting(ONCE, "/d", ["/d/a", "/d/b"])
    await put(objects, ("/d/a", None), ("/d/b", left))
    assert await journaled.recall(ONCE) == expected


@pytest.mark.parametrize(
    ("left", "arrived", "expected"),
    [(OLD, None, None), (None, OLD, DONE), (OLD, OLD, None), (None, None, UNKNOWN)],
)
async def test_a_directory_was_moved_if_it_is_there_and_here_no_more(
    journaled: Journaled,
    objects: ObstoreObjects,
    left: bytes | None,
    arrived: bytes | None,
    expected: Outcome | None,
) -> None:
    await put(objects, ("/d/a", OLD), ("/d/b", OLD))
    await journaled._begin_moving(ONCE, "/d", "/e", ["/d/a", "/d/b"])
    await put(objects, ("/d/a", None), ("/d/b", left), ("/e/b", arrived))
    assert await journaled.recall(ONCE) == expected


@pytest.mark.parametrize(
    ("source", "copy", "is_finished"),
    [(OLD, OLD, True), (OLD, None, False), (OLD, OTHER, False), (OTHER, OLD, False)],
)
async def test_a_move_that_was_only_copied_is_finished(
    journaled: Journaled,
    objects: ObstoreObjects,
    source: bytes,
    copy: bytes | None,
    is_finished: bool,
) -> None:
    await put(objects, ("/a", OLD))
    await journaled._begin_moving(ONCE, "/a", "/b", ["/a"])
    await put(objects, ("/a", source), ("/b", copy))
    count = await journaled._finish_move(ONCE, "/a", "/b", [("/a", "/b")])
    assert count == (1 if is_finished else None)
    assert (await objects.info("/a") is None) is is_finished


PAIRS = [("/d/a", "/e/a"), ("/d/b", "/e/b")]


async def begin_tree(
    journaled: Journaled, objects: ObstoreObjects, *arrived: tuple[str, bytes]
) -> None:
    """Note that a directory of which one file has gone already is moved."""
    await put(objects, ("/d/a", OLD), ("/d/b", LONG))
    await journaled._begin_moving(ONCE, "/d", "/e", ["/d/a", "/d/b", "/d/c"])
    await put(objects, *arrived)


@pytest.mark.parametrize("arrived", [[], [("/e/b", LONG)], [("/e/a", OLD), ("/e/b", LONG)]])
async def test_what_is_left_of_a_directory_follows_what_has_arrived(
    journaled: Journaled, objects: ObstoreObjects, arrived: list[tuple[str, bytes]]
) -> None:
    await begin_tree(journaled, objects, ("/e/c", NEW), *arrived)
    assert await journaled._finish_move(ONCE, "/d", "/e", PAIRS) == 3
    assert not (await objects.below("/d")).files
    found = {e.path: await objects.get(e.path) for e in (await objects.below("/e")).files}
    held = {path: blob and blob.content for path, blob in found.items()}
    assert held == {"/e/a": OLD, "/e/b": LONG, "/e/c": NEW}


@pytest.mark.parametrize("other", [OTHER, LONG[:-1] + b"y", LONG + b"x"])
async def test_a_directory_is_left_if_something_else_is_where_a_file_is_to_be(
    journaled: Journaled, objects: ObstoreObjects, other: bytes
) -> None:
    await begin_tree(journaled, objects, ("/e/b", other))
    with pytest.raises(FilesystemError, match=r"^/e/b: is another file than /d/b now"):
        await journaled._finish_move(ONCE, "/d", "/e", PAIRS)
    assert [e.path for e in (await objects.below("/d")).files] == ["/d/a", "/d/b"]
    assert [e.path for e in (await objects.below("/e")).files] == ["/e/b"]


async def test_a_directory_of_which_nothing_has_arrived_is_moved_anew(
    journaled: Journaled, objects: ObstoreObjects
) -> None:
    await begin_tree(journaled, objects)
    assert await journaled._finish_move(ONCE, "/d", "/e", PAIRS) is None
    assert len((await objects.below("/d")).files) == 2


async def test_notes_of_former_calls_are_dropped(
    journaled: Journaled, objects: ObstoreObjects
) -> None:
    for once in ("scope.1.0", "other.1.0", "scope.2.0", "scope.2.1"):
        await journaled._begin(once, [("/a", None, None)])
    assert sorted(await objects.note_names("scope")) == ["2.0", "2.1"]
    assert await objects.note_names("other") == ["1.0"]


async def test_half_a_note_is_none(journaled: Journaled, objects: ObstoreObjects) -> None:
    await objects.put_note("scope", "1.0", b'{"states": [')
    assert await journaled.recall(ONCE) is None


CHAIN = [(OLD, NEW), (NEW, OTHER), (OTHER, OLD)]


async def noted(journaled: Journaled, *pairs: tuple[bytes | None, bytes | None]) -> None:
    """Note changes of one file, one after the other, as the calls of a message make them."""
    for number, pair in enumerate(pairs):
        before, after = (None if content is None else digest_of(content) for content in pair)
        await journaled._begin(f"scope.1.{number}", [("/a", before, after)], occurrences=number)


async def test_a_later_change_proves_that_the_one_before_it_was_made(
    journaled: Journaled, objects: ObstoreObjects
) -> None:
    await noted(journaled, *CHAIN)
    await put(objects, ("/a", OLD))  # as it was before the first one, too
    found = [await journaled.recall(f"scope.1.{number}") for number in range(3)]
    assert found == [Outcome(finished=True, occurrences=number) for number in range(3)]


async def test_a_later_change_of_something_else_proves_nothing(
    journaled: Journaled, objects: ObstoreObjects
) -> None:
    await noted(journaled, (OLD, NEW), (OTHER, OLD))
    await journaled._begin("scope.1.2", [("/b", digest_of(NEW), digest_of(OLD))])
    await journaled._begin("other.1.0", [("/a", digest_of(NEW), digest_of(OLD))])
    await put(objects, ("/a", OTHER))
    assert await journaled.recall(ONCE) == Outcome(finished=False, occurrences=0)
    assert await journaled.recall("scope.1.1") is None


async def test_an_earlier_change_proves_nothing(
    journaled: Journaled, objects: ObstoreObjects
) -> None:
    await noted(journaled, (NEW, OTHER), (OLD, NEW))
    await put(objects, ("/a", OLD))
    assert await journaled.recall("scope.1.1") is None


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_edits_of_one_file_are_known_after_a_crash(mode: str) -> None:
    backend = RemoteBackend(MemoryStore())
    backend.write("/a", "1")
    for number in range(3):
        backend.edit("/a", f"{number + 1}", f"{number + 2}", once=f"scope.1.{number}")
    keys = [f"scope.1.{number}" for number in range(3)]
    if mode == "sync":
        found = [backend.recall(key) for key in keys]
    else:
        found = [await backend.arecall(key) for key in keys]
    assert found == [Outcome(finished=True, occurrences=1)] * 3


class Listed(ObstoreObjects):
    """Counts how often all notes of a thread are listed."""

    lists = 0

    async def note_names(self, directory: str) -> list[str]:
        self.lists += 1
        return await super().note_names(directory)


async def test_notes_are_looked_through_once_a_message_however_many_it_makes() -> None:
    objects, tidied = Listed(ObstoreClient(MemoryStore()), "", IO), Tidied()

    async def begin(once: str) -> None:
        # As many calls of one backend do.
        journaled = Journaled(lambda: objects, IO, 1_000, Bookmarks(), tidied)
        await journaled._begin(once, [("/a", None, digest_of(NEW))])

    for number in range(20):
        await begin(f"scope.1.{number}")
    assert objects.lists == 1
    assert len(await objects.note_names("scope")) == 20
    for number in range(20):
        await begin(f"scope.2.{number}")
    assert objects.lists == 3
    assert sorted(await objects.note_names("scope")) == sorted(f"2.{n}" for n in range(20))
