"""`StoreBackend`: files in the LangGraph store, which outlive the thread."""

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, SearchOp

from langgraph_filesystem.state.backends.file_store import FileStore, MountContext, batches
from langgraph_filesystem.state.backends.objects.backend import ObjectStore, max_bytes
from langgraph_filesystem.state.backends.objects.errors import ChangedMeanwhile
from langgraph_filesystem.state.backends.objects.objects import (
    Blob,
    Changed,
    Entry,
    Listing,
    Survey,
)
from langgraph_filesystem.state.backends.objects.store_format import blob_of, item_value
from langgraph_filesystem.state.backends.protocol import FileInfo
from langgraph_filesystem.state.backends.public import PublicMethods
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FilesystemError,
    PathRefused,
)
from langgraph_filesystem.state.io import call_either, change_in_thread, in_thread, is_sync
from langgraph_filesystem.state.paths import ancestors, is_within
from langgraph_filesystem.state.text import PathPart

__all__ = ("Namespace", "StoreBackend", "default_namespace")

Namespace: TypeAlias = tuple[str, ...]

_OURS = "langgraph-filesystem"
"""First label of the journal's namespaces; no namespace of files may start with it."""
_MAX_KEY_BYTES = 1_800
"""PostgreSQL takes no more than some 2,700 for the namespace and the key together."""
_MAX_TRIES = 20
_BATCH, _BATCH_BYTES = 50, 8 << 20
"""Items, and bytes of them, that go into one batch."""
_SEARCHED = 10_000
"""Items that the first search of a namespace asks for."""


class StoreBackend(PublicMethods):
    """Files in one namespace of the graph's store: kept across threads, for one user.

    By default each assistant and user of a server has a namespace, and so has each `user_id` in the
    context of a run. **Users who are not signed in share one namespace** unless the context names
    them: give every run a `user_id`, or a `namespace` of your own, if their files are not for all.

    A file is an item under its path: `{"content", "encoding", "created_at", "modified_at"}`, the
    format of `deepagents`. Other items are left alone, and lists note them. Items of namespaces
    below and beside this one are never seen.

    A store can only be searched as a whole, so lists, searches and writes of new files read all
    files of the namespace: it is made for memories and notes, not for gigabytes.

    A store can't compare before it writes. Edits of one process wait for each other, so all of them
    land. If two processes edit one file at the same moment, one may lose its edit: what was written
    is read again, and if it is gone the answer says so; only a write after this check goes
    unnoticed. Use `RemoteBackend` where that matters.

    Files are stored without an index, so they are not embedded, and with the store's default time
    to live.
    """

    def __init__(
        self,
        namespace: Namespace | Callable[[Runtime[Any]], Namespace] | None = None,
        *,
        store: BaseStore | None = None,
        max_file_size_mb: float = 10,
    ) -> None:
        """Create a backend on a store.

        Args:
            namespace: Where the files are, or a function of the runtime that says so; by default
                a namespace for each assistant and user of the server, or for each `user_id` in the
                context of the run, or one for everybody.
            store: The store, for use outside of a graph; by default the one of the running graph.
            max_file_size_mb: Size up to which files are searched and edited, and read if they are
                binary.
        """
        self._max_size = max_bytes(max_file_size_mb)
        if namespace is not None and not callable(namespace):
            namespace = _checked_namespace(namespace)
        self._namespace = default_namespace if namespace is None else namespace
        self._base_store = store

    def open(self, context: MountContext) -> FileStore:
        """Return the store for one run of a node, or for one call outside of a graph."""
        # A missing store is an error of a call, not of the mount.
        return ObjectStore(lambda: self._locate(context.runtime or _running()), self._max_size)

    def _locate(self, runtime: Runtime[Any] | None) -> "_StoreObjects":
        store = self._base_store
        if store is None and runtime is not None:
            store = runtime.store
        if store is None:
            raise BackendFailed(
                "There is no store to keep files in. Give one to the agent "
                "(`create_filesystem_agent(..., store=InMemoryStore())`) or to the backend "
                "(`StoreBackend(store=...)`); a LangGraph server brings its own."
            )
        namespace = self._namespace
        if callable(namespace):
            try:
                namespace = _checked_namespace(namespace(runtime or Runtime()))
            except ValueError as error:
                raise BackendFailed(f"The namespace of the store can't be used: {error}") from None
        return _StoreObjects(store, namespace)


