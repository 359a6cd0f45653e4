"""What is in a directory on disk: every entry that can be named, and how many can't."""

import os
import stat
from collections.abc import Sequence
from typing import TypeAlias

from langgraph_filesystem.state.backends.jail import TEMPORARY, Jail
from langgraph_filesystem.state.backends.protocol import FileInfo, LsResult
from langgraph_filesystem.state.backends.refusals import explaining
from langgraph_filesystem.state.errors import FilesystemError

__all__ = ("list_directory",)

Entry: TypeAlias = "os.DirEntry[str]"

_ODD = ("\\", ":", f"/{TEMPORARY[0]}")
"""In names: what is no part of a path, or may be ours."""


def list_directory(jail: Jail, path: str) -> LsResult:
    """Return the entries of a directory: names and kinds, which the directory itself knows.

    To ask for the size of each file takes five times as long as all the rest.
    """
    start = path.rstrip("/") + "/"
    with jail.scandir(path) as found, explaining(path):
        entries = list(found)
        unnamed = 0
        if not _is_plain(start, entries):
            visible = [entry for entry in entries if not jail.hides(path, entry.name)]
            entries = [entry for entry in visible if jail.can_name(start + entry.name)]
            unnamed = len(visible) - len(entries)
        # Some file systems are asked for the kind of an entry: then the directory must be open.
        infos: list[FileInfo] = [
            {"path": start + entry.name, "is_dir": entry.is_dir(follow_symlinks=False)}
            for entry in entries
        ]
        links = [place for place, entry in enumerate(entries) if entry.is_symlink()]
    for place in links:
        infos[place]["is_dir"] = _leads_to_directory(jail, infos[place]["path"])
    return LsResult(entries=infos, note=_note(unnamed), unnamed=unnamed)


def _is_plain(start: str, entries: Sequence[Entry]) -> bool:
    """Say whether it is clear at a glance that none is ours, and all can be asked for."""
    names = "/".join([start, *[entry.name for entry in entries]])
    return len(start) < 3_000 and names.isascii() and not any(odd in names for odd in _ODD)


def _leads_to_directory(jail: Jail, link: str) -> bool:
    """Say whether a link is shown as a directory: one that leads outside is not."""
    try:
        return stat.S_ISDIR(jail.stat(link).st_mode)
    except FilesystemError:
        return False


def _note(unnamed: int) -> str | None:
    if not unnamed:
        return None
    what = "1 entry is" if unnamed == 1 else f"{unnamed:,} entries are"
    return (
        f"{what} left out: a name that is not valid UTF-8, has a backslash or begins like a drive "
        "can't be written as a path."
    )
