"""Moves: within a store, from disk to disk, or file by file through memory.

A move that is interrupted leaves every file at one end or at both, never at none. The same call
made again goes on: a file that is at the destination with the same content counts as copied.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from langgraph_filesystem.state.backends.file_store import Inventory, digest_of
from langgraph_filesystem.state.backends.protocol import FileInfo, MoveResult
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FilesystemError,
    IsDirectory,
    Unsupported,
)
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
            ": can't be moved, as the backend there can't delete. Read it, and write it there.",
        )
    return await _copy_and_delete(workspace, source, destination, key, may_defer)


async def _rename(
    workspace: "Workspace", source: "Place", destination: "Place", key: str | None
) -> MoveResult:
    if await workspace.outcome(source, key) is not None:
        return MoveResult()
    with source.renaming():
        moved = await source.store.move(source.inner, destination.inner, once=key)
    return MoveResult(files=moved.files, note=source.renamed(moved.note))


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


async def _copy_and_delete(
    workspace: "Workspace",
    source: "Place",
    destination: "Place",
    key: str | None,
    may_defer: bool,
) -> MoveResult | None:
    last = None if key is None else f"{key}-delete"
    done = await workspace.outcome(source, last)
    if done is not None and await destination.store.kind(destination.inner) is not None:
        return MoveResult(note="The move was finished before the run was interrupted.")
    with source.renaming():
        inventory = await source.store.inventory(source.inner)
    _check_size(source, inventory)
    await _check_destination(source, destination, inventory)
    digests, copied = await _copy(workspace, source, destination, inventory, key)
    is_stored = not (copied and destination.store.capabilities.in_state)
    if not is_stored and may_defer and key is not None:
        return None
    with source.renaming():
        stay = await source.store.delete_copied(source.inner, digests, once=last)
    return MoveResult(
        files=len(digests) - len(stay), note=_note(source, destination, inventory, stay)
    )


def _check_size(source: "Place", inventory: Inventory) -> None:
    total = sum(info.get("size", 0) for info in inventory.files)
    if not inventory.files:
        raise FilesystemError(
            PathPart(source.path), ": is an empty directory, which can't be moved to another mount."
        )
    if len(inventory.files) > _MAX_FILES or total > _MAX_BYTES:
        raise FilesystemError(
            PathPart(source.path),
            f": has {len(inventory.files):,} files with {total:,} bytes. One move to another "
            f"mount takes up to {_MAX_FILES:,} files and {_MAX_BYTES >> 20} MB. Nothing was moved. "
            "Move parts of it, or copy it with a command.",
        )


async def _check_destination(source: "Place", destination: "Place", inventory: Inventory) -> None:
    """Refuse a destination that has anything but a part of what is moved there."""
    with destination.renaming():
        kind = await destination.store.kind(destination.inner)
        if kind is None:
            return
        is_file = inventory.files[0]["path"] == source.inner
        if is_file != (kind == "file"):
            raise (IsDirectory if is_file else FileExists)(destination.inner)
        there = await destination.store.inventory(destination.inner)
        ours = {_target(source, destination, info["path"]) for info in inventory.files}
        if any(info["path"] not in ours for info in there.files):
            raise FileExists(destination.inner, _TAKEN)


async def _copy(
    workspace: "Workspace",
    source: "Place",
    destination: "Place",
    inventory: Inventory,
    key: str | None,
) -> tuple[dict[str, str], int]:
    """Copy all files; return their digests, and how many were not at the destination before."""
    digests: dict[str, str] = {}
    copied = 0
    for number, paths in enumerate(_batches(inventory.files)):
        contents: dict[str, bytes] = {}
        for path, content in zip(paths, await source.store.fetch(paths), strict=True):
            if isinstance(content, FilesystemError):
                raise content.renamed(source.mount.outer)
            digests[path] = digest_of(content)
            contents[_target(source, destination, path)] = content
        once = None if key is None else f"{key}-copy{number}"
        failed = await destination.store.put(contents, overwrite=False, once=once)
        await _check_failed(source, destination, contents, failed)
        copied += len(contents) - len(failed)
        workspace.progress({"event": "copied", "files": len(digests), "of": len(inventory.files)})
    return digests, copied


async def _check_failed(
    source: "Place",
    destination: "Place",
    contents: dict[str, bytes],
    failed: dict[str, FilesystemError],
) -> None:
    """Raise for a file that could not be written, unless the same file is there already."""
    for path, error in failed.items():
        if isinstance(error, FileExists):
            [there] = await destination.store.fetch([path])
            if there == contents[path]:
                continue
            error = FileExists(path, f"It differs from what would be moved there. {_TAKEN}")
        told = error.renamed(destination.mount.outer)
        raise BackendFailed(
            told.message, " Nothing was deleted from ", PathPart(source.path), "."
        ) from None


def _batches(files: Sequence[FileInfo]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for info in files:
        own = info.get("size", 0)
        if batch and (len(batch) >= _BATCH_FILES or size + own > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(info["path"])
        size += own
    if batch:
        yield batch


def _target(source: "Place", destination: "Place", path: str) -> str:
    return destination.inner + path[len(source.inner) :]


def _note(
    source: "Place", destination: "Place", inventory: Inventory, stay: Sequence[str]
) -> Note | None:
    """Say what the destination could not hold as it was, and what stays at the source."""
    notes: list[str] = []
    if inventory.empty:
        notes.append(f"Empty directories were not kept: {inventory.empty:,}.")
    if inventory.links:
        notes.append(f"Symbolic links became copies of what they pointed to: {inventory.links:,}.")
    if stay:
        more = f" and {len(stay) - 1:,} more" if len(stay) > 1 else ""
        notes.append(
            Note(
                "Changed meanwhile, so it stays: ",
                PathPart(source.mount.outer(stay[0])),
                f"{more}. Compare it with the copy below ",
                PathPart(destination.path),
                ", and delete one of them.",
            )
        )
    return join_notes(" ", notes)
