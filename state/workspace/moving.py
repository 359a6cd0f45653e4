"""Moves: within a mount, from disk to disk, or file by file through memory.

A move that is interrupted leaves every file at one end or at both, never at none. The same call
made again goes on: a file that is at the destination with the same content counts as copied.
"""

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from langgraph_filesystem.state.backends.file_store import Inventory, batches
from langgraph_filesystem.state.backends.protocol import MoveResult
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    Unsupported,
)
from langgraph_filesystem.state.files import digest_of
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.text import Note, PathPart, join_notes

if TYPE_CHECKING:
    from langgraph_filesystem.state.workspace.workspace import Place, Workspace

__all__ = ("move",)

_MAX_FILES = 1_000
_MAX_BYTES = 64 << 20
"""How much one move may take through memory."""
_BATCH_FILES, _BATCH_BYTES = 200, 16 << 20
_TAKEN = "Delete it first, or choose another destination."


async def move(
    workspace: "Workspace",
    source: "Place",
    destination: "Place",
    key: str | None,
    *,
    may_defer: bool,
) -> MoveResult | None:
    """Move a file or a directory.

    `None` says that it was copied into the state and must come again to delete its source.
    """
    key = await workspace.effect_key(source, key) or await workspace.effect_key(destination, key)
    if source.store is destination.store and source.store.capabilities.moves:
        return await _rename(workspace, source, destination, key)
    received = await _receive(source, destination, key)
    if received is not None:
        return received
    if not source.store.capabilities.deletes:
        raise Unsupported(
            PathPart(source.path),
            ": can't be moved, because the backend there can't delete. Read it, and write it to ",
            PathPart(destination.path),
            ".",
        )
    return await _Transfer(workspace, source, destination, key).run(may_defer)


async def _rename(
    workspace: "Workspace", source: "Place", destination: "Place", key: str | None
) -> MoveResult:
    if await workspace.outcome(source, key) is not None:
        return MoveResult()

    def outer(path: str) -> str:
        # A backend may be mounted twice, under two prefixes.
        place = destination if is_within(path, destination.inner) else source
        return place.mount.outer(path)

    try:
        moved = await source.store.move(source.inner, destination.inner, once=key)
    except FilesystemError as error:
        raise error.renamed(outer) from None
    note = None if moved.note is None else Note(moved.note).renamed(outer)
    return MoveResult(files=moved.files, note=note)


async def _receive(source: "Place", destination: "Place", key: str | None) -> MoveResult | None:
    """Let the destination take it in one go, as disks can."""
    with destination.renaming():
        moved = await destination.store.receive(
            source.store,
            source.inner,
            destination.inner,
            once=key,
            name_source=source.mount.outer,
        )
    if moved is None:
        return None
    return MoveResult(files=moved.files, note=destination.renamed(moved.note))


