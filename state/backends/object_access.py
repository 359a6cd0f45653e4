"""What every operation on objects under keys needs: paths, whole files, why one is missing."""

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property

from langgraph_filesystem.state.backends.object_pages import Bookmarks
from langgraph_filesystem.state.backends.objects import Blob, Changed, Objects
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
)
from langgraph_filesystem.state.io import Io
from langgraph_filesystem.state.paths import normalize_path

__all__ = ("CHUNK", "Access", "ChangedMeanwhile", "Tidied", "digest_of")

CHUNK = 1 << 20
"""What is fetched of a file at once. A file that fits in is fetched whole, by one request."""

_MESSAGES = 100


class ChangedMeanwhile(BackendFailed):
    """A file was changed by somebody else while something was done with it."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: somebody else changed it at the same time. Read it again.")


class Tidied:
    """Of which messages the notes were tidied last: what a backend remembers between calls."""

    def __init__(self) -> None:
        self._messages: dict[Hashable, None] = {}

    def has(self, message: Hashable) -> bool:
        """Say whether it is among the last ones."""
        return message in self._messages

    def add(self, message: Hashable) -> None:
        """Remember one, and forget one that is long ago."""
        self._messages[message] = None
        if len(self._messages) > _MESSAGES:
            # Another thread may be at it: of what is forgotten, the notes are looked at again.
            self._messages.pop(next(iter(tuple(self._messages))), None)


class Access:
    """The files of a store, for the operations of one call."""

    def __init__(
        self,
        place: Callable[[], Objects],
        io: Io,
        limit: int,
        bookmarks: Bookmarks,
        tidied: Tidied | None = None,
    ) -> None:
        self._place = place
        self._io = io
        self._limit = limit
        """Bytes up to which a file is taken into memory."""
        self._bookmarks = bookmarks
        self._tidied = tidied or Tidied()

    @cached_property
    def _objects(self) -> Objects:
        """Where the files are: found when it is first needed, so that an error is an answer."""
        return self._place()

    async def digest(self, file_path: str) -> str | None:
        """Return a digest of what a file holds now, or `None` where there is none."""
        try:
            path = self._path(file_path)
        except PathRefused:
            return None
        blob = None if path == "/" else await self._objects.get(path, 0, CHUNK)
        return None if blob is None else await self._digest(path, blob)

    def _path(self, path: str) -> str:
        normal = normalize_path(path)
        self._objects.check(normal)
        return normal

    async def _missing(self, path: str) -> FilesystemError:
        """Say why there is no file at a path."""
        if path == "/":
            return IsDirectory(path)
        found = await self._objects.children(path)
        return IsDirectory(path) if found.files or found.directories else FileNotFound(path)

    async def _check_directory(self, path: str) -> None:
        """Raise for a path that nothing was found below, unless it is a directory all the same."""
        if path == "/":
            return
        if await self._objects.info(path) is not None:
            raise NotDirectory(path)
        if not await self._objects.is_directory(path):
            raise FileNotFound(path)

    async def _digest(self, path: str, blob: Blob) -> str:
        """Return a digest of a file of which at least the beginning was fetched."""
        if blob.size > self._limit:
            return digest_of(f"{blob.size} {blob.version}".encode())
        return digest_of((await self._whole(path, blob)).content)

    async def _whole(self, path: str, blob: Blob) -> Blob:
        """Return a file whole of which the beginning was fetched."""
        if len(blob.content) == blob.size:
            return blob
        try:
            rest = await self._objects.get(path, len(blob.content), None, blob)
        except Changed:
            rest = None
        if rest is None:
            raise ChangedMeanwhile(path)
        return replace(blob, content=blob.content + rest.content)


def digest_of(content: bytes) -> str:
    """Return what tells the content of a file from others."""
    return hashlib.sha256(content).hexdigest()[:24]
