"""Any `fsspec` filesystem as objects.

These filesystems can't compare before they write. A file is checked again right before it is
replaced, so an edit can only be lost if another process writes at the same moment.
"""

import asyncio
import inspect
from collections.abc import Hashable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from langgraph_filesystem.state.backends.objects.errors import client_errors, explain
from langgraph_filesystem.state.backends.objects.objects import (
    Blob,
    Changed,
    Entry,
    Listing,
)
from langgraph_filesystem.state.backends.objects.remote_objects import RESERVED, RemoteObjects
from langgraph_filesystem.state.io import call_either, change_in_thread, gather_limited, in_thread
from langgraph_filesystem.state.paths import ancestors

__all__ = ("FsspecObjects",)

_NOT_THERE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_READING = ("info", "ls", "find", "cat_file")
_TIMES = ("mtime", "LastModified", "last_modified", "modified", "updated", "created")
_VERSIONS = ("ETag", "etag", "e_tag", "md5", "VersionId", "version_id", "generation", "ino", "size")


class FsspecObjects(RemoteObjects):
    """The files below a directory."""

    def __init__(self, filesystem: Any, root: str) -> None:
        super().__init__(root)
        self._filesystem = filesystem
        innermost = filesystem
        while (wrapped := getattr(innermost, "fs", None)) is not None:
            innermost = wrapped
        protocol = innermost.protocol
        if "file" in ([protocol] if isinstance(protocol, str) else protocol):
            raise ValueError(
                "A directory of this machine is mounted with `FilesystemBackend(root_dir)`, which "
                "writes whole files and lets no link lead out of it."
            )
        self._is_async = bool(filesystem.async_impl and innermost.async_impl)
        """Whether it is behind HTTP: such a filesystem has keys and no real directories."""
        self._creates = "mode" in inspect.signature(filesystem.pipe_file).parameters

    @property
    def identity(self) -> Hashable:
        """The filesystem: `fsspec` returns the same object for the same arguments."""
        return "fsspec", self._filesystem

    def notes(self, scope: str) -> "FsspecObjects":
        """Return the hidden place of the journal."""
        return FsspecObjects(self._filesystem, self._key(f"{RESERVED}/{scope}"))

    async def info(self, path: str) -> Entry | None:
        """Return a file without its content."""
        try:
            info = await self._do(path, "info", self._key(path))
        except _NOT_THERE:
            return None
        return _entry(path, info) if info["type"] == "file" else None

    async def get(
        self, path: str, start: int = 0, length: int | None = None, same: Blob | None = None
    ) -> Blob | None:
        """Return a range of the bytes of a file."""
        entry = await self.info(path)
        if entry is None:
            return None
        if same is not None and entry.version != same.version:
            raise Changed
        end = entry.size if length is None else min(entry.size, start + length)
        content = b""
        if end > start:
            try:
                content = await self._do(path, "cat_file", self._key(path), start, end)
            except _NOT_THERE:
                return None
        return Blob(bytes(content), entry.size, entry.version, None, entry.modified_at)

    async def _create(self, path: str, content: bytes) -> None:
        """Write a file that does not exist."""
        if await self.info(path) is not None:
            raise Changed
        try:
            await self._put(path, content, **({"mode": "create"} if self._creates else {}))
        except FileExistsError:
            raise Changed from None

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        """Write a file, if a check shows that it is still the old one."""
        entry = await self.info(path)
        if entry is None or entry.version != old.version:
            raise Changed
        await self._put(path, content)

    async def remove(self, paths: Sequence[str]) -> None:
        """Remove files, and the directories that are empty then."""
        await gather_limited(self._remove_one, paths)
        await self._remove_empty({above for path in paths for above in ancestors(path)})

    async def remove_directory(self, path: str) -> bool:
        """Remove the empty directories that are left."""
        try:
            found = await self._do(path, "find", self._key(path), withdirs=True, detail=True)
        except _NOT_THERE:
            found = {}
        names = (self._path(name) for name in found)
        await self._remove_empty({path, *(name for name in names if name is not None)} - {"/"})
        return not await self.is_directory(path)

    async def children(self, directory: str) -> Listing:
        """Return what is directly below a directory."""
        infos = await self._list(directory, "ls")
        directories = [info["name"] for info in infos if info["type"] == "directory"]
        return self._listing(_files(infos), directories)

    async def below(self, directory: str, seconds: float | None = None) -> Listing:
        """Return every file below a directory."""
        return self._listing(_files(await self._list(directory, "find")))

    async def is_directory(self, path: str) -> bool:
        """Say whether a directory is at a path."""
        try:
            info = await self._do(path, "info", self._key(path))
        except _NOT_THERE:
            return False
        return bool(info["type"] == "directory")

    async def _put(self, path: str, content: bytes, **options: Any) -> None:
        await self._write_to(path, "pipe_file", self._key(path), content, **options)

    async def _write_to(self, path: str, method: str, *args: Any, **options: Any) -> None:
        """Call a method that writes to a path; create missing directories above it."""
        try:
            await self._do(path, method, *args, **options)
        except FileNotFoundError as error:
            if self._is_async:
                raise explain(path, error) from None
            await self._do(path, "makedirs", self._key(path).rpartition("/")[0], exist_ok=True)
            await self._do(path, method, *args, **options)

    async def _copy(self, source: str, destination: str) -> None:
        if await self.info(source) is None or await self.info(destination) is not None:
            raise Changed
        keys = self._key(source), self._key(destination)
        try:
            await self._write_to(destination, "cp_file", *keys)
        except NotImplementedError:
            blob = await self.get(source)
            if blob is None:
                raise Changed from None
            await self._put(destination, blob.content)

    async def _list(self, directory: str, method: str) -> list[Any]:
        try:
            found = await self._do(directory, method, self._key(directory), detail=True)
        except _NOT_THERE:
            return []
        infos = list(found.values() if isinstance(found, dict) else found)
        return [info for info in infos if self._path(info["name"]) != directory]

    async def _remove_one(self, path: str) -> None:
        try:
            await self._do(path, "rm_file", self._key(path))
        except _NOT_THERE:
            return

    async def _remove_empty(self, directories: set[str]) -> None:
        if self._is_async:
            return
        for directory in sorted(directories, key=len, reverse=True):
            if directory == RESERVED or await self._list(directory, "ls"):
                continue
            try:
                await self._do(directory, "rmdir", self._key(directory))
            except _NOT_THERE:
                continue

    # Requests

    async def _do(self, path: str, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of the filesystem; turn errors that our callers don't handle into ours."""
        # Its cache does not know about other writers.
        self._filesystem.invalidate_cache()
        try:
            blocking = getattr(self._filesystem, method)
            awaited = partial(self._awaited, method)
            return await call_either(blocking, awaited, *args, **options)
        except (*_NOT_THERE, FileExistsError):
            raise
        except client_errors() as error:
            raise explain(path, error) from None

    async def _awaited(self, method: str, *args: Any, **options: Any) -> Any:
        if not self._is_async:
            run = in_thread if method in _READING else change_in_thread
            return await run(getattr(self._filesystem, method), *args, **options)
        running = getattr(self._filesystem, f"_{method}")(*args, **options)
        if self._filesystem.asynchronous:
            return await running
        # Its connections belong to an event loop of its own.
        started = asyncio.run_coroutine_threadsafe(running, self._filesystem.loop)
        return await asyncio.wrap_future(started)


def _files(infos: Sequence[Any]) -> list[Entry]:
    return [_entry(info["name"], info) for info in infos if info["type"] == "file"]


def _entry(path: str, info: Any) -> Entry:
    version = tuple((name, str(info[name])) for name in (*_VERSIONS, *_TIMES) if name in info)
    return Entry(path, int(info["size"] or 0), _time(info), version)


def _time(info: Any) -> str | None:
    found = next((info[name] for name in _TIMES if info.get(name) is not None), None)
    if isinstance(found, int | float):
        found = datetime.fromtimestamp(found, UTC)
    if isinstance(found, datetime):
        return found.astimezone(UTC).isoformat(timespec="milliseconds")
    return found if isinstance(found, str) else None
