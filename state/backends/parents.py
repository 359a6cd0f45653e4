"""The directory that holds a file: where it really is behind links, and how it comes into being.

Every step opens a path beneath the root again or goes on from an open directory, so what is
returned lies beneath it whatever is swapped meanwhile.
"""

import errno
import os
from bisect import bisect_left
from collections.abc import Callable
from typing import TypeAlias

from langgraph_filesystem.state.backends.beneath import MAX_LINKS, O_PATH
from langgraph_filesystem.state.paths import ancestors

__all__ = ("DIRECTORY", "Beneath", "find_holder", "make_parents", "split")

Beneath: TypeAlias = Callable[[str, int], int]
"""From a path that is still to be resolved, and flags, to a handle."""
DIRECTORY = O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def split(path: str) -> tuple[str, str]:
    """Return the directory that a path is in, and its last name."""
    above, _, name = path.rpartition("/")
    return above or "/", name


def find_holder(path: str, beneath: Beneath, behind: Callable[[str, str], str]) -> tuple[int, str]:
    """Return a handle of the directory that a file is in, and its name there.

    A link at the end is followed to something that exists; `behind` says of a directory and what
    a link in it holds where that leads.
    """
    start = path
    for _ in range(MAX_LINKS):
        above, name = split(path)
        if name in ("", ".", ".."):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        parent = beneath(above, DIRECTORY)
        try:
            target = _target(name, parent)
            if target is None:
                if path != start:
                    os.stat(name, dir_fd=parent, follow_symlinks=False)
                return parent, name
            path = behind(above, target)
        except OSError:
            os.close(parent)
            raise
        os.close(parent)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def make_parents(path: str, beneath: Beneath) -> list[str]:
    """Make the directories above a path; return those that were missing, the top one first."""
    places = ["/", *reversed([*ancestors(path)])]
    if not _is_missing(places[-1], beneath):
        return []
    # A path may have two thousand names: they are not tried one by one.
    first = bisect_left(places, True, lo=1, key=lambda place: _is_missing(place, beneath))
    here = beneath(places[first - 1], DIRECTORY)
    made = []
    try:
        for place in places[first:]:
            here, is_new = _make(here, split(place)[1])
            made += [place] * is_new
    finally:
        os.close(here)
    return made


def _is_missing(path: str, beneath: Beneath) -> bool:
    try:
        os.close(beneath(path, DIRECTORY))
    except FileNotFoundError:
        return True
    return False


def _target(name: str, parent: int) -> str | None:
    """Return where a link points to; `None` if it is no link, or nothing yet."""
    try:
        return os.readlink(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.EINVAL:
            return None
        raise


def _make(parent: int, name: str) -> tuple[int, bool]:
    """Make a directory in another and go into it; say whether it is new."""
    is_new = True
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        is_new = False
    opened = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    os.close(parent)
    return opened, is_new
