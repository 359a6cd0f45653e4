"""The journal of objects under keys: what was begun, and whether it is there now."""

import time
from collections.abc import Sequence
from functools import cached_property

from langgraph_filesystem.state.backends.journal import Change, Journal, Note, verdict
from langgraph_filesystem.state.backends.many import each
from langgraph_filesystem.state.backends.object_access import (
    CHUNK,
    Access,
    ChangedMeanwhile,
    Tidied,
    digest_of,
)
from langgraph_filesystem.state.backends.objects import Changed, Objects
from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.errors import BackendFailed

__all__ = ("Journaled", "State")

State = tuple[str, str | None, str | None]
"""A path, and the digests of what is there before and after; `None` for nothing."""


class Journaled(Access):
    """Operations that note what they begin, and can tell after a crash what became of it."""

    @cached_property
    def _notes(self) -> "_Notes":
        return _Notes(self._objects, self._tidied)

    async def recall(self, once: str) -> Outcome | None:
        """Say what is known of a call that may have been carried out already."""
        note = await self._notes.find(once)
        if note is None:
            return None
        if "tree" in note:
            return await self._recall_tree(note["tree"], note.get("to"))
        changes = _changes(note)
        now = [await self.digest(change.path) for change in changes]
        # Most often it is the last one: the notes behind it are many requests.
        found = verdict(changes, now) or verdict(changes, now, await self._later(once, note))
        return None if found is None else Outcome(found, occurrences=note.get("occurrences"))

    async def _later(self, once: str, note: Note) -> list[Change]:
        """Return the changes that were begun after one, in the same thread."""
        others = await self._notes.beside(once)
        later = [other for other in others if other.get("at", 0) > note.get("at", 0)]
        return [change for other in later for change in _changes(other)]

    async def _begin(
        self, once: str | None, states: Sequence[State], occurrences: int | None = None
    ) -> None:
        note = {"states": states, "occurrences": occurrences, "at": time.time_ns()}
        await self._notes.begin(once, note)

    async def _begin_replacing(self, once: str | None, contents: dict[str, bytes]) -> None:
        if once is not None and contents:
            pairs = contents.items()
            states = [(path, await self.digest(path), digest_of(data)) for path, data in pairs]
            await self._begin(once, states)

    async def _begin_deleting(self, once: str | None, path: str, files: list[str]) -> None:
        if once is not None and files == [path]:
            await self._begin(once, [(path, await self.digest(path), None)])
        else:
            await self._notes.begin(once, {"tree": path})

    async def _begin_moving(self, once: str | None, start: str, end: str, files: list[str]) -> None:
        if once is not None and files == [start]:
            digest = await self.digest(start)
            await self._begin(once, [(start, digest, None), (end, None, digest)])
        else:
            await self._notes.begin(once, {"tree": start, "to": end})

    async def _finish_move(
        self, once: str | None, start: str, end: str, pairs: Sequence[tuple[str, str]]
    ) -> int | None:
        """Finish a move that was begun before a crash; return how many files it was, if it was."""
        note = (None if once is None else await self._notes.find(once)) or {}
        if (note.get("tree"), note.get("to")) == (start, end):
            return await self._finish_tree(end, pairs)
        states = [tuple(state) for state in note.get("states", ())]
        digest = await self.digest(start) if states else None
        if digest is None or states != [(start, digest, None), (end, None, digest)]:
            return None
        if await self.digest(end) != digest:
            return None
        await self._objects.remove([start])
        return 1

    async def _finish_tree(self, end: str, pairs: Sequence[tuple[str, str]]) -> int | None:
        """Move what is left of a directory, unless something else is where it is to be."""
        arrived = {entry.path for entry in (await self._objects.below(end)).files}
        if not arrived:
            return None
        copied = [pair for pair in pairs if pair[1] in arrived]
        for pair, is_copy in zip(
            copied, await each(self._io, self._are_equal, copied), strict=True
        ):
            if not is_copy:
                raise BackendFailed(
                    f"{pair[1]}: is another file than {pair[0]} now, so the move of its directory, "
                    "which was interrupted, was not finished. Nothing was changed again. Compare "
                    "the two, and delete one of them."
                )
        try:
            await self._objects.rename([pair for pair in pairs if pair[1] not in arrived])
        except Changed:
            raise ChangedMeanwhile(end) from None
        await self._objects.remove([source for source, _ in copied])
        return len(arrived | {destination for _, destination in pairs})

    async def _are_equal(self, pair: tuple[str, str]) -> bool:
        """Say whether two files hold the same, a part at a time."""
        at = 0
        while True:
            one, other = [await self._objects.get(path, at, CHUNK) for path in pair]
            if one is None or other is None or one.size != other.size:
                return False
            at += len(one.content)
            if one.content != other.content or at >= one.size or not one.content:
                return one.content == other.content and at >= one.size

    async def _recall_tree(self, path: str, to: str | None) -> Outcome | None:
        """Tell whether a directory was deleted or moved, by what is left of it."""
        left = (await self._objects.below(path)).files
        if to is None:
            return None if left else Outcome(finished=True)
        if left:  # whether the rest can follow is found when it is moved
            return None
        return Outcome(finished=bool((await self._objects.below(to)).files))


class _Notes:
    """The notes of one place."""

    def __init__(self, objects: Objects, tidied: Tidied) -> None:
        self._objects = objects
        self._tidied = tidied

    async def begin(self, once: str | None, note: Note) -> None:
        """Note what is about to happen; without a key nothing is noted."""
        if once is None:
            return
        scope, _, name = once.partition(".")
        message = self._objects.identity, scope, name.partition(".")[0]
        # Once a message: one may move thousands of files, and to list the notes is a request.
        is_tidy = self._tidied.has(message)
        sheet = _Sheet([] if is_tidy else await self._objects.note_names(scope))
        Journal(sheet).begin(once, note)
        for name, value in sheet.written.items():
            await self._objects.put_note(scope, name, value)
        if sheet.removed:
            await self._objects.remove_notes(scope, sheet.removed)
        self._tidied.add(message)

    async def find(self, once: str) -> Note | None:
        """Return what was noted of a call, if anything."""
        scope, _, name = once.partition(".")
        value = await self._objects.note(scope, name)
        return None if value is None else Journal(_Sheet([], value)).find(once)

    async def beside(self, once: str) -> list[Note]:
        """Return what was noted of the other calls of the same message."""
        scope, _, name = once.partition(".")
        group = name.partition(".")[0] + "."
        names = [other for other in await self._objects.note_names(scope) if other != name]
        found = [await self.find(f"{scope}.{other}") for other in names if other.startswith(group)]
        return [note for note in found if note is not None]


def _changes(note: Note) -> list[Change]:
    return [Change(*state) for state in note.get("states", ())]


class _Sheet:
    """A shelf in memory: the journal writes on it what is then carried to the store.

    The journal's own calls can't be awaited, so nothing that it asks for may be slow.
    """

    def __init__(self, names: list[str], value: bytes | None = None) -> None:
        self._names = names
        self._value = value
        self.written: dict[str, bytes] = {}
        self.removed: list[str] = []

    def get(self, directory: str, name: str) -> bytes | None:
        return self._value

    def put(self, directory: str, name: str, value: bytes) -> None:
        self.written[name] = value

    def names(self, directory: str) -> list[str]:
        return self._names

    def remove(self, directory: str, name: str) -> None:
        self.removed.append(name)
