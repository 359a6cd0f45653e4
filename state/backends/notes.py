"""The journal's shelf on disk: a hidden directory at the top of the root.

Only a killed process matters, so nothing is flushed to the disk: what was written is there for the
next process. No link is followed in there.
"""

import contextlib
import errno
import itertools
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator

from langgraph_filesystem.state.backends.jail import RESERVED, Jail
from langgraph_filesystem.state.backends.removal import remove_tree

__all__ = ("Notes",)

_KEPT = 1_000
"""How many scopes may have notes: one is of use only until its thread has been resumed."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_MISSING = (FileNotFoundError, NotADirectoryError)
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


class Notes:
    """Small values under `<scope>/<name>` in a directory of our own."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail

    def get(self, directory: str, name: str) -> bytes | None:
        """Return a value, if there is one."""
        with contextlib.suppress(*_MISSING), self._scope(directory) as scope:
            handle = os.open(_checked(name), _READ, dir_fd=scope)
            with open(handle, "rb") as file:
                return file.read()
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
        with (
            _closing(self._jail.open(self._jail.home, _DIRECTORY)) as home,
            _closing(_opened(home, RESERVED, _ignore if create else None)) as ours,
            _closing(_opened(ours, _checked(name), _forget_oldest if create else None)) as scope,
        ):
            yield scope


@contextlib.contextmanager
def _closing(handle: int) -> Iterator[int]:
    try:
        yield handle
    finally:
        os.close(handle)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} can't be a part of the key of a call.")
    return name


def _opened(parent: int, name: str, when_new: Callable[[int, int], None] | None) -> int:
    """Open a directory of ours; with something to do when it is new, make it if it is missing.

    Who may use the directory above may use it too.
    """
    is_new = False
    if when_new is not None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
            is_new = True
    try:
        handle = os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if when_new is None or error.errno != errno.ENOTDIR:
            raise
        _put_aside(parent, name)
        return _opened(parent, name, when_new)
    try:
        if is_new and when_new is not None:
            os.fchmod(handle, stat.S_IMODE(os.fstat(parent).st_mode))
            when_new(parent, handle)
    except OSError:
        os.close(handle)
        raise
    return handle


def _put_aside(parent: int, name: str) -> None:
    """Give what is no directory of ours, and stands in its place, a name that can be seen.

    A command of the model may have made it, and no file operation reaches it where it is.
    """
    taken = set(os.listdir(parent))
    names = (f"{name.lstrip('.')}-{number}" for number in itertools.count(1))
    free = next(found for found in names if found not in taken)
    os.rename(name, free, src_dir_fd=parent, dst_dir_fd=parent)


def _ignore(_: int, directory: int) -> None:
    """Keep git from taking the notes for a part of the project."""
    with open(os.open(".gitignore", _WRITE, 0o666, dir_fd=directory), "wb") as file:
        file.write(b"*\n")


def _forget_oldest(directory: int, _: int) -> None:
    with os.scandir(directory) as found:
        scopes = [entry for entry in found if entry.is_dir(follow_symlinks=False)]
        if len(scopes) <= _KEPT:
            return
        ages = {entry.name: entry.stat(follow_symlinks=False).st_mtime_ns for entry in scopes}
    # A few at a time, so that not every new thread has some to forget.
    for name in sorted(ages, key=ages.__getitem__)[: len(ages) - _KEPT + _KEPT // 10]:
        with contextlib.suppress(OSError):
            remove_tree(directory, name)
