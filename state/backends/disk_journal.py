"""What a change on disk can be known by after a crash: noted before it, looked for after it."""

import contextlib
import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from langgraph_filesystem.state.backends.contents import digest_of, mark_of
from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.journal import Change, Journal, Note, verdict
from langgraph_filesystem.state.backends.notes import Notes
from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.errors import BackendFailed, FilesystemError

__all__ = ("DiskJournal",)

_UNKNOWN = "unknown"
"""What a large file will be known by depends on where the host puts it."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


class DiskJournal:
    """The notes of changes to files. A key of `None` means that nobody will ask."""

    def __init__(self, jail: Jail, limit: int, digest: Callable[[str], str | None]) -> None:
        self._notes = Notes(jail)
        self._jail = jail
        self._limit = limit
        self._digest = digest
        self.journal = Journal(self._notes)
        self.recover: Callable[[str], None] = lambda _: None
        """Brings the end of a move from a path to its own end, if it was interrupted."""

    def begin_replace(
        self, once: str | None, path: str, old: int | None, new: int, occurrences: int | None
    ) -> None:
        """Note that an open file is about to take the place of another."""
        if once is None:
            return
        before = None if old is None else digest_of(old, self._limit)
        after = digest_of(new, self._limit)
        change = {"path": path, "before": before, "after": after}
        with _noting(path):
            note = {"changes": [change], "occurrences": occurrences, "at": time.time_ns()}
            self.journal.begin(once, note)

    def begin_upload(self, once: str | None, files: Sequence[tuple[str, bytes]]) -> None:
        """Note that files are about to hold these bytes."""
        if once is None:
            return
        changes = [
            {"path": path, "before": self._digest(path), "after": self._digest_of(content)}
            for path, content in files
        ]
        with _noting(", ".join(path for path, _ in files[:3])):
            self.journal.begin(once, {"changes": changes, "at": time.time_ns()})

    def begin_delete(self, once: str | None, path: str) -> None:
        """Note that an entry is about to go."""
        if once is None:
            return
        try:
            note = {"path": path, "before": self._mark(path), "after": None}
            with _noting(path):
                self.journal.begin(once, {"delete": note})
        except _NoRoom:
            pass  # deleting is what makes room

    def begin_move(self, once: str | None, source: str, destination: str) -> None:
        """Note that an entry is about to get another path."""
        if once is None:
            return
        move = {"source": source, "destination": destination, "mark": self._mark(source)}
        with _noting(source):
            self.journal.begin(once, {"move": move})

    def begin_receive(self, once: str | None, path: str, entry: os.stat_result) -> None:
        """Note that an entry under another name is about to get this path."""
        if once is None:
            return
        with _noting(path):
            self.journal.begin(once, {"receive": {"path": path, "mark": _mark_of(entry)}})

    def begin_end(self, once: str | None, path: str) -> None:
        """Note that an entry that was moved to another mount is about to go from this one."""
        if once is None:
            return
        with contextlib.suppress(_NoRoom), _noting(path):
            self.journal.begin(once, {"end": {"path": path, "mark": self._mark(path)}})

    def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call; `None` if it has not changed anything."""
        try:
            note = self.journal.find(once)
            return None if note is None else self._recall(once, note)
        except OSError:
            return None  # then nothing new can be noted either, so nothing will be done twice

    def _recall(self, once: str, note: Note) -> Outcome | None:
        match note:
            case {"changes": list()}:
                return self._recall_changes(once, note)
            case {"delete": {"path": path, "before": before}}:
                return _outcome(self._mark(path), before, None)
            case {"end": {"path": path, "mark": mark}}:
                self.recover(path)
                return _outcome(self._mark(path), mark, None)
            case {"move": {"source": source, "destination": destination, "mark": mark}}:
                places = self._mark(source) == mark, self._mark(destination) == mark
                return _outcome(places, (True, False), (False, True))
            case {"receive": {"path": path, "mark": mark}}:
                return _outcome(self._mark(path), None, mark)
        return None

    def _recall_changes(self, once: str, note: Note) -> Outcome | None:
        changes = _changes(note)
        later = [change for other in self._later(once, note) for change in _changes(other)]
        found = verdict(changes, [self._digest(change.path) for change in changes], later)
        if not found:
            return None if found is None else Outcome(finished=False)
        return Outcome(finished=True, occurrences=note.get("occurrences"))

    def _later(self, once: str, note: Note) -> Iterator[Note]:
        scope = once.partition(".")[0]
        for name in self._notes.names(scope):
            other = self.journal.find(f"{scope}.{name}") or {}
            if "changes" in other and other["at"] > note["at"]:
                yield other

    def _mark(self, path: str) -> str | None:
        """Return what an entry itself can be known by: not what a link points to."""
        try:
            return _mark_of(self._jail.lstat(path))
        except FilesystemError:
            return None

    def _digest_of(self, content: bytes) -> str:
        if len(content) > self._limit:
            return _UNKNOWN
        return hashlib.sha256(content).hexdigest()[:24]


def _mark_of(status: os.stat_result) -> str:
    is_directory = stat.S_ISDIR(status.st_mode)
    return f"directory {status.st_ino}" if is_directory else mark_of(status)


class _NoRoom(BackendFailed):
    """The note has no room on the disk."""


def _changes(note: Note) -> list[Change]:
    return [Change(it["path"], it["before"], it["after"]) for it in note["changes"]]


def _outcome(now: object, before: object, after: object) -> Outcome | None:
    if now == after:
        return Outcome(finished=True)
    return None if now == before else Outcome(finished=False)


@contextlib.contextmanager
def _noting(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = _NoRoom if error.errno in _FULL else BackendFailed
        reason = os.strerror(error.errno or errno.EIO)
        raise kind(
            f"{path}: was not changed, because the change could not be noted first: {reason}. "
            "Look at the disk, then try again."
        ) from None
