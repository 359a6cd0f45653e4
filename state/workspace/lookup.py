"""Lists and searches over mounts: every mount at or below a path is asked, and one answer made.

A mount hides what another one has at its path. One that fails is named in a note beside what the
others found; if all fail, it is an error.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from langgraph_filesystem.state.backends.file_store import Query, Skip
from langgraph_filesystem.state.backends.protocol import (
    FileInfo,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
)
from langgraph_filesystem.state.backends.search import limit_matches
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, NotDirectory
from langgraph_filesystem.state.globs import Glob
from langgraph_filesystem.state.io import attempt, in_thread
from langgraph_filesystem.state.text import Note, PathPart, join_notes, split_notes
from langgraph_filesystem.state.workspace.access import LEFT_OUT, Scope

if TYPE_CHECKING:
    from langgraph_filesystem.state.workspace.mounts import Mount
    from langgraph_filesystem.state.workspace.workspace import Place, Workspace

__all__ = ("find_files", "find_lines", "list_directory")

R = TypeVar("R", LsResult, GlobResult, GrepResult)


async def list_directory(workspace: "Workspace", path: str) -> LsResult:
    """Return what is directly below a directory, with the mount points there."""
    scope, path = await workspace.scope("ls", path)
    answers = _Answers(workspace, scope, path)
    answer = await answers.ask(path, lambda place: place.store.ls(place.inner))
    points = _mount_points(workspace, path)
    note = answers.note(is_enough=bool(points))
    hidden = {info["path"] for info in points}
    shown = [info for info in points if not scope.excludes(info["path"])]
    if answer is None:
        return LsResult(entries=shown, note=note)
    place, result = answer
    entries = [_named(place, info) for info in await _admitted(scope, place, result.entries)]
    if len(entries) < len(result.entries or ()) and LEFT_OUT not in (note or ""):
        note = join_notes("\n", [note, LEFT_OUT])  # a link to somewhere else
    shown = [*(info for info in entries if info["path"].rstrip("/") not in hidden), *shown]
    return LsResult(entries=shown, note=note)


async def find_files(workspace: "Workspace", pattern: str, path: str) -> GlobResult:
    """Return the files that match in every mount at or below a path."""
    scope, path = await workspace.scope("glob", path)
    part = _Parts(pattern, path)
    answers = _Answers(workspace, scope, path)
    found: list[FileInfo] = []
    total = GlobResult(matches=found)

    async def ask(place: "Place") -> GlobResult:
        skips = await scope.skips(place)
        result = await place.store.glob(part.of(place.path) or "*", place.inner, skips=skips)
        if result.truncated and not result.note:
            result.note = "The list is not complete."
        return result

    async for place, result in answers.ask_all(path, ask, part.may_hold):
        for info in await _admitted(scope, place, result.matches):
            named = _named(place, info)
            if part.keeps(place, named["path"]) and _is_visible(workspace, place, named["path"]):
                found.append(named)
        total.truncated = total.truncated or result.truncated
    total.note = answers.note()
    return total


async def find_lines(
    workspace: "Workspace", query: Query, path: str, glob: str | None
) -> GrepResult:
    """Return the lines that match in every mount at or below a path."""
    scope, path = await workspace.scope("grep", path)
    part = _Parts(glob or None, path)
    answers = _Answers(workspace, scope, path)
    total = GrepResult(matches=[], counts={})

    async def ask(place: "Place") -> GrepResult:
        skips = await scope.skips(place)
        # Matches that are left out below must not use up the limit.
        is_whole = part.is_exact(place) and not workspace.mounts.below(place.path) and not skips
        one = query if is_whole else replace(query, max_count=None)
        return await place.store.grep(one, place.inner, part.of(place.path), skips=skips)

    async for place, result in answers.ask_all(path, ask, part.may_hold):
        result.counts = result.counts or Counter(match["path"] for match in result.matches or ())
        if skips := await scope.skips(place):
            left_out = await _skipped(skips, result.counts)
            result.counts = {p: n for p, n in result.counts.items() if p not in left_out}

        def keeps(found: str, place: "Place" = place) -> bool:
            return part.keeps(place, found) and _is_visible(workspace, place, found)

        _add_matches(total, result, place, keeps)
    # Each mount was asked for as many lines, or for all.
    limit_matches(total, query.max_count)
    total.note = answers.note()
    return total


class _Parts:
    """A pattern for files, and the part of it that each mount can apply itself.

    A pattern with `/` is relative to the directory that is searched. A mount below gets what is
    left of it, or none, and the whole pattern is applied to what comes back.
    """

    def __init__(self, pattern: str | None, directory: str) -> None:
        self._pattern = pattern
        self._directory = directory
        self._glob = None if pattern is None else Glob(pattern)

    def of(self, path: str) -> str | None:
        """Return the pattern for a mount that is searched from a path."""
        if self._pattern is None or "/" not in self._pattern or path == self._directory:
            return self._pattern
        start = self._relative(path) + "/"
        pattern = self._pattern.removeprefix("/")
        return pattern[len(start) :] or None if pattern.startswith(start) else None

    def may_hold(self, path: str) -> bool:
        """Say whether files that match may lie below a path."""
        return self._glob is None or self._glob.may_match_below(self._relative(path))

    def is_exact(self, place: "Place") -> bool:
        """Say whether a mount finds exactly what the pattern matches."""
        return self.of(place.path) == self._pattern

    def keeps(self, place: "Place", path: str) -> bool:
        """Say whether a file that a mount found matches."""
        if self._glob is None or self.is_exact(place):
            return True
        return self._glob.matches(self._relative(path))

    def _relative(self, path: str) -> str:
        return path[len(self._directory.rstrip("/")) + 1 :]


class _Answers:
    """What the mounts answered, their notes, and which of them failed."""

    def __init__(self, workspace: "Workspace", scope: Scope, path: str) -> None:
        self._workspace = workspace
        self._scope = scope
        self._path = path
        self._notes: list[Note] = []
        self._failed: list[FilesystemError] = []
        self._succeeded = False
        self._may_leave_out = scope.may_exclude_below(path)

    async def ask_all(
        self, path: str, ask: Callable[["Place"], Awaitable[R]], is_asked: Callable[[str], bool]
    ) -> AsyncIterator[tuple["Place", R]]:
        """Yield the answers of the mount that serves a path and of each mount below it."""
        if answer := await self.ask(path, ask):
            yield answer
        asked: set[str] = set()
        # A factory may make a backend with mounts of its own, so there may be more each time.
        while left := [m.prefix for m in self._below(path) if m.prefix not in asked]:
            asked.add(left[0])
            if is_asked(left[0]) and (answer := await self.ask(left[0], ask)):
                yield answer

    async def ask(
        self, path: str, ask: Callable[["Place"], Awaitable[R]]
    ) -> tuple["Place", R] | None:
        """Return the answer of the mount that serves a path, or `None` if it failed.

        One that has no directory there has not failed if others are mounted below: it is a
        directory because of them.
        """
        asked = await attempt(self._asked(path, ask), self._scope.operation, " ", PathPart(path))
        if isinstance(asked, FilesystemError):
            is_missing = isinstance(asked, FileNotFound | NotDirectory)
            if not (is_missing and self._below(path)) and not self._scope.excludes(path):
                self._failed.append(asked)
                self._notes.append(self._about(path, asked.message))
            return None
        self._succeeded = True
        place, result = asked
        notes = split_notes("\n", place.renamed(result.note))
        self._notes += [note if path == "/" else self._about(path, note) for note in notes]
        return asked

    def note(self, *, is_enough: bool = False) -> Note | None:
        """Return all notes as one; raise if every mount failed, unless there is something else."""
        if self._failed and not self._succeeded and not is_enough:
            raise self._failed[0]
        left_out = [LEFT_OUT] if self._may_leave_out else []
        return join_notes("\n", [*self._scope.shown(self._notes), *left_out])

    async def _asked(self, path: str, ask: Callable[["Place"], Awaitable[R]]) -> tuple["Place", R]:
        place = await self._workspace.place(path)
        if path == self._path:
            await self._scope.check(place)
        self._may_leave_out = self._may_leave_out or await self._scope.may_exclude(place)
        with place.renaming():
            return place, await ask(place)

    def _below(self, path: str) -> "list[Mount]":
        return self._workspace.mounts.below(path)

    def _about(self, path: str, note: Note) -> Note:
        """Return a note that names a path: its own, or that of the mount."""
        if any(isinstance(part, PathPart) for part in note.parts):
            return note
        return Note(PathPart(self._workspace.mounts.locate(path).prefix), ": ", note)


def _mount_points(workspace: "Workspace", path: str) -> list[FileInfo]:
    """Return the entries of a directory that are there because of mounts below it."""
    start = path.rstrip("/") + "/"
    below = workspace.mounts.below(path)
    names = {mount.prefix[len(start) :].partition("/")[0] for mount in below}
    return [FileInfo(path=start + name, is_dir=True) for name in sorted(names)]


async def _admitted(
    scope: Scope, place: "Place", infos: Iterable[FileInfo] | None
) -> list[FileInfo]:
    """Return the entries that no rule leaves out."""
    found, skips = list(infos or ()), await scope.skips(place)
    if skips:
        left_out = await _skipped(skips, [info["path"].rstrip("/") for info in found])
        found = [info for info in found if info["path"].rstrip("/") not in left_out]
    return [info for info in found if not await scope.excludes_link(place, info)]


async def _skipped(skips: Skip, paths: Iterable[str]) -> set[str]:
    """Return the paths that are left out; there may be many, so they are checked in a thread."""
    return await in_thread(lambda: {path for path in paths if skips(path)})


def _is_visible(workspace: "Workspace", place: "Place", path: str) -> bool:
    """Say whether no other mount hides a path of this one."""
    mounts = workspace.mounts
    return path not in mounts.directories and mounts.locate(path).prefix == place.mount.prefix


def _add_matches(
    total: GrepResult, found: GrepResult, place: "Place", keeps: Callable[[str], bool]
) -> None:
    assert total.matches is not None
    assert total.counts is not None
    for inner, count in (found.counts or {}).items():
        path = place.mount.outer(inner)
        if keeps(path):
            total.counts[path] = count
    for match in found.matches or ():
        path = place.mount.outer(match["path"])
        if path in total.counts:
            total.matches.append(cast("GrepMatch", {**match, "path": path}))
    total.truncated = total.truncated or found.truncated


def _named(place: "Place", info: FileInfo) -> FileInfo:
    path = place.mount.outer(info["path"])
    return info if path == info["path"] else {**info, "path": path}
