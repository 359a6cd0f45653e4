"""Opening the directories of a tree again, and knowing which of them nobody has touched meanwhile.

`rg` goes by paths: a directory that is swapped for a link while it is at work takes it out of the
tree. So what it says of a file counts only if every directory from the top of the tree down to it
was last changed before `rg` was started. The time of change (`ctime`) is the host's own, no program
sets it, and whoever swaps an entry of a directory leaves it there.
"""

import os
import sys
import time

from langgraph_filesystem.state.backends.trees import DIRECTORY

__all__ = ("Directory", "Trail", "now")

_KEPT = 32
"""Directories near the top stay open, and deeper ones one in so many."""
_SECOND = 1_000_000_000
_CLOCK = 5 if sys.platform == "linux" else time.CLOCK_REALTIME
"""The clock that files are stamped by. On Linux it is `CLOCK_REALTIME_COARSE`, for which Python has
no name: it lags some milliseconds behind the other."""


class Directory:
    """A directory of a tree, opened without following a link."""

    __slots__ = ("handle", "is_unchanged", "name")

    def __init__(self, name: str, handle: int, is_unchanged: bool) -> None:
        self.name = name
        self.handle = handle
        self.is_unchanged = is_unchanged


def now() -> int:
    """Return the time that a file gets which is changed now."""
    return time.clock_gettime_ns(_CLOCK)


class Trail:
    """The way from the top of a tree down to one directory after the other.

    It is shortest in the order of their paths. `top` stays the caller's to close.
    """

    def __init__(self, top: int, since: int) -> None:
        self._since = since
        self._steps = [Directory("", top, self._is_older(os.fstat(top)))]
        self._path: str | None = ""

    def directory(self, path: str) -> Directory:
        """Open a directory by its path from the top; it is open until the next one is asked for."""
        if path != self._path:
            self._path = None
            self._go(path.split("/") if path else [])
            self._path = path
        return self._steps[-1]

    def close(self) -> None:
        """Let go of all but the top."""
        self._cut(1)
        self._path = ""

    def _go(self, names: list[str]) -> None:
        steps, shared = self._steps, 0
        while shared < min(len(names), len(steps) - 1) and steps[shared + 1].name == names[shared]:
            shared += 1
        self._cut(shared + 1)
        self._reopen()
        for name in names[shared:]:
            self._enter(name)

    def _cut(self, length: int) -> None:
        while len(self._steps) > length:
            _close(self._steps.pop())

    def _reopen(self) -> None:
        """Open the last directory again, if it was closed to have fewer open."""
        names = []
        while self._steps[-1].handle < 0:
            names.append(self._steps.pop().name)
        for name in reversed(names):
            self._enter(name)

    def _enter(self, name: str) -> None:
        above = self._steps[-1]
        handle = os.open(name, DIRECTORY, dir_fd=above.handle)
        unchanged = above.is_unchanged and self._is_older(os.fstat(handle))
        place = len(self._steps) - 1
        if place > _KEPT and place % _KEPT:
            _close(above)
        self._steps.append(Directory(name, handle, unchanged))

    def _is_older(self, status: os.stat_result) -> bool:
        changed = status.st_ctime_ns
        # A file system that knows no fractions says an earlier time than it was.
        return changed + (2 * _SECOND if changed % _SECOND == 0 else 0) < self._since


def _close(step: Directory) -> None:
    handle, step.handle = step.handle, -1
    if handle >= 0:
        os.close(handle)