def default_namespace(runtime: Runtime[Any]) -> Namespace:
    """Return a namespace for each assistant and user that the server tells us of.

    Without a server the user is the `user_id` in the context of the run. A user whom the server has
    authenticated is never another one because the context says so. Without any of these it is one
    namespace for everybody.
    """
    server = runtime.server_info
    user = getattr(server.user, "identity", None) if server is not None else None
    user = user or _user_id(runtime.context)
    labels = [_label(str(user))] if user else []
    if server is not None and server.assistant_id:
        return (_label(server.assistant_id), *labels, "filesystem")
    return ("users", *labels, "filesystem") if labels else ("filesystem",)


def _user_id(context: Any) -> Any:
    if isinstance(context, dict):
        return context.get("user_id")
    return getattr(context, "user_id", None)


def _label(text: str) -> str:
    """Return an identity as a label of a namespace, which can't have a `.`."""
    return "".join(f"%{ord(c):02X}" if c in "%." or not c.isprintable() else c for c in text)


def _checked_namespace(namespace: object) -> Namespace:
    if not isinstance(namespace, tuple) or not namespace:
        raise ValueError(f"A namespace is a tuple of text, such as ('files',), not {namespace!r}.")
    for label in namespace:
        if not isinstance(label, str) or not label or "." in label or not label.isprintable():
            raise ValueError(
                f"{label!r} can't be a part of a namespace ({namespace!r}): parts are text, not "
                "empty, without '.' and without control characters."
            )
    if namespace[0] in ("langgraph", _OURS):
        raise ValueError(f"A namespace can't start with {namespace[0]!r}: it is reserved.")
    return namespace


def _running() -> Runtime[Any] | None:
    """Return the runtime of the node that is running, if there is one."""
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None


class _NotAFile(FilesystemError):
    """The store has an item at the path that is not a file."""

    def __init__(self, path: str) -> None:
        super().__init__(
            PathPart(path), ": the store has an item there that is not a file. Choose another path."
        )


