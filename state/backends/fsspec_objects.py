"""Any `fsspec` filesystem as objects under keys.

No such filesystem can compare before it writes. What was read is looked at again before it is
replaced, so that only who writes in the very same moment can lose something.
"""

import uuid
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langgraph_filesystem.state.backends.fsspec_client import FsspecClient
from langgraph_filesystem.state.backends.many import each
from langgraph_filesystem.state.backends.objects import Blob, Changed, Entry, Listing, Survey
from langgraph_filesystem.state.backends.remote_errors import client_errors, explain
from langgraph_filesystem.state.backends.remote_keys import NOTES, Keys, check_reserved, listing
from langgraph_filesystem.state.backends.remote_surveys import survey_each, write_each
from langgraph_filesystem.state.errors import FilesystemError, PathRefused
from langgraph_filesystem.state.io import Io
from langgraph_filesystem.state.paths import ancestors, is_within

__all__ = ("FsspecObjects",)

_NOT_THERE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class FsspecObjects:
    """The files below a directory, for calls that all block or are all awaited."""

    def __init__(self, client: FsspecClient, root: str, io: Io) -> None:
        self._client = client
        self._keys = Keys(root)
        self._io = io

    @property
    def identity(self) -> Hashable:
        """Two filesystems that were made alike are the same one."""
        return "fsspec", self._client.filesystem

    def check(self, path: str) -> None:
        """Refuse the paths of the journal."""
        check_reserved(path)

    async def info(self, path: str) -> Entry | None:
        """Return the size of a file."""
        info = await self._info(path)
        return None if info is None else _entry(path, info)

    async def get(
        self, path: str, start: int = 0, length: int | None = None, same: Blob | None = None
    ) -> Blob | None:
        """Return bytes of a file, by their range."""
        info = await self._info(path)
        if info is None:
            return None
        if same is not None and _version(info) != same.version:
            raise Changed
        size = int(info["size"])
        end = size if length is None else min(size, start + length)
        content = b""
        if end > start:
            try:
                content = await self._do(path, "cat_file", self._keys.key(path), start, end)
            except _NOT_THERE:
                return None
        return Blob(bytes(content), size, _version(info), None, _time(info))

    async def get_many(self, paths: Sequence[str]) -> list[Blob | None]:
        """Return whole files."""
        return await each(self._io, self.get, paths)

    async def create(self, path: str, content: bytes) -> None:
        """Write a file that is not there."""
        if await self._info(path) is not None:
            raise Changed
        mode = {"mode": "create"} if self._client.can_create else {}
        try:
            await self._put(path, content, **mode)
        except FileExistsError:
            raise Changed from None

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        """Write a file that is as it was when it is looked at."""
        info = await self._info(path)
        if info is None or _version(info) != old.version:
            raise Changed
        await self._put(path, content)

    async def replace(self, contents: Mapping[str, bytes]) -> dict[str, FilesystemError]:
        """Write files, whatever is there."""
        return await write_each(self._io, self._put, contents)

    async def create_each(self, contents: Mapping[str, bytes]) -> dict[str, FilesystemError]:
        """Write files where none are."""
        return await write_each(self._io, self.create, contents)

    async def remove(self, paths: Sequence[str]) -> None:
        """Remove files, and the directories that are empty then."""
        await each(self._io, self._remove_one, paths)
        if self._client.has_directories:
            parents = {above for path in paths for above in ancestors(path)}
            for parent in sorted(parents, key=len, reverse=True):
                await self._remove_if_empty(parent)

    async def remove_directory(self, path: str) -> bool:
        """Remove the empty directories that are left."""
        key = self._keys.key(path)
        try:
            found = await self._do(path, "find", key, withdirs=True, detail=True)
        except _NOT_THERE:
            found = {}
        names = (self._keys.path(name) for name in found)
        directories = {path, *(name for name in names if name is not None)} - {"/"}
        for directory in sorted(directories, key=len, reverse=True):
            await self._remove_if_empty(directory)
        return not await self.is_directory(path)

    async def rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Copy files, then remove the sources, unless they were changed meanwhile."""
        sources = [source for source, _ in pairs]
        before = await each(self._io, self._info, sources)
        copied: list[str] = []

        async def copy(pair: tuple[str, str]) -> None:
            await self._copy(*pair)
            copied.append(pair[1])

        try:
            await each(self._io, copy, pairs)
            if [*map(_version, await each(self._io, self._info, sources))] != [
                *map(_version, before)
            ]:
                raise Changed
        except BaseException:
            await self.remove(copied)
            raise
        await self.remove(sources)

    async def children(self, directory: str) -> Listing:
        """Return what is directly below a directory."""
        infos = await self._list(directory, "ls")
        directories = [info["name"] for info in infos if info["type"] == "directory"]
        return listing(self._keys, _files(infos), directories)

    async def below(self, directory: str, seconds: float | None = None) -> Listing:
        """Return every file below a directory."""
        return listing(self._keys, _files(await self._list(directory, "find")))

    async def is_directory(self, path: str) -> bool:
        """Say whether a directory is at a path."""
        try:
            info = await self._do(path, "info", self._keys.key(path))
        except _NOT_THERE:
            return False
        return bool(info["type"] == "directory")

    async def survey(self, paths: Sequence[str], message: str | None = None) -> list[Survey]:
        """Say what is at paths: many of one directory by a list of it."""
        return await survey_each(self._io, self, paths)

    async def note_names(self, directory: str) -> list[str]:
        """Return the names of the notes of a journal."""
        infos = await self._list(f"{NOTES}/{directory}", "ls")
        return [info["name"].rpartition("/")[2] for info in infos]

    async def note(self, directory: str, name: str) -> bytes | None:
        """Return a note of a journal."""
        blob = await self.get(f"{NOTES}/{directory}/{name}")
        return None if blob is None else blob.content

    async def put_note(self, directory: str, name: str, value: bytes) -> None:
        """Write a note of a journal."""
        await self._put(f"{NOTES}/{directory}/{name}", value)

    async def remove_notes(self, directory: str, names: Sequence[str]) -> None:
        """Remove notes of a journal."""
        await each(self._io, self._remove_one, [f"{NOTES}/{directory}/{name}" for name in names])

    # Calls

    async def _do(self, path: str, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of the filesystem; what it raises that says something to us passes."""
        try:
            return await self._io.call(self._client, "do", method, *args, **options)
        except (*_NOT_THERE, FileExistsError):
            raise
        except client_errors() as error:
            raise explain(path, error) from None

    async def _info(self, path: str) -> Any:
        try:
            info = await self._do(path, "info", self._keys.key(path))
        except _NOT_THERE:
            return None
        if info["type"] != "file":
            return None
        await self._check_links(path)
        return info

    async def _check_links(self, path: str) -> None:
        """Refuse a path through a link of a disk: it may lead anywhere."""
        if not self._client.is_local:
            return
        for step in (path, *ancestors(path)):
            try:
                info = await self._do(step, "info", self._keys.key(step))
            except _NOT_THERE:
                continue
            if info.get("islink"):
                raise PathRefused(path, "a symbolic link is on it. Use what the link leads to.")

    async def _put(self, path: str, content: bytes, **options: Any) -> None:
        await self._check_links(path)
        key = self._keys.key(path)
        if not self._client.is_local:
            await self._into(path, "pipe_file", key, content, **options)
            return
        # A disk writes in place: nobody is to see half of a file, so it is moved when it is whole.
        unfinished = self._keys.key(f"{NOTES}/new/{uuid.uuid4().hex}")
        await self._into(f"{NOTES}/new/file", "pipe_file", unfinished, content)
        await self._into(path, "mv", unfinished, key)

    async def _into(self, path: str, method: str, *args: Any, **options: Any) -> None:
        """Call a method that writes a path, and make the directories above it if they lack."""
        try:
            await self._do(path, method, *args, **options)
        except FileNotFoundError as error:
            if not self._client.has_directories:
                raise explain(path, error) from None
            parent = self._keys.key(path).rpartition("/")[0]
            await self._do(path, "makedirs", parent, exist_ok=True)
            await self._do(path, method, *args, **options)

    async def _copy(self, source: str, destination: str) -> None:
        """Copy a file to where nothing is: by the filesystem itself, if it can."""
        if await self._info(source) is None or await self._info(destination) is not None:
            raise Changed
        keys = self._keys.key(source), self._keys.key(destination)
        try:
            await self._into(destination, "cp_file", *keys)
        except NotImplementedError:
            blob = await self.get(source)
            if blob is None:
                raise Changed from None
            await self._put(destination, blob.content)

    async def _list(self, directory: str, method: str) -> list[Any]:
        key = self._keys.key(directory)
        await self._check_links(directory)
        try:
            found = await self._do(directory, method, key, detail=True)
        except _NOT_THERE:
            return []
        infos = list(found.values() if isinstance(found, dict) else found)
        return [info for info in infos if self._keys.path(info["name"]) != directory]

    async def _remove_one(self, path: str) -> None:
        await self._check_links(path)
        try:
            await self._do(path, "rm_file", self._keys.key(path))
        except _NOT_THERE:
            return

    async def _remove_if_empty(self, directory: str) -> None:
        if await self._list(directory, "ls") or is_within(directory, NOTES):
            return
        try:
            await self._do(directory, "rmdir", self._keys.key(directory))
        except _NOT_THERE:
            return


def _files(infos: Sequence[Any]) -> list[Entry]:
    return [_entry(info["name"], info) for info in infos if info["type"] == "file"]


def _entry(path: str, info: Any) -> Entry:
    return Entry(path, int(info["size"] or 0), _time(info), _version(info))


_TIMES = ("mtime", "LastModified", "last_modified", "modified", "updated", "created")
_TELLING = ("ETag", "etag", "e_tag", "md5", "VersionId", "version_id", "generation", "ino", "size")


def _version(info: Any) -> tuple[tuple[str, str], ...]:
    """Return all that tells a state of a file from another one."""
    if info is None:
        return ()
    return tuple((name, str(info[name])) for name in (*_TELLING, *_TIMES) if name in info)


def _time(info: Any) -> str | None:
    found = next((info[name] for name in _TIMES if info.get(name) is not None), None)
    if isinstance(found, int | float):
        found = datetime.fromtimestamp(found, UTC)
    if isinstance(found, datetime):
        return found.astimezone(UTC).isoformat(timespec="milliseconds")
    return found if isinstance(found, str) else None
