"""Files from another mount on disk: copied with all that a disk can hold, whatever their size.

The copy grows under a hidden name beside its destination and gets its name when it is whole. So a
move that fails, or is killed, has changed nothing; what it left is removed by the next try. The
source is deleted when it is known by its mark that nothing has come into it since.
"""

import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from langgraph_filesystem.state.backends.claims import Ended, delete_if, recover_left
from langgraph_filesystem.state.backends.disk_inventory import reading, take_inventory
from langgraph_filesystem.state.backends.disk_writing import DiskWriting, held, locked_if_room
from langgraph_filesystem.state.backends.inventory import Inventory, NotMovable
from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.pieces import Stopped
from langgraph_filesystem.state.backends.refusals import explaining
from langgraph_filesystem.state.backends.removal import remove_tree
from langgraph_filesystem.state.backends.renames import rename_new
from langgraph_filesystem.state.backends.replace import locked, temporary_name
from langgraph_filesystem.state.backends.reporting import reporting
from langgraph_filesystem.state.backends.tree_copies import (
    Place,
    copy_tree,
    find_difference,
    is_inside,
    time_step,
)
from langgraph_filesystem.state.backends.tree_marks import TreeMark, mark_tree
from langgraph_filesystem.state.errors import FileExists, FileNotFound, FilesystemError

__all__ = ("DiskReceiving", "Marked", "Received")

_TICK = 0.025
"""Seconds after which the next change of a file has another time than the last."""
_CHANGED = "was changed while it was copied. Nothing was moved; try again."
_DIFFERENT = "was changed after it was copied, or its copy was. Both are left; look at them."
_AS_WHO_WRITES = os.access in os.supports_effective_ids

Check = Callable[[], None]
M = TypeVar("M", bound=TreeMark | None)


@dataclass
class Received:
    """What was copied from another mount."""

    error: str | None = None
    files: int = 0
    links: int = 0
    """Symbolic links of which the copy has what they led to."""
    refused: tuple[str, str] | None = None
    """A path of the source that can't be copied, and a message that names it."""
    mark: str | None = None
    """What the source was known by before it was copied."""


@dataclass
class Marked:
    """What an entry is known by."""

    error: str | None = None
    mark: str | None = None


class DiskReceiving(DiskWriting):
    """Moves to and from other mounts."""

    def __init__(self, jail: Jail, limit: int, *, flush: bool = False) -> None:
        super().__init__(jail, limit, flush=flush)
        self._journal.recover = self._recover

    @reporting(Inventory)
    def inventory(self, path: str) -> Inventory:
        """Return every file at or below a path, as another kind of mount could take them."""
        return take_inventory(self._jail, self._changeable(path))

    @reporting(Marked)
    def mark(self, path: str) -> Marked:
        """Return what a file or a directory is known by that is about to be copied elsewhere."""
        with _source(self, path) as place, reading(place.path):
            return Marked(mark=_old_enough(lambda: mark_tree(*place)).text)

    @reporting(Ended)
    def delete_copied(self, path: str, mark: str, *, once: str | None = None) -> Ended:
        """Delete what was copied elsewhere if it has a mark still; if not, it stays."""
        start = self._changeable(path)
        try:
            opened = self._jail.open_entry(start)
        except FileNotFound:
            return Ended(is_gone=True)
        with (
            held(opened) as (parent, name),
            explaining(start),
            locked_if_room(parent, name),
        ):
            place = Place(self._jail, parent, name, start)
            return delete_if(place, mark, lambda: self._journal.begin_end(once, start))

    def can_receive(self, other: object) -> bool:
        """Say whether files of another backend can be copied from disk to disk."""
        return isinstance(other, DiskReceiving)

    @reporting(Received)
    def receive(
        self,
        other: "DiskReceiving",
        source: str,
        destination: str,
        *,
        once: str | None = None,
        stopped: threading.Event | None = None,
    ) -> Received:
        """Copy a file or a directory of another backend to where nothing is.

        Called again with the same key it finds its copy, if that is as it was. In both cases
        everything that the source has now is in the copy when it returns.
        """
        end = self._changeable(destination)
        is_known = self._has_received(once)
        self._clear_place(end, is_known)
        try:
            with _source(other, source) as place:
                return self._receive(place, end, once, _checking(stopped), is_known)
        except NotMovable as refused:
            return Received(refused=(refused.path, str(refused)))

    def _receive(
        self, source: Place, end: str, once: str | None, check: Check, is_known: bool
    ) -> Received:
        found = _inventory_of(source)
        with (
            self._parents_of(end),
            held(self._jail.open_entry(end)) as (parent, name),
            explaining(end),
            locked(parent, name),
        ):
            target = Place(self._jail, parent, name, end)
            step = time_step(parent, temporary_name(name))
            if is_known:
                _check_copied(source, target, check, step, _DIFFERENT)
            else:
                self._copy(source, target, once, check, step)
        mark = None if found.mark is None else found.mark.text
        return Received(files=found.count, links=found.links, mark=mark)

    def _clear_place(self, end: str, is_known: bool) -> None:
        """Remove what a killed copy has left, even if this one fails; refuse what is taken."""
        try:
            opened = self._jail.open_entry(end)
        except FilesystemError:
            return  # so nothing is there, or what comes next says what is wrong
        with held(opened) as (parent, name), explaining(end):
            target = Place(self._jail, parent, name, end)
            if _draft_of(target).is_taken():
                with locked(parent, name):
                    _clear(_draft_of(target))
            if not is_known and target.is_taken():
                raise _taken(target)

    def _recover(self, path: str) -> None:
        with (
            contextlib.suppress(FilesystemError),
            held(self._jail.open_entry(path)) as (parent, name),
        ):
            recover_left(Place(self._jail, parent, name, path))

    def _has_received(self, once: str | None) -> bool:
        known = None if once is None else self.recall(once)
        return known is not None and known.finished

    def _copy(
        self, source: Place, target: Place, once: str | None, check: Check, step: int
    ) -> None:
        if is_inside(target.parent, source.status()):
            raise FilesystemError(
                f"{target.path}: lies on the disk in the directory that would be moved there. "
                "Choose another destination."
            )
        with _draft(target) as draft:
            copy_tree(source, draft, check, flush=self._flush)
            _check_copied(source, draft, check, step, _CHANGED)
            check()
            self._journal.begin_receive(once, target.path, draft.status())
            _publish(draft, target)


