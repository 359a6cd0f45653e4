"""The end of a move to another mount: the source is deleted if it is what was copied, or it stays.

It gets a hidden name first. From then on nobody reaches it by its path: of two who move it one has
it, and what others write at the path does not go into it. Then it is looked at once more. If it is
as it was when it was copied, it gets a second hidden name, which says that it may go, and is
deleted; if not, it gets its own name back.

The hidden names follow from its own, so that whoever comes after a kill finds it: what has the
first name is given back, what has the second goes.
"""

import errno
import itertools
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from langgraph_filesystem.state.backends.jail import TEMPORARY
from langgraph_filesystem.state.backends.refusals import explain
from langgraph_filesystem.state.backends.removal import remove_tree
from langgraph_filesystem.state.backends.renames import rename_new
from langgraph_filesystem.state.backends.replace import (
    Busy,
    is_being_written,
    locked,
    temporary_name,
)
from langgraph_filesystem.state.backends.subtrees import list_entries
from langgraph_filesystem.state.backends.tree_copies import Place
from langgraph_filesystem.state.backends.tree_marks import TreeMark, digest_level, mark_tree

__all__ = ("Ended", "delete_if", "recover", "recover_left")

_HELD, _GOING = "-held", "-gone"
_PATIENCE = 10.0
"""Seconds to wait for a writer who was at it when a directory got its hidden name."""
_LONGEST = 60
"""Characters that are kept of a name to which some are added."""


@dataclass
class Ended:
    """How a move ended for its source."""

    error: str | None = None
    is_gone: bool = False
    """Somebody else has moved or deleted it."""
    is_changed: bool = False
    """It is not what was copied."""
    is_partial: bool = False
    """A part of it is deleted."""
    at: str | None = None
    """Where it is, or what is left of it."""
    problem: str | None = None
    """What the system says."""


def recover_left(place: Place) -> None:
    """Bring a move of an entry to its end that was killed when the entry had a hidden name."""
    if any(_hidden(place, kind).is_taken() for kind in (_HELD, _GOING)):
        with locked(place.parent, place.name):
            recover(place)


def recover(place: Place) -> None:
    """Bring a move to its end that was interrupted. Only for who has the lock of the entry."""
    going, held = _hidden(place, _GOING), _hidden(place, _HELD)
    if going.is_taken():
        _remove(going)
    if held.is_taken():
        _give_back(held, place)


def delete_if(place: Place, mark: str, begin: Callable[[], None]) -> Ended:
    """Delete an entry that has a mark. Only for who has its lock; `begin` is called before."""
    recover(place)
    try:
        if not TreeMark.is_of(mark, place.status()):
            return Ended(is_changed=True, at=place.path)
        begin()
        held = _claim(place)
    except FileNotFoundError:
        return Ended(is_gone=True)
    try:
        found = _settled_mark(held)
    except OSError as error:
        at = _give_back(held, place)
        return Ended(at=at, problem=str(explain(place.path, error)))
    if found.text != mark:
        return Ended(is_changed=True, at=_give_back(held, place))
    return _delete(held, place, found)


def _claim(place: Place) -> Place:
    held = _hidden(place, _HELD)
    try:
        rename_new(place.parent, place.name, held.parent, held.name)
    except OSError as error:
        # Some file systems made of layers rename no directory of a layer below.
        if error.errno != errno.EXDEV:
            raise
        return place
    return held


def _delete(held: Place, place: Place, mark: TreeMark) -> Ended:
    going = held if held == place else _renamed(held, _hidden(place, _GOING))

    def look(path: str, directory: int) -> None:
        if path not in mark.levels or _digest(going, path, directory) != mark.levels[path]:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))

    try:
        _remove(going, look)
    except OSError as error:
        is_changed = error.errno == errno.ENOTEMPTY
        problem = None if is_changed else str(explain(place.path, error))
        at = _give_back(going, place)
        return Ended(is_changed=is_changed, is_partial=True, at=at, problem=problem)
    return Ended()


def _remove(going: Place, look: Callable[[str, int], None] | None = None) -> None:
    if stat.S_ISDIR(going.status().st_mode):
        remove_tree(going.parent, going.name, look=look)
    else:
        os.unlink(going.name, dir_fd=going.parent)


def _settled_mark(held: Place) -> TreeMark:
    """Return the mark when those have ended who were writing into it as it got its hidden name."""
    return mark_tree(*held, settle=_settle)


def _digest(going: Place, path: str, directory: int) -> bytes:
    _settle(directory)
    return digest_level(list_entries(going.jail, directory, f"{going.path}/{path}".rstrip("/")))


def _settle(directory: int) -> bool:
    """Wait for those who write in a directory that they opened before; say if there were any."""
    ours = [name for name in os.listdir(directory) if name.startswith(TEMPORARY)]
    if any(name.endswith(_HELD) for name in ours):
        raise Busy  # a move of something in it was interrupted: that is not to be lost
    until = time.monotonic() + _PATIENCE
    for name in ours:
        while is_being_written(directory, name):
            if time.monotonic() > until:
                raise Busy
            time.sleep(0.002)
    return bool(ours)


def _give_back(hidden: Place, place: Place) -> str:
    """Let an entry have its name again, or if that is taken a similar one; return its path."""
    if hidden == place:
        return place.path
    above = place.path[: -len(place.name)]
    for name in _names(place.name):
        with suppress(FileExistsError):
            rename_new(hidden.parent, hidden.name, place.parent, name)
            return above + name
    raise AssertionError  # there is always one more


def _names(name: str) -> Iterator[str]:
    yield name
    short = name[:_LONGEST]
    yield from (f"{short}-{number}" for number in itertools.count(1))


def _renamed(held: Place, to: Place) -> Place:
    os.rename(held.name, to.name, src_dir_fd=held.parent, dst_dir_fd=to.parent)
    return to


def _hidden(place: Place, kind: str) -> Place:
    return place._replace(name=temporary_name(place.name) + kind)
