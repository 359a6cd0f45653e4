"""An `obstore` store as objects under keys: S3, GCS, Azure, a directory or memory.

Where the store can, a file is created only if there is none, and changed only if it is what it was:
of two writers, wherever they are, the slower one notices.
"""

import time
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC
from typing import Any

from langgraph_filesystem.state.backends.many import each
from langgraph_filesystem.state.backends.objects import Blob, Changed, Entry, Listing, Survey
from langgraph_filesystem.state.backends.obstore_requests import ObstoreRequests
from langgraph_filesystem.state.backends.remote_keys import NOTES, check_reserved, listing
from langgraph_filesystem.state.backends.remote_surveys import survey_each, write_each
from langgraph_filesystem.state.errors import FilesystemError

__all__ = ("ObstoreObjects",)

_CAREFUL = 8 << 20
"""Bytes up to which a file is moved by writing it anew, where a store copies over what is there."""


class ObstoreObjects(ObstoreRequests):
    """The objects below a prefix, for calls that all block or are all awaited."""

    @property
    def identity(self) -> Hashable:
        """Two clients of the same bucket know nothing of each other: they compare, or may lose."""
        return "obstore", id(self._client.store)

    def check(self, path: str) -> None:
        """Refuse the paths of the journal."""
        check_reserved(path)

    async def info(self, path: str) -> Entry | None:
        """Return the size of a file."""
        meta = await self._head(path)
        return None if meta is None else _entry(path, meta)

    async def get(
        self, path: str, start: int = 0, length: int | None = None, same: Blob | None = None
    ) -> Blob | None:
        """Return bytes of a file, by their range."""
        options: dict[str, Any] = {}
        if length is not None:
            options["range"] = (start, start + length)
        elif start:
            options["range"] = {"offset": start}
        if same is not None and same.version[0] is not None:
            options["if_match"] = same.version[0]
        fetched = await self._fetch(path, start, options)
        if fetched is None:
            return None
        meta, content, attributes = fetched
        if same is not None and _version(meta) != same.version:
            raise Changed
        return Blob(content, meta["size"], _version(meta), None, _time(meta), attributes)

    async def get_many(self, paths: Sequence[str]) -> list[Blob | None]:
        """Return whole files."""
        return await each(self._io, self.get, paths)

    async def create(self, path: str, content: bytes) -> None:
        """Write a file that is not there."""
        try:
            await self._put(path, content, mode="create")
        except self._client.errors.AlreadyExistsError:
            raise Changed from None
        except self._client.unsupported:
            if await self._head(path) is not None:
                raise Changed from None
            await self._put(path, content)

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        """Write a file that is as it was."""
        tag, version = old.version
        mode = {"e_tag": tag, "version": version}
        kept = {"attributes": old.attributes} if old.attributes else {}
        try:
            if not tag and not version:
                raise NotImplementedError
            await self._put(path, content, mode={k: v for k, v in mode.items() if v}, **kept)
        except self._client.errors.PreconditionError:
            raise Changed from None
        except self._client.unsupported:
            meta = await self._head(path)
            if meta is None or _version(meta) != old.version:
                raise Changed from None
            await self._put(path, content, **kept)

    async def replace(self, contents: Mapping[str, bytes]) -> dict[str, FilesystemError]:
        """Write files, whatever is there."""
        return await write_each(self._io, self._put, contents)

    async def create_each(self, contents: Mapping[str, bytes]) -> dict[str, FilesystemError]:
        """Write files where none are."""
        return await write_each(self._io, self.create, contents)

    async def remove(self, paths: Sequence[str]) -> None:
        """Remove files, many by one request."""
        for start in range(0, len(paths), 1_000):
            some = paths[start : start + 1_000]
            try:
                await self._do(some[0], "delete", [self._keys.key(path) for path in some])
            except FileNotFoundError:
                await each(self._io, self._remove_one, some)

    async def remove_directory(self, path: str) -> bool:
        """Say that what stands for a directory stays: its key ends in `/`, as no path here can."""
        return False

    async def rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Copy files, then remove the sources, unless they were changed meanwhile."""
        sources = [source for source, _ in pairs]
        before = await each(self._io, self._head, sources)
        copied: list[str] = []

        async def copy(pair: tuple[str, str]) -> None:
            await self._copy(*pair)
            copied.append(pair[1])

        try:
            await each(self._io, copy, pairs)
            if await each(self._io, self._head, sources) != before:
                raise Changed
        except BaseException:
            await self.remove(copied)
            raise
        await self.remove(sources)

    async def children(self, directory: str) -> Listing:
        """Return what is directly below a directory, by a list that ends at the next `/`."""
        own = self._prefix(directory)
        found = await self._listed(directory, own)
        files = (_entry(m["path"], m) for m in found["objects"] if m["path"] != own)
        return listing(self._keys, files, found["common_prefixes"])

    async def below(self, directory: str, seconds: float | None = None) -> Listing:
        """Return every file below a directory, page by page."""
        deadline = None if seconds is None else time.monotonic() + seconds
        own, metas = self._prefix(directory), list[Any]()
        pages = self._client.pages(own)
        whole = True
        while page := await self._turn(directory, pages):
            metas += [meta for meta in page if meta["path"] != own]
            if deadline is not None and time.monotonic() > deadline:
                whole = False
                break
        found = listing(self._keys, (_entry(meta["path"], meta) for meta in metas))
        found.whole = whole
        if not whole:
            found.note = f"The list stopped after {seconds:.0f} s; look into a smaller directory."
        if self._client.has_markers:
            found.files = await self._without_markers(found.files)
        return found

    async def is_directory(self, path: str) -> bool:
        """Say whether an object is below a path, be it one that stands for the directory."""
        key = self._keys.key(path)
        page = await self._turn(path, self._client.pages(key))
        if any(meta["path"] != key for meta in page):
            return True
        return bool(page) and await self._head(path) is None

    async def survey(self, paths: Sequence[str], message: str | None = None) -> list[Survey]:
        """Say what is at paths: many of one directory by a list of it."""
        return await survey_each(self._io, self, paths)

    async def note_names(self, directory: str) -> list[str]:
        """Return the names of the notes of a journal."""
        key = self._keys.key(f"{NOTES}/{directory}")
        found = await self._listed(NOTES, key)
        return [meta["path"].rpartition("/")[2] for meta in found["objects"]]

    async def note(self, directory: str, name: str) -> bytes | None:
        """Return a note of a journal."""
        blob = await self.get(f"{NOTES}/{directory}/{name}")
        return None if blob is None else blob.content

    async def put_note(self, directory: str, name: str, value: bytes) -> None:
        """Write a note of a journal."""
        await self._put(f"{NOTES}/{directory}/{name}", value)

    async def remove_notes(self, directory: str, names: Sequence[str]) -> None:
        """Remove notes of a journal."""
        await self.remove([f"{NOTES}/{directory}/{name}" for name in names])

    def _prefix(self, directory: str) -> str | None:
        return self._keys.key(directory).rstrip("/") or None

    async def _remove_one(self, path: str) -> None:
        try:
            await self._do(path, "delete", self._keys.key(path))
        except FileNotFoundError:
            return

    async def _copy(self, source: str, destination: str) -> None:
        """Copy a file to where nothing is."""
        start, end = self._keys.key(source), self._keys.key(destination)
        try:
            await self._do(source, "copy", start, end, overwrite=False)
            return
        except (self._client.errors.AlreadyExistsError, FileNotFoundError):
            raise Changed from None
        except self._client.unsupported:
            pass
        if await self._head(destination) is not None:
            raise Changed
        await self._copy_over(source, destination)

    async def _copy_over(self, source: str, destination: str) -> None:
        """Copy where a store can't look first: S3 can only for what is sent to it."""
        meta = await self._head(source)
        if meta is None:
            raise Changed
        if meta["size"] > _CAREFUL:
            start, end = self._keys.key(source), self._keys.key(destination)
            await self._do(source, "copy", start, end)
            return
        key = self._keys.key(source)
        result, content = await self._io.call(self._client, "fetch", key, {})
        try:
            await self._put(destination, content, mode="create", attributes=result.attributes)
        except self._client.errors.AlreadyExistsError:
            raise Changed from None
        except self._client.unsupported:
            await self._put(destination, content, attributes=result.attributes)

    async def _without_markers(self, files: list[Entry]) -> list[Entry]:
        """Leave out what stands for a directory: it is listed as if it were an empty file."""
        paths = {entry.path for entry in files}
        parents = {path.rpartition("/")[0] for path in paths}
        empty = [e.path for e in files if not e.size and e.path not in parents]
        there = await each(self._io, self._head, empty)
        gone = {path for path, meta in zip(empty, there, strict=True) if meta is None}
        gone |= {e.path for e in files if not e.size and e.path in parents}
        return [entry for entry in files if entry.path not in gone]


def _entry(path: str, meta: Any) -> Entry:
    return Entry(path, meta["size"], _time(meta), _version(meta))


def _version(meta: Any) -> tuple[str | None, str | None]:
    return meta["e_tag"], meta["version"]


def _time(meta: Any) -> str:
    stamp: str = meta["last_modified"].astimezone(UTC).isoformat(timespec="milliseconds")
    return stamp
