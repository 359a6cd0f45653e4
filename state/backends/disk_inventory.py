"""What is in a tree on disk, before it is moved to another mount."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager

from langgraph_filesystem.state.backends.contents import modified_at
from langgraph_filesystem.state.backends.inventory import Inventory, NotMovable
from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.protocol import FileInfo
from langgraph_filesystem.state.backends.refusals import LeadsOutside, SpecialFile, explain
from langgraph_filesystem.state.backends.subtrees import Entry, Level, levels, stays_inside
from langgraph_filesystem.state.backends.tree_marks import TreeMark
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, IsDirectory

__all__ = ("count_files", "open_linked", "reading", "take_inventory")

_NEXT = "Nothing was moved. Delete it, or move the rest without it."


def take_inventory(jail: Jail, path: str, *, to_disk: bool = False) -> Inventory:
    """Return every file at or below a path, or what keeps it from being moved to another mount.

    A disk can hold more than others: with `to_disk` links that stay in the tree, directories
    without files and any name are taken along, and files are only counted. It has a mark then, by
    which a change is known.
    """
    taking = _Taking(jail, path, to_disk)
    try:
        taking.take()
    except NotMovable as refused:
        taking.found.refused = refused.path, str(refused)
    return taking.found


def count_files(jail: Jail, parent: int, name: str, most: int) -> int | None:
    """Return how many files are below a directory; `None` if it has more than `most` entries."""
    count = seen = 0
    with closing(levels(jail, parent, name, "")) as walked:
        for level in walked:
            seen += len(level.entries)
            count += sum(not stat.S_ISDIR(entry.status.st_mode) for entry in level.entries)
            if seen > most:
                return None
    return count


class _Taking:
    def __init__(self, jail: Jail, path: str, to_disk: bool) -> None:
        self.found = Inventory()
        self._jail = jail
        self._path = path
        self._to_disk = to_disk

    def take(self) -> None:
        """Look at all of it."""
        parent, name = self._jail.open_entry(self._path)
        try:
            with reading(self._path):
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if self._to_disk:
                self.found.mark = TreeMark(status)
            if not stat.S_ISDIR(status.st_mode):
                self._take_one(self._path, status)
                return
            walked = levels(self._jail, parent, name, self._path)
            with reading(self._path), closing(walked):
                for level in walked:
                    self._take_level(level)
        finally:
            os.close(parent)

    def _take_level(self, level: Level) -> None:
        self.found.empty += not level.entries
        if self.found.mark is not None:
            self.found.mark.add(level)
        start = f"{self._path}/{level.path}".rstrip("/")
        if not self._to_disk:
            self._refuse_unnamed(start, level.entries)
        for entry in level.entries:
            if stat.S_ISDIR(entry.status.st_mode):
                continue
            if self._to_disk and _is_kept(level, entry):
                continue
            self._take_one(f"{start}/{entry.name}", entry.status)

    def _take_one(self, path: str, status: os.stat_result) -> None:
        if stat.S_ISLNK(status.st_mode):
            handle, status = open_linked(self._jail, path)
            os.close(handle)
            self.found.links += 1
        elif not stat.S_ISREG(status.st_mode):
            what = "a FIFO, a device or a socket, which only its own disk can hold"
            raise NotMovable(path, f"{path}: is {what}. {_NEXT}")
        self.found.count += 1
        if self._to_disk:
            return
        # To the nanosecond: by it a change is known.
        changed = f"{modified_at(status)[:-6]}{status.st_mtime_ns % 1_000_000:06}+00:00"
        info = FileInfo(path=path, size=status.st_size, modified_at=changed)
        self.found.files.append(info)

    def _refuse_unnamed(self, start: str, entries: list[Entry]) -> None:
        unnamed = sum(not self._jail.can_name(f"{start}/{entry.name}") for entry in entries)
        if unnamed:
            # They can't be copied, and would be deleted with the rest.
            what = "an entry has" if unnamed == 1 else f"{unnamed:,} entries have"
            raise NotMovable(
                start,
                f"{start}: is left where it is, as not all of it can be moved: {what} a name that "
                "is not valid UTF-8, has a backslash or begins like a drive, and can't be written "
                "as a path.",
            )


def open_linked(jail: Jail, path: str) -> tuple[int, os.stat_result]:
    """Open the file that a link leads to, which another mount gets in its place."""
    if not jail.can_name(path):  # another path would be opened, or none
        raise NotMovable(
            path,
            f"{path}: is a symbolic link that leads out of what is moved, and its name can't be "
            f"written as a path, so it can't be followed. {_NEXT}",
        )
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
    except FilesystemError as error:
        raise NotMovable(path, str(error)) from None
    raise NotMovable(
        path,
        f"{path}: is a symbolic link that leads {where}, which can't be taken to another mount. "
        f"{_NEXT}",
    )


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Say that it is the source which can't be read."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ECANCELED:
            raise
        raise NotMovable(path, str(explain(path, error))) from None


def _is_kept(level: Level, entry: Entry) -> bool:
    """Say whether an entry is a link that is the same at another place."""
    if not stat.S_ISLNK(entry.status.st_mode):
        return False
    return stays_inside(level.path, os.readlink(entry.name, dir_fd=level.handle))
