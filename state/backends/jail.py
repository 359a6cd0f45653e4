"""Paths on disk, opened beneath one directory that is held open.

`Jail` is what virtual mode rests on. No string is checked first and opened later: a path becomes a
handle in one step that can't leave the directory (`beneath.py`), and all else is done with that
handle. `Unconfined` has the same methods and protects nothing.

A relative link that stays inside works like what it points to; one that leads outside, any absolute
one included, is refused. What is neither a file nor a directory is never handed out.
"""

import contextlib
import errno
import functools
import os
import stat
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Concatenate, ParamSpec, TypeVar

from langgraph_filesystem.state.backends.beneath import O_PATH, Resolver, choose
from langgraph_filesystem.state.backends.parents import (
    DIRECTORY,
    find_holder,
    make_parents,
    split,
)
from langgraph_filesystem.state.backends.refusals import LeadsOutside, SpecialFile, explain
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
)
from langgraph_filesystem.state.paths import ancestors, is_within, normalize_path

__all__ = ("RESERVED", "TEMPORARY", "Jail", "Unconfined")

RESERVED = ".langgraph-filesystem"
"""A directory of ours at the top of the root: the journal. Hidden, and refused as a path."""
TEMPORARY = ".~lgfs-"
"""How the names of files begin that are being written. Hidden, and refused as a path."""

