"""Paths on disk, opened beneath one directory that is held open.

`Jail` is what virtual mode rests on. No path is checked first and opened later: it becomes a handle
in one step that can't leave the directory (`openat.py`), and everything else is done with that
handle. `Unconfined` has the same methods and protects nothing.

A relative link that stays inside works like its target; a link that leads outside, any absolute
one included, is an error. FIFOs, devices and sockets are never opened.
"""

import contextlib
import errno
import functools
import os
import stat
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from langgraph_filesystem.state.backends.disk.errors import (
    LeadsOutside,
    RefusedOnDisk,
    SpecialFile,
    explain,
)
from langgraph_filesystem.state.backends.disk.openat import (
    MAX_LINKS,
    O_PATH,
    Resolver,
    choose_opener,
)
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
)
from langgraph_filesystem.state.paths import ancestors, is_within, normalize_path
from langgraph_filesystem.state.text import PathPart

__all__ = ("RESERVED", "TEMPORARY", "Jail", "Unconfined", "closing_handle")

RESERVED = ".langgraph-filesystem"
"""Our directory at the top of the root, for the journal. Hidden, and invalid as a path."""
TEMPORARY = ".~lgfs-"
"""The prefix of temporary names. Hidden, and invalid as a path."""

_ALWAYS = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""Without `O_NONBLOCK`, opening a FIFO waits until somebody opens its other end."""
_ANYTHING = O_PATH | os.O_CLOEXEC if O_PATH else _ALWAYS
_DIRECTORY = O_PATH | os.O_DIRECTORY | os.O_CLOEXEC

P = ParamSpec("P")
R = TypeVar("R")


@contextlib.contextmanager
def closing_handle(handle: int) -> Iterator[int]:
    """Close a handle at the end."""
    try:
        yield handle
    finally:
        os.close(handle)


def _explained(
    method: "Callable[Concatenate[Jail, str, P], R]",
) -> "Callable[Concatenate[Jail, str, P], R]":
    """Normalise the path of a method, and explain the errors of the system."""

    @functools.wraps(method)
    def explained(self: "Jail", path: str, /, *args: P.args, **kwargs: P.kwargs) -> R:
        path = self.normal(path)
        try:
            return method(self, path, *args, **kwargs)
        except OSError as error:
            raise self.explain(path, error) from None

    return explained


class Jail:
    """The tree below one directory. Paths are virtual: `/` is that directory."""

    def __init__(
        self, root_dir: str | os.PathLike[str], *, resolver: Resolver | None = None
    ) -> None:
        self.home = "/"
        """The virtual path of the directory."""
        self.root = _open_root(root_dir, root_dir)
        """A handle of the directory that `/` is."""
        self._open = choose_opener(resolver, self.root)
        self._closing = self._close_when_collected()

    def close(self) -> None:
        """Close the directory: nothing can be opened any more."""
        self.root = -1
        self._closing()

    def normal(self, path: str) -> str:
        """Return the normalized path, or raise `PathRefused`."""
        path = normalize_path(path)
        if "/." in path:
            self._refuse_own_names(path)
        return path

    def hides(self, directory: str, name: str) -> bool:
        """Say whether an entry of a directory is one of ours."""
        return name.startswith(TEMPORARY) or (name == RESERVED and directory == self.home)

    def can_name(self, path: str) -> bool:
        """Say whether an entry found on disk has a valid path: its name may be any bytes."""
        try:
            return self.normal(path) == path
        except PathRefused:
            return False

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        """Open a file or a directory; anything else is an error."""
        return self._open_plain(path, flags, mode)[0]

    def open_file(self, path: str) -> tuple[int, os.stat_result]:
        """Open a file to read it; return its status as well."""
        handle, status = self._open_plain(path, os.O_RDONLY)
        if stat.S_ISDIR(status.st_mode):
            os.close(handle)
            raise IsDirectory(path)
        return handle, status

    @_explained
    def open_parent(self, path: str) -> tuple[int, str]:
        """Return a handle of the directory that really holds a file, and the file's name there.

        A link at the end of the path is followed if its target exists: that is what gets written.
        """
        start = path
        for _ in range(MAX_LINKS):
            above, name = _split(path)
            if name in ("", ".", ".."):
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
            parent = self._beneath(above, _DIRECTORY)
            try:
                target = _read_link(parent, name)
                if target is None:
                    if path != start:
                        os.stat(name, dir_fd=parent, follow_symlinks=False)
                    return parent, name
                path = self._linked_path(above, target)
            except OSError:
                os.close(parent)
                raise
            os.close(parent)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))

    @_explained
    def open_entry(self, path: str) -> tuple[int, str]:
        """Return a handle of the directory that has an entry, and its name: a link stays a link."""
        above, name = _split(path)
        return self._beneath(above, _DIRECTORY), name

    @_explained
    def make_parents(self, path: str) -> list[str]:
        """Make the directories above a path; return those that were missing, the top one first."""
        places = ["/", *reversed([*ancestors(path)])]
        if not self._is_missing_directory(places[-1]):
            return []
        # A path may have two thousand names, so they are not tried one by one.
        first = bisect_left(places, True, lo=1, key=self._is_missing_directory)
        here = self._beneath(places[first - 1], _DIRECTORY)
        made = []
        try:
            for place in places[first:]:
                here, is_new = _make_directory(here, _split(place)[1])
                made += [place] * is_new
        finally:
            os.close(here)
        return made

    def resolve(self, path: str) -> list[str]:
        """Return the links that a path goes by, and at last the path that it really leads to.

        Where nothing exists, or a link leads outside or in a circle, the rest stays as it is named:
        nothing can be opened there.
        """
        pending, names, links = self.normal(path).split("/")[::-1], list[str](), list[str]()
        handle = os.dup(self.root)
        try:
            while pending and len(links) <= MAX_LINKS:
                name = pending.pop()
                if name in ("", "."):
                    continue
                if name == "..":
                    del names[-1:]
                    handle = self._reopened(handle, names)
                    continue
                names.append(name)
                target = _read_link(handle, name)
                if target is not None:
                    links.append("/" + "/".join(names))
                    there = self._linked_path("/" + "/".join(names[:-1]), target)
                    pending, names = [*pending, *there.split("/")[::-1]], []
                    handle = self._reopened(handle, names)
                elif pending:
                    below = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
                    os.close(handle)
                    handle = below
        except OSError:
            names += [name for name in reversed(pending) if name not in ("", ".", "..")]
        finally:
            os.close(handle)
        return [*links, "/" + "/".join(names)]

    @_explained
    def stat(self, path: str) -> os.stat_result:
        """Return the status of a path; links are followed, inside."""
        return self._stat(path)

    @_explained
    def lstat(self, path: str) -> os.stat_result:
        """Return the status of a path; of a link, not of its target."""
        return self._lstat(path)

    @contextlib.contextmanager
    def scandir(self, path: str) -> Iterator[Iterator["os.DirEntry[str]"]]:
        """Iterate over the entries of a directory, which is open meanwhile."""
        opened = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        with closing_handle(opened) as handle, os.scandir(handle) as entries:
            yield entries

    def explain(self, path: str, error: OSError) -> FilesystemError:
        """Return the `FilesystemError` for why a path could not be opened."""
        if error.errno == errno.EXDEV:
            return LeadsOutside(path)
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            place = self._deepest(path)
            what = self._what(place)
            if what == "dangling link":
                missing = FileNotFound(path)
                FilesystemError.__init__(
                    missing,
                    *(PathPart(path), ": no such file or directory. ", PathPart(place)),
                    " is a symbolic link, and its target does not exist. Delete the link, or "
                    "choose another path.",
                )
                return missing
            if error.errno == errno.ENOTDIR:
                return NotDirectory(path, place if what == "file" else None)
        return explain(path, error)

    @_explained
    def _open_plain(self, path: str, flags: int, mode: int = 0) -> tuple[int, os.stat_result]:
        handle = self._beneath(path, flags | _ALWAYS, mode)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            os.close(handle)
            raise SpecialFile(path)
        return handle, status

    def _refuse_own_names(self, path: str) -> None:
        reserved = f"{self.home.rstrip('/')}/{RESERVED}"
        # In lower case: a host may ignore the case of names.
        if f"/{TEMPORARY}" in path.lower() or is_within(path.lower(), reserved.lower()):
            raise RefusedOnDisk(path, "the name is reserved for the filesystem. Choose another.")

    def _close_when_collected(self) -> "weakref.finalize[..., Jail]":
        closing = weakref.finalize(self, os.close, self.root)
        closing.atexit = False  # another thread may still use it then
        return closing

    def _beneath(self, path: str, flags: int, mode: int = 0) -> int:
        return self._open(self.root, path[1:] or ".", flags, mode)

    def _reopened(self, handle: int, names: Sequence[str]) -> int:
        """Close a directory, and open the one with these names, none of which is a link."""
        opened = self._beneath("/" + "/".join(names), _DIRECTORY)
        os.close(handle)
        return opened

    def _stat(self, path: str) -> os.stat_result:
        with closing_handle(self._beneath(path, _ANYTHING)) as handle:
            return os.fstat(handle)

    def _lstat(self, path: str) -> os.stat_result:
        if path == "/":
            return os.fstat(self.root)
        above, name = _split(path)
        with closing_handle(self._beneath(above, _DIRECTORY)) as parent:
            return os.stat(name, dir_fd=parent, follow_symlinks=False)

    def _linked_path(self, directory: str, target: str) -> str:
        """Return the path, still to be resolved, that a link in a directory leads to."""
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return f"{directory.rstrip('/')}/{target}"

    def _is_missing_directory(self, path: str) -> bool:
        try:
            os.close(self._beneath(path, _DIRECTORY))
        except FileNotFoundError:
            return True
        return False

    def _deepest(self, path: str) -> str:
        """Return the last place on a path that exists. A deep path is not tried name by name."""
        places = [path, *ancestors(path), "/"][::-1]
        return places[bisect_left(places, True, lo=1, key=self._is_missing) - 1]

    def _what(self, path: str) -> str:
        try:
            is_directory = stat.S_ISDIR(self._stat(path).st_mode)
        except FileNotFoundError:
            return "dangling link"
        except OSError:
            return "unknown"
        return "directory" if is_directory else "file"

    def _is_missing(self, path: str) -> bool:
        try:
            self._lstat(path)
        except OSError:
            return True
        return False


class Unconfined(Jail):
    """Any path of the host, with the rights of this process: no protection at all.

    An absolute path is the host's own; a relative one is below `root_dir`.
    """

    def __init__(self, root_dir: str | os.PathLike[str]) -> None:
        os.close(_open_root(root_dir, root_dir))
        self.home = os.path.abspath(root_dir)
        self.root = _open_root("/", root_dir)
        self._open = _open_unconfined
        self._closing = self._close_when_collected()

    def normal(self, path: str) -> str:
        """Return the path on the host; `..` is left to the host."""
        if not _is_valid(path):
            return normalize_path(path)  # which says what is wrong with it
        if not path.startswith("/"):
            path = f"{self.home}/{path}"
        path = "/" + "/".join(part for part in path.split("/") if part not in ("", "."))
        self._refuse_own_names(path)
        return path

    def _linked_path(self, directory: str, target: str) -> str:
        return target if target.startswith("/") else super()._linked_path(directory, target)


def _open_unconfined(root: int, path: str, flags: int, mode: int) -> int:
    return os.open(path, flags, mode, dir_fd=root)


def _is_valid(path: object) -> bool:
    try:
        return isinstance(path, str) and bool(path.encode()) and "\0" not in path
    except UnicodeEncodeError:
        return False


class UnusableRoot(OSError, ValueError):
    """`root_dir` is wrong: a `ValueError`, as for other arguments.

    As an `OSError` it keeps the directory apart from the reason: in a run, when a factory opens the
    backend, the model is told only the reason.
    """

    def __str__(self) -> str:
        return f"root_dir {self.filename!r} {self.strerror}"


def _open_root(path: str | os.PathLike[str], shown: str | os.PathLike[str]) -> int:
    try:
        return os.open(path, _DIRECTORY)
    except OSError as error:
        number, reason = error.errno, error.strerror
    raise UnusableRoot(number, f"can't be used as a directory: {reason}.", os.fspath(shown))


def _split(path: str) -> tuple[str, str]:
    """Return the directory that a path is in, and its last name."""
    above, _, name = path.rpartition("/")
    return above or "/", name


def _read_link(parent: int, name: str) -> str | None:
    """Return the target of a link; `None` if it is not a link, or does not exist."""
    try:
        return os.readlink(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise


def _make_directory(parent: int, name: str) -> tuple[int, bool]:
    """Make a directory in another and go into it; say whether it is new."""
    is_new = True
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        is_new = False
    opened = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    os.close(parent)
    return opened, is_new
