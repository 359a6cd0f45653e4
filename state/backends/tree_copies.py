"""Copies of trees from one directory on disk to another: in pieces, however large a file is.

Modes and times are kept. By its kind, size and time an entry is known as a copy of another.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import NamedTuple, TypeVar

from langgraph_filesystem.state.backends.disk_inventory import open_linked, reading
from langgraph_filesystem.state.backends.inventory import NotMovable
from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.parents import DIRECTORY
from langgraph_filesystem.state.backends.pieces import pieces, write_at
from langgraph_filesystem.state.backends.subtrees import (
    Descent,
    Entry,
    Level,
    levels,
    stays_inside,
)

__all__ = ("Place", "copy_tree", "find_difference", "is_inside", "time_step")

T = TypeVar("T")

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_STEPS = (1, 100, 1_000, 1_000_000, 1_000_000_000, 2_000_000_000)
"""Nanoseconds to which file systems keep times: most, NTFS, many networks', FAT."""
_ODD = 1_111_111_113_987_654_321
"""A time that no step but the first keeps as it is."""


class Place(NamedTuple):
    """An entry of a jail: a handle of the directory that has it, its name there, and its path."""

    jail: Jail
    parent: int
    name: str
    path: str

    def status(self) -> os.stat_result:
        """Return what is known of it itself, not of what a link leads to."""
        return os.stat(self.name, dir_fd=self.parent, follow_symlinks=False)

    def is_taken(self) -> bool:
        """Say whether something is there."""
        try:
            self.status()
        except FileNotFoundError:
            return False
        return True


def copy_tree(source: Place, target: Place, check: Callable[[], None], *, flush: bool) -> None:
    """Copy a file or a directory to where nothing is.

    What can't be read of the source raises `NotMovable`, what can't be written `OSError`. `check`
    is called now and then, and may raise.
    """
    copying = _Copying(source, check, flush)
    with reading(source.path):
        entry = Entry(source.name, source.status())
    copying.entry(None, entry, target.parent, target.name)
    if stat.S_ISDIR(entry.status.st_mode):
        copying.fill(target, entry.status)


def find_difference(
    source: Place, target: Place, check: Callable[[], None], *, step: int = 1
) -> str | None:
    """Return the path of something at the source of which the target has no copy.

    What only the target has does not count: the source may have been deleted in part. Times of the
    target are kept to a step of so many nanoseconds.
    """
    with reading(source.path):
        entry = Entry(source.name, source.status())
    if not _is_copy(source, None, entry, (target.parent, target.name), step):
        return source.path
    if not stat.S_ISDIR(entry.status.st_mode):
        return None
    with closing(Descent(target.parent, target.name)) as copy:
        for level in _levels(source):
            here = copy.go(level.path)
            for entry in level.entries:
                check()
                if not _is_copy(source, level, entry, (here, entry.name), step):
                    return f"{source.path}/{level.below(entry.name)}"
    return None


def time_step(parent: int, name: str) -> int:
    """Return how exactly times are kept where a file is, by giving it one."""
    os.utime(name, ns=(_ODD, _ODD), dir_fd=parent, follow_symlinks=False)
    kept = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mtime_ns
    return next((step for step in _STEPS if abs(_ODD - kept) < step), _STEPS[-1])


def is_inside(directory: int, status: os.stat_result) -> bool:
    """Say whether an open directory is another one or lies in it, by whichever path."""
    here = os.open(".", DIRECTORY, dir_fd=directory)
    while True:
        with _held(here):
            now = os.fstat(here)
            if os.path.samestat(now, status):
                return True
            try:
                above = os.open("..", DIRECTORY, dir_fd=here)
            except PermissionError:
                return False  # what is above can't be moved by this process either
        if os.path.samestat(os.fstat(above), now):
            os.close(above)
            return False
        here = above


