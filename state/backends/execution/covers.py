"""What is mounted over parts of a directory, to keep a command in a sandbox from them.

The directory is walked when a command starts: a rule can only be mounted over what exists. A part
that a command must not see is covered by nothing, one that it must not change is read-only. Both
are mount points by that, which can't be renamed or deleted. So must be every directory above them:
else a command could move it, and the part would have a path that no rule knows.

Links are left alone: what they lead to has a path of its own.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.file_store import Access, Confinement
from langgraph_filesystem.state.errors import BackendFailed, FileNotFound, FilesystemError
from langgraph_filesystem.state.paths import ancestors

__all__ = ("FIRST_HANDLE", "Cover", "find_covers", "handles_of")

FIRST_HANDLE = 200
"""The handles of parts that are mounted: above all that have a meaning, and below 1,024."""
_MOST_HANDLES = 500
_MOST = 1_000
"""Parts that are mounted. Measured: bubblewrap takes 1 s for 500, and 10 s for 2,000."""


class Cover(NamedTuple):
    """A part of a directory that is mounted in a way of its own."""

    path: str
    access: Access
    is_directory: bool


def find_covers(jail: Jail, confinement: Confinement) -> list[Cover]:
    """Return what to mount for a command, those above others first."""
    top = confinement.access("/")
    found = {} if top == "full" else {"/": Cover("/", top, True)}
    pinned: dict[str, Cover] = {}

    def add(cover: Cover, above: Access) -> None:
        found[cover.path] = cover
        if above == "full":
            free = takewhile(lambda path: path not in found, ancestors(cover.path))
            pinned.update({path: Cover(path, "full", True) for path in free})

    pending = [("/", top)]
    while pending and len(found) <= _MOST:
        directory, access = pending.pop()
        if not confinement.may_differ_below(directory):
            continue
        entries = _entries(jail, directory)
        if entries is None:
            # The command runs as the owner of the directory, and could make it readable. One with a
            # name that is not a valid path is not looked into either.
            add(Cover(directory, "none", True), access)
            continue
        for path, is_directory in entries:
            own = confinement.access(path)
            if own != access:
                add(Cover(path, own, is_directory), access)
            if is_directory:
                pending.append((path, own))
    covers = sorted({**pinned, **found}.values(), key=lambda cover: cover.path.split("/"))
    if len(covers) > _MOST or len(handles_of(covers)) > _MOST_HANDLES:
        raise BackendFailed(
            "The command was not run: the rules of this agent cover more files and directories "
            "than can be kept from a command. Use the file operations."
        )
    return covers


def handles_of(covers: Sequence[Cover]) -> Mapping[str, int]:
    """Return the numbers of the handles by which parts are mounted, by their paths."""
    shown = [cover.path for cover in covers if cover.access != "none" and cover.path != "/"]
    return {path: number for number, path in enumerate(shown, FIRST_HANDLE)}


def _entries(jail: Jail, directory: str) -> list[tuple[str, bool]] | None:
    """Return paths in a directory, and whether each is a directory, without links.

    `None` for a directory that can't be read.
    """
    start = directory.rstrip("/")
    try:
        with jail.scandir(directory) as entries:
            return [
                (f"{start}/{entry.name}", entry.is_dir(follow_symlinks=False))
                for entry in entries
                if not entry.is_symlink() and not jail.hides(directory, entry.name)
            ]
    except FileNotFound:
        return []  # it was deleted meanwhile
    except (FilesystemError, OSError):
        return None
