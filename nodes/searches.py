"""Lists and searches over mounts: each mount at or below a path is asked, and one answer made.

A mount hides what another one has at its path. One that fails is reported beside what the others
found; if all fail, it is an error.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

from langgraph_filesystem.nodes.answers import escaped
from langgraph_filesystem.nodes.failures import attempted
from langgraph_filesystem.nodes.node import takes
from langgraph_filesystem.nodes.view import View
from langgraph_filesystem.state.backends.protocol import FileInfo, GrepMatch, GrepResult
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.errors import BackendFailed, Unsupported
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import is_within

__all__ = ("find_files", "find_lines", "list_directory")


async def list_directory(view: View, path: str) -> tuple[list[FileInfo], list[str]]:
    """Return what is directly below a directory, with mount points, and notes on failures."""
    points = _points_below(view, path)
    if points and _is_only_above_mounts(view, path):
        return points, []
    mount = view.mounts.locate(path)
    work = view.call(mount, path, "ls", mount.inner(path))
    result, problem = await attempted(work, f"ls {path}")
    if result is None:
        if not points:
            raise BackendFailed(problem)
        return points, [_note(mount.prefix, problem or "no answer")]
    hidden = {point["path"] for point in points}
    found = [_named(mount, info) for info in result.entries or ()]
    return [info for info in found if info["path"].rstrip("/") not in hidden] + points, []


async def find_files(view: View, pattern: str, path: str) -> tuple[list[FileInfo], list[str]]:
    """Return the files that match in every mount at or below a path, and notes on failures."""
    found: list[FileInfo] = []
    notes: list[str] = []
    failures: dict[str, str] = {}
    matches = compile_glob(pattern)
    places = _places(view, path, pattern)
    for mount, start, only in places:
        work = view.call(mount, start, "glob", only or "**/*", mount.inner(start))
        result, problem = await attempted(work, f"glob {start}")
        if result is None:
            failures[mount.prefix] = problem or "no answer"
            continue
        named = (_named(mount, info) for info in result.matches or ())
        found += [
            info
            for info in named
            if _belongs(view, mount, info["path"])
            and (only or matches(_relative(info["path"], path)))
        ]
        if getattr(result, "truncated", False):
            notes.append(_note(mount.prefix, "the list is not complete"))
    return found, notes + _notes_on(failures, len(places))


async def find_lines(
    view: View, pattern: str, path: str, glob: str | None, options: dict[str, Any]
) -> tuple[GrepResult, list[str]]:
    """Return the matches in every mount at or below a path, and notes on failures."""
    total, notes = GrepResult(matches=[], counts={}), list[str]()
    failures: dict[str, str] = {}
    matches = compile_glob(glob) if glob else None
    places = _places(view, path, glob)
    for place in places:
        work = _grep(view, place, pattern, options)
        found, problem = await attempted(work, f"grep {place.start}")
        if found is None:
            failures[place.mount.prefix] = problem or "no answer"
            continue
        keep = None if place.pattern == glob else matches
        _add_matches(view, place.mount, found, total, partial(_is_kept, keep, path))
        if note := getattr(found, "note", None):
            notes.append(f"[{escaped(note)}]")
    _cut_matches(total, options.get("max_count"))
    return total, notes + _notes_on(failures, len(places))


# Where to search


class _Place(NamedTuple):
    mount: Mount
    start: str
    """The path in it at which to begin."""
    pattern: str | None
    """What to give it of the pattern for files."""


def _places(view: View, path: str, pattern: str | None) -> list[_Place]:
    """Return each mount to search.

    A pattern with `/` is relative to `path`, so a mount below can't apply it: it is asked for all
    of its files, and the pattern is applied to what comes back.
    """
    names_only = pattern if pattern and "/" not in pattern else None
    below = [_Place(mount, mount.prefix, names_only) for mount in view.mounts.below(path)]
    if below and _is_only_above_mounts(view, path):
        return below
    return [_Place(view.mounts.locate(path), path, pattern), *below]


def _is_only_above_mounts(view: View, path: str) -> bool:
    """Say whether a path is a directory only because mounts are below it."""
    mount = view.mounts.locate(path)
    if not isinstance(mount.backend, StateBackend) or path == mount.prefix:
        return False
    return not any(is_within(key, path) for key in view.files)


def _points_below(view: View, path: str) -> list[FileInfo]:
    start = path.rstrip("/") + "/"
    names = {mount.prefix[len(start) :].partition("/")[0] for mount in view.mounts.below(path)}
    return [FileInfo(path=start + name, is_dir=True) for name in sorted(names)]


def _belongs(view: View, mount: Mount, path: str) -> bool:
    """Say whether no other mount hides a path of this one."""
    return view.mounts.locate(path) is mount


# One answer of many


async def _grep(view: View, place: _Place, pattern: str, options: dict[str, Any]) -> Any:
    mount, start, glob = place
    method = getattr(view.backend_for(mount, start), "grep", None)
    for option in ("regex", "ignore_case"):
        if options.get(option) and method is not None and not takes(method, option):
            raise Unsupported(
                f"{start}: the backend mounted at {mount.prefix} can't search with `{option}`. "
                "Search without it."
            )
    if view.mounts.below(start):
        # What a mount below hides must not use the limit up: it is applied to what is left.
        options = {**options, "max_count": None}
    return await view.call(mount, start, "grep", pattern, mount.inner(start), glob, **options)


def _add_matches(
    view: View, mount: Mount, found: Any, total: GrepResult, keep: Callable[[str], bool]
) -> None:
    assert total.matches is not None
    assert total.counts is not None
    counts = getattr(found, "counts", None) or Counter(m["path"] for m in found.matches or ())
    for inner, count in counts.items():
        path = mount.outer(inner)
        if _belongs(view, mount, path) and keep(path):
            total.counts[path] = count
    for match in found.matches or ():
        path = mount.outer(match["path"])
        if path in total.counts:
            total.matches.append(cast("GrepMatch", {**match, "path": path}))
    total.truncated = total.truncated or bool(getattr(found, "truncated", False))


def _cut_matches(total: GrepResult, most: int | None) -> None:
    """Keep so many matching lines in all: each mount was asked for as many."""
    counts, left = total.counts or {}, most
    if left is None or sum(counts.values()) <= left:
        return
    kept: dict[str, int] = {}
    for path, count in counts.items():
        kept[path] = min(count, left)
        left -= kept[path]
    matches: list[GrepMatch] = []
    room = Counter(kept)
    for match in total.matches or ():
        if room[match["path"]] > 0:
            room[match["path"]] -= 1
            matches.append(match)
    total.counts = {path: count for path, count in kept.items() if count}
    total.matches, total.truncated = matches, True


def _is_kept(matches: Callable[[str], bool] | None, directory: str, path: str) -> bool:
    return matches is None or matches(_relative(path, directory))


def _relative(path: str, directory: str) -> str:
    return path[len(directory.rstrip("/")) + 1 :]


def _named(mount: Mount, info: FileInfo) -> FileInfo:
    return {**info, "path": mount.outer(info["path"])}


def _notes_on(failures: Mapping[str, str], searched: int) -> list[str]:
    if failures and len(failures) == searched:
        raise BackendFailed(next(iter(failures.values())))
    return [_note(prefix, problem) for prefix, problem in failures.items()]


def _note(prefix: str, problem: str) -> str:
    return f"[{escaped(f'{prefix}: {problem}')}]"
