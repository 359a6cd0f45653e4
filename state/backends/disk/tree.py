"""Walk through a tree on disk, level by level, by handles: no link is followed.

Names may be any bytes. Only one directory is open at a time, so depth costs no handles. The way
back up is `..`, which leads elsewhere if a directory was moved meanwhile: it is only taken to the
directory that the walk came from.
"""

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Generator, Iterator
from typing import NamedTuple

from langgraph_filesystem.state.backends.disk.errors import (
    LeadsOutside,
    SpecialFile,
    explain,
    explaining,
)
from langgraph_filesystem.state.backends.disk.jail import TEMPORARY, Jail, closing_handle
from langgraph_filesystem.state.backends.disk.replace import locked, rename_new
from langgraph_filesystem.state.backends.file_store import Inventory, Kind
from langgraph_filesystem.state.backends.protocol import FileInfo
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
)
from langgraph_filesystem.state.text import PathPart, escaped

__all__ = (
    "Descent",
    "Entry",
    "Level",
    "Place",
    "entries_below",
    "files_below",
    "find_place",
    "holding_area",
    "is_movable_link",
    "kind_of",
    "levels",
    "open_linked",
    "put_back",
    "put_back_abandoned",
    "refuse_special",
    "take_inventory",
)

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HOLDING_AREA = f"{TEMPORARY}held"
_NEXT_STEP = "Nothing was moved. Delete it, or move the rest without it."


class Entry(NamedTuple):
    """A name in a directory, and its own status."""

    name: str
    status: os.stat_result

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, not a link to one."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.status.st_mode)


class Place(NamedTuple):
    """An entry of a jail: a handle of its directory, its path, and the entry."""

    parent: int
    path: str
    entry: Entry


class Level(NamedTuple):
    """One directory of a tree, open until the next one is asked for."""

    path: str
    """Relative to the top of the tree: empty for the top itself."""
    handle: int
    entries: list[Entry]

    def below(self, name: str) -> str:
        """Return the path of an entry, relative to the top of the tree."""
        return f"{self.path}/{name}" if self.path else name


class Descent:
    """A handle that goes from one directory of a tree to another."""

    def __init__(self, parent: int, name: str, *, force: bool = False) -> None:
        self._force = force
        self.handle = self._opened(name, parent)
        self._names: list[str] = []
        self._statuses = [os.fstat(self.handle)]

    def go(self, path: str) -> int:
        """Go to a directory, by its path from the top, and return its handle."""
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
        """Close the directory it is in."""
        os.close(self.handle)

    def _step(self, name: str) -> None:
        there = self._opened(name, self.handle)
        os.close(self.handle)
        self.handle = there

    def _opened(self, name: str, parent: int) -> int:
        handle = os.open(name, _DIRECTORY, dir_fd=parent)
        if self._force and name != "..":
            with contextlib.suppress(OSError):  # then deleting something in it fails, and says so
                os.fchmod(handle, 0o700)
        return handle


def find_place(jail: Jail, path: str) -> Place:
    """Return an existing entry; one that a killed move left in the holding area is put back.

    The caller closes the handle of its directory.
    """
    parent, name = jail.open_entry(path)
    try:
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            put_back_abandoned(parent)
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError as error:
        os.close(parent)
        raise explain(path, error) from None
    return Place(parent, path, Entry(name, status))


def kind_of(jail: Jail, path: str) -> Kind | None:
    """Return what is at a path; raise if links on it go in a circle or lead outside."""
    for is_last in (False, True):
        try:
            is_directory = stat.S_ISDIR(jail.stat(path).st_mode)
        except (FileNotFound, NotDirectory):
            if is_last or not _is_put_back(jail, path):
                return None
        else:
            return "directory" if is_directory else "file"
    return None


def levels(jail: Jail, place: Place) -> Generator[Level, None, None]:
    """Yield a directory, and every one below it; our hidden names are left out."""
    with contextlib.closing(Descent(place.parent, place.entry.name)) as descent:
        waiting = [""]
        while waiting:
            at = waiting.pop()
            handle = descent.go(at)
            level = Level(at, handle, _entries(jail, handle, f"{place.path}/{at}".rstrip("/")))
            waiting += [level.below(entry.name) for entry in level.entries if entry.is_directory]
            yield level


def files_below(jail: Jail, place: Place) -> Iterator[tuple[str, Entry, int]]:
    """Yield each file and link at or below a place: relative path, entry, and open directory."""
    if not place.entry.is_directory:
        yield "", place.entry, place.parent
        return
    with contextlib.closing(levels(jail, place)) as walked:
        for level in walked:
            for entry in level.entries:
                if not entry.is_directory:
                    yield level.below(entry.name), entry, level.handle


def entries_below(jail: Jail, path: str) -> list[FileInfo]:
    """Return everything below a directory; nothing if it is not one."""
    found: list[FileInfo] = []
    place = find_place(jail, path)
    with closing_handle(place.parent), explaining(path):
        if place.entry.is_directory:
            with contextlib.closing(levels(jail, place)) as walked:
                for level in walked:
                    start = f"{path}/{level.path}".rstrip("/")
                    found += [
                        FileInfo(path=f"{start}/{e.name}", is_dir=e.is_directory, is_link=e.is_link)
                        for e in level.entries
                    ]
    return found


