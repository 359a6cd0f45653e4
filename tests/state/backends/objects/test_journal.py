"""The journal of objects: what became of a call that a crash interrupted."""

from typing import Any

import pytest
from obstore.store import MemoryStore

from langgraph_filesystem.state.backends.objects.backend import ObjectStore
from langgraph_filesystem.state.backends.objects.objects import Listing
from langgraph_filesystem.state.backends.objects.obstore import ObstoreObjects
from langgraph_filesystem.state.backends.objects.read import CHUNK
from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.errors import FilesystemError

ONCE = "scope.1.0"
LONG = b"x" * (CHUNK + 1)
DONE, UNKNOWN = Outcome(finished=True), Outcome(finished=False)


class Crashed(Exception):
    """The process ends here."""


class Crashing(ObstoreObjects):
    """Ends the process before the given change, or after so many copies of a move."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "")
        self.crash_before = ""
        self.copies_left: int | None = None
        self.lists_of_notes = 0

    def notes(self, scope: str) -> ObstoreObjects:
        outer = self

        class Notes(ObstoreObjects):
            async def children(self, directory: str) -> Listing:
                outer.lists_of_notes += 1
                return await super().children(directory)

        return Notes(self._store, self._key(f"/.langgraph-filesystem/{scope}"))

    async def put_many(self, *args: Any, **options: Any) -> Any:
        self._crash("put")
        return await super().put_many(*args, **options)

    async def update(self, *args: Any) -> None:
        self._crash("update")
        await super().update(*args)

    async def remove(self, *args: Any) -> None:
        self._crash("remove")
        await super().remove(*args)

    async def rename(self, pairs: Any) -> None:
        if self.copies_left is not None:
            for pair in pairs[: self.copies_left]:
                await self._copy(*pair)
            raise Crashed
        await super().rename(pairs)

    def _crash(self, change: str) -> None:
        if self.crash_before == change:
            raise Crashed


@pytest.fixture
def objects() -> Crashing:
    return Crashing()


@pytest.fixture
def store(objects: Crashing) -> ObjectStore:
    return ObjectStore(lambda: objects, 1_000)


async def put(store: ObjectStore, **contents: bytes | None) -> None:
    """Have files at `/<name>`, with `__` for `/`, or none."""
    for name, content in contents.items():
        path = "/" + name.replace("__", "/")
        if content is not None:
            assert await store.put({path: content}) == {}
        elif await store.kind(path):
            await store.delete(path)


async def names(store: ObjectStore) -> list[str]:
    return sorted(info["path"] for info in (await store.inventory("/")).files)


CHANGES: dict[str, tuple[str, Any]] = {
    "write": ("put", lambda store: store.write("/new", "x", once=ONCE)),
    "overwrite": ("put", lambda store: store.write("/a", "x", overwrite=True, once=ONCE)),
    "edit": ("update", lambda store: store.edit("/a", "1", "2", once=ONCE)),
    "delete": ("remove", lambda store: store.delete("/a", once=ONCE)),
    "delete a directory": ("remove", lambda store: store.delete("/d", once=ONCE)),
    "put": ("put", lambda store: store.put({"/a": b"2", "/new": b"3"}, once=ONCE)),
    "put new": ("put", lambda store: store.put({"/new": b"3"}, overwrite=False, once=ONCE)),
    "move": ("", lambda store: store.move("/a", "/new", once=ONCE)),
    "move a directory": ("", lambda store: store.move("/d", "/new", once=ONCE)),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_is_known_only_if_it_was_made(
    objects: Crashing, store: ObjectStore, name: str
) -> None:
    await store.put({"/a": b"1", "/d/b": b"2", "/d/c/d": b"3"})
    before = await names(store)
    objects.crash_before, change = CHANGES[name]
    objects.copies_left = 0
    with pytest.raises(Crashed):
        await change(store)
    assert await names(store) == before
    assert await store.recall(ONCE) is None

    objects.crash_before, objects.copies_left = "", None
    await change(store)
    occurrences = 1 if name == "edit" else None
    assert await store.recall(ONCE) == Outcome(finished=True, occurrences=occurrences)
    assert await store.recall("scope.1.1") is None


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (b"new", b"new", DONE),
        (b"old", None, None),
        (b"new", None, None),  # in part: made again, it leads to the same
        (b"other", b"new", UNKNOWN),
        (None, b"new", UNKNOWN),
    ],
)
async def test_the_verdict_depends_on_what_is_there_now(
    store: ObjectStore, a: bytes | None, b: bytes | None, expected: Outcome | None
) -> None:
    await put(store, a=b"old")
    await store.put({"/a": b"new", "/b": b"new"}, once=ONCE)
    await put(store, a=a, b=b)
    assert await store.recall(ONCE) == expected


@pytest.mark.parametrize(("a", "expected"), [(b"old", None), (None, DONE), (b"other", UNKNOWN)])
async def test_a_deleted_file_that_is_there_again(
    store: ObjectStore, a: bytes | None, expected: Outcome | None
) -> None:
    await put(store, a=b"old")
    await store.delete("/a", once=ONCE)
    await put(store, a=a)
    assert await store.recall(ONCE) == expected


@pytest.mark.parametrize("source", ["/d", "/d/a"])
@pytest.mark.parametrize("copies", [0, 1, 2])
async def test_a_move_that_was_interrupted_is_finished(
    objects: Crashing, store: ObjectStore, source: str, copies: int
) -> None:
    await put(store, d__a=LONG, d__b=b"2")
    count = 2 if source == "/d" else 1
    objects.copies_left = copies
    with pytest.raises(Crashed):
        await store.move(source, "/e", once=ONCE)
    objects.copies_left = None
    assert await store.recall(ONCE) is None
    if copies:
        with pytest.raises(FilesystemError):  # to another call it is just a file in the way
            await store.move(source, "/e", once="scope.1.1")
        await store.write("/x", "", once="scope.1.1")
    assert (await store.move(source, "/e", once=ONCE)).files == count
    assert await store.recall(ONCE) == DONE
    assert await store.kind(source) is None
    arrived = ["/e/a", "/e/b"] if source == "/d" else ["/e"]
    assert [path for path in await names(store) if path.startswith("/e")] == arrived
    assert (await store.fetch(arrived[:1])) == [LONG]


@pytest.mark.parametrize("other", [b"other", LONG[:-1] + b"y", LONG + b"x"])
async def test_a_move_is_not_finished_over_a_file_that_differs(
    objects: Crashing, store: ObjectStore, other: bytes
) -> None:
    await put(store, d__a=b"1", d__b=LONG)
    objects.copies_left = 0
    with pytest.raises(Crashed):
        await store.move("/d", "/e", once=ONCE)
    objects.copies_left = None
    await put(store, e__b=other)
    with pytest.raises(FilesystemError, match=r"^/e/b: differs from /d/b"):
        await store.move("/d", "/e", once=ONCE)
    assert await names(store) == ["/d/a", "/d/b", "/e/b"]


async def test_a_directory_that_is_neither_here_nor_there_is_unknown(store: ObjectStore) -> None:
    await put(store, d__a=b"1")
    await store.move("/d", "/e", once=ONCE)
    await store.delete("/e")
    assert await store.recall(ONCE) == UNKNOWN


async def test_edits_of_one_file_are_all_known(store: ObjectStore) -> None:
    await put(store, a=b"1")
    for number, (old, new) in enumerate(
        [("1", "2"), ("2", "3"), ("3", "1")]
    ):  # at the end it is as at the start
        await store.edit("/a", old, new, once=f"scope.1.{number}")
    found = [await store.recall(f"scope.1.{number}") for number in range(3)]
    assert found == [Outcome(finished=True, occurrences=1)] * 3
    # Of another thread, or of another file, nothing follows for these.
    await store.write("/a", "1", overwrite=True, once="other.1.0")
    await put(store, a=b"4")
    assert await store.recall("scope.1.2") == Outcome(finished=False, occurrences=1)


async def test_notes_of_former_messages_are_removed_once_a_message(
    objects: Crashing, store: ObjectStore
) -> None:
    for number in range(5):
        await store.write(f"/1{number}", "", once=f"scope.1.{number}")
    await store.write("/other", "", once="other.1.0")
    for number in range(5):
        await store.write(f"/2{number}", "", once=f"scope.2.{number}")
    assert objects.lists_of_notes == 3
    assert [await store.recall(f"scope.1.{number}") for number in range(5)] == [None] * 5
    for once in ("scope.2.0", "scope.2.4", "other.1.0"):
        assert await store.recall(once) == DONE


async def test_half_a_note_is_none(objects: Crashing, store: ObjectStore) -> None:
    for half in (b'{"changes": [', b"[]", b"\xff"):
        await objects.notes("scope").put_many({"/1.0": half}, overwrite=True)
        assert await store.recall(ONCE) is None