class _Transfer:
    """A move from one store to another, file by file through memory."""

    def __init__(
        self, workspace: "Workspace", source: "Place", destination: "Place", key: str | None
    ) -> None:
        self._workspace = workspace
        self._source = source
        self._destination = destination
        self._key = key
        self._digests: dict[str, str] = {}
        """Of the files that are at the destination, by their paths at the source."""
        self._copied = 0
        """How many of them were not there before."""

    async def run(self, may_defer: bool) -> MoveResult | None:
        """Copy all files, then delete them at the source.

        `None` says that the copy is in the state, but not in a checkpoint yet.
        """
        if await self._workspace.outcome(self._source, self._part("delete")) is not None:
            return await self._finished_before()
        inventory = await self._inventory()
        _check_size(self._source, inventory)
        await self._check_destination(inventory)
        into_state = self._destination.store.capabilities.in_state
        if into_state and self._key is not None and not may_defer:
            raise Unsupported(
                PathPart(self._source.path),
                ": can't be moved into the state by this backend. Read it, and write it to ",
                PathPart(self._destination.path),
                ".",
            )
        await self._copy(inventory)
        if into_state and self._copied and self._key is not None:
            return None
        if not self._copied:
            await self._check_separate()
        stay = sorted(await self._delete())
        files = len(self._digests.keys() - set(stay))
        return MoveResult(files=files, note=self._note(inventory, stay))

    def _part(self, name: str) -> str | None:
        """Return the key of a part of the call."""
        return None if self._key is None else f"{self._key}-{name}"

    def _target(self, path: str) -> str:
        """Return the path at the destination for a path of the source."""
        return self._destination.inner + path[len(self._source.inner) :]

    async def _finished_before(self) -> MoveResult:
        """Answer a call whose source was deleted before the run was interrupted."""
        with self._destination.renaming():
            if await self._destination.store.kind(self._destination.inner) is not None:
                moved = await self._destination.store.inventory(self._destination.inner)
                return MoveResult(files=len(moved.files))
        # A thread that goes on from an earlier checkpoint: what is outside of it does not go back.
        raise FilesystemError(
            PathPart(self._source.path),
            ": was moved to ",
            PathPart(self._destination.path),
            " before, and is not there now. Look for it with `ls` or `glob`.",
        )

    async def _inventory(self) -> Inventory:
        source, destination = self._source, self._destination
        try:
            with source.renaming():
                return await source.store.inventory(source.inner)
        except FileNotFound:
            with destination.renaming():
                is_there = await destination.store.kind(destination.inner) is not None
            if not is_there:
                raise
            # Not every backend has a journal.
            raise FilesystemError(
                PathPart(source.path),
                ": no such file or directory. ",
                PathPart(destination.path),
                " exists: it may have been moved there before. Look at it.",
            ) from None

    async def _check_destination(self, inventory: Inventory) -> None:
        """Refuse a destination that has anything but a part of what is moved there.

        Unless it has all of it: a move that was interrupted may have deleted some of the source.
        """
        source, destination = self._source, self._destination
        with destination.renaming():
            kind = await destination.store.kind(destination.inner)
            if kind is None:
                if not inventory.files:
                    raise _empty(source)
                return
            is_file = any(info["path"] == source.inner for info in inventory.files)
            if is_file != (kind == "file"):
                raise IsDirectory(destination.inner) if is_file else FileExists(destination.inner)
            there = await destination.store.inventory(destination.inner)
        ours = {self._target(info["path"]) for info in inventory.files}
        if any(info["path"] not in ours for info in there.files) and not await self._has(inventory):
            raise FileExists(destination.path, _TAKEN)

    async def _has(self, inventory: Inventory) -> bool:
        """Say whether the destination has all files of the source already."""
        source, destination = self._source.store, self._destination.store
        for paths in batches(inventory.files, _BATCH_FILES, _BATCH_BYTES):
            found = await source.fetch(paths)
            if await destination.fetch([self._target(path) for path in paths]) != found:
                return False
        return True

    async def _copy(self, inventory: Inventory) -> None:
        source, destination, size = self._source, self._destination, 0
        for number, paths in enumerate(batches(inventory.files, _BATCH_FILES, _BATCH_BYTES)):
            contents: dict[str, bytes] = {}
            with source.renaming():
                fetched = await source.store.fetch(paths)
            for path, content in zip(paths, fetched, strict=True):
                if isinstance(content, FilesystemError):
                    raise self._unmoved(content.renamed(source.mount.outer))
                self._digests[path] = digest_of(content)
                contents[self._target(path)] = content
                size += len(content)
            if size > _MAX_BYTES:  # not every backend tells the sizes before
                raise self._unmoved(_too_much(source, len(inventory.files), size))
            once = self._part(f"copy{number}")
            with destination.renaming():
                failed = await destination.store.put(contents, overwrite=False, once=once)
            await self._check_failed(contents, failed)
            self._copied += len(contents) - len(failed)
            self._workspace.progress(
                {"event": "copied", "files": len(self._digests), "of": len(inventory.files)}
            )

    async def _check_failed(
        self, contents: dict[str, bytes], failed: dict[str, FilesystemError]
    ) -> None:
        """Raise for a file that could not be written, unless the same file is there already."""
        destination = self._destination
        for path, error in failed.items():
            if isinstance(error, FileExists):
                with destination.renaming():
                    [there] = await destination.store.fetch([path])
                if there == contents[path]:
                    continue
                error = FileExists(path, f"It differs from what would be moved there. {_TAKEN}")
            raise self._unmoved(error.renamed(destination.mount.outer))

    def _unmoved(self, error: FilesystemError) -> FilesystemError:
        """Add to an error that everything is still at the source."""
        begun = (
            f" Files that were copied before: {self._copied:,}. Repeat the call to continue."
            if self._copied
            else ""
        )
        end = "" if error.message.endswith(".") else "."
        error.message = Note(
            *(error.message, end, " Nothing was deleted from ", PathPart(self._source.path), "."),
            begun,
        )
        return error

    async def _check_separate(self) -> None:
        """Raise if both ends are the same files under two mounts: deleting one deletes both.

        Asked when all files were at the destination before. A file with a new name is written at
        the source, to see if it shows at the destination. The name is the same when the call runs
        again after a crash, so that none is left behind.
        """
        source, destination = self._source, self._destination
        if source.store.capabilities.in_state or destination.store.capabilities.in_state:
            return
        name = digest_of((self._key or uuid.uuid4().hex).encode())[:16]
        probe = f"{source.inner}.{name}.tmp"
        with source.renaming():
            failed = (await source.store.put({probe: b""}, overwrite=False)).get(probe)
            if failed is not None and not isinstance(failed, FileExists):
                raise failed
        try:
            with destination.renaming():
                is_shared = await destination.store.kind(self._target(probe)) is not None
        finally:
            with source.renaming():
                await source.store.delete(probe)
        if is_shared:
            raise FileExists(destination.path, "It is the same as the source, under another mount.")

    async def _delete(self) -> list[str]:
        """Delete what was copied; return the paths of files that stay."""
        source, once = self._source, self._part("delete")
        try:
            with source.renaming():
                return await source.store.delete_copied(source.inner, self._digests, once=once)
        except FilesystemError as error:
            raise BackendFailed(
                "Copied to ",
                PathPart(self._destination.path),
                ", but the source could not be deleted: ",
                error.message,
            ) from None

    def _note(self, inventory: Inventory, stay: Sequence[str]) -> Note | None:
        """Say what the destination could not hold as it was, and what stays at the source."""
        notes: list[str] = []
        if inventory.empty:
            notes.append(f"Empty directories were not kept: {inventory.empty:,}.")
        if inventory.links:
            notes.append(
                f"Symbolic links became copies of what they pointed to: {inventory.links:,}."
            )
        if stay:
            more = f" and {len(stay) - 1:,} more" if len(stay) > 1 else ""
            notes.append(
                Note(
                    "Changed or added during the move, and therefore still at the source: ",
                    PathPart(self._source.mount.outer(stay[0])),
                    f"{more}. Compare with the copy in ",
                    PathPart(self._destination.path),
                    ", then delete one of them.",
                )
            )
        return join_notes(" ", notes)


def _check_size(source: "Place", inventory: Inventory) -> None:
    total = sum(info.get("size", 0) for info in inventory.files)
    if len(inventory.files) > _MAX_FILES or total > _MAX_BYTES:
        raise _too_much(source, len(inventory.files), total)


def _empty(source: "Place") -> FilesystemError:
    return FilesystemError(
        PathPart(source.path), ": is an empty directory, which can't be moved to another mount."
    )


def _too_much(source: "Place", files: int, size: int) -> FilesystemError:
    return FilesystemError(
        PathPart(source.path),
        f": has {files:,} files and at least {size:,} bytes. One move to another mount takes up to "
        f"{_MAX_FILES:,} files and {_MAX_BYTES >> 20} MB. Move parts of it, or copy it with a "
        "command.",
    )
