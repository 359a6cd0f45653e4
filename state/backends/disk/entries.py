"""Entries of a tree on disk: links and modes as they are, and changes of an overlay applied to it.

A change is applied whole or not at all, and only if the entry is what the change was based on. A
process that is killed leaves at most hidden names behind, which `tidy` puts back or removes.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Collection, Iterator

from langgraph_filesystem.state.backends.disk.delete import remove_tree
from langgraph_filesystem.state.backends.disk.errors import explaining
from langgraph_filesystem.state.backends.disk.jail import TEMPORARY, Jail, closing_handle
from langgraph_filesystem.state.backends.disk.read import handle_digest
from langgraph_filesystem.state.backends.disk.replace import remove_if_abandoned, replace
from langgraph_filesystem.state.backends.disk.tree import (
    Entry as DiskEntry,
)
from langgraph_filesystem.state.backends.disk.tree import (
    Place,
    find_place,
    holding_area,
    levels,
    put_back_abandoned,
)
from langgraph_filesystem.state.backends.disk.write import new_parents
from langgraph_filesystem.state.backends.file_store import Entry, tree_fingerprint
from langgraph_filesystem.state.errors import (
    FileChanged,
    FileNotFound,
    FilesystemError,
    NotDirectory,
)

__all__ = ("entries_at", "fingerprint", "replace_entry", "tidy")

_DELETED = f"{TEMPORARY}deleted-"
"""A tree with such a name is what it should be, and only has to be removed."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MISSING = (FileNotFound, NotDirectory)


def entries_at(jail: Jail, path: str, *, below: bool) -> list[Entry]:
    """Return what is at a path and below it; nothing if it is missing."""
    try:
        place = find_place(jail, path)
    except _MISSING:
        return []
    with closing_handle(place.parent), explaining(path):
        return list(_entries(jail, place)) if below else [_entry(place)]


def fingerprint(jail: Jail, limit: int, path: str) -> str | None:
    """Return what tells versions of an entry apart; `None` where nothing is."""
    try:
        place = find_place(jail, path)
    except _MISSING:
        return None
    with closing_handle(place.parent), explaining(path):
        return _fingerprint(jail, limit, place)


def replace_entry(
    jail: Jail,
    limit: int,
    path: str,
    new: Entry | None,
    content: bytes,
    before: str | None,
    *,
    flush: bool,
) -> None:
    """Put an entry at a path, or nothing, if what is there has the fingerprint `before`."""
    is_file = before is None or ":" not in before
    if new is not None and new.kind == "file" and is_file:
        _replace_file(jail, limit, path, new, content, before, flush)
        return
    if before is not None:
        _remove(jail, limit, path, before)
    if new is not None and new.kind == "file":
        _replace_file(jail, limit, path, new, content, None, flush)
    elif new is not None:
        _make(jail, path, new)


def tidy(jail: Jail, directories: Collection[str]) -> None:
    """Put back or remove what a killed process left in directories."""
    for directory in directories:
        with (
            # What can't be reached now, such as behind a link in a circle, is left as it is.
            contextlib.suppress(FilesystemError),
            closing_handle(jail.open(directory, os.O_RDONLY | os.O_DIRECTORY)) as handle,
            explaining(directory),
        ):
            put_back_abandoned(handle)
            for name in os.listdir(handle):
                if name.startswith(_DELETED):
                    remove_tree(handle, name, force=True)
                elif name.startswith(TEMPORARY):
                    remove_if_abandoned(handle, name)


def _entries(jail: Jail, place: Place) -> Iterator[Entry]:
    yield _entry(place)
    if not place.entry.is_directory:
        return
    with contextlib.closing(levels(jail, place)) as walked:
        for level in walked:
            for one in level.entries:
                path = f"{place.path}/{level.below(one.name)}"
                yield _entry(Place(level.handle, path, one))


def _entry(place: Place) -> Entry:
    parent, path, (name, status) = place
    mode, modified = stat.S_IMODE(status.st_mode), str(status.st_mtime_ns)
    if place.entry.is_link:
        return Entry(path, "link", target=os.readlink(name, dir_fd=parent))
    if place.entry.is_directory:
        return Entry(path, "directory", mode=mode)
    return Entry(path, "file", status.st_size, modified, mode)


def _fingerprint(jail: Jail, limit: int, place: Place) -> str:
    name, status = place.entry
    if not stat.S_ISREG(status.st_mode):
        return tree_fingerprint(place.path, list(_entries(jail, place)))
    try:
        with closing_handle(os.open(name, _READ, dir_fd=place.parent)) as handle:
            return handle_digest(handle, limit)
    except PermissionError:
        return "unreadable"


def _replace_file(
    jail: Jail,
    limit: int,
    path: str,
    new: Entry,
    content: bytes,
    before: str | None,
    flush: bool,
) -> None:
    def plan(old: int | None) -> bytes:
        if (None if old is None else handle_digest(old, limit)) != before:
            raise FileChanged(path)
        return content

    def set_mode(old: int | None, draft: int) -> None:
        if new.mode is not None:
            os.fchmod(draft, new.mode)

    with new_parents(jail, path):
        parent, name = jail.open_entry(path)
        with closing_handle(parent), explaining(path):
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode):
                    raise FileChanged(path)
            replace(parent, name, plan, set_mode, flush=flush)


def _remove(jail: Jail, limit: int, path: str, before: str) -> None:
    """Remove an entry: it is compared where nobody else can reach it any more."""
    try:
        place = find_place(jail, path)
    except _MISSING:
        raise FileChanged(path) from None
    parent, name = place.parent, place.entry.name
    deleted = _DELETED + hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    with closing_handle(parent), explaining(path):
        with holding_area(parent) as area:
            os.rename(name, name, src_dir_fd=parent, dst_dir_fd=area)
            held = DiskEntry(name, os.stat(name, dir_fd=area, follow_symlinks=False))
            if _fingerprint(jail, limit, Place(area, path, held)) != before:
                raise FileChanged(path)  # it is put back
            if held.is_directory:
                os.rename(name, deleted, src_dir_fd=area, dst_dir_fd=parent)
            else:
                os.unlink(name, dir_fd=area)
        if held.is_directory:
            remove_tree(parent, deleted, force=True)


def _make(jail: Jail, path: str, new: Entry) -> None:
    """Make a link or a directory where nothing is; a directory may be there already."""
    with new_parents(jail, path):
        parent, name = jail.open_entry(path)
        with closing_handle(parent), explaining(path):
            try:
                if new.kind == "link":
                    os.symlink(new.target or "", name, dir_fd=parent)
                else:
                    os.mkdir(name, dir_fd=parent)
            except FileExistsError:
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if new.kind == "link" or not stat.S_ISDIR(status.st_mode):
                    raise FileChanged(path) from None
            if new.kind == "directory" and new.mode is not None:
                os.chmod(name, new.mode, dir_fd=parent)
