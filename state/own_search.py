"""Searching the files of a backend that can't do it itself: they are fetched and searched here."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from langgraph_filesystem.state import search as searching
from langgraph_filesystem.state.backends.contents import is_binary
from langgraph_filesystem.state.backends.protocol import FileInfo, GrepResult
from langgraph_filesystem.state.errors import Unsupported
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.inventories import find_all
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.search import Query
from langgraph_filesystem.state.view import View

__all__ = ("search_fetched",)

_SECONDS = 10.0
"""How long files are fetched before the search answers with what it has."""
_MAX_SIZE = 10_000_000
"""Bytes of a file that is searched; a larger one is named in a note."""
_BATCH = 64
_BATCH_SIZE = 8_000_000
"""Files, and bytes where the backend says how large they are, that are fetched at once."""


async def search_fetched(
    view: View, mount: Mount, start: str, glob: str | None, query: Query
) -> GrepResult:
    """Search the files at or below a path of a mount; paths are those of the backend."""
    deadline = time.monotonic() + _SECONDS
    files = await _candidates(view, mount, start, glob, query)
    small = [info for info in files if info.get("size", 0) <= _MAX_SIZE]
    total, left_out = GrepResult(matches=[], counts={}), len(files) - len(small)
    for batch in _batches(small):
        found = await view.fetch(mount, start, batch)
        left_out += sum(it.content is None for it in found)
        texts = (
            (mount.inner(path), _text(it.content)) for path, it in zip(batch, found, strict=True)
        )
        pairs = [(path, text) for path, text in texts if text is not None]
        _add(total, await view.run(searching, "search", pairs, _rest(query, total)))
        if total.truncated:
            break
        if time.monotonic() > deadline:
            total.truncated = True
            total.note = f"The search stopped after {_SECONDS:.0f} s; search a smaller directory."
            break
    if left_out and not total.note:
        total.note = f"{left_out:,} files are too large or could not be read, and were left out."
    return total


async def _candidates(
    view: View, mount: Mount, start: str, glob: str | None, query: Query
) -> list[FileInfo]:
    """Return the files to fetch, in the order of their paths."""
    if await _is_file(view, mount, start):
        found = [FileInfo(path=start)]
        keeps = _keeper(glob, start.rpartition("/")[0])
    elif not query.regex and not query.ignore_case and view.can(mount, start, "grep"):
        # The backend knows which files have the text; only the lines around it are missing.
        found = await _with_matches(view, mount, start, query.pattern)
        keeps = _keeper(glob, start)
    else:
        found = await _all_files(view, mount, start)
        keeps = _keeper(glob, start)
    return sorted((info for info in found if keeps(info["path"])), key=lambda info: info["path"])


async def _is_file(view: View, mount: Mount, path: str) -> bool:
    if path == mount.prefix:
        return False
    [itself] = await view.fetch(mount, path, [path])
    return itself.content is not None


async def _with_matches(view: View, mount: Mount, start: str, pattern: str) -> list[FileInfo]:
    result = await view.call(mount, start, "grep", pattern, mount.inner(start), None)
    paths = {mount.outer(match["path"]) for match in result.matches or ()}
    return [FileInfo(path=path) for path in paths]


async def _all_files(view: View, mount: Mount, start: str) -> list[FileInfo]:
    found: dict[str, FileInfo] = {}
    try:
        # For others a star may leave out names that begin with a dot.
        for pattern in ("*", ".*"):
            result = await view.call(mount, start, "glob", pattern, mount.inner(start))
            for info in result.matches or ():
                path = mount.outer(info["path"])
                if not info.get("is_dir") and view.mounts.locate(path) is mount:
                    found[path] = FileInfo(path=path, size=info.get("size", 0))
    except Unsupported:
        return [item.info for item in (await find_all(view, mount, start)).files]
    return list(found.values())


def _keeper(glob: str | None, directory: str) -> Callable[[str], bool]:
    if glob is None:
        return lambda path: True
    matches, skip = compile_glob(glob), len(directory.rstrip("/")) + 1
    return lambda path: matches(path[skip:])


def _batches(files: Sequence[FileInfo]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for info in files:
        if batch and (len(batch) >= _BATCH or size + info.get("size", 0) > _BATCH_SIZE):
            yield batch
            batch, size = [], 0
        batch.append(info["path"])
        size += info.get("size", 0)
    if batch:
        yield batch


def _text(content: bytes | None) -> str | None:
    if content is None or is_binary(content):
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _rest(query: Query, found: GrepResult) -> Query:
    if query.max_count is None:
        return query
    return replace(query, max_count=query.max_count - sum((found.counts or {}).values()))


def _add(total: GrepResult, found: Any) -> None:
    assert total.matches is not None
    assert total.counts is not None
    total.matches += found.matches or []
    total.counts |= found.counts or {}
    total.truncated = total.truncated or found.truncated
    total.note = found.note or total.note
