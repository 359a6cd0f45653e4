"""The journal of objects: what a call was about to do, and whether it is done.

Notes are small objects, kept apart from the files, in one place per scope. Keys of calls and
verdicts are those of `state/backends/journal.py`.
"""

import json
import time
from collections.abc import Sequence

from langgraph_filesystem.state.backends.journal import (
    Change,
    Record,
    changes_of,
    parse_record,
    split_key,
    verdict,
)
from langgraph_filesystem.state.backends.objects.errors import ChangedMeanwhile
from langgraph_filesystem.state.backends.objects.objects import Changed, Objects
from langgraph_filesystem.state.backends.objects.read import CHUNK, digest_at
from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.io import gather_limited
from langgraph_filesystem.state.text import PathPart

__all__ = ("ObjectJournal",)

_MAX_SCOPES = 1_000


class ObjectJournal:
    """The journal of one object store."""

    def __init__(self, objects: Objects, max_size: int) -> None:
        self._objects = objects
        self._max_size = max_size
        self._tidied: dict[str, str] = {}
        """Scope to the last message for which older notes were removed."""

    async def begin(
        self, once: str | None, changes: Sequence[Change], occurrences: int | None = None
    ) -> None:
        """Note changes of files that are about to be made."""
        record = {"changes": changes, "occurrences": occurrences, "at": time.time_ns()}
        await self._put(once, record)

    async def begin_tree(self, once: str | None, path: str, to: str | None = None) -> None:
        """Note that a file or a directory is about to be moved or, without `to`, deleted."""
        await self._put(once, {"tree": path, "to": to})

    async def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call that was begun before a crash."""
        record = await self._find(once)
        if record is None:
            return None
        if "tree" in record:
            return await self._recall_tree(record["tree"], record.get("to"))
        changes = changes_of(record)
        now = [await digest_at(self._objects, one.path, self._max_size) for one in changes]
        # Most often it was the last call: the notes of later ones are many requests.
        found = verdict(changes, now) or verdict(changes, now, await self._later(once, record))
        return None if found is None else Outcome(found, occurrences=record.get("occurrences"))

    async def finish_move(
        self, once: str | None, start: str, end: str, pairs: Sequence[tuple[str, str]]
    ) -> int | None:
        """Finish a move that a crash interrupted; return its number of files if there was one.

        `pairs` are the files that are still at the source, and where they go.
        """
        record = (None if once is None else await self._find(once)) or {}
        if (record.get("tree"), record.get("to")) != (start, end):
            return None
        arrived = await self._paths(end)
        if not arrived:
            return None
        copied = [pair for pair in pairs if pair[1] in arrived]
        equal = await gather_limited(self._are_equal, copied)
        for (source, destination), is_copy in zip(copied, equal, strict=True):
            if not is_copy:
                raise BackendFailed(
                    PathPart(destination),
                    ": differs from ",
                    PathPart(source),
                    ", so the move, which had been interrupted, was not finished. Nothing more "
                    "was changed. Compare the two files and delete one of them.",
                )
        try:
            await self._objects.rename([pair for pair in pairs if pair[1] not in arrived])
        except Changed:
            raise ChangedMeanwhile(end) from None
        await self._objects.remove([source for source, _ in copied])
        return len(arrived | {destination for _, destination in pairs})

    async def _recall_tree(self, path: str, to: str | None) -> Outcome | None:
        """Tell by what is left whether a file or a directory was deleted or moved."""
        if await self._paths(path):
            return None  # the same call made again goes on from here
        return Outcome(finished=to is None or bool(await self._paths(to)))

    async def _paths(self, path: str) -> set[str]:
        if path != "/" and await self._objects.info(path) is not None:
            return {path}
        return {entry.path for entry in (await self._objects.below(path)).files}

    async def _are_equal(self, pair: tuple[str, str]) -> bool:
        """Compare two files, a chunk at a time."""
        at = 0
        while True:
            one, other = [await self._objects.get(path, at, CHUNK) for path in pair]
            if one is None or other is None or one.size != other.size:
                return False
            at += len(one.content)
            if one.content != other.content or at >= one.size or not one.content:
                return one.content == other.content and at >= one.size

    # Notes

    async def _put(self, once: str | None, record: Record) -> None:
        if once is None:
            return
        scope, name = split_key(once)
        notes, group = self._objects.notes(scope), name.partition(".")[0] + "."
        failed = await notes.put_many({f"/{name}": json.dumps(record).encode()}, overwrite=True)
        for error in failed.values():
            raise error
        # Once a message: one may change thousands of files, and listing the notes is a request.
        if self._tidied.get(scope) != group:
            others = [entry.path for entry in (await notes.children("/")).files]
            await notes.remove([path for path in others if not path.startswith(f"/{group}")])
            if len(self._tidied) >= _MAX_SCOPES:
                self._tidied.clear()
            self._tidied[scope] = group

    async def _find(self, once: str) -> Record | None:
        scope, name = split_key(once)
        blob = await self._objects.notes(scope).get(f"/{name}")
        return None if blob is None else parse_record(blob.content)

    async def _later(self, once: str, record: Record) -> list[Change]:
        """Return the changes of calls of the same message that were begun later."""
        scope, name = split_key(once)
        group = f"/{name.partition('.')[0]}."
        listed = await self._objects.notes(scope).children("/")
        names = [entry.path[1:] for entry in listed.files if entry.path.startswith(group)]
        others = [await self._find(f"{scope}.{other}") for other in names if other != name]
        later = [other for other in others if other and other.get("at", 0) > record.get("at", 0)]
        return [change for other in later for change in changes_of(other)]
