"""A namespace of a LangGraph store as objects under keys."""

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Op, PutOp, SearchOp

from langgraph_filesystem.state.backends.many import aside
from langgraph_filesystem.state.backends.namespaces import OURS, Namespace
from langgraph_filesystem.state.backends.object_access import ChangedMeanwhile
from langgraph_filesystem.state.backends.objects import Blob, Changed, Entry, Listing, Survey
from langgraph_filesystem.state.backends.store_index import Directories, Index, digest_of_namespace
from langgraph_filesystem.state.backends.store_items import blob_of, item_value
from langgraph_filesystem.state.errors import FileExists, FilesystemError, PathRefused
from langgraph_filesystem.state.io import Blocking, Io
from langgraph_filesystem.state.paths import ancestors, is_within

__all__ = ("StoreObjects",)

_MAX_KEY_BYTES = 1_800
"""PostgreSQL takes no more than some 2,700 for the namespace and the key together."""
_TRIES = 20
_FEW = 8
"""Paths up to which a store is asked for each whether something is below it."""
_MANY, _MANY_BYTES = 50, 8 << 20
"""Items, and bytes of them, that go into one batch."""


class _NoFile(FilesystemError):
    """Something of others is where a file is to be: it is not for us to overwrite."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: the store has an item there that is no file. Choose another.")


class StoreObjects:
    """The items of one namespace, for calls that all block or are all awaited."""

    def __init__(
        self,
        store: BaseStore,
        namespace: Namespace,
        io: Io,
        directories: Directories | None = None,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._io = io
        config = getattr(store, "ttl_config", None) or {}
        self._ttl: float | None = config.get("default_ttl")
        self._refresh: bool = config.get("refresh_on_read", True)
        self._index = Index(self._batch, namespace, self._ttl)
        self._directories = directories or Directories()

    @property
    def identity(self) -> Hashable:
        """Two stores with the same namespace only wait for each other now and then."""
        return "store", self._namespace

    def check(self, path: str) -> None:
        """Refuse a path that not every store can hold."""
        if len(path.encode()) > _MAX_KEY_BYTES:
            raise PathRefused(path, f"it is longer than {_MAX_KEY_BYTES:,} bytes.")

    async def info(self, path: str) -> Entry | None:
        """Return the size of a file."""
        blob = await self.get(path)
        return None if blob is None else Entry(path, blob.size, blob.modified_at)

    async def get(
        self, path: str, start: int = 0, length: int | None = None, same: Blob | None = None
    ) -> Blob | None:
        """Return a file, always whole: a store gives no parts."""
        [blob] = await self.get_many([path])
        return blob

    async def get_many(self, paths: Sequence[str]) -> list[Blob | None]:
        """Return whole files."""
        items = await self._items(paths)
        return [None if item is None else blob_of(item) for item in items]

    async def create(self, path: str, content: bytes) -> None:
        """Write a file that is not there."""
        [item] = await self._items([path])
        if item is not None:
            raise _NoFile(path) if blob_of(item) is None else Changed
        await self._put_and_look(path, content, None)

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        """Write a file, and look whether it is there then."""
        await self._put_and_look(path, content, old.created_at)

    async def replace(self, contents: Mapping[str, bytes]) -> dict[str, FilesystemError]:
        """Write files, whatever is there."""
        return await self._put_each(contents, overwrite=True)

    async def create_each(self, contents: Mapping[str, bytes]) -> dict[str, FilesystemError]:
        """Write files where none are."""
        return await self._put_each(contents, overwrite=False)

    async def _put_each(
        self, contents: Mapping[str, bytes], *, overwrite: bool
    ) -> dict[str, FilesystemError]:
        failed: dict[str, FilesystemError] = {}
        for some in _parts(contents):
            ops: list[PutOp] = []
            for path, item in zip(some, await self._items(some), strict=True):
                old = None if item is None else blob_of(item)
                if item is not None and old is None:
                    failed[path] = _NoFile(path)
                    continue
                if old is not None and not overwrite:
                    failed[path] = FileExists(path, "Choose another path.")
                    continue
                ops += self._written(path, contents[path], None if old is None else old.created_at)
            await self._batch(ops)
        return failed

    async def remove(self, paths: Sequence[str]) -> None:
        """Remove files."""
        for start in range(0, len(paths), _MANY):
            some = paths[start : start + _MANY]
            await self._batch([op for path in some for op in self._removed(path)])

    async def remove_directory(self, path: str) -> bool:
        """Say that nothing is left of a directory without files."""
        return True

    async def rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Give files other paths, with the times that they have."""
        if len(pairs) == 1:
            # In one batch, which most stores carry out wholly or not at all.
            await self._batch([*await self._copies(pairs), *self._removed(pairs[0][0])])
            return
        copied: list[str] = []
        try:
            for start in range(0, len(pairs), _MANY):
                some = pairs[start : start + _MANY]
                ops = await self._copies(some)
                copied += [destination for _, destination in some]
                await self._batch(ops)
        except BaseException:
            await self.remove(copied)
            raise
        await self.remove([source for source, _ in pairs])

    async def children(self, directory: str) -> Listing:
        """Return what is directly below a directory."""
        found = await self._files()
        is_listed = any(entry.path == directory for entry in found.files)
        if is_listed and await self.get(directory) is None:
            # Somebody looks below a file that was not found: the list is wrong, and is so by count
            # as soon as its marker is gone.
            await self._batch([self._index.drop(directory)])
            found = await self._files()
        skip = len(directory.rstrip("/")) + 1
        listing = Listing(note=found.note)
        for entry in found.files:
            if entry.path == directory or not is_within(entry.path, directory):
                continue
            end = entry.path.find("/", skip)
            if end < 0:
                listing.files.append(entry)
            else:
                listing.directories.add(entry.path[:end])
        return listing

    async def below(self, directory: str, seconds: float | None = None) -> Listing:
        """Return every file below a directory."""
        found = await self._files()
        found.files = [
            entry
            for entry in found.files
            if entry.path != directory and is_within(entry.path, directory)
        ]
        return found

    async def is_directory(self, path: str) -> bool:
        """Say whether a file is below a path."""
        return await self._index.is_directory(path)

    async def survey(self, paths: Sequence[str], message: str | None = None) -> list[Survey]:
        """Say what is at paths: with one batch for some of them."""
        # A store goes through all of its markers for each that it looks for.
        key = self._namespace, message
        directories = await self._all_directories(paths, key) if len(paths) > _FEW else None
        surveys: list[Survey] = []
        for start in range(0, len(paths), _MANY):
            surveys += await self._survey(paths[start : start + _MANY], directories)
        if directories is not None and message is not None:
            self._directories.keep(key, directories, paths)
        return surveys

    async def _all_directories(self, paths: Sequence[str], key: Hashable) -> set[str]:
        known = self._directories.find(key)
        # What was a directory may be none any more: only that it is none is believed.
        if known is None or not known.isdisjoint(paths):
            return await self._index.directories()
        return known

    async def _survey(self, paths: Sequence[str], directories: Set[str] | None) -> list[Survey]:
        above = sorted({step for path in paths for step in ancestors(path)})
        gets = [GetOp(self._namespace, key, self._refresh) for key in (*paths, *above)]
        looks = [self._index.look_below(path) for path in paths] if directories is None else []
        found = await self._batch([*gets, *looks])
        items = zip((*paths, *above), found, strict=False)
        files = {key for key, item in items if item is not None and blob_of(item) is not None}
        if directories is None:
            pairs = zip(paths, found[len(gets) :], strict=True)
            directories = {path for path, below in pairs if below}
        return [
            Survey(
                path in files,
                path in directories,
                next(filter(files.__contains__, ancestors(path)), None),
            )
            for path in paths
        ]

    async def note_names(self, directory: str) -> list[str]:
        """Return the names of the notes of a journal."""
        place = self._journal(directory)
        [items] = await self._batch([SearchOp(place, limit=1_000, refresh_ttl=False)])
        return [item.key for item in items if item.namespace == place]

    async def note(self, directory: str, name: str) -> bytes | None:
        """Return a note of a journal."""
        [item] = await self._batch([GetOp(self._journal(directory), name, False)])
        return None if item is None else str(item.value.get("note", "")).encode()

    async def put_note(self, directory: str, name: str, value: bytes) -> None:
        """Write a note of a journal."""
        note = {"note": value.decode()}
        await self._batch([PutOp(self._journal(directory), name, note, False, self._ttl)])

    async def remove_notes(self, directory: str, names: Sequence[str]) -> None:
        """Remove notes of a journal."""
        await self._batch([PutOp(self._journal(directory), name, None) for name in names])

    def _journal(self, directory: str) -> Namespace:
        return OURS, "journal", digest_of_namespace(self._namespace), directory

    async def _files(self) -> Listing:
        return await self._index.files()

    async def _items(self, keys: Sequence[str]) -> list[Any]:
        return await self._batch([GetOp(self._namespace, key, self._refresh) for key in keys])

    async def _copies(self, pairs: Sequence[tuple[str, str]]) -> list[PutOp]:
        items = await self._items([source for source, _ in pairs])
        ops: list[PutOp] = []
        for (_, destination), item in zip(pairs, items, strict=True):
            blob = None if item is None else blob_of(item)
            if blob is None:
                raise Changed
            ops += self._put(destination, dict(item.value), blob)
        return ops

    async def _put_and_look(self, path: str, content: bytes, created_at: str | None) -> None:
        await self._batch(self._written(path, content, created_at))
        now = await self.get(path)
        if now is None or now.content != content:
            raise ChangedMeanwhile(path)

    def _written(self, path: str, content: bytes, created_at: str | None) -> list[PutOp]:
        value = item_value(content, created_at)
        blob = Blob(content, len(content), None, value["created_at"], value["modified_at"])
        return self._put(path, value, blob)

    def _put(self, path: str, value: dict[str, Any], blob: Blob) -> list[PutOp]:
        # Files are not for a search by meaning: without an index nothing is embedded.
        file = PutOp(self._namespace, path, value, index=False, ttl=self._ttl)
        return [file, self._index.mark(path, blob)]

    def _removed(self, path: str) -> list[PutOp]:
        return [PutOp(self._namespace, path, None), self._index.drop(path)]

    async def _batch(self, ops: Sequence[Op]) -> list[Any]:
        for _ in range(_TRIES):
            try:
                return await self._results(list(ops))
            except RuntimeError as error:
                # What `InMemoryStore` says when another thread writes while it searches.
                if "changed size during iteration" not in str(error):
                    raise
        return await self._results(list(ops))

    async def _results(self, ops: list[Op]) -> list[Any]:
        try:
            return list(await self._io.call(self._store, "batch", ops))
        except NotImplementedError:
            if isinstance(self._io, Blocking):
                raise
            # A store that can't be awaited, such as `SqliteStore`.
            return list(await aside(self._store.batch, ops))


def _parts(contents: Mapping[str, bytes]) -> Iterator[list[str]]:
    """Yield paths whose contents go together into one batch."""
    part: list[str] = []
    size = 0
    for path, content in contents.items():
        if part and (len(part) >= _MANY or size + len(content) > _MANY_BYTES):
            yield part
            part, size = [], 0
        part.append(path)
        size += len(content)
    if part:
        yield part