def take_inventory(jail: Jail, path: str) -> Inventory:
    """Return every file at or below a path; raise for what another kind of mount can't hold."""
    found = Inventory()
    place = find_place(jail, path)
    with closing_handle(place.parent), explaining(path):
        if not place.entry.is_directory:
            _take(jail, path, place.entry.status, found)
            return found
        with contextlib.closing(levels(jail, place)) as walked:
            for level in walked:
                start = f"{path}/{level.path}".rstrip("/")
                _check_names(jail, start, level.entries)
                found.empty += not level.entries
                for entry in level.entries:
                    if not entry.is_directory:
                        _take(jail, f"{start}/{entry.name}", entry.status, found)
    return found


def open_linked(jail: Jail, path: str) -> tuple[int, os.stat_result]:
    """Open the file that a link leads to, which another mount gets instead of the link."""
    try:
        return jail.open_file(path)
    except IsDirectory:
        where = "to a directory"
    except LeadsOutside:
        where = "out of its mount"
    except FileNotFound:
        where = "to nothing"
    except SpecialFile:
        where = "to a FIFO, a device or a socket"
    raise BackendFailed(
        PathPart(path),
        f": is a symbolic link that leads {where}, which can't be taken to another mount. "
        f"{_NEXT_STEP}",
    )


def is_movable_link(directory: str, target: str) -> bool:
    """Say whether a link in a directory of a tree can't lead out of that tree.

    After the last `..` only names are allowed: one of them may be a link, and a `..` behind it
    leads to wherever that link goes.
    """
    if target.startswith("/"):
        return False
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    depth = len(directory.split("/")) if directory else 0
    return up <= depth and ".." not in parts[up:]


def refuse_special(path: str) -> BackendFailed:
    """Return the error for a FIFO, a device or a socket that would be moved elsewhere."""
    return BackendFailed(
        PathPart(escaped(path)),
        ": is a FIFO, a device or a socket, which can't be taken to another disk or mount. "
        f"{_NEXT_STEP}",
    )


@contextlib.contextmanager
def holding_area(parent: int) -> Iterator[int]:
    """Yield a handle of a hidden directory beside files, for those that may be deleted.

    A file that was renamed into it can't be reached by its path any more, so it can be compared
    and deleted, or put back. Whatever is left in it at the end is put back. If the process is
    killed, the next walk through the directory does that.
    """
    with locked(parent, _HOLDING_AREA):
        with contextlib.suppress(FileExistsError):
            os.mkdir(_HOLDING_AREA, 0o700, dir_fd=parent)
        with closing_handle(os.open(_HOLDING_AREA, _DIRECTORY, dir_fd=parent)) as area:
            try:
                _put_back_all(area, parent)
                yield area
            finally:
                _put_back_all(area, parent)
                os.rmdir(_HOLDING_AREA, dir_fd=parent)


def put_back(area: int, name: str, parent: int) -> str:
    """Give an entry of the holding area its name again or, if that is taken, a similar one."""
    numbered = (f"{name[:60]}-{number}" for number in itertools.count(1))
    for free in itertools.chain([name], numbered):
        with contextlib.suppress(FileExistsError):
            rename_new(area, name, parent, free)
            return free
    raise AssertionError  # there is always another name


def put_back_abandoned(parent: int) -> None:
    """Put back what a killed process left in the holding area of a directory."""
    with contextlib.suppress(FileNotFoundError):
        os.stat(_HOLDING_AREA, dir_fd=parent, follow_symlinks=False)
        with holding_area(parent):
            pass


def _is_put_back(jail: Jail, path: str) -> bool:
    try:
        os.close(find_place(jail, path).parent)
    except FilesystemError:
        return False
    return True


def _put_back_all(area: int, parent: int) -> None:
    for name in os.listdir(area):
        put_back(area, name, parent)


def _entries(jail: Jail, handle: int, path: str) -> list[Entry]:
    names = os.listdir(handle)
    if _HOLDING_AREA in names:
        put_back_abandoned(handle)
        names = os.listdir(handle)
    found = []
    for name in names:
        if not jail.hides(path, name):
            with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
                found.append(Entry(name, os.stat(name, dir_fd=handle, follow_symlinks=False)))
    return found


def _common(one: list[str], other: list[str]) -> int:
    """Return how many names two paths have in common, from the top."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _take(jail: Jail, path: str, status: os.stat_result, found: Inventory) -> None:
    if stat.S_ISLNK(status.st_mode):
        handle, status = open_linked(jail, path)
        os.close(handle)
        found.links += 1
    elif not stat.S_ISREG(status.st_mode):
        raise refuse_special(path)
    found.files.append(FileInfo(path=path, size=status.st_size))


def _check_names(jail: Jail, directory: str, entries: list[Entry]) -> None:
    unnamed = sum(not jail.can_name(f"{directory}/{entry.name}") for entry in entries)
    if unnamed:
        # They can't be copied, and would be deleted with the rest.
        what = "an entry has" if unnamed == 1 else f"{unnamed:,} entries have"
        raise FilesystemError(
            PathPart(directory),
            f": can't be moved, because {what} a name that is not a valid path (not UTF-8, with a "
            "backslash, or like a drive letter). Nothing was moved. Rename them with a command.",
        )
