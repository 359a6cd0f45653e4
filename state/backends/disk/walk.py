"""Walking a tree on disk, finding files in it by name, and a note about what was left out.

Each directory is opened through the jail, so one that is swapped for a link meanwhile leads nowhere
outside. Hidden files and those listed in ignore files are found; names of ours (`Jail.hides`) are
not. A link to a directory is not entered.
"""

import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.file_store import Skip
from langgraph_filesystem.state.backends.protocol import FileInfo, GlobResult
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, NotDirectory
from langgraph_filesystem.state.globs import Glob
from langgraph_filesystem.state.paths import MAX_PATH_BYTES
from langgraph_filesystem.state.text import Note, PathPart, join_notes

__all__ = ("SECONDS", "LeftOut", "can_name", "find_files", "search_start", "walk")

SECONDS = 20.0
"""How long a walk through a tree may take."""
_MAX_FOUND = 200_000
"""More files than any answer shows."""
_SHOWN = 3
"""Paths of files that were left out, in a note."""


def search_start(jail: Jail, path: str | None) -> str:
    """Return where a search begins.

    Without a path that is the root directory, and `/` counts as none: with `virtual_mode=False` it
    is the root of the host, which nobody wants to search.
    """
    return jail.home if path in (None, "", "/") else jail.normal(path)


def find_files(
    jail: Jail,
    pattern: str,
    path: str | None = None,
    *,
    skips: Skip | None = None,
    time_limit: float = SECONDS,
) -> GlobResult:
    """Find the files below a directory whose paths match a glob pattern."""
    top, left_out = search_start(jail, path), LeftOut(time_limit)
    deadline = time.monotonic() + time_limit
    matches: list[FileInfo] = []
    result = GlobResult(matches=matches)
    links: set[str] = set()
    for found in walk(jail, top, Glob(pattern), left_out, deadline, links=links, skips=skips):
        if len(matches) >= _MAX_FOUND:
            result.truncated = True
            break
        matches.append({"path": found, "is_dir": False})
        if found in links:
            matches[-1]["is_link"] = True
    others = links.difference(match["path"] for match in matches)
    result.other_links = sorted(link for link in others if not (skips and skips(link)))
    result.truncated = result.truncated or left_out.is_late
    result.note = left_out.note()
    return result


def walk(
    jail: Jail,
    top: str,
    glob: Glob | None,
    left_out: "LeftOut",
    deadline: float,
    *,
    links: set[str] | None = None,
    skips: Skip | None = None,
) -> Iterator[str]:
    """Yield the paths of the files below a directory that match, sorted.

    With `links`, a link to a file inside is found under its own name; all links that match are
    added to them.
    """
    top = top.rstrip("/") + "/"
    # In reverse order, because the last one is taken next. Paths of directories end in `/`, so that
    # files in `a` come after `a.txt`, as in a sorted list of all paths.
    pending = _list(jail, top, top, glob, links)
    while pending:
        path = pending.pop()
        if skips and skips(path):
            continue
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


def _list(
    jail: Jail, directory: str, top: str, glob: Glob | None, links: set[str] | None
) -> list[str]:
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
                    if entry.is_file(follow_symlinks=False):
                        found.append(directory + name)
                    elif links is not None and entry.is_symlink():
                        links.add(directory + name)
                        found += [directory + name] * _leads_to_file(jail, directory + name)
    except OSError as error:
        raise jail.explain(here, error) from None
    found.sort(reverse=True)
    return found


def _leads_to_file(jail: Jail, link: str) -> bool:
    try:
        return stat.S_ISREG(jail.stat(link).st_mode)
    except FilesystemError:
        return False  # it leads outside, or nowhere


class _Names:
    """How many paths there were of a kind, and the first of them in order."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[str] = []

    def add(self, path: str) -> None:
        """Count one more path; the `/` at the end of a directory makes no difference."""
        path = path.rstrip("/") or "/"
        if path not in self._first:
            self.count += 1
            self._first = sorted([*self._first, path])[:_SHOWN]

    def parts(self) -> list[str]:
        """Return the parts of a note: the first paths, and how many more there are."""
        shown = join_notes(", ", (Note(_readable(path)) for path in self._first))
        more = self.count - len(self._first)
        return [*(shown.parts if shown else ()), f" and {more:,} more." if more else "."]


@dataclass
class LeftOut:
    """Why a result is not whole."""

    time_limit: float
    max_file_size: int = 0
    is_late: bool = False
    """Whether the time was up before everything was looked at."""
    binary: str = ""
    """The file that was to be searched, and is binary."""
    large: _Names = field(default_factory=_Names)
    unreadable: _Names = field(default_factory=_Names)
    unnameable: _Names = field(default_factory=_Names)
    """Names that are not valid text, or that mean something else in a path."""

    def note(self, said: str | None = None) -> str | None:
        """Return what there is to say, after what was said already; `None` for nothing."""
        return join_notes(" ", [*([said] if said else []), *self._sentences(is_late=not said)])

    def _sentences(self, is_late: bool) -> Iterator[str]:
        if self.is_late and is_late:
            yield f"The search stopped after {self.time_limit:g} s; search a smaller directory."
        if self.binary:
            yield Note(_readable(self.binary), " is binary and was not searched.")
        if self.large.count:
            limit = f"Not searched, because larger than {self.max_file_size:,} bytes (search a "
            yield Note(limit, "large file by naming it as `path`): ", *self.large.parts())
        if self.unreadable.count:
            yield Note("Left out, because unreadable: ", *self.unreadable.parts())
        if self.unnameable.count:
            yield Note("Left out, because no path can name it: ", *self.unnameable.parts())


def _readable(path: str) -> PathPart:
    """A name may hold bytes that are not text, and be as long as a path can get."""
    shown = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return PathPart(shown if len(shown) <= 200 else f"{shown[:100]}...{shown[-80:]}")
