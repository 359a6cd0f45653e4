"""Open a path beneath an open directory: no link, no `..` and no race leads out of it.

There are two resolvers with the same results: the kernel's `openat2` with `RESOLVE_BENEATH`, and a
walk in Python that opens one name after the other and never lets the kernel follow a link. Both
raise `OSError`, with `EXDEV` for a path that leads outside. A mount point below the directory is a
part of the tree: `..` can't be used to leave through it.
"""

import contextlib
import errno
import os
import stat
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeAlias

__all__ = ("MAX_LINKS", "O_PATH", "Opener", "Resolver", "choose_opener", "openat2", "walk")

Opener: TypeAlias = Callable[[int, str, int, int], int]
"""From the handle of a directory, a relative path, flags and a mode to a new handle."""
Resolver: TypeAlias = Literal["openat2", "walk"]

MAX_LINKS = 40
"""The number of links that Linux follows in one path."""
O_PATH: int = getattr(os, "O_PATH", os.O_RDONLY)
"""A handle of a name without opening the file; only Linux has it."""

_OPENAT2 = 437
_RESOLVE_BENEATH = 0x08
_RESOLVE_NO_MAGICLINKS = 0x02
_MAX_TRIES = 64
"""How often a path is resolved again while directories on it are being renamed."""


def choose_opener(resolver: Resolver | None, root: int) -> Opener:
    """Return the resolver that was asked for, or the best one that works here."""
    if resolver == "walk":
        return walk
    try:
        os.close(openat2(root, ".", O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0))
    except OSError as error:
        if resolver == "openat2":
            raise ValueError(f"openat2 is not available here: {error.strerror}.") from None
        return walk
    return openat2


def openat2(root: int, path: str, flags: int, mode: int) -> int:
    """Open a path beneath a directory; the kernel resolves it."""
    creates = flags & os.O_CREAT  # without it a mode is an error
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS
    how = struct.pack("QQQ", flags, mode if creates else 0, resolve)
    name, (call, get_errno) = os.fsencode(path), _syscall()
    for _ in range(_MAX_TRIES):
        opened: int = call(_OPENAT2, root, name, how, len(how))
        if opened >= 0:
            return opened
        problem = get_errno()
        # EAGAIN: a directory on a path with `..` was renamed meanwhile.
        if problem not in (errno.EAGAIN, errno.EINTR):
            raise OSError(problem, os.strerror(problem))
    return walk(root, path, flags, mode)


@cache
def _syscall() -> tuple[Any, Any]:
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    import ctypes  # takes milliseconds, and not everybody has files on disk

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    name = how = ctypes.c_char_p
    call.argtypes = (ctypes.c_long, ctypes.c_int, name, how, ctypes.c_size_t)
    return call, ctypes.get_errno


def walk(root: int, path: str, flags: int, mode: int) -> int:
    """Open a path beneath a directory name by name; each link is read, none is followed."""
    with contextlib.closing(_Walk(root, path)) as steps:
        while steps.pending:
            name = steps.pending.pop()
            if name in ("", "."):
                continue
            if name == "..":
                steps.leave()
            elif steps.pending:  # even if it is only a `/`: then it has to be a directory
                steps.enter(name)
            elif (opened := steps.open(name, flags, mode)) is not None:
                return opened
        return os.open(".", flags, mode, dir_fd=steps.here)


class _Walk:
    """The position of a walk. It holds one directory open, however deep it gets."""

    def __init__(self, root: int, path: str) -> None:
        self.root = root
        self.here = root
        self.pending = path.split("/")[::-1]
        self.trail: list[str] = []
        self.links = 0

    def enter(self, name: str) -> None:
        """Go down into a directory, or replace a link by the path that it holds."""
        opened = self.open(name, O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0)
        if opened is not None:
            self.close()
            self.here = opened
            self.trail.append(name)

    def leave(self) -> None:
        """Go up by going down again from the root: the `..` on disk may lead elsewhere by now."""
        if not self.trail:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self.trail.pop()
        self.close()
        for name in self.trail:
            flags = O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            opened = os.open(name, flags, dir_fd=self.here)
            self.close()
            self.here = opened

    def open(self, name: str, flags: int, mode: int) -> int | None:
        """Open one name; if it is a link, queue the path that it holds and return `None`."""
        try:
            opened = os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=self.here)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR) or flags & os.O_NOFOLLOW:
                raise
            self._follow(name, error)
            return None
        # `O_PATH` opens the link itself.
        if flags & O_PATH and not flags & os.O_NOFOLLOW and stat.S_ISLNK(os.fstat(opened).st_mode):
            os.close(opened)
            self._follow(name, OSError(errno.ELOOP, os.strerror(errno.ELOOP)))
            return None
        return opened

    def close(self) -> None:
        """Close the directory it is in."""
        if self.here != self.root:
            os.close(self.here)
            self.here = self.root

    def _follow(self, name: str, refused: OSError) -> None:
        try:
            target = os.readlink(name, dir_fd=self.here)
        except OSError:
            raise refused from None  # it is not a link, so the first error was the true one
        self.links += 1
        if self.links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self.pending.extend(target.split("/")[::-1])
