"""A tree on disk, level by level, by handles: no link is followed, and a name may be any bytes.

Only one directory is held open at a time, so depth costs no handles. The way back up is `..`, which
leads elsewhere if a directory was moved meanwhile: it is taken only to the directory it came from.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import closing
from typing import NamedTuple

from langgraph_filesystem.state.backends.jail import Jail

__all__ = ("Descent", "Entry", "Level", "levels", "list_entries", "stays_inside")

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    """A name in a directory, and what is known of it itself."""

    name: str
    status: os.stat_result


class Level(NamedTuple):
    """One directory of a tree, open while it is looked at."""

    path: str
    """From the top of the tree: empty for the top itself."""
    handle: int
    entries: list[Entry]

    def below(self, name: str) -> str:
        """Return the path of an entry, from the top of the tree."""
        return f"{self.path}/{name}" if self.path else name


class Descent:
    """A handle that goes from one directory of a tree to another."""

    def __init__(self, parent: int, name: str) -> None:
        self.handle = os.open(name, _DIRECTORY, dir_fd=parent)
        self._names: list[str] = []
        self._statuses = [os.fstat(self.handle)]

    def go(self, path: str) -> int:
        """Go to a directory, by its path from the top, and return the handle, open until then."""
        names = path.split("/") if path else []
        common = _common(names, self._names)
        while len(self._names) > common:
            self._step("..")
            self._names.pop()
            self._statuses.pop()
            if not os.path.samestat(os.fstat(self.handle), self._statuses[-1]):
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        for name in names[common:]:
            self._step(name)
            self._names.append(name)
            self._statuses.append(os.fstat(self.handle))
        return self.handle

    def close(self) -> None:
        """Let go of the directory."""
        os.close(self.handle)

    def _step(self, name: str) -> None:
        there = os.open(name, _DIRECTORY, dir_fd=self.handle)
        os.close(self.handle)
        self.handle = there


def levels(jail: Jail, parent: int, name: str, path: str) -> Generator[Level, None, None]:
    """Yield a directory, of which `path` is the path in the jail, and every one below it."""
    with closing(Descent(parent, name)) as descent:
        waiting = [""]
        while waiting:
            at = waiting.pop()
            handle = descent.go(at)
            level = Level(at, handle, list_entries(jail, handle, f"{path}/{at}".rstrip("/")))
            waiting += [level.below(it.name) for it in level.entries if _is_directory(it)]
            yield level


def stays_inside(directory: str, target: str) -> bool:
    """Say whether a link in a directory of a tree can't lead out of that tree.

    Only names after the last `..` are allowed: one of them may be a link, and `..` behind it leads
    to wherever that one is.
    """
    if target.startswith("/"):
        return False
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    depth = len(directory.split("/")) if directory else 0
    return up <= depth and ".." not in parts[up:]


def list_entries(jail: Jail, handle: int, path: str) -> list[Entry]:
    """Return what is in an open directory, of which `path` is the path in the jail."""
    names = [name for name in os.listdir(handle) if not jail.hides(path, name)]
    found = []
    for name in names:
        try:
            found.append(Entry(name, os.stat(name, dir_fd=handle, follow_symlinks=False)))
        except FileNotFoundError:
            continue  # it went meanwhile
    return found


def _common(one: list[str], other: list[str]) -> int:
    """Return how many names two paths have in common, from the top."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _is_directory(entry: Entry) -> bool:
    return stat.S_ISDIR(entry.status.st_mode)
