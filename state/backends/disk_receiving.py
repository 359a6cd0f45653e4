"""Files from another mount on disk: copied with all that a disk can hold, whatever their size.

The copy grows under a hidden name beside its destination and gets its name when it is whole. So a
move that fails, or is killed, has changed nothing; what it left is removed by the next try.
"""

import contextlib
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from langgraph_filesystem.state.backends.disk_inventory import take_inventory
from langgraph_filesystem.state.backends.disk_writing import DiskWriting, held
from langgraph_filesystem.state.backends.inventory import Inventory, NotMovable
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
)
from langgraph_filesystem.state.errors import FileExists, FilesystemError

__all__ = ("DiskReceiving", "Received")


@dataclass
class Received:
    """What was copied from another mount."""

    error: str | None = None
    files: int = 0
    links: int = 0
    """Symbolic links of which the copy has what they led to."""
    refused: tuple[str, str] | None = None
    """A path of the source that can't be copied, and a message that names it."""


class DiskReceiving(DiskWriting):
    """Moves to and from other mounts."""

    @reporting(Inventory)
    def inventory(self, path: str) -> Inventory:
        """Return every file at or below a path, as another kind of mount could take them."""
        return take_inventory(self._jail, self._changeable(path))

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
        try:
            with _source(other, source) as place:
                return self._receive(place, end, once, stopped or threading.Event())
        except NotMovable as refused:
            return Received(refused=(refused.path, str(refused)))

    def _receive(
        self, source: Place, end: str, once: str | None, stopped: threading.Event
    ) -> Received:
        found = take_inventory(source.jail, source.path, to_disk=True)
        if found.refused:
            raise NotMovable(*found.refused)
        with (
            self._parents_of(end),
            held(self._jail.open_entry(end)) as (parent, name),
            explaining(end),
        ):
            target = Place(self._jail, parent, name, end)
            if self._has_received(once):
                _check_copied(source, target, "or its copy was changed. Look at both")
            else:
                self._copy(source, target, once, stopped)
        return Received(files=found.count, links=found.links)

    def _has_received(self, once: str | None) -> bool:
        known = None if once is None else self.recall(once)
        return known is not None and known.finished

    def _copy(
        self, source: Place, target: Place, once: str | None, stopped: threading.Event
    ) -> None:
        def check() -> None:
            if stopped.is_set():
                raise Stopped

        if is_inside(target.parent, source.status()):
            raise FilesystemError(
                f"{target.path}: lies on the disk in the directory that would be moved there. "
                "Choose another destination."
            )
        with locked(target.parent, target.name), _draft(target) as draft:
            copy_tree(source, draft, check, flush=self._flush)
            _check_copied(source, draft, "was changed while it was copied. Nothing was moved")
            self._journal.begin_receive(once, target.path, draft.status())
            _publish(draft, target)


@contextlib.contextmanager
def _source(backend: DiskReceiving, path: str) -> Iterator[Place]:
    """Hold what is to be copied; what is wrong with it is told apart from the target's."""
    try:
        start = backend._changeable(path)
        opened = backend._jail.open_entry(start)
    except FilesystemError as error:
        raise NotMovable(path, str(error)) from None
    with held(opened) as (parent, name):
        yield Place(backend._jail, parent, name, start)


@contextlib.contextmanager
def _draft(target: Place) -> Iterator[Place]:
    """Have a hidden name beside the target. Whoever holds the target's lock has it alone."""
    draft = target._replace(name=f"{temporary_name(target.name)}-tree")
    _clear(draft)
    try:
        yield draft
    finally:
        with contextlib.suppress(OSError):  # the next one removes it
            _clear(draft)


def _clear(draft: Place) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(draft.status().st_mode):
            remove_tree(draft.parent, draft.name)
        else:
            os.unlink(draft.name, dir_fd=draft.parent)


def _check_copied(source: Place, copy: Place, problem: str) -> None:
    path = find_difference(source, copy)
    if path is not None:
        raise NotMovable(path, f"{path}: {problem}, then try again.")


def _publish(draft: Place, target: Place) -> None:
    try:
        rename_new(draft.parent, draft.name, target.parent, target.name)
    except FileExistsError:
        raise FileExists(target.path, "Delete it first, or choose another destination.") from None
