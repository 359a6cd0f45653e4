"""Going through a tree on disk, and finding files in it by name.

A walk goes from handle to handle: a directory is opened by its name in the one above it, and a link
is never followed, so a directory that is swapped for a link meanwhile leads nowhere. It holds few
handles however deep it gets, and no path is too long for it.

- Names of ours (`Jail.hides`) are left out, hidden files and those in ignore files are not.
- A link to a file is found under its own name; one to a directory is not gone into.
- What can't be read, or has a name that can't be asked for, is left out and reported.
- When the time is up there is what was found until then, and a note.
"""

import errno
import os
import stat
import time
from collections.abc import Generator, Iterator
from typing import NamedTuple

from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.omissions import Omissions, Tally
from langgraph_filesystem.state.backends.protocol import FileInfo, GlobResult
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.globs import GlobWalk, Places
from langgraph_filesystem.state.paths import MAX_PATH_BYTES

__all__ = ("DIRECTORY", "FILE", "GONE", "SECONDS", "Batch", "Walk", "glob_files", "nameable")

SECONDS = 20.0
"""How long one look through a tree may take."""
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
"""What is in the place of a file by now may be a FIFO: to open it must not wait."""
GONE = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ESPIPE}
)
"""Errors that say that an entry is not what it was when it was listed."""
_MAX_FOUND = 200_000
"""More files than fit into any answer."""
_OPEN = 64
"""How many directories of one branch are held open: a process may have a thousand handles."""
_EVERYTHING = GlobWalk("**")


class Batch(NamedTuple):
    """Files of one directory, whose handle is open until the next batch is asked for."""

    path: str
    """That of the directory, with a `/` at its end."""
    handle: int
    names: list[str]
    links: list[str]


class _Level:
    """A directory on the way from the top of a walk to where it is."""

    __slots__ = ("handle", "identity", "links", "names", "path", "pending", "places")

    def __init__(self, path: str, handle: int, places: Places) -> None:
        self.path = path
        self.handle = handle
        self.places = places
        self.identity = (0, 0)
        self.names: list[str] = []
        self.links: list[str] = []
        self.pending: list[str] = []
        """What is left to do, the last first; the names of directories end in `/`."""

    def take(self) -> "Batch | None":
        """Return the files that come next, up to the next directory."""
        pending = self.pending
        while pending and pending[-1][-1] != "/":
            self.names.append(pending.pop())
        if not (self.names or self.links):
            return None
        batch = Batch(self.path, self.handle, self.names, self.links)
        self.names, self.links = [], []
        return batch

    def shut(self) -> None:
        """Close the handle for now; `identity` tells the directory again."""
        if self.handle >= 0:
            self.identity = _identity(self.handle)
            self.close()

    def close(self) -> None:
        """Close the handle, if it is open."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)

    def reopen(self, below: int) -> None:
        """Open the directory again, from one in it: the path may be too long, or lead elsewhere."""
        handle = os.open("..", DIRECTORY, dir_fd=below)
        if _identity(handle) != self.identity:
            os.close(handle)
            raise FileNotFoundError
        self.handle = handle


class Walk:
    """One look through a tree, for what matches a pattern.

    With `ordered`, batches come so that all the paths in a row are sorted; a directory may have
    several then. Without, it is faster.
    """

    def __init__(
        self,
        jail: Jail,
        path: str,
        wanted: GlobWalk | None = None,
        *,
        deadline: float,
        ordered: bool = False,
        omissions: Omissions | None = None,
    ) -> None:
        self.omissions = omissions or Omissions()
        self._jail = jail
        self._path = path
        self._wanted = wanted or _EVERYTHING
        self._deadline = deadline
        self._ordered = ordered

    def batches(self) -> Generator[Batch, None, None]:
        """Yield the files of one directory after the other, until the time is up."""
        levels = [self._top()]
        try:
            while levels:
                if time.monotonic() > self._deadline:
                    self.omissions.is_late = True
                    return
                level = levels[-1]
                if batch := level.take():
                    yield batch
                if level.pending:
                    self._enter(levels, level.pending.pop()[:-1])
                else:
                    self._leave(levels)
        finally:
            for level in levels:
                level.close()

    def _top(self) -> _Level:
        handle = self._jail.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        level = _Level(self._path.rstrip("/") + "/", handle, self._wanted.start)
        try:
            self._list(level)
        except OSError as error:
            os.close(handle)
            raise self._jail.explain(self._path, error) from None
        return level

    def _enter(self, levels: list[_Level], name: str) -> None:
        above = levels[-1]
        places = self._wanted.enter(above.places, name)
        if not places:
            return
        path = f"{above.path}{name}/"
        try:
            handle = os.open(name, DIRECTORY, dir_fd=above.handle)
        except OSError:
            self._miss(above, name)
            return
        level = _Level(path, handle, places)
        levels.append(level)
        if len(levels) > _OPEN:
            levels[-_OPEN].shut()
        try:
            self._list(level)
        except OSError:
            self.omissions.unreadable.add(path)

    def _leave(self, levels: list[_Level]) -> None:
        left = levels.pop()
        try:
            if levels and levels[-1].handle < 0:
                levels[-1].reopen(left.handle)
        except OSError:  # it was moved away meanwhile, so the way back is not known
            self.omissions.unreadable.add(levels[-1].path)
            for level in levels:
                level.close()
            levels.clear()
        finally:
            left.close()

    def _miss(self, level: _Level, name: str) -> None:
        """Report a directory that can't be opened, unless it is none any more."""
        try:
            status = os.stat(name, dir_fd=level.handle, follow_symlinks=False)
        except OSError:
            return
        if stat.S_ISDIR(status.st_mode):
            self.omissions.unreadable.add(f"{level.path}{name}/")

    def _list(self, level: _Level) -> None:
        files, links, directories = _entries(level.handle)
        files = self._visible(level, self._wanted.chosen(level.places, files))
        level.links = self._visible(level, self._wanted.chosen(level.places, links))
        level.pending = [name + "/" for name in self._visible(level, directories)]
        if self._ordered:
            level.pending = sorted(level.pending + files, reverse=True)
        else:
            level.names = files

    def _visible(self, level: _Level, names: list[str]) -> list[str]:
        if not names:
            return names
        hides, directory = self._jail.hides, level.path[:-1] or "/"
        return [name for name in names if name[0] != "." or not hides(directory, name)]


