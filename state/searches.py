"""Lists and searches over mounts: each mount at or below a path is asked, and one answer made.

A mount hides what another one has at its path. One that fails is reported beside what the others
found; if all fail, it is an error.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from langgraph_filesystem.state.backends.protocol import FileInfo, GlobResult, GrepMatch, GrepResult
from langgraph_filesystem.state.errors import BackendFailed, Unsupported
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.io import takes
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.own_search import search_fetched
from langgraph_filesystem.state.places import (
    Place,
    belongs,
    is_only_above_mounts,
    is_there,
    places,
    points_below,
)
from langgraph_filesystem.state.refused import refused_below
from langgraph_filesystem.state.remarks import Named, Remark, naming, separated
from langgraph_filesystem.state.search import Query
from langgraph_filesystem.state.view import View

__all__ = ("find_files", "find_lines", "list_directory")


async def list_directory(view: View, path: str) -> tuple[list[FileInfo], list[str], int]:
    """Return what is directly below a directory, with mount points, and notes on failures.

    The last is how many entries have no path.
    """
    points = points_below(view, path)
    if points and await is_only_above_mounts(view, path):
        return points, [], 0
    mount = view.mounts.locate(path)
    work = view.call(mount, path, "ls", mount.inner(path))
    result, problem = await attempted(work, f"ls {path}")
    refused = await refused_below(view, path)
    if refused is not None:
        points = _united(refused.ls(path).entries or [], points)
    if result is None:
        if not points:
            raise BackendFailed(problem)
        if refused is not None and not await is_there(view, mount, path):
            return points, [], 0  # it is no directory but for what was refused
        return points, [_failed(mount.prefix, naming(path, problem or "no answer"))], 0
    found = [_named(mount, info) for info in result.entries or ()]
    return _united(found, points), _notes_of(mount, result), getattr(result, "unnamed", 0)


async def find_files(view: View, pattern: str, path: str) -> tuple[GlobResult, list[str]]:
    """Return the files that match in every mount at or below a path, and notes on failures."""
    found: list[FileInfo] = []
    total, notes = GlobResult(matches=found), list[str]()
    failures: dict[str, Remark] = {}
    matches = compile_glob(pattern)
    searched = await places(view, path, pattern)
    for mount, start, only in searched:
        work = view.call(mount, start, "glob", only or "*", mount.inner(start))
        result, problem = await attempted(work, f"glob {start}")
        if result is None:
            failures[mount.prefix] = naming(start, problem or "no answer")
            continue
        named = (_named(mount, info) for info in result.matches or ())
        found += [
            info
            for info in named
            if belongs(view, mount, info["path"])
            and (only or matches(_relative(info["path"], path)))
        ]
        total.truncated = total.truncated or bool(getattr(result, "truncated", False))
        notes += _notes_of(mount, result, "the list is not complete")
    if refused := await refused_below(view, path):
        found[:] = _united(found, refused.glob(pattern, path).matches or [])
        await _drop_missing(view, path, failures)
    return total, notes + _notes_on(failures, len(searched) + bool(refused))


async def find_lines(
    view: View, pattern: str, path: str, glob: str | None, options: dict[str, Any]
) -> tuple[GrepResult, list[str]]:
    """Return the matches in every mount at or below a path, and notes on failures."""
    total, notes = GrepResult(matches=[], counts={}), list[str]()
    failures: dict[str, Remark] = {}
    matches = compile_glob(glob) if glob else None
    searched = await places(view, path, glob)
    for place in searched:
        work = _grep(view, place, pattern, options)
        found, problem = await attempted(work, f"grep {place.start}")
        if found is None:
            failures[place.mount.prefix] = naming(place.start, problem or "no answer")
            continue
        keep = None if place.pattern == glob else matches
        _add_matches(view, place.mount, found, total, partial(_is_kept, keep, path))
        notes += _notes_of(place.mount, found)
    if refused := await refused_below(view, path):
        found = await view.run(refused, "grep", pattern, path, glob, **options)
        _add_refused(found, total)
        await _drop_missing(view, path, failures)
    _cut_matches(total, options.get("max_count"))
    return total, notes + _notes_on(failures, len(searched) + bool(refused))


# One answer of many


async def _grep(view: View, place: Place, pattern: str, options: dict[str, Any]) -> Any:
    mount, start, glob = place
    if view.mounts.below(start):
        # What a mount below hides must not use the limit up: it is applied to what is left.
        options = {**options, "max_count": None}
    method = getattr(view.backend_for(mount, start), "grep", None)
    lacks = callable(method) and not _can_all(method, options)
    if (lacks or not callable(method)) and view.can(mount, start, "read"):
        return await search_fetched(view, mount, start, glob, Query(pattern, **options))
    if lacks:
        raise Unsupported(f"{start}: the backend mounted at {mount.prefix} can't search so.")
    return await view.call(mount, start, "grep", pattern, mount.inner(start), glob, **options)


def _can_all(method: Callable[..., Any], options: dict[str, Any]) -> bool:
    """Say whether a search can be asked for all that changes which lines it finds."""
    asked = [option for option in ("regex", "ignore_case", "context") if options.get(option)]
    if options.get("output_mode") != "content":
        asked = [option for option in asked if option != "context"]
    return all(takes(method, option) for option in asked)


def _add_matches(
    view: View, mount: Mount, found: Any, total: GrepResult, keep: Callable[[str], bool]
) -> None:
    assert total.matches is not None
    assert total.counts is not None
    counts = getattr(found, "counts", None) or Counter(m["path"] for m in found.matches or ())
    for inner, count in counts.items():
        path = mount.outer(inner)
        if belongs(view, mount, path) and keep(path):
            total.counts[path] = count
    for match in found.matches or ():
        path = mount.outer(match["path"])
        if path in total.counts:
            total.matches.append(cast("GrepMatch", {**match, "path": path}))
    total.truncated = total.truncated or bool(getattr(found, "truncated", False))


def _add_refused(found: GrepResult, total: GrepResult) -> None:
    assert total.matches is not None
    assert total.counts is not None
    new = {path: n for path, n in (found.counts or {}).items() if path not in total.counts}
    total.matches += [match for match in found.matches or () if match["path"] in new]
    total.counts |= new
    total.truncated = total.truncated or found.truncated


async def _drop_missing(view: View, path: str, failures: dict[str, Remark]) -> None:
    """Say nothing of a mount without a directory that is one only by what was refused."""
    mount = view.mounts.locate(path)
    if mount.prefix in failures and not await is_there(view, mount, path):
        del failures[mount.prefix]


def _united(found: list[FileInfo], others: list[FileInfo]) -> list[FileInfo]:
    """Return entries with others, which stand for those that have the same path."""
    hidden = {info["path"].rstrip("/") for info in others}
    return [info for info in found if info["path"].rstrip("/") not in hidden] + others


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
    path = mount.outer(info["path"])
    return info if path == info["path"] else {**info, "path": path}


def _notes_on(failures: Mapping[str, Remark], searched: int) -> list[str]:
    if failures and len(failures) == searched:
        raise BackendFailed(next(iter(failures.values())))
    return [_failed(prefix, problem) for prefix, problem in failures.items()]


def _failed(prefix: str, problem: Remark) -> Remark:
    return Remark(Named(prefix), ": ", *problem.parts)


def _notes_of(mount: Mount, result: Any, why_cut: str | None = None) -> list[str]:
    """Return what a backend says of its result, or what to say of one that it cut."""
    if note := getattr(result, "note", None):
        # A backend made of several has a line for each.
        return [_of(mount.prefix, line.under(mount.prefix)) for line in separated("\n", note)]
    if why_cut and getattr(result, "truncated", False):
        return [_failed(mount.prefix, Remark(why_cut))]
    return []


def _of(prefix: str, said: Remark) -> Remark:
    """Say of which mount something is said, unless that is clear."""
    is_clear = prefix == "/" or (isinstance(said.parts[0], Named) and said.parts[1:2] == (": ",))
    return said if is_clear else Remark(Named(prefix), ": ", *said.parts)