_ALWAYS = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""Without the last, opening a FIFO waits until somebody opens its other end."""
_ANYTHING = O_PATH | os.O_CLOEXEC if O_PATH else _ALWAYS

P = ParamSpec("P")
R = TypeVar("R")


def _explained(
    method: "Callable[Concatenate[Jail, str, P], R]",
) -> "Callable[Concatenate[Jail, str, P], R]":
    """Hand a method the one spelling of its path, and say what the system refuses in our words."""

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
        """The path of the directory, as it is shown."""
        self.root = _open_root(root_dir, root_dir)
        """A handle of the directory that `/` is."""
        self._open = choose(resolver, self.root)
        self._closing = self._close_at_last()

    def close(self) -> None:
        """Let go of the directory: nothing can be opened any more."""
        self.root = -1
        self._closing()

    def normal(self, path: str) -> str:
        """Return the one spelling of a path, or refuse it."""
        path = normalize_path(path)
        if "/." in path:
            self._refuse_ours(path)
        return path

    def hides(self, directory: str, name: str) -> bool:
        """Say whether an entry of a directory is one of ours."""
        return name.startswith(TEMPORARY) or (name == RESERVED and directory == self.home)

    def can_name(self, path: str) -> bool:
        """Say whether an entry found on disk can be asked for: a name may be no valid text."""
        try:
            return self.normal(path) == path
        except PathRefused:
            return False

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        """Open a file or a directory; anything else is refused at once."""
        return self._open_plain(path, flags, mode)[0]

    def open_file(self, path: str) -> tuple[int, os.stat_result]:
        """Open a file to read it; return what is known of it as well."""
        handle, status = self._open_plain(path, os.O_RDONLY)
        if stat.S_ISDIR(status.st_mode):
            os.close(handle)
            raise IsDirectory(path)
        return handle, status

    @_explained
    def open_parent(self, path: str, *, create: bool = False) -> tuple[int, str]:
        """Return a handle of the directory that really holds a file, and the file's name there.

        A link at the end of the path is followed: what is written goes to where it points, if
        something is there. With `create`, directories that are missing come into being.
        """
        try:
            return find_holder(path, self._beneath, self._behind)
        except FileNotFoundError:
            if not create:
                raise
        make_parents(path, self._beneath)
        return find_holder(path, self._beneath, self._behind)

    @_explained
    def open_entry(self, path: str) -> tuple[int, str]:
        """Return a handle of the directory that has an entry, and its name: a link stays a link."""
        above, name = split(path)
        return self._beneath(above, DIRECTORY), name

    @_explained
    def make_parents(self, path: str) -> list[str]:
        """Make the directories above a path; return those that were missing, the top one first."""
        return make_parents(path, self._beneath)

    @_explained
    def stat(self, path: str) -> os.stat_result:
        """Return what is known of a path; links are followed, inside."""
        return self._stat(path)

    @_explained
    def lstat(self, path: str) -> os.stat_result:
        """Return what is known of a path; of a link, not of what it points to."""
        return self._lstat(path)

    @contextlib.contextmanager
    def scandir(self, path: str) -> Iterator[Iterator["os.DirEntry[str]"]]:
        """Go through the entries of a directory, which can be asked for their `stat` meanwhile."""
        handle = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(handle) as entries:
                yield entries
        finally:
            os.close(handle)

    def explain(self, path: str, error: OSError) -> FilesystemError:
        """Return the error of ours for why a path could not be opened."""
        if error.errno == errno.EXDEV:
            return LeadsOutside(path)
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            place = self._deepest(path)
            what = self._what(place)
            if what == "a dangling link":
                hint = f"{place} is a symbolic link, and what it points to is not there."
                return FileNotFound(path, f"{hint} Delete the link, or choose another path.")
            if error.errno == errno.ENOTDIR:
                return NotDirectory(path, place if what == "a file" else None)
        return explain(path, error)

    @_explained
    def _open_plain(self, path: str, flags: int, mode: int = 0) -> tuple[int, os.stat_result]:
        handle = self._beneath(path, flags | _ALWAYS, mode)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            os.close(handle)
            raise SpecialFile(path)
        return handle, status

    def _refuse_ours(self, path: str) -> None:
        ours = f"{self.home.rstrip('/')}/{RESERVED}"
        # In small letters: a host may take names for the same that differ in that only.
        if f"/{TEMPORARY}" in path.lower() or is_within(path.lower(), ours.lower()):
            raise PathRefused(path, "the name is kept for the filesystem itself. Choose another.")

    def _close_at_last(self) -> "weakref.finalize[..., Jail]":
        closing = weakref.finalize(self, os.close, self.root)
        closing.atexit = False  # another thread may still be at work then
        return closing

    def _beneath(self, path: str, flags: int, mode: int = 0) -> int:
        return self._open(self.root, path[1:] or ".", flags, mode)

    def _stat(self, path: str) -> os.stat_result:
        handle = self._beneath(path, _ANYTHING)
        try:
            return os.fstat(handle)
        finally:
            os.close(handle)

    def _lstat(self, path: str) -> os.stat_result:
        if path == "/":
            return os.fstat(self.root)
        above, name = split(path)
        parent = self._beneath(above, DIRECTORY)
        try:
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
        finally:
            os.close(parent)

    def _behind(self, directory: str, target: str) -> str:
        """Return where a link leads, as a path that is still to be resolved."""
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return f"{directory.rstrip('/')}/{target}"

    def _deepest(self, path: str) -> str:
        """Return the last place on a path that is there. A deep path is not tried name by name."""
        places = [path, *ancestors(path), "/"][::-1]
        return places[bisect_left(places, True, lo=1, key=self._is_missing) - 1]

    def _what(self, path: str) -> str:
        try:
            is_directory = stat.S_ISDIR(self._stat(path).st_mode)
        except FileNotFoundError:
            return "a dangling link"
        except OSError:
            return "unknown"
        return "a directory" if is_directory else "a file"

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
        self._open = _open_anything
        self._closing = self._close_at_last()

    def normal(self, path: str) -> str:
        """Return the path of the host that is meant; `..` is left to the host."""
        if not _is_named(path):
            return normalize_path(path)  # which says what is wrong with it
        if not path.startswith("/"):
            path = f"{self.home}/{path}"
        path = "/" + "/".join(part for part in path.split("/") if part not in ("", "."))
        self._refuse_ours(path)
        return path

    def _behind(self, directory: str, target: str) -> str:
        return target if target.startswith("/") else super()._behind(directory, target)


def _open_anything(root: int, path: str, flags: int, mode: int) -> int:
    return os.open(path, flags, mode, dir_fd=root)


def _is_named(path: object) -> bool:
    try:
        return isinstance(path, str) and bool(path.encode()) and "\0" not in path
    except UnicodeEncodeError:
        return False


def _open_root(path: str | os.PathLike[str], shown: str | os.PathLike[str]) -> int:
    try:
        return os.open(path, DIRECTORY)
    except OSError as error:
        reason = error.strerror
    raise ValueError(f"root_dir {os.fspath(shown)!r} is no directory to work in: {reason}.")
