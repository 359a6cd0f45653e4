"""The journal of changes on disk, in a hidden directory at the top of the root.

A change is noted before it is made. After a crash the file itself tells whether it was made. Only a
killed process matters, so nothing is flushed: what was written is there for the next process. No
link is followed in the directory.
"""

import contextlib
import errno
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping

from langgraph_filesystem.state.backends.disk.delete import remove_tree
from langgraph_filesystem.state.backends.disk.jail import RESERVED, Jail, closing_handle
from langgraph_filesystem.state.backends.disk.read import handle_digest, identity_digest
from langgraph_filesystem.state.backends.journal import Change, Journal, Record, changes_of, verdict
from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.errors import BackendFailed, FilesystemError
from langgraph_filesystem.state.files import digest_of
from langgraph_filesystem.state.text import PathPart

__all__ = ("DiskJournal", "DiskShelf")

_UNKNOWN = "unknown"
"""The digest of a large file depends on where the host puts it."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_MAX_SCOPES = 1_000
"""Threads with records. Those of a thread are of use only until it has been resumed."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_MISSING = (FileNotFoundError, NotADirectoryError)
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


class DiskJournal:
    """The records of changes to files. A key of `None` means that nobody will ask."""

    def __init__(self, jail: Jail, limit: int, digest: Callable[[str], str | None]) -> None:
        self._jail = jail
        self._limit = limit
        self._digest = digest
        self._shelf = DiskShelf(jail)
        self.journal = Journal(self._shelf)
        """For records of another kind, such as those of commands."""

    def begin_replace(
        self, once: str | None, path: str, old: int | None, new: int, occurrences: int | None
    ) -> None:
        """Note that an open file is about to replace another."""
        if once is None:
            return
        before = None if old is None else handle_digest(old, self._limit)
        change = Change(path, before, handle_digest(new, self._limit))
        self._begin(once, [change], occurrences=occurrences)

    def begin_put(self, once: str | None, files: Mapping[str, bytes]) -> None:
        """Note that files are about to hold these bytes."""
        if once is None or not files:
            return
        self._begin(
            once,
            [
                Change(path, self._digest(path), self._expected_digest(content))
                for path, content in files.items()
            ],
        )

    def begin_delete(self, once: str | None, path: str) -> None:
        """Note that an entry is about to be deleted."""
        if once is None:
            return
        with contextlib.suppress(_NoSpace):  # deleting is what frees some
            self._begin(once, [Change(path, self._identity(path), None)], of="entries")

    def begin_move(self, once: str | None, path: str, entry: os.stat_result) -> None:
        """Note that an entry with another name is about to get this path."""
        if once is not None:
            self._begin(once, [Change(path, None, _identity_of(entry))], of="entries", ended=False)

    def end_move(self, once: str | None, path: str) -> None:
        """Note that nothing is left to be done for a move to a path."""
        if once is None:
            return
        with contextlib.suppress(OSError):  # then it is looked at again, which changes nothing
            change = Change(path, None, self._identity(path))
            self.journal.end(once, _record([change], of="entries", ended=True))

    def has_moved(self, once: str | None, path: str) -> bool:
        """Say whether a move has given this path to an entry, which is still there."""
        if once is None:
            return False
        with contextlib.suppress(OSError):
            record, change = self.journal.find(once), Change(path, None, self._identity(path))
            return change.after is not None and changes_of(record or {}) == [change]
        return False

    def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call; `None` if it can be made again."""
        try:
            record = self.journal.find(once)
            return None if record is None else self._recall(once, record)
        except (OSError, KeyError, TypeError):
            return None  # then nothing new can be noted either, so nothing will be done twice

    def _recall(self, once: str, record: Record) -> Outcome | None:
        changes = changes_of(record)
        if not changes or record.get("ended") is False:
            return None
        if record["of"] == "entries":
            found = verdict(changes, [self._identity(change.path) for change in changes])
        else:
            later = [change for other in self._later(once, record) for change in changes_of(other)]
            found = verdict(changes, [self._digest(change.path) for change in changes], later)
        if not found:
            return None if found is None else Outcome(finished=False)
        return Outcome(finished=True, occurrences=record.get("occurrences"))

    def _later(self, once: str, record: Record) -> Iterator[Record]:
        scope = once.partition(".")[0]
        for name in self._shelf.names(scope):
            other = self.journal.find(f"{scope}.{name}") or {}
            if other.get("of") == "files" and other["at"] > record["at"]:
                yield other

    def _begin(
        self, once: str, changes: list[Change], *, of: str = "files", **more: object
    ) -> None:
        try:
            self.journal.begin(once, _record(changes, of=of, **more))
        except OSError as error:
            kind = _NoSpace if error.errno in _FULL else BackendFailed
            raise kind(
                PathPart(changes[0].path),
                ": was not changed, because the journal could not be written: "
                f"{os.strerror(error.errno or errno.EIO)}. Look at the disk, then try again.",
            ) from None

    def _identity(self, path: str) -> str | None:
        """Return what identifies an entry itself, not the target of a link."""
        try:
            return _identity_of(self._jail.lstat(path))
        except FilesystemError:
            return None

    def _expected_digest(self, content: bytes) -> str:
        return _UNKNOWN if len(content) > self._limit else digest_of(content)


class _NoSpace(BackendFailed):
    """There is no space for the record."""


def _identity_of(status: os.stat_result) -> str:
    is_directory = stat.S_ISDIR(status.st_mode)
    return f"directory {status.st_ino}" if is_directory else identity_digest(status)


def _record(changes: list[Change], **more: object) -> Record:
    return {"changes": [list(change) for change in changes], "at": time.time_ns(), **more}


class DiskShelf:
    """Small values under `<scope>/<name>` in a directory of our own."""

    def __init__(self, jail: Jail, max_scopes: int = _MAX_SCOPES) -> None:
        self._jail = jail
        self._max_scopes = max_scopes

    def get(self, directory: str, name: str) -> bytes | None:
        """Return a value, if there is one."""
        with (
            contextlib.suppress(*_MISSING),
            self._scope(directory) as scope,
            closing_handle(os.open(_checked(name), _READ, dir_fd=scope)) as handle,
        ):
            return os.pread(handle, os.fstat(handle).st_size, 0)
        return None

    def put(self, directory: str, name: str, value: bytes) -> None:
        """Store a value whole or not at all."""
        unfinished = f"{_checked(name)}.{os.getpid()}-{threading.get_ident()}"
        with self._scope(directory, create=True) as scope:
            with open(os.open(unfinished, _WRITE, 0o666, dir_fd=scope), "wb") as file:
                file.write(value)
            os.rename(unfinished, name, src_dir_fd=scope, dst_dir_fd=scope)

    def names(self, directory: str) -> list[str]:
        """Return the names in a scope."""
        with contextlib.suppress(*_MISSING), self._scope(directory) as scope:
            return [name for name in os.listdir(scope) if _NAME.fullmatch(name)]
        return []

    def remove(self, directory: str, name: str) -> None:
        """Forget a value."""
        with contextlib.suppress(*_MISSING), self._scope(directory) as scope:
            os.unlink(name, dir_fd=scope)

    @contextlib.contextmanager
    def _scope(self, name: str, *, create: bool = False) -> Iterator[int]:
        prepare_top = _write_gitignore if create else None
        prepare_scope = self._forget_oldest if create else None
        with (
            closing_handle(self._jail.open(self._jail.home, _DIRECTORY)) as home,
            closing_handle(_open_directory(home, RESERVED, prepare_top)) as top,
            closing_handle(_open_directory(top, _checked(name), prepare_scope)) as scope,
        ):
            yield scope

    def _forget_oldest(self, top: int, _: int) -> None:
        with os.scandir(top) as found:
            scopes = [entry for entry in found if entry.is_dir(follow_symlinks=False)]
            if len(scopes) <= self._max_scopes:
                return
            ages = {entry.name: entry.stat(follow_symlinks=False).st_mtime_ns for entry in scopes}
        # Some more than needed, so that not every new thread has to do this.
        count = len(ages) - self._max_scopes + self._max_scopes // 10
        for name in sorted(ages, key=ages.__getitem__)[:count]:
            with contextlib.suppress(OSError):
                remove_tree(top, name)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} can't be a part of the key of a call.")
    return name


def _open_directory(parent: int, name: str, prepare: Callable[[int, int], None] | None) -> int:
    """Open a directory of ours; with `prepare`, make it if it is missing.

    Whoever may use the directory above may use it too.
    """
    is_new = False
    if prepare is not None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
            is_new = True
    handle = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        if is_new and prepare is not None:
            os.fchmod(handle, stat.S_IMODE(os.fstat(parent).st_mode))
            prepare(parent, handle)
    except OSError:
        os.close(handle)
        raise
    return handle


def _write_gitignore(_: int, directory: int) -> None:
    """Keep git from adding the journal to the project."""
    with open(os.open(".gitignore", _WRITE, 0o666, dir_fd=directory), "wb") as file:
        file.write(b"*\n")
