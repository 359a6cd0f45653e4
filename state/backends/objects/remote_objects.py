"""What `obstore` and `fsspec` have in common: keys below a root, and many requests at a time."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph_filesystem.state.backends.objects.objects import (
    Blob,
    Changed,
    Entry,
    Listing,
    Objects,
    Survey,
)
from langgraph_filesystem.state.errors import FileExists, FilesystemError, PathRefused
from langgraph_filesystem.state.io import gather_limited
from langgraph_filesystem.state.paths import ancestors, is_within, normalize_path

__all__ = ("RESERVED", "RemoteObjects")

RESERVED = "/.langgraph-filesystem"
"""Where the journal is. Hidden, and invalid as a path."""
_FEW = 8
"""Up to this many paths of a directory are looked up one by one: it may hold a million others."""


class RemoteObjects(Objects, ABC):
    """The files below one root of a remote store. No path leads out of it."""

    def __init__(self, root: str) -> None:
        self._root = root
        """As the store spells it, without a `/` at its end."""

    @abstractmethod
    async def _create(self, path: str, content: bytes) -> None:
        """Write a file that does not exist, or raise `Changed`."""

    @abstractmethod
    async def _put(self, path: str, content: bytes) -> None:
        """Write a file, whatever is there."""

    @abstractmethod
    async def _copy(self, source: str, destination: str) -> None:
        """Copy a file to where nothing is, or raise `Changed`."""

    def check(self, path: str) -> None:
        """Raise for paths of the journal."""
        if is_within(path, RESERVED):
            raise PathRefused(path, "it is reserved. Choose another path.")

    async def get_many(self, paths: Sequence[str]) -> list[Blob | FilesystemError | None]:
        """Return whole files."""
        return await gather_limited(self._get_or_error, paths)

    async def put_many(
        self, contents: Mapping[str, bytes], *, overwrite: bool
    ) -> dict[str, FilesystemError]:
        """Write files."""
        failed: dict[str, FilesystemError] = {}

        async def write(path: str) -> None:
            try:
                await (self._put if overwrite else self._create)(path, contents[path])
            except FilesystemError as error:
                failed[path] = error
            except Changed:
                failed[path] = FileExists(path)

        await gather_limited(write, [*contents])
        return failed

    async def rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Copy files, then remove the sources, unless they have changed meanwhile."""
        sources = [source for source, _ in pairs]
        before = await gather_limited(self.info, sources)
        copied: list[str] = []

        async def copy(pair: tuple[str, str]) -> None:
            await self._copy(*pair)
            copied.append(pair[1])

        try:
            await gather_limited(copy, pairs)
            if await gather_limited(self.info, sources) != before:
                raise Changed
        except BaseException:
            await self.remove(copied)
            raise
        await self.remove(sources)

    async def survey(self, paths: Sequence[str]) -> Survey:
        """Say what is at paths; many of one directory are looked up in a list of it."""
        steps = {step for path in paths for step in ancestors(path)}.difference(paths)
        parents = Counter(_parent(path) for path in paths)
        listed = [parent for parent, count in parents.items() if count > _FEW]
        files, directories = set[str](), set[str]()
        for listing in await gather_limited(self.children, listed):
            files.update(entry.path for entry in listing.files)
            directories |= listing.directories
        single = [path for path in paths if _parent(path) not in listed and path != "/"]
        files |= await _paths_where(self._is_file, [*single, *sorted(steps)])
        new = [path for path in single if path not in files]
        directories |= await _paths_where(self._is_directory, new)
        return Survey(files, directories)

    async def _is_file(self, path: str) -> bool:
        try:
            return await self.info(path) is not None
        except PathRefused:
            return False  # the write of this one file will tell

    async def _is_directory(self, path: str) -> bool:
        try:
            return await self.is_directory(path)
        except PathRefused:
            return False

    async def _get_or_error(self, path: str) -> Blob | FilesystemError | None:
        try:
            return await self.get(path)
        except FilesystemError as error:
            return error

    # Keys

    def _key(self, path: str) -> str:
        return f"{self._root}{path}" if self._root else path[1:]

    def _path(self, key: str) -> str | None:
        """Return the path of a key, or `None` if it is not a path below the root."""
        rest = key.rstrip("/") if self._root else key.strip("/")
        if self._root:
            if not rest.startswith(f"{self._root}/"):
                return None
            rest = rest[len(self._root) + 1 :]
        path = f"/{rest}"
        try:
            return path if normalize_path(path) == path else None
        except PathRefused:
            return None

    def _listing(self, files: Iterable[Entry], directories: Iterable[str] = ()) -> Listing:
        """Return entries and directories, given by their keys, by their paths."""
        found, odd = Listing(), list[str]()
        for file in files:
            path = self._path(file.path)
            if path is None:
                odd.append(file.path)
            elif not is_within(path, RESERVED):
                found.files.append(replace(file, path=path))
        for key in directories:
            path = self._path(key)
            if path is None:
                odd.append(key)
            elif path != RESERVED:
                found.directories.add(path)
        if odd:
            name = odd[0].rstrip("/").rpartition("/")[2]
            more = f" and {len(odd) - 1:,} more" if len(odd) > 1 else ""
            found.note = f"Left out: {name[:200]!r}{more} (the name can't be a path here)."
        return found


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


async def _paths_where(
    test: Callable[[str], Coroutine[Any, Any, bool]], paths: Sequence[str]
) -> set[str]:
    found = await gather_limited(test, paths)
    return {path for path, holds in zip(paths, found, strict=True) if holds}