class _Copying:
    def __init__(self, source: Place, check: Callable[[], None], flush: bool) -> None:
        self._source = source
        self._check = check
        self._flush = flush

    def fill(self, target: Place, status: os.stat_result) -> None:
        """Copy all that is in the directory."""
        made: list[tuple[str, os.stat_result]] = []
        with closing(Descent(target.parent, target.name)) as copy:
            for level in _levels(self._source):
                here = copy.go(level.path)
                for entry in level.entries:
                    self.entry(level, entry, here, entry.name)
                made += _directories(level)
            # They get modes and times when all is in them, the innermost first.
            for path, own in reversed(made):
                above, _, name = path.rpartition("/")
                with _held(os.open(name, _DIRECTORY, dir_fd=copy.go(above))) as directory:
                    _resemble(directory, own)
            _resemble(copy.go(""), status)

    def entry(self, level: Level | None, entry: Entry, here: int, name: str) -> None:
        """Copy one entry; of a directory only itself."""
        self._check()
        if stat.S_ISDIR(entry.status.st_mode):
            os.mkdir(name, stat.S_IMODE(entry.status.st_mode) & 0o777 | 0o700, dir_fd=here)
        elif (kept := _kept_link(self._source, level, entry)) is not None:
            os.symlink(kept, name, dir_fd=here)
        else:
            path = _path(self._source, level, entry)
            with _held(_opened(self._source, level, entry)) as handle:
                self._file(handle, path, here, name)

    def _file(self, source: int, path: str, here: int, name: str) -> None:
        status = os.fstat(source)
        with _held(os.open(name, _CREATE, 0o600, dir_fd=here)) as target:
            for at, piece in _read(path, pieces(source, status.st_size)):
                self._check()
                write_at(target, at, piece)
            os.ftruncate(target, status.st_size)
            _set_mode(target, stat.S_IMODE(status.st_mode) & 0o777)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
            if self._flush:
                os.fsync(target)


def _set_mode(handle: int, mode: int) -> None:
    with suppress(PermissionError):  # not every file system has modes
        os.fchmod(handle, mode)


def _levels(source: Place) -> Iterator[Level]:
    walked = levels(source.jail, source.parent, source.name, source.path)
    with closing(walked):
        yield from _read(source.path, walked)


def _read(path: str, found: Iterator[T]) -> Iterator[T]:
    """Yield what is read of the source: what goes wrong with it is told apart from the target's."""
    while True:
        with reading(path):
            one = next(found, None)
        if one is None:
            return
        yield one


def _directories(level: Level) -> Iterator[tuple[str, os.stat_result]]:
    for name, status in level.entries:
        if stat.S_ISDIR(status.st_mode):
            yield level.below(name), status


def _resemble(directory: int, like: os.stat_result) -> None:
    """Give a directory the mode of another, whatever the process masks, and its times."""
    inherited = stat.S_IMODE(os.fstat(directory).st_mode) & 0o7000
    os.utime(directory, ns=(like.st_atime_ns, like.st_mtime_ns))
    _set_mode(directory, stat.S_IMODE(like.st_mode) & 0o777 | inherited)


def _path(source: Place, level: Level | None, entry: Entry) -> str:
    return source.path if level is None else f"{source.path}/{level.below(entry.name)}"


def _opened(source: Place, level: Level | None, entry: Entry) -> int:
    """Open a file of the source, or the one that a link leads to."""
    path = _path(source, level, entry)
    if stat.S_ISLNK(entry.status.st_mode):
        return open_linked(source.jail, path)[0]
    with reading(path):
        parent = source.parent if level is None else level.handle
        handle = os.open(entry.name, _READ, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotMovable(path, f"{path}: was changed meanwhile. Nothing was moved; try again.")
    return handle


def _kept_link(source: Place, level: Level | None, entry: Entry) -> str | None:
    """Return where a link leads that is the same in the copy, as it stays in the tree."""
    if level is None or not stat.S_ISLNK(entry.status.st_mode):
        return None
    with reading(_path(source, level, entry)):
        target = os.readlink(entry.name, dir_fd=level.handle)
    return target if stays_inside(level.path, target) else None


def _is_copy(
    source: Place, level: Level | None, entry: Entry, copy: tuple[int, str], step: int
) -> bool:
    here, name = copy
    try:
        found = os.stat(name, dir_fd=here, follow_symlinks=False)
        if stat.S_ISDIR(entry.status.st_mode):
            return stat.S_ISDIR(found.st_mode)
        if (kept := _kept_link(source, level, entry)) is not None:
            return stat.S_ISLNK(found.st_mode) and os.readlink(name, dir_fd=here) == kept
    except FileNotFoundError:
        return False
    with _held(_opened(source, level, entry)) as handle:
        status = os.fstat(handle)
    is_file = stat.S_ISREG(found.st_mode) and found.st_size == status.st_size
    return is_file and abs(found.st_mtime_ns - status.st_mtime_ns) < step


@contextmanager
def _held(handle: int) -> Iterator[int]:
    try:
        yield handle
    finally:
        os.close(handle)
