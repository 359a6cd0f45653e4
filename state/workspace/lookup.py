"""Lists and searches over mounts: every mount at or below a path is asked, and one answer made.

A mount hides what another one has at its path. One that fails is named in a note beside what the
others found; if all fail, it is an error.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.protocol import (
    FileInfo,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
)
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, attempt
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.text import Note, PathPart, join_notes, split_notes

if TYPE_CHECKING:
    from langgraph_filesystem.state.workspace.workspace import Place, Workspace

__all__ = ("find_files", "find_lines", "list_directory")

R = TypeVar("R")


async def list_directory(workspace: "Workspace", path: str) -> LsResult:
    """Return what is directly below a directory, with the mount points there."""
    place = await workspace.locate(path)
    points = _mount_points(workspace, place.path)
    answers = _Answers("ls")
    result = await answers.add(place, place.store.ls(place.inner), is_above=bool(points))
    hidden = {info["path"] for info in points}
    named = [_named(place, info) for info in (result.entries if result else None) or ()]
    entries = [info for info in named if info["path"].rstrip("/") not in hidden]
    if points and result is None:
        return LsResult(entries=points, note=answers.note(is_enough=True))
    return LsResult(entries=[*entries, *points], note=answers.note())


async def find_files(workspace: "Workspace", pattern: str, path: str) -> GlobResult:
    """Return the files that match in every mount at or below a path."""
    matches = compile_glob(pattern)
    searches = await _searches(workspace, path, pattern)
    answers = _Answers("glob")
    found: list[FileInfo] = []
    total = GlobResult(matches=found)
    for place, only in searches:
        work = place.store.glob(only or "*", place.inner)
        is_above = len(searches) > 1 and place is searches[0].place
        result = await answers.add(place, work, is_above=is_above)
        if result is None:
            continue
        for info in (_named(place, info) for info in result.matches or ()):
            is_wanted = only is not None or matches(_relative(info["path"], path))
            if is_wanted and _is_visible(workspace, place, info["path"]):
                found.append(info)
        total.truncated = total.truncated or result.truncated
    total.note = answers.note()
    return total


async def find_lines(
    workspace: "Workspace", query: Query, path: str, glob: str | None
) -> GrepResult:
    """Return the lines that match in every mount at or below a path."""
    matches = compile_glob(glob) if glob else None
    searches = await _searches(workspace, path, glob)
    answers = _Answers("grep")
    total = GrepResult(matches=[], counts={})
    # Matches that another mount hides must not use up the limit: it is applied to what is left.
    each = query if len(searches) == 1 else replace(query, max_count=None)
    for place, only in searches:
        work = place.store.grep(each, place.inner, only)
        is_above = len(searches) > 1 and place is searches[0].place
        result = await answers.add(place, work, is_above=is_above)
        if result is None:
            continue

        def keeps(found: str, place: "Place" = place, only: str | None = only) -> bool:
            is_wanted = matches is None or only == glob or matches(_relative(found, path))
            return is_wanted and _is_visible(workspace, place, found)

        _add_matches(total, result, place, keeps)
    if len(searches) > 1:
        _cut_matches(total, query.max_count)
    total.note = answers.note()
    return total


class _Search(NamedTuple):
    """One mount to search, and the part of the file pattern that it can apply itself."""

    place: "Place"
    pattern: str | None


async def _searches(workspace: "Workspace", path: str, pattern: str | None) -> list[_Search]:
    """Return each mount to search at or below a path.

    A pattern with `/` is relative to `path`, so a mount below can't apply it: it is asked for all
    of its files, and the pattern is applied to what comes back.
    """
    names_only = pattern if pattern and "/" not in pattern else None
    place = await workspace.locate(path)
    below = [workspace.place(mount.prefix) for mount in workspace.mounts.below(place.path)]
    return [_Search(place, pattern), *(_Search(one, names_only) for one in below)]


class _Answers:
    """What the mounts answered that were asked, their notes, and which of them failed."""

    def __init__(self, operation: str) -> None:
        self._operation = operation
        self._notes: list[Note] = []
        self._failed: list[FilesystemError] = []
        self._succeeded = False

    async def add(self, place: "Place", work: Awaitable[R], *, is_above: bool = False) -> R | None:
        """Return the result of a mount, or `None` if it failed.

        A mount above others that has nothing at the path has not failed: it is a directory because
        of the mounts below it.
        """
        result = await attempt(work, self._operation, " ", PathPart(place.inner))
        if isinstance(result, FilesystemError):
            if not (is_above and isinstance(result, FileNotFound)):
                error = result.renamed(place.mount.outer)
                self._failed.append(error)
                self._notes.append(Note(PathPart(place.mount.prefix), ": ", error.message))
            return None
        self._succeeded = True
        self._notes += split_notes("\n", place.renamed(getattr(result, "note", None)))
        return result

    def note(self, *, is_enough: bool = False) -> Note | None:
        """Return all notes as one; raise if every mount failed, unless there is something else."""
        if self._failed and not self._succeeded and not is_enough:
            raise self._failed[0]
        return join_notes("\n", self._notes)


def _mount_points(workspace: "Workspace", path: str) -> list[FileInfo]:
    """Return the entries of a directory that are there because of mounts below it."""
    start = path.rstrip("/") + "/"
    below = workspace.mounts.below(path)
    names = {mount.prefix[len(start) :].partition("/")[0] for mount in below}
    return [FileInfo(path=start + name, is_dir=True) for name in sorted(names)]


def _is_visible(workspace: "Workspace", place: "Place", path: str) -> bool:
    """Say whether no other mount hides a path of this one."""
    return workspace.mounts.locate(path).prefix == place.mount.prefix


def _add_matches(
    total: GrepResult, found: GrepResult, place: "Place", keeps: Callable[[str], bool]
) -> None:
    assert total.matches is not None
    assert total.counts is not None
    counts = found.counts or Counter(match["path"] for match in found.matches or ())
    for inner, count in counts.items():
        path = place.mount.outer(inner)
        if keeps(path):
            total.counts[path] = count
    for match in found.matches or ():
        path = place.mount.outer(match["path"])
        if path in total.counts:
            total.matches.append(cast("GrepMatch", {**match, "path": path}))
    total.truncated = total.truncated or found.truncated


def _cut_matches(total: GrepResult, most: int | None) -> None:
    """Keep so many matching lines in all: each mount was asked for all of them."""
    counts, left = total.counts or {}, most
    if left is None or sum(counts.values()) <= left:
        return
    kept: dict[str, int] = {}
    for path, count in counts.items():
        kept[path] = min(count, left)
        left -= kept[path]
    room = Counter(kept)
    matches: list[GrepMatch] = []
    for match in total.matches or ():
        if room[match["path"]] > 0:
            room[match["path"]] -= 1
            matches.append(match)
    total.counts = {path: count for path, count in kept.items() if count}
    total.matches, total.truncated = matches, True


def _relative(path: str, directory: str) -> str:
    return path[len(directory.rstrip("/")) + 1 :]


def _named(place: "Place", info: FileInfo) -> FileInfo:
    path = place.mount.outer(info["path"])
    return info if path == info["path"] else {**info, "path": path}