@contextlib.contextmanager
def _source(backend: DiskReceiving, path: str) -> Iterator[Place]:
    """Hold what is to be moved; what is wrong with it is told apart from the target's."""
    try:
        start = backend._changeable(path)
        opened = backend._jail.open_entry(start)
    except FilesystemError as error:
        raise NotMovable(path, str(error)) from None
    with held(opened) as (parent, name):
        place = Place(backend._jail, parent, name, start)
        with reading(start):
            if not place.is_taken():
                recover_left(place)
            place.status()
        # To be deleted in the end, it needs rights on the directory that it is in.
        rights = os.W_OK | os.X_OK
        if not os.access(".", rights, dir_fd=parent, effective_ids=_AS_WHO_WRITES):
            raise NotMovable(
                start,
                f"{start}: can't be moved, as nothing may be deleted from the directory that it "
                "is in. Nothing was moved. Leave it there, or copy it.",
            )
        yield place


def _inventory_of(source: Place) -> Inventory:
    found = Inventory()

    def take() -> TreeMark | None:
        nonlocal found
        found = take_inventory(source.jail, source.path, to_disk=True)
        if found.refused:
            raise NotMovable(*found.refused)
        return found.mark

    _old_enough(take)
    return found


def _old_enough(take: Callable[[], M]) -> M:
    """Return a mark after which every change is seen: one that is too new is taken once more."""
    mark = take()
    if mark is not None and mark.is_too_new:
        time.sleep(_TICK)
        mark = take()
    return mark


def _checking(stopped: threading.Event | None) -> Check:
    def check() -> None:
        if stopped is not None and stopped.is_set():
            raise Stopped

    return check


@contextlib.contextmanager
def _draft(target: Place) -> Iterator[Place]:
    """Have a hidden name beside the target. Whoever holds the target's lock has it alone."""
    draft = _draft_of(target)
    _clear(draft)
    try:
        yield draft
    finally:
        with contextlib.suppress(OSError):  # the next one removes it
            _clear(draft)


def _draft_of(target: Place) -> Place:
    return target._replace(name=f"{temporary_name(target.name)}-tree")


def _clear(draft: Place) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(draft.status().st_mode):
            remove_tree(draft.parent, draft.name, force=True)
        else:
            os.unlink(draft.name, dir_fd=draft.parent)


def _check_copied(source: Place, copy: Place, check: Check, step: int, problem: str) -> None:
    path = find_difference(source, copy, check, step=step)
    if path is not None:
        raise NotMovable(path, f"{path}: {problem}")


def _publish(draft: Place, target: Place) -> None:
    try:
        rename_new(draft.parent, draft.name, target.parent, target.name)
    except FileExistsError:
        raise _taken(target) from None


def _taken(target: Place) -> FileExists:
    return FileExists(target.path, "Delete it first, or choose another destination.")
