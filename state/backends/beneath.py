"""Opening a path beneath an open directory: no link, no `..` and no race leads out of it.

Two ways that answer alike. The kernel's own, `openat2` with `RESOLVE_BENEATH`, where it is to be
had; and a walk that opens one name after the other, never follows a link itself, and so knows where
it is. Both raise `OSError`, with `EXDEV` for what would lead outside. A mount below the directory
is a part of the tree: `..` can't be used to leave by it.
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

__all__ = ("MAX_LINKS", "O_PATH", "Opener", "Resolver", "choose", "openat2", "walk")

Opener: TypeAlias = Callable[[int, str, int, int], int]
"""From the handle of a directory, a relative path, flags and a mode to a new handle."""
Resolver: TypeAlias = Literal["openat2", "walk"]

MAX_LINKS = 40
"""As many as Linux follows in one path."""
O_PATH: int = getattr(os, "O_PATH", os.O_RDONLY)
"""A handle of a name without opening what it names; elsewhere than on Linux there is none."""

_OPENAT2 = 437
_BENEATH = 0x08
_NO_MAGIC_LINKS = 0x02
_TRIES = 64
"""How often a path is looked up again while directories on it are being renamed."""


def choose(resolver: Resolver | None, root: int) -> Opener:
    """Return the way that was asked for, or the best that works here."""
    if resolver == "walk":
        return walk
    try:
        os.close(openat2(root, ".", O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0))
    except OSError as error:
        if resolver == "openat2":
            raise ValueError(f"There is no openat2 here: {error.strerror}.") from None
        return walk
    return openat2


def openat2(root: int, path: str, flags: int, mode: int) -> int:
    """Open a path beneath a directory as the kernel resolves it."""
    creates = flags & os.O_CREAT  # a mode without it is an error
    how = struct.pack("QQQ", flags, mode if creates else 0, _BENEATH | _NO_MAGIC_LINKS)
    name, (call, get_errno) = os.fsencode(path), _syscall()
    for _ in range(_TRIES):
        opened: int = call(_OPENAT2, root, name, how, len(how))
        if opened >= 0:
            return opened
        problem = get_errno()
        # A directory on a path with `..` was renamed meanwhile, or a signal came.
        if problem not in (errno.EAGAIN, errno.EINTR):
            raise OSError(problem, os.strerror(problem))
    return walk(root, path, flags, mode)


@cache
def _syscall() -> tuple[Any, Any]:
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    import ctypes  # costs milliseconds, and not everybody has files on a disk

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    name = how = ctypes.c_char_p
    call.argtypes = (ctypes.c_long, ctypes.c_int, name, how, ctypes.c_size_t)
    return call, ctypes.get_errno


def walk(root: int, path: str, flags: int, mode: int) -> int:
    """Open a path beneath a directory name by name, reading each link and never following one."""
    with contextlib.closing(_Walk(root, path)) as steps:
        while steps.pending:
            name = steps.pending.pop()
            if name in ("", "."):
                continue
            if name == "..":
                steps.leave()
            elif steps.pending:  # if only with a `/` or `.`: then it has to be a directory
                steps.enter(name)
            elif (opened := steps.open(name, flags, mode)) is not None:
                return opened
        return os.open(".", flags, mode, dir_fd=steps.here)


class _Walk:
    """Where a walk is. It holds one directory open however deep it gets."""

    def __init__(self, root: int, path: str) -> None:
        self.root = root
        self.here = root
        self.pending = path.split("/")[::-1]
        self.trail: list[str] = []
        self.links = 0

    def enter(self, name: str) -> None:
        """Go down into a directory, or put what a link says in its place."""
        opened = self.open(name, O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0)
        if opened is not None:
            self.close()
            self.here = opened
            self.trail.append(name)

    def leave(self) -> None:
        """Go up, by going down again from the top: `..` may have come to lie elsewhere."""
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
        """Open one name; if it is a link, note where it leads and return nothing."""
        try:
            opened = os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=self.here)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR) or flags & os.O_NOFOLLOW:
                raise
            self._follow(name, error)
            return None
        # `O_PATH` opens a link as it stands.
        if flags & O_PATH and not flags & os.O_NOFOLLOW and stat.S_ISLNK(os.fstat(opened).st_mode):
            os.close(opened)
            self._follow(name, OSError(errno.ELOOP, os.strerror(errno.ELOOP)))
            return None
        return opened

    def close(self) -> None:
        """Let go of the directory it is in."""
        if self.here != self.root:
            os.close(self.here)
            self.here = self.root

    def _follow(self, name: str, refused: OSError) -> None:
        try:
            target = os.readlink(name, dir_fd=self.here)
        except OSError:
            raise refused from None  # it is no link, so it is what it was refused for
        self.links += 1
        if self.links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self.pending.extend(target.split("/")[::-1])