def glob_files(
    jail: Jail, pattern: str, path: str = "/", *, time_limit: float = SECONDS
) -> GlobResult:
    """Find the files below a directory whose paths match a pattern."""
    wanted, path = GlobWalk(pattern), jail.normal(path)
    walk = Walk(jail, path, wanted, deadline=time.monotonic() + time_limit)
    matches: list[FileInfo] = []
    for batch in walk.batches():
        names = [*batch.names, *_linked_files(jail, batch)] if batch.links else batch.names
        start = batch.path
        names = nameable(jail, start, names, walk.omissions.unnameable)
        matches += [{"path": start + name, "is_dir": False} for name in names]
        if len(matches) > _MAX_FOUND:
            break
    result = GlobResult(matches=matches[:_MAX_FOUND], note=walk.omissions.note(time_limit))
    result.truncated = walk.omissions.is_late or len(matches) > _MAX_FOUND
    return result


def nameable(jail: Jail, directory: str, names: list[str], others: Tally) -> list[str]:
    """Return the names of files in a directory that can be asked for, and count the others."""
    text = directory + "".join(names)
    # At a glance, for all of them together: most names are like that.
    if text.isascii() and "\\" not in text and ":" not in text and _is_short(directory, names):
        return names
    found = []
    for name in names:
        if jail.can_name(directory + name):
            found.append(name)
        else:
            others.add(directory + name)
    return found


def _is_short(directory: str, names: list[str]) -> bool:
    return len(directory) + max(map(len, names), default=0) < MAX_PATH_BYTES


def _linked_files(jail: Jail, batch: Batch) -> Iterator[str]:
    for name in batch.links:
        try:
            status = jail.stat(batch.path + name)
        except FilesystemError:  # it leads outside, or nowhere
            continue
        if stat.S_ISREG(status.st_mode):
            yield name


def _entries(handle: int) -> tuple[list[str], list[str], list[str]]:
    files: list[str] = []
    links: list[str] = []
    directories: list[str] = []
    with os.scandir(handle) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                directories.append(entry.name)
            elif entry.is_symlink():
                links.append(entry.name)
    return files, links, directories


def _identity(handle: int) -> tuple[int, int]:
    status = os.fstat(handle)
    return status.st_dev, status.st_ino
