"""An `obstore` store as objects: S3, GCS, Azure, a directory or memory.

Where the store can, a file is created only if it does not exist, and changed only if it is still
the version that was read. So the slower of two writers notices the other, wherever they run.
"""

import time
from collections.abc import Hashable, Sequence
from datetime import UTC
from importlib import import_module
from typing import Any

from langgraph_filesystem.state.backends.objects.errors import explain
from langgraph_filesystem.state.backends.objects.objects import (
    Blob,
    Changed,
    Entry,
    Listing,
)
from langgraph_filesystem.state.backends.objects.remote_objects import RESERVED, RemoteObjects
from langgraph_filesystem.state.io import call_either, gather_limited

__all__ = ("ObstoreObjects",)

_COPIED_BY_PUT = 8 << 20
"""Bytes up to which a file is copied by writing it, where a store's own copy may overwrite."""


class ObstoreObjects(RemoteObjects):
    """The objects below a prefix."""

    def __init__(self, store: Any, root: str) -> None:
        super().__init__(root)
        self._store = store
        self._obstore = import_module("obstore")
        self._errors = import_module("obstore.exceptions")
        self._unsupported = (NotImplementedError, self._errors.NotSupportedError)
        kinds = import_module("obstore.store")
        self._has_markers = not isinstance(store, (kinds.LocalStore, kinds.MemoryStore))
        """Whether there may be objects that represent directories."""

    @property
    def identity(self) -> Hashable:
        """The client: two clients of one bucket don't share locks, but compare versions."""
        return "obstore", id(self._store)

    def notes(self, scope: str) -> "ObstoreObjects":
        """Return the hidden place of the journal."""
        return ObstoreObjects(self._store, self._key(f"{RESERVED}/{scope}"))

    async def info(self, path: str) -> Entry | None:
        """Return a file without its content."""
        meta = await self._head(path)
        return None if meta is None else _entry(path, meta)

    async def get(
        self, path: str, start: int = 0, length: int | None = None, same: Blob | None = None
    ) -> Blob | None:
        """Return a range of the bytes of a file."""
        options: dict[str, Any] = {}
        if length is not None:
            options["range"] = (start, start + length)
        elif start:
            options["range"] = {"offset": start}
        if same is not None and same.version[0] is not None:
            options["if_match"] = same.version[0]
        fetched = await self._get(path, start, options)
        if fetched is None:
            return None
        meta, content, attributes = fetched
        if same is not None and _version(meta) != same.version:
            raise Changed
        return Blob(content, meta["size"], _version(meta), None, _time(meta), attributes)

    async def _create(self, path: str, content: bytes, **options: Any) -> None:
        """Write a file that does not exist: by one conditional request, if the store can."""
        try:
            await self._put(path, content, mode="create", **options)
        except self._errors.AlreadyExistsError:
            raise Changed from None
        except self._unsupported:
            if await self._head(path) is not None:
                raise Changed from None
            await self._put(path, content, **options)

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        """Write a file that is still the old one: by one conditional request, if the store can."""
        tag, version = old.version
        condition = {"e_tag": tag, "version": version}
        kept = {"attributes": old.attributes} if old.attributes else {}
        try:
            if not tag and not version:
                raise NotImplementedError
            known = {name: value for name, value in condition.items() if value}
            await self._put(path, content, mode=known, **kept)
        except self._errors.PreconditionError:
            raise Changed from None
        except self._unsupported:
            meta = await self._head(path)
            if meta is None or _version(meta) != old.version:
                raise Changed from None
            await self._put(path, content, **kept)

    async def remove(self, paths: Sequence[str]) -> None:
        """Remove files, many by one request."""
        for start in range(0, len(paths), 1_000):
            some = paths[start : start + 1_000]
            try:
                await self._do(some[0], "delete", [self._key(path) for path in some])
            except FileNotFoundError:
                await gather_limited(self._remove_one, some)

    async def remove_directory(self, path: str) -> bool:
        """Return `False`: obstore can't delete the object that represents a directory."""
        return False

    async def children(self, directory: str) -> Listing:
        """Return what is directly below a directory."""
        own = self._prefix(directory)
        try:
            found = await self._do(directory, "list_with_delimiter", own)
        except FileNotFoundError:
            return Listing()
        files = (_entry(meta["path"], meta) for meta in found["objects"] if meta["path"] != own)
        return self._listing(files, found["common_prefixes"])

    async def below(self, directory: str, seconds: float | None = None) -> Listing:
        """Return every file below a directory, page by page."""
        deadline = None if seconds is None else time.monotonic() + seconds
        own, metas = self._prefix(directory), list[Any]()
        pages, complete = self._pages(directory, own), True
        while page := await self._next(directory, pages):
            metas += [meta for meta in page if meta["path"] != own]
            if deadline is not None and time.monotonic() > deadline:
                complete = False
                break
        found = self._listing(_entry(meta["path"], meta) for meta in metas)
        if not complete:
            found.complete = False
            found.note = f"The list stopped after {seconds:.0f} s. Look into a smaller directory."
        if self._has_markers:
            found.files = await self._without_markers(found.files)
        return found

    async def is_directory(self, path: str) -> bool:
        """Say whether there is an object below a path, or one that represents the directory."""
        key = self._prefix(path)
        page = await self._next(path, self._pages(path, key))
        if any(meta["path"] != key for meta in page):
            return True
        return bool(page) and await self._head(path) is None

    async def _without_markers(self, files: list[Entry]) -> list[Entry]:
        """Leave out objects that represent directories, which are listed like empty files."""
        paths = {entry.path for entry in files}
        parents = {path.rpartition("/")[0] for path in paths}
        empty = [e.path for e in files if not e.size and e.path not in parents]
        there = await gather_limited(self._head, empty)
        gone = {path for path, meta in zip(empty, there, strict=True) if meta is None}
        gone |= {e.path for e in files if not e.size and e.path in parents}
        return [entry for entry in files if entry.path not in gone]

    async def _copy(self, source: str, destination: str) -> None:
        keys = self._key(source), self._key(destination)
        try:
            await self._do(source, "copy", *keys, overwrite=False)
            return
        except (self._errors.AlreadyExistsError, FileNotFoundError):
            raise Changed from None
        except self._unsupported:
            pass
        # S3 checks conditions only for content that is sent to it.
        meta = await self._head(source)
        if meta is None or await self._head(destination) is not None:
            raise Changed
        if meta["size"] > _COPIED_BY_PUT:
            await self._do(source, "copy", *keys)
            return
        fetched = await self._get(source, 0, {})
        if fetched is None:
            raise Changed
        await self._create(destination, fetched[1], attributes=fetched[2])

    # Requests

    def _prefix(self, directory: str) -> str | None:
        return self._key(directory).rstrip("/") or None

    def _pages(self, path: str, prefix: str | None) -> Any:
        try:
            return self._obstore.list(self._store, prefix, chunk_size=1_000)
        except ValueError as error:
            raise explain(path, error) from None

    async def _do(self, path: str, function: str, *args: Any, **options: Any) -> Any:
        """Call a function of the store; turn errors that our callers don't handle into ours."""
        blocking = getattr(self._obstore, function)
        awaited = getattr(self._obstore, f"{function}_async")
        try:
            return await call_either(blocking, awaited, self._store, *args, **options)
        except (self._errors.BaseError, ValueError, OSError) as error:
            raise self._explained(path, error) from None

    def _explained(self, path: str, error: BaseException) -> BaseException:
        errors = self._errors
        handled = (errors.AlreadyExistsError, errors.PreconditionError, errors.NotSupportedError)
        if type(error) in handled:
            return error
        if "<Code>NotImplemented</Code>" in str(error):
            return NotImplementedError()
        if "(os error 20)" in str(error):
            return FileNotFoundError()  # on a disk: a file is in the place of a directory
        if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in str(error):
            return error
        return explain(path, error)

    async def _put(self, path: str, content: bytes, **options: Any) -> None:
        try:
            await self._do(path, "put", self._key(path), content, **options)
        except FileNotFoundError as error:
            raise explain(path, error) from None

    async def _remove_one(self, path: str) -> None:
        try:
            await self._do(path, "delete", self._key(path))
        except FileNotFoundError:
            return

    async def _head(self, path: str) -> Any:
        if path == "/":
            return None
        try:
            return await self._do(path, "head", self._key(path))
        except FileNotFoundError:
            return None

    async def _next(self, path: str, pages: Any) -> Any:
        """Return the next page of a list; an empty one at the end."""
        try:
            return await call_either(next, anext, pages, [])
        except (self._errors.BaseError, OSError) as error:
            explained = self._explained(path, error)
            if isinstance(explained, FileNotFoundError):
                return []
            raise explained from None

    async def _get(self, path: str, start: int, options: Any) -> tuple[Any, bytes, Any] | None:
        """Return the metadata of a file, its bytes and its attributes."""
        get, get_async = self._obstore.get, self._obstore.get_async
        try:
            got = await call_either(get, get_async, self._store, self._key(path), options=options)
            content = bytes(await call_either(got.bytes, got.bytes_async))
            return got.meta, content, got.attributes
        except self._errors.PreconditionError:
            raise Changed from None
        except (self._errors.BaseError, ValueError, OSError) as error:
            explained = self._explained(path, error)
            if isinstance(explained, FileNotFoundError):
                return None
            # A range that starts at the end is an error, and so is every range of an empty file.
            meta = await self._head(path) if "range" in options else None
            if meta is not None and meta["size"] <= start:
                return meta, b"", None
            raise explained from None


def _entry(path: str, meta: Any) -> Entry:
    return Entry(path, meta["size"], _time(meta), _version(meta))


def _version(meta: Any) -> tuple[str | None, str | None]:
    return meta["e_tag"], meta["version"]


def _time(meta: Any) -> str:
    stamp: str = meta["last_modified"].astimezone(UTC).isoformat(timespec="milliseconds")
    return stamp
