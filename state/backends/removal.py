"""Deleting a directory with all that is in it, however deep, without following a link.

Only one directory is held open at a time, so depth costs no handles. The way back up is `..`, which
leads elsewhere if a directory was moved meanwhile: it is taken only to the directory it came from.
"""

import contextlib
import errno
import os
from collections.abc import Callable
from typing import NamedTuple

__all__ = ("remove_tree",)

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Level(NamedTuple):
    name: str
    status: os.stat_result
    directories: list[str]
    """Those in it that are still to be deleted."""


def remove_tree(
    parent: int,
    name: str,
    *,
    look: Callable[[str, int], None] | None = None,
    force: bool = False,
) -> None:
    """Delete a directory and all that is in it; raise `OSError` at the first thing that stays.

    `look` is called with the path of each directory from the top, and with its handle, before
    anything in it is deleted, and may raise. With `force` directories get a mode that lets them
    be emptied: for what is our own.
    """
    here = _entered(parent, name, force)
    try:
        levels = [_emptied(here, name, "", look)]
        while levels[-1].directories or len(levels) > 1:
            if levels[-1].directories:
                child = levels[-1].directories.pop()
                with contextlib.suppress(FileNotFoundError):
                    here = _go(here, child, force)
                    path = "/".join([level.name for level in levels[1:]] + [child]) if look else ""
                    levels.append(_emptied(here, child, path, look))
            else:
                child = levels.pop().name
                here = _go(here, "..")
                _check_is_same(here, levels[-1])
                with contextlib.suppress(FileNotFoundError):
                    os.rmdir(child, dir_fd=here)
    finally:
        os.close(here)
    os.rmdir(name, dir_fd=parent)


def _emptied(
    directory: int, name: str, path: str, look: Callable[[str, int], None] | None
) -> _Level:
    """Delete all that is no directory; return what is left."""
    if look is not None:
        look(path, directory)
    with os.scandir(directory) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for entry, is_directory in entries:
        if not is_directory:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry, dir_fd=directory)
    left = [entry for entry, is_directory in entries if is_directory]
    return _Level(name, os.fstat(directory), left)


def _go(here: int, name: str, force: bool = False) -> int:
    there = _entered(here, name, force)
    os.close(here)
    return there


def _entered(here: int, name: str, force: bool) -> int:
    handle = os.open(name, _OPEN, dir_fd=here)
    if force:
        with contextlib.suppress(OSError):  # then what is in it can't be deleted, and says so
            os.fchmod(handle, 0o700)
    return handle


def _check_is_same(directory: int, level: _Level) -> None:
    if not os.path.samestat(os.fstat(directory), level.status):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
