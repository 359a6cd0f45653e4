"""Names and sizes of the files in a store: a list of them without their contents.

A store gives values with every name. So we keep a small item for each item of the namespace, a
*marker*, in a namespace of our own; a file and its marker are written in one batch. Others know
nothing of markers, so each list is checked before it is believed: there must be as many items as
markers, and the first and the last item, which in every store we know are the ones last written,
must be as their markers say. If not, all items are read once and the markers set right.

What that can't see: one item of others gone and another one come, both before a later write of
ours. It ends as soon as the one that is gone is asked for.
"""

import hashlib
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import GetOp, Item, Op, PutOp, SearchOp

from langgraph_filesystem.state.backends.namespaces import OURS, Namespace
from langgraph_filesystem.state.backends.objects import Blob, Entry, Listing
from langgraph_filesystem.state.backends.store_items import blob_of
from langgraph_filesystem.state.paths import ancestors

__all__ = ("Directories", "Index", "digest_of_namespace")

Marker = Mapping[str, Any]
Batch = Callable[[Sequence[Op]], Awaitable[list[Any]]]

_PAGE = 1_000
"""Markers that are read at once: some 150 bytes each."""
_MESSAGES = 4
_ITEMS = 100
"""Items that are read at once when all of them are."""


class Index:
    """The markers of one namespace."""

    def __init__(self, batch: Batch, namespace: Namespace, ttl: float | None) -> None:
        self._batch = batch
        self._namespace = namespace
        self._own = (OURS, "names", digest_of_namespace(namespace))
        self._ttl = ttl

    def mark(self, path: str, file: Blob) -> PutOp:
        """Return what sets the marker of a file."""
        return self._put(path, _marker(path, file))

    def drop(self, path: str) -> PutOp:
        """Return what removes the marker of a file."""
        return PutOp(self._own, path, None)

    async def is_directory(self, path: str) -> bool:
        """Say whether a marker is below a path; this is not checked."""
        [found] = await self._batch([self.look_below(path)])
        return bool(found)

    async def directories(self) -> set[str]:
        """Return every path that a marker is below; this is not checked."""
        return {above for path in await self._markers() for above in ancestors(path)}

    def look_below(self, path: str) -> SearchOp:
        """Return what finds a marker below a path."""
        below = {_directory_key(path): "y"}
        return SearchOp(self._own, filter=below, limit=1, refresh_ttl=False)

    async def files(self) -> Listing:
        """Return every file of the namespace."""
        for _ in range(2):  # twice, because a file may be written between the two looks
            markers = await self._markers()
            if await self._is_right(markers):
                return _listing(markers)
        return _listing(await self.heal(markers))

    async def heal(self, markers: Mapping[str, Marker]) -> dict[str, Marker]:
        """Read all items, set their markers right, and return them."""
        found = await self._read_all()
        # An item that was written meanwhile may have gone to a page that was read already.
        found.update(await self._still_there([key for key in markers if key not in found]))
        ops = [self._put(key, new) for key, new in found.items() if markers.get(key) != new]
        ops += [self.drop(key) for key in markers if key not in found]
        for start in range(0, len(ops), _ITEMS):
            await self._batch(ops[start : start + _ITEMS])
        return found

    def _put(self, key: str, marker: Marker) -> PutOp:
        return PutOp(self._own, key, dict(marker), index=False, ttl=self._ttl)

    async def _markers(self) -> dict[str, Marker]:
        markers: dict[str, Marker] = {}
        offset = 0
        while True:
            op = SearchOp(self._own, limit=_PAGE, offset=offset, refresh_ttl=False)
            [page] = await self._batch([op])
            markers.update((item.key, item.value) for item in page if item.namespace == self._own)
            offset += len(page)
            if len(page) < _PAGE:
                return markers

    async def _is_right(self, markers: Mapping[str, Marker]) -> bool:
        count = len(markers)
        first = SearchOp(self._namespace, limit=1, refresh_ttl=False)
        last = SearchOp(self._namespace, limit=2, offset=max(0, count - 1), refresh_ttl=False)
        begin, end = cast("list[list[Item]]", await self._batch([first, last]))
        if len(end) != min(1, count):
            return False
        return all(
            item.namespace == self._namespace and markers.get(item.key) == _marker_of(item)
            for item in (*begin, *end)
        )

    async def _read_all(self) -> dict[str, Marker]:
        found: dict[str, Marker] = {}
        offset = 0
        while True:
            op = SearchOp(self._namespace, limit=_ITEMS, offset=offset, refresh_ttl=False)
            [page] = await self._batch([op])
            found.update(
                (item.key, _marker_of(item)) for item in page if item.namespace == self._namespace
            )
            offset += len(page)
            if len(page) < _ITEMS:
                return found

    async def _still_there(self, keys: Sequence[str]) -> dict[str, Marker]:
        found: dict[str, Marker] = {}
        for start in range(0, len(keys), _ITEMS):
            some = keys[start : start + _ITEMS]
            items = await self._batch([GetOp(self._namespace, key, False) for key in some])
            found.update((item.key, _marker_of(item)) for item in items if item is not None)
        return found


class Directories:
    """Which directories there were when a message began, with those that came by it.

    To find them all markers are read; a move of many files asks for them once, not for each part.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, set[str]] = {}

    def find(self, message: Hashable) -> set[str] | None:
        """Return those of one of the last messages."""
        return self._known.get(message)

    def keep(self, message: Hashable, directories: set[str], files: Sequence[str]) -> None:
        """Remember directories, and those of files that are to be written now."""
        directories.update(above for path in files for above in ancestors(path))
        self._known[message] = directories
        while len(self._known) > _MESSAGES:
            # Another thread may be at it: what is forgotten is looked for again.
            self._known.pop(next(iter(tuple(self._known))), None)


def digest_of_namespace(namespace: Namespace) -> str:
    """Return one label for a namespace: what is kept under it lies below no other's."""
    return hashlib.sha256("\0".join(namespace).encode()).hexdigest()[:32]


def _marker_of(item: Item) -> Marker:
    file = blob_of(item)
    return {"file": False} if file is None else _marker(item.key, file)


def _marker(path: str, file: Blob) -> Marker:
    marker: dict[str, Any] = {"file": True, "size": file.size}
    if file.modified_at is not None:
        marker["modified_at"] = file.modified_at
    return marker | {_directory_key(above): "y" for above in ancestors(path)}


def _directory_key(path: str) -> str:
    """Return a name under which a store can look for what is below a directory.

    A store filters by equal values of plain names only, and never by the beginning of a key.
    """
    return "in_" + hashlib.sha256(path.encode()).hexdigest()[:16]


def _listing(markers: Mapping[str, Marker]) -> Listing:
    files = [
        Entry(path, int(marker["size"]), marker.get("modified_at"))
        for path, marker in markers.items()
        if marker.get("file")
    ]
    others = [key for key, marker in markers.items() if not marker.get("file")]
    return Listing(files, note=_note(others))


def _note(others: Sequence[str]) -> str | None:
    if not others:
        return None
    more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
    return f"Left out, because it is no file: the item {min(others)[:200]!r} of the store{more}."
