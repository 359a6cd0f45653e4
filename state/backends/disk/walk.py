"""Walking a tree on disk, and finding files in it by name.

Each directory is opened through the jail, so one that is swapped for a link meanwhile leads nowhere
outside. Hidden files and those listed in ignore files are found; names of ours (`Jail.hides`) are
not. A link to a directory is not entered.
"""

import stat
import time
from collections.abc import Iterator

from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.disk.left_out import LeftOut
from langgraph_filesystem.state.backends.protocol import FileInfo, GlobResult
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, NotDirectory
from langgraph_filesystem.state.globs import Glob
from langgraph_filesystem.state.paths import MAX_PATH_BYTES

__all__ = ("SECONDS", "can_name", "find_files", "search_start", "walk")

SECONDS = 20.0
"""How long a walk through a tree may take."""
_MAX_FOUND = 200_000
"""More files than any answer shows."""


def search_start(jail: Jail, path: str | None) -> str:
    """Return where a search begins.

    Without a path that is the root directory, and `/` counts as none: with `virtual_mode=False` it
    is the root of the host, which nobody wants to search.
    """
    return jail.home if path in (None, "", "/") else jail.normal(path)


def find_files(
    jail: Jail, pattern: str, path: str | None = None, *, time_limit: float = SECONDS
) -> GlobResult:
    """Find the files below a directory whose paths match a glob pattern."""
    top, left_out = search_start(jail, path), LeftOut(time_limit)
    deadline = time.monotonic() + time_limit
    matches: list[FileInfo] = []
    result = GlobResult(matches=matches)
    for found in walk(jail, top, Glob(pattern), left_out, deadline, links=True):
        if len(matches) >= _MAX_FOUND:
            result.truncated = True
            break
        matches.append({"path": found, "is_dir": False})
    result.truncated = result.truncated or left_out.is_late
    result.note = left_out.note()
    return result


def walk(
    jail: Jail,
    top: str,
    glob: Glob | None,
    left_out: LeftOut,
    deadline: float,
    *,
    links: bool = False,
) -> Iterator[str]:
    """Yield the paths of the files below a directory that match, sorted.

    With `links`, a link to a file inside is found under its own name.
    """
    top = top.rstrip("/") + "/"
    # In reverse order, because the last one is taken next. Paths of directories end in `/`, so that
    # files in `a` come after `a.txt`, as in a sorted list of all paths.
    pending = _list(jail, top, top, glob, links)
    while pending:
        path = pending.pop()
        if not path.endswith("/"):
            if can_name(jail, path):
                yield path
            else:
                left_out.unnameable.add(path)
            continue
        if time.monotonic() > deadline:
            left_out.is_late = True
            return
        if not can_name(jail, path[:-1]):
            left_out.unnameable.add(path)
            continue
        try:
            pending += _list(jail, path, top, glob, links)
        except (FileNotFound, NotDirectory):
            continue  # it was deleted meanwhile
        except FilesystemError:
            left_out.unreadable.add(path)


def can_name(jail: Jail, path: str) -> bool:
    """Say whether a file that was found has a valid path: its name may be any bytes."""
    # True for most paths; the full check takes ten times as long.
    is_plain = path.isascii() and "\\" not in path and ":" not in path
    return (is_plain and len(path) < MAX_PATH_BYTES) or jail.can_name(path)


def _list(jail: Jail, directory: str, top: str, glob: Glob | None, links: bool) -> list[str]:
    found: list[str] = []
    relative = directory[len(top) :]
    here = directory[:-1] or "/"
    try:
        with jail.scandir(here) as entries:
            for entry in entries:
                name = entry.name
                if name[0] == "." and jail.hides(here, name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if glob is None or glob.may_match_below(relative + name):
                        found.append(f"{directory}{name}/")
                elif glob is None or glob.matches(relative + name):
                    is_link = links and entry.is_symlink()
                    if entry.is_file(follow_symlinks=False) or (
                        is_link and _leads_to_file(jail, directory + name)
                    ):
                        found.append(directory + name)
    except OSError as error:
        raise jail.explain(here, error) from None
    found.sort(reverse=True)
    return found


def _leads_to_file(jail: Jail, link: str) -> bool:
    try:
        return stat.S_ISREG(jail.stat(link).st_mode)
    except FilesystemError:
        return False  # it leads outside, or nowhere
