"""Delete trees, and files that were copied elsewhere if they have not changed since."""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Mapping

from langgraph_filesystem.state.backends.disk.errors import explaining
from langgraph_filesystem.state.backends.disk.jail import TEMPORARY, Jail, closing_handle
from langgraph_filesystem.state.backends.disk.read import content_digest
from langgraph_filesystem.state.backends.disk.replace import remove_if_abandoned
from langgraph_filesystem.state.backends.disk.tree import (
    Descent,
    Entry,
    Place,
    files_below,
    holding_area,
    levels,
    open_linked,
    put_back,
)
from langgraph_filesystem.state.errors import FilesystemError

__all__ = ("delete_copied", "digests_below", "remove_tree")

_IsSame = Callable[[str, Entry, int], bool]
"""Says of a relative path, its entry and the directory where it is now: the copy is the same."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def remove_tree(parent: int, name: str, *, force: bool = False) -> None:
    """Delete a directory with everything in it; raise `OSError` at the first failure.

    With `force`, directories get a mode that lets them be emptied: for our own drafts.
    """
    directories: list[str] = []
    with contextlib.closing(Descent(parent, name, force=force)) as descent:
        waiting = [""]
        while waiting:
            path = waiting.pop()
            with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
                waiting += _remove_files(descent.go(path), f"{path}/" if path else "")
                directories.append(path)
        for path in reversed(directories[1:]):
            above, _, last = path.rpartition("/")
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(last, dir_fd=descent.go(above))
    os.rmdir(name, dir_fd=parent)


def digests_below(jail: Jail, place: Place, *, follow: bool = False) -> dict[str, str | None]:
    """Return the digest of each file at or below a place, by its relative path.

    Of a link it is its target or, to `follow` it, the digest of the file that it leads to. `None`
    stands for what can't be read.
    """
    return {
        path: _digest(jail, _full(place, path), entry, parent, follow)
        for path, entry, parent in files_below(jail, place)
    }


def delete_copied(
    jail: Jail, place: Place, digests: Mapping[str, str | None], *, follow: bool = False
) -> list[str]:
    """Delete each file that has the digest of its copy, then the directories that are empty.

    `digests` are those of the copies, by relative path. Returns the paths of what stays.
    """

    def is_same(path: str, entry: Entry, parent: int) -> bool:
        copied = digests.get(path)
        if copied is None:
            return False
        return copied == _digest(jail, _full(place, path), entry, parent, follow)

    with explaining(place.path):
        if place.entry.is_directory:
            stay = _delete_files(jail, place, is_same)
        else:
            stay = _delete_entries(place.parent, {"": place.entry}, is_same)
    return [_full(place, path) for path in stay]


def _full(place: Place, path: str) -> str:
    return f"{place.path}/{path}" if path else place.path


def _digest(jail: Jail, path: str, entry: Entry, parent: int, follow: bool) -> str | None:
    """Return the digest of a file or a link, in whatever directory it is now."""
    with contextlib.suppress(FilesystemError, OSError):
        if entry.is_link and not follow:
            return f"-> {os.readlink(entry.name, dir_fd=parent)}"
        if entry.is_link:
            with closing_handle(open_linked(jail, path)[0]) as handle:
                return content_digest(handle)
        if stat.S_ISREG(entry.status.st_mode):
            with closing_handle(os.open(entry.name, _READ, dir_fd=parent)) as handle:
                return content_digest(handle)
    return None


def _delete_files(jail: Jail, place: Place, is_same: _IsSame) -> list[str]:
    stay: list[str] = []
    directories: list[str] = []
    # Links first: they may be compared by the files that they lead to.
    for only_links in (True, False):
        with contextlib.closing(levels(jail, place)) as walked:
            for level in walked:
                entries = {
                    level.below(entry.name): entry
                    for entry in level.entries
                    if not entry.is_directory and entry.is_link == only_links
                }
                stay += _delete_entries(level.handle, entries, is_same)
                if not only_links:
                    directories.append(level.path)
    with contextlib.closing(Descent(place.parent, place.entry.name)) as descent:
        for path in reversed(directories[1:]):
            above, _, name = path.rpartition("/")
            is_removed = _remove_empty(descent.go(above), name)
            if not is_removed and not any(it.startswith(f"{path}/") for it in stay):
                stay.append(path)
    if not _remove_empty(place.parent, place.entry.name) and not stay:
        stay.append("")
    return stay


def _delete_entries(parent: int, entries: Mapping[str, Entry], is_same: _IsSame) -> list[str]:
    """Delete the entries of one directory that are the same; return the paths of the others."""
    stay: list[str] = []
    for path, entry in entries.items():
        if not entry.is_link:
            continue
        if is_same(path, entry, parent):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry.name, dir_fd=parent)
        else:
            stay.append(path)
    files = {path: entry.name for path, entry in entries.items() if not entry.is_link}
    if not files:
        return stay
    with holding_area(parent) as area:
        for path, name in files.items():
            with contextlib.suppress(FileNotFoundError):  # somebody else has deleted it
                now = Entry(name, os.stat(name, dir_fd=parent, follow_symlinks=False))
                os.rename(name, name, src_dir_fd=parent, dst_dir_fd=area)
                if is_same(path, now, area):
                    os.unlink(name, dir_fd=area)
                else:
                    put_back(area, name, parent)
                    stay.append(path)
    return stay


def _remove_empty(parent: int, name: str) -> bool:
    """Delete a directory if it is empty; leftovers of killed writers in it go too."""
    for _ in range(2):
        try:
            os.rmdir(name, dir_fd=parent)
            return True
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        with closing_handle(os.open(name, _DIRECTORY, dir_fd=parent)) as directory:
            for left in os.listdir(directory):
                if left.startswith(TEMPORARY):
                    remove_if_abandoned(directory, left)
    return False


def _remove_files(directory: int, start: str) -> list[str]:
    """Delete everything that is not a directory; return the paths of the directories."""
    with os.scandir(directory) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_directory in entries:
        if not is_directory:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
    return [start + name for name, is_directory in entries if is_directory]
