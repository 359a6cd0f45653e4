"""Files from one mount to another through memory: a batch at a time, and all of them or none."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from langgraph_filesystem.state.effects import Effects
from langgraph_filesystem.state.errors import BackendFailed, Unsupported
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.files import FileData, FileEdit, checked_update
from langgraph_filesystem.state.inventories import Item, can, find_all
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import ancestors
from langgraph_filesystem.state.places import is_there
from langgraph_filesystem.state.view import View, renamed

__all__ = ("MAX_FILE", "MAX_IN_STATE", "Way", "batches", "check_sizes", "copy_all", "part_of_copy")

MAX_FILE = 64 << 20
"""Bytes of one file that is taken through memory. From disk to disk any file goes, in pieces."""
MAX_IN_STATE = 64 << 20
"""Bytes that one move may put into the thread's own files: a checkpoint holds all of them."""
_BATCH, _BATCH_FILES = 16 << 20, 200
"""Bytes, and files, that are fetched and written at once, with one note in the journal."""


class Way(NamedTuple):
    """From where to where."""

    start: Mount
    old: str
    end: Mount
    new: str

    def there(self, path: str) -> str:
        """Return the path that a file of the source gets."""
        return self.new + path[len(self.old) :]


def check_sizes(way: Way, files: Sequence[Item], *, into_state: bool) -> None:
    """Raise for what is too large, before anything is changed."""
    for item in files:
        _check_size(way, item.path, item.size or 0)
    total = sum(item.size or 0 for item in files)
    if into_state and total > MAX_IN_STATE:
        raise BackendFailed(
            f"{way.old}: has {total:,} bytes, more than the {MAX_IN_STATE:,} that one move can "
            f"take to {way.new}, into the thread's own files. Nothing was moved. Move a part of "
            "it, or move it to another mount."
        )


def batches(files: Sequence[Item]) -> Iterator[list[Item]]:
    """Yield files that are copied together. The first goes alone.

    A call that is run again knows by the note of the first batch that what it finds is its own; of
    several files some might be there, which proves nothing.
    """
    batch: list[Item] = []
    size, is_first = 0, True
    for item in files:
        own = MAX_FILE if item.size is None else item.size
        if batch and (is_first or size + own > _BATCH or len(batch) >= _BATCH_FILES):
            yield batch
            batch, size, is_first = [], 0, False
        batch.append(item)
        size += own
    if batch:
        yield batch


def part_of_copy(number: int) -> str:
    """Return what tells the batches of a move apart in the journal."""
    return f"-copy{number}"


async def copy_all(
    view: View, effects: Effects, way: Way, files: Sequence[Item], part: str = ""
) -> None:
    """Copy files, or raise and leave none of the copies."""
    begun: list[str] = []
    top = await _highest_new(view, way)
    for number, batch in enumerate(batches(files)):
        begun += [way.there(item.path) for item in batch]
        work = _copy(view, effects, way, batch, part + part_of_copy(number))
        _, problem = await attempted(work, f"copy {batch[0].path}")
        if problem is not None:
            await _undo(view, effects, way.end, top, begun)
            raise BackendFailed(problem)


async def _copy(view: View, effects: Effects, way: Way, batch: list[Item], part: str) -> None:
    contents: list[tuple[str, bytes]] = []
    fetched = await view.fetch(way.start, way.old, [item.path for item in batch])
    for item, found in zip(batch, fetched, strict=True):
        if found.content is None:
            raise BackendFailed(f"{item.path}: could not be read ({found.problem}).")
        _check_size(way, item.path, len(found.content))
        contents.append((way.there(item.path), found.content))
    try:
        await _upload(view, effects, way.end, contents, part)
    except Unsupported:
        for number, (path, content) in enumerate(contents):
            text, own = _text(path, content), f"{part}.{number}" if number else part
            await effects.change(way.end, path, "write", way.end.inner(path), text, part=own)


async def _upload(
    view: View, effects: Effects, mount: Mount, contents: list[tuple[str, bytes]], part: str
) -> None:
    given = [(mount.inner(path), content) for path, content in contents]
    arrived = await effects.change(mount, contents[0][0], "upload_files", given, part=part)
    update: dict[str, FileData | FileEdit | None] = {}
    for (path, _), one in zip(contents, arrived, strict=True):
        if one.error:
            problem = renamed(one.error, mount, path)
            told = path in problem
            raise BackendFailed(problem if told else f"{path}: could not be written ({problem}).")
        update |= getattr(one, "files_update", None) or {}
    if update:
        view.take(checked_update(update))


async def _highest_new(view: View, way: Way) -> str:
    """Return the topmost directory that the copies bring into being, on a disk, or the copy."""
    top = way.new
    if can(view.backend_for(way.end, way.new), "can_receive"):
        for above in ancestors(way.new):
            if await is_there(view, way.end, above):
                break
            top = above
    return top


async def _undo(view: View, effects: Effects, mount: Mount, top: str, begun: list[str]) -> None:
    """Delete the copies: at once, with their directories, if nothing of others is among them."""
    found, _ = await attempted(find_all(view, mount, top), f"look at {top}")
    ours = {*begun}
    only_ours = found is not None and ours.issuperset(item.path for item in found.files)
    for path in [top] if only_ours else begun:
        undo = effects.change(mount, path, "delete", mount.inner(path), part="-undo")
        await attempted(undo, f"delete {path}")


def _check_size(way: Way, path: str, size: int) -> None:
    if size > MAX_FILE:
        raise BackendFailed(
            f"{path}: has {size:,} bytes, more than the {MAX_FILE:,} that can be taken to "
            f"{way.new}, as a file goes there through memory. Nothing was moved. Leave it where "
            "it is, or copy it with a command, if there is one."
        )


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unsupported(f"{path}: is no text, and the backend there takes only text.") from None