class _StoreObjects:
    """The items of one namespace as objects."""

    def __init__(self, store: BaseStore, namespace: Namespace) -> None:
        self._store = store
        self._namespace = namespace
        config = getattr(store, "ttl_config", None) or {}
        self._ttl: float | None = config.get("default_ttl")
        self._refresh: bool = config.get("refresh_on_read", True)

    @property
    def identity(self) -> Hashable:
        """The namespace: two stores with the same one share locks, which does no harm."""
        return "store", self._namespace

    def check(self, path: str) -> None:
        """Raise for a path that is too long for some stores."""
        if len(path.encode()) > _MAX_KEY_BYTES:
            raise PathRefused(path, f"it is longer than {_MAX_KEY_BYTES:,} bytes.")

    def notes(self, scope: str) -> "_StoreObjects":
        """Return a namespace that is below no namespace of files."""
        digest = hashlib.sha256("\0".join(self._namespace).encode()).hexdigest()[:32]
        return _StoreObjects(self._store, (_OURS, "journal", digest, scope))

    async def info(self, path: str) -> Entry | None:
        """Return a file without its content."""
        blob = await self.get(path)
        return None if blob is None else Entry(path, blob.size, blob.modified_at)

    async def get(
        self, path: str, start: int = 0, length: int | None = None, same: Blob | None = None
    ) -> Blob | None:
        """Return a file, always whole: a store has no partial reads."""
        [item] = await self._items([path])
        return blob_of(item)

    async def get_many(self, paths: Sequence[str]) -> list[Blob | FilesystemError | None]:
        """Return whole files."""
        return [
            blob_of(item)
            for start in range(0, len(paths), _BATCH)
            for item in await self._items(paths[start : start + _BATCH])
        ]

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        """Write a file."""
        await self._batch([self._put(path, item_value(content, old.created_at))])
        if await self._changed({path: content}):
            raise ChangedMeanwhile(path)

    async def put_many(
        self, contents: Mapping[str, bytes], *, overwrite: bool
    ) -> dict[str, FilesystemError]:
        """Write files, many in one batch."""
        failed: dict[str, FilesystemError] = {}
        files = [FileInfo(path=path, size=len(data)) for path, data in contents.items()]
        for paths in batches(files, _BATCH, _BATCH_BYTES):
            written: dict[str, PutOp] = {}
            for path, item in zip(paths, await self._items(paths), strict=True):
                old = blob_of(item)
                if item is not None and old is None:
                    failed[path] = _NotAFile(path)
                elif old is not None and not overwrite:
                    failed[path] = FileExists(path)
                else:
                    created_at = None if old is None else old.created_at
                    written[path] = self._put(path, item_value(contents[path], created_at))
            await self._batch([*written.values()])
            if not overwrite:
                lost = await self._changed({path: contents[path] for path in written})
                failed |= {path: ChangedMeanwhile(path) for path in lost}
        return failed

    async def remove(self, paths: Sequence[str]) -> None:
        """Remove files."""
        for start in range(0, len(paths), _BATCH):
            await self._batch([self._put(path, None) for path in paths[start : start + _BATCH]])

    async def remove_directory(self, path: str) -> bool:
        """Return `True`: a directory without files does not exist."""
        return True

    async def rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Move files, with the times that they have."""
        if len(pairs) == 1:
            # In one batch, which most stores carry out as a whole or not at all.
            await self._batch([*await self._copies(pairs), self._put(pairs[0][0], None)])
            return
        copied: list[str] = []
        try:
            for start in range(0, len(pairs), _BATCH):
                some = pairs[start : start + _BATCH]
                ops = await self._copies(some)
                copied += [destination for _, destination in some]
                await self._batch(ops)
        except BaseException:
            await self.remove(copied)
            raise
        await self.remove([source for source, _ in pairs])

    async def children(self, directory: str) -> Listing:
        """Return what is directly below a directory."""
        found = await self.below(directory)
        skip = len(directory.rstrip("/")) + 1
        listing = Listing(note=found.note)
        for entry in found.files:
            end = entry.path.find("/", skip)
            if end < 0:
                listing.files.append(entry)
            else:
                listing.directories.add(entry.path[:end])
        return listing

    async def below(self, directory: str, seconds: float | None = None) -> Listing:
        """Return every file below a directory."""
        # Thousands of items take a while to decode.
        return await in_thread(_listing, await self._search(), directory)

    async def is_directory(self, path: str) -> bool:
        """Say whether a file is below a path."""
        return bool((await self.below(path)).files)

    async def survey(self, paths: Sequence[str]) -> Survey:
        """Say what is at paths."""
        steps = {step for path in paths for step in ancestors(path)}
        asked = [*paths, *steps.difference(paths)]
        blobs = await self.get_many(asked)
        files = {path for path, blob in zip(asked, blobs, strict=True) if blob is not None}
        if files.issuperset(paths):
            return Survey(files, set())
        every = (await self.below("/")).files
        directories = {above for entry in every for above in ancestors(entry.path)}
        return Survey(files, directories.intersection(paths))

    # Requests

    async def _items(self, keys: Sequence[str]) -> list[Item | None]:
        return await self._batch([GetOp(self._namespace, key, self._refresh) for key in keys])

    async def _search(self) -> list[Item]:
        """Return all items of the namespace.

        One search, not pages: stores sort by the time of the last change, so pages shift while
        somebody writes, and items that were written in one batch have no order at all.
        """
        limit = _SEARCHED
        while True:
            op = SearchOp(self._namespace, limit=limit, refresh_ttl=False)
            [found] = await self._batch([op])
            if len(found) < limit:
                return [item for item in found if item.namespace == self._namespace]
            limit *= 10

    async def _copies(self, pairs: Sequence[tuple[str, str]]) -> list[PutOp]:
        ops: list[PutOp] = []
        items = await self._items([source for source, _ in pairs])
        for (_, destination), item in zip(pairs, items, strict=True):
            if item is None or blob_of(item) is None:
                raise Changed
            ops.append(self._put(destination, dict(item.value)))
        return ops

    async def _changed(self, contents: Mapping[str, bytes]) -> list[str]:
        """Return files that another writer has changed after we had written them."""
        items = await self._items([*contents])
        blobs = zip(contents, map(blob_of, items), strict=True)
        return [path for path, blob in blobs if blob is None or blob.content != contents[path]]

    def _put(self, path: str, value: dict[str, Any] | None) -> PutOp:
        # Without an index: files are not embedded.
        return PutOp(self._namespace, path, value, index=False, ttl=self._ttl if value else None)

    async def _batch(self, ops: Sequence[Op]) -> list[Any]:
        if not ops:
            return []
        for _ in range(_MAX_TRIES):
            try:
                return await self._results(ops)
            except RuntimeError as error:
                # From `InMemoryStore`, if another thread writes during a search.
                if "changed size during iteration" not in str(error):
                    raise
        return await self._results(ops)

    async def _results(self, ops: Sequence[Op]) -> list[Any]:
        try:
            return list(await call_either(self._store.batch, self._store.abatch, ops))
        except NotImplementedError:
            if is_sync():
                raise
            # A store without async methods, such as `SqliteStore`.
            return list(await change_in_thread(self._store.batch, ops))


def _listing(items: Sequence[Item], directory: str) -> Listing:
    listing, others = Listing(), list[str]()
    for item in items:
        if (blob := blob_of(item)) is None:
            others.append(item.key)
        elif item.key != directory and is_within(item.key, directory):
            listing.files.append(Entry(item.key, blob.size, blob.modified_at))
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        listing.note = (
            f"Left out: {min(others)[:200]!r}{more} (in the store, but not written as a file)."
        )
    return listing
