"""Many files of a remote store: what is at their paths, and writing them, some at a time."""

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from langgraph_filesystem.state.backends.many import each
from langgraph_filesystem.state.backends.objects import Changed, Entry, Listing, Survey
from langgraph_filesystem.state.errors import FileExists, FilesystemError
from langgraph_filesystem.state.io import Io
from langgraph_filesystem.state.paths import ancestors

__all__ = ("survey_each", "write_each")

_FEW = 8
"""Paths of one directory up to which each is asked for: a directory may have a million others."""


class _Asked(Protocol):
    async def info(self, path: str) -> Entry | None: ...

    async def is_directory(self, path: str) -> bool: ...

    async def children(self, directory: str) -> Listing: ...


async def survey_each(io: Io, objects: _Asked, paths: Sequence[str]) -> list[Survey]:
    """Say what is at paths: many of one directory by a list of it."""
    steps = {step for path in paths for step in ancestors(path)} - {*paths}
    files = set(await _files(io, objects, sorted(steps)))
    parents = Counter(_parent(path) for path in paths)
    many = [parent for parent, count in parents.items() if count > _FEW]
    lists = dict(zip(many, await each(io, objects.children, many), strict=True))
    directories: set[str] = set()
    for found in lists.values():
        files |= {entry.path for entry in found.files}
        directories |= found.directories
    others = [path for path in paths if _parent(path) not in lists and path != "/"]
    files |= set(await _files(io, objects, others))
    new = [path for path in others if path not in files]
    are = await each(io, objects.is_directory, new)
    directories |= {path for path, is_directory in zip(new, are, strict=True) if is_directory}
    return [
        Survey(
            path in files,
            path in directories,
            next(filter(files.__contains__, ancestors(path)), None),
        )
        for path in paths
    ]


async def write_each(
    io: Io,
    write: Callable[[str, bytes], Coroutine[Any, Any, None]],
    contents: Mapping[str, bytes],
) -> dict[str, FilesystemError]:
    """Write files, and return why some of them could not be written.

    `Changed` says of a file that is to be new that it is there.
    """
    failed: dict[str, FilesystemError] = {}

    async def one(path: str) -> None:
        try:
            await write(path, contents[path])
        except FilesystemError as error:
            failed[path] = error
        except Changed:
            failed[path] = FileExists(path, "Choose another path.")

    await each(io, one, list(contents))
    return failed


async def _files(io: Io, objects: _Asked, paths: Sequence[str]) -> list[str]:
    infos = await each(io, objects.info, paths)
    return [path for path, info in zip(paths, infos, strict=True) if info is not None]


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
