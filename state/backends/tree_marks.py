"""What a file or a tree on disk is known by, so that any change of it is seen.

A mark is made of names, kinds, inodes, sizes and times; nothing is read. Of the top itself the time
at which its name was changed does not count: it may get another name and keep its mark.
"""

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import closing

from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.subtrees import Entry, Level, levels, list_entries

__all__ = ("TreeMark", "digest_level", "mark_tree")

_TICK = 20_000_000
"""Nanoseconds in which a file can be changed twice and keep its time: clocks of file systems tick.
"""


class TreeMark:
    """A mark that is made of one directory after the other, in any order."""

    def __init__(self, top: os.stat_result) -> None:
        self.levels: dict[str, bytes] = {}
        """A digest of each directory, by its path from the top."""
        self._top = _is_directory(top), top.st_ino, *_content(top)
        self._begun = time.time_ns()
        self._newest = max(top.st_mtime_ns, top.st_ctime_ns)

    def add(self, level: Level) -> None:
        """Take a directory into the mark."""
        self.levels[level.path] = digest_level(level.entries)
        times = (max(entry.status.st_mtime_ns, entry.status.st_ctime_ns) for entry in level.entries)
        self._newest = max(self._newest, *times, 0)

    @property
    def is_too_new(self) -> bool:
        """Whether something was changed just now, so that the next change might not be seen."""
        return abs(self._begun - self._newest) < _TICK

    @property
    def text(self) -> str:
        """The mark: which entry it is, and what is in it."""
        digest = hashlib.sha256(repr(self._top).encode())
        for path in sorted(self.levels):
            digest.update(os.fsencode(path) + b"\0" + self.levels[path])
        return f"{self._top[1]}-{digest.hexdigest()[:32]}"

    @staticmethod
    def is_of(mark: str, top: os.stat_result) -> bool:
        """Say whether a mark may be that of an entry, without looking into it."""
        return mark.partition("-")[0] == str(top.st_ino)


def mark_tree(
    jail: Jail, parent: int, name: str, path: str, settle: Callable[[int], bool] | None = None
) -> TreeMark:
    """Return the mark of a file or a directory.

    `settle` is called with each directory, and says whether it is to be listed again.
    """
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    mark = TreeMark(status)
    if stat.S_ISDIR(status.st_mode):
        with closing(levels(jail, parent, name, path)) as walked:
            for level in walked:
                if settle is not None and settle(level.handle):
                    below = f"{path}/{level.path}".rstrip("/")
                    level = level._replace(entries=list_entries(jail, level.handle, below))
                mark.add(level)
    return mark


def digest_level(entries: Iterable[Entry]) -> bytes:
    """Return a digest of what is directly in a directory."""
    digest = hashlib.sha256()
    for name, status in sorted(entries):
        known = stat.S_IFMT(status.st_mode), status.st_ino, *_content(status, status.st_ctime_ns)
        digest.update(os.fsencode(name) + repr(known).encode() + b"\0")
    return digest.digest()[:16]


def _content(status: os.stat_result, *more: int) -> tuple[int, ...]:
    """Return what changes with a file; a directory is known by what is in it."""
    return () if _is_directory(status) else (status.st_size, status.st_mtime_ns, *more)


def _is_directory(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode)
