"""Files from one mount to another: all of them or, after an error, none.

What is copied into the state is stored only once the node has returned; what is deleted outside of
it is gone at once. Between the two a killed process would lose the file, so such a move takes two
steps: the copy, and when it is in a checkpoint, in a second run of the same call, the deletion.

From disk to disk everything goes that a disk can hold, of any size. Elsewhere files go through
memory, some at a time, and one that is too large is refused before anything is changed.
"""

import threading
from collections.abc import Sequence
from typing import Any

from langgraph_filesystem.state.copies import (
    Way,
    batches,
    check_sizes,
    copy_all,
    part_of_copy,
)
from langgraph_filesystem.state.effects import Effects
from langgraph_filesystem.state.errors import BackendFailed, FileExists
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.inventories import (
    Found,
    Item,
    can,
    find_all,
    is_anything,
    is_taken,
)
from langgraph_filesystem.state.moved import Moved
from langgraph_filesystem.state.view import View, renamed

__all__ = ("LAST", "count_files", "transfer")

LAST = "-last"
"""The part of a move that ends it."""


async def transfer(view: View, effects: Effects, way: Way) -> Moved | None:
    """Copy a file or a directory, then delete the source; return how much it was.

    Run again after a crash it finds its own copies, and goes on from there. `None` says that it was
    only copied: it is to be called again when the copy is stored.
    """
    if effects.copied:
        return await _delete_copied(view, effects, way)
    if await effects.outcome(way.start, way.old, LAST):
        await _check_arrived(view, effects, way)
        return Moved(await count_files(view, way))
    is_known = await effects.outcome(way.end, way.new, part_of_copy(0)) is not None
    if _are_disks(view, way):
        moved, mark = await _receive(view, effects, way)
    else:
        if not is_known and await is_taken(view, way.end, way.new):
            raise FileExists(way.new, "Delete it first, or choose another destination.")
        mark = await _mark(view, way)
        copied = await _copy(view, effects, way, is_known)
        if copied is None:
            return None
        moved = copied
    await _delete(effects, way, mark)
    return moved._replace(files=await count_files(view, way)) if is_known else moved


async def count_files(view: View, way: Way) -> int | None:
    """Return how many files are at the destination, if that can be said."""
    found, _ = await attempted(find_all(view, way.end, way.new), f"look at {way.new}")
    return None if found is None else len(found.files)


def _are_disks(view: View, way: Way) -> bool:
    start, end = view.backend_for(way.start, way.old), view.backend_for(way.end, way.new)
    return can(end, "can_receive") and bool(end.can_receive(start))


async def _mark(view: View, way: Way) -> str | None:
    """Return what the source is known by, so that it is not deleted if it is changed."""
    if not can(view.backend_for(way.start, way.old), "delete_copied"):
        return None
    found = await view.call(way.start, way.old, "mark", way.start.inner(way.old))
    mark: str = found.mark
    return mark


async def _receive(view: View, effects: Effects, way: Way) -> tuple[Moved, str | None]:
    """Let a disk copy from a disk; return what the source was known by as well."""
    stopped = threading.Event()
    other, old, new = view.backend(way.start), way.start.inner(way.old), way.end.inner(way.new)
    work = effects.change(
        way.end, way.new, "receive", other, old, new, part=part_of_copy(0), stopped=stopped
    )
    result = await work
    if result.refused:
        inner, problem = result.refused
        raise BackendFailed(renamed(problem, way.start, way.start.outer(inner)))
    return Moved(result.files, links=result.links), result.mark


async def _copy(view: View, effects: Effects, way: Way, is_known: bool) -> Moved | None:
    """Copy through memory. `None` if that is to be stored before the source is deleted."""
    found = await find_all(view, way.start, way.old)
    if not found.files and not is_known:
        raise BackendFailed(
            f"{way.old}: has no files, and {way.new} can't be a directory without any, so nothing "
            "was moved."
        )
    check_sizes(way, found.files, into_state=effects.is_in_state(way.end, way.new))
    stored = view.update
    await copy_all(view, effects, way, found.files)
    moved = Moved(len(found.files), found.empty, found.links)
    is_in_state = effects.is_in_state(way.start, way.old)
    if effects.copied is not None and view.update is not stored and not is_in_state:
        effects.copied = moved.text
        return None
    if not is_in_state:
        await _check_unchanged(view, way, found)
    return moved


async def _check_unchanged(view: View, way: Way, before: Found) -> None:
    """Raise if the source is not what was copied: what came meanwhile would be deleted with it."""
    now = await find_all(view, way.start, way.old)
    if sorted(now.files) != sorted(before.files):
        raise BackendFailed(
            f"Copied to {way.new}, but the source is left: {way.old} was changed meanwhile. "
            "Compare the two, and delete one of them."
        )


async def _delete_copied(view: View, effects: Effects, way: Way) -> Moved:
    """Delete what was copied in an earlier step, or what is left of it, if it is the same still."""
    moved = Moved.read(effects.copied or "1")
    is_done = await effects.outcome(way.start, way.old, LAST) is not None
    # Not every backend knows what it has done: then it was deleted before a crash.
    if is_done or not await is_anything(view, way.start, way.old):
        await _check_arrived(view, effects, way)
        return moved
    # Of a directory that was deleted in part, even in all but its name, the rest goes.
    mark = await _mark(view, way)
    for batch in batches((await find_all(view, way.start, way.old)).files):
        await _check_same(view, way, batch)
    await _delete(effects, way, mark)
    return moved


async def _check_same(view: View, way: Way, batch: Sequence[Item]) -> None:
    paths = [item.path for item in batch]
    contents = await view.fetch(way.start, way.old, paths)
    copies = await view.fetch(way.end, way.new, [way.there(path) for path in paths])
    for path, content, copy in zip(paths, contents, copies, strict=True):
        if content.content is None:
            raise BackendFailed(f"{path}: could not be read ({content.problem}).")
        if copy.content != content.content:
            raise BackendFailed(
                f"Copied to {way.new}, but the source is left: {path} was changed since, or its "
                "copy was. Compare the two, and delete one of them."
            )


async def _check_arrived(view: View, effects: Effects, way: Way) -> None:
    """Raise if the source is gone, but what it became is not in the state.

    So it is where a thread went on from a checkpoint before the move: mounts don't go back.
    """
    is_in_state = effects.is_in_state(way.end, way.new)
    if is_in_state and not await is_anything(view, way.end, way.new):
        raise BackendFailed(
            f"{way.old}: was moved to {way.new} already, in another course of this thread, and is "
            "not in this one. Look for it there."
        )


async def _delete(effects: Effects, way: Way, mark: str | None) -> None:
    inner = way.start.inner(way.old)
    if mark is None:
        work = effects.change(way.start, way.old, "delete", inner, part=LAST)
    else:
        work = effects.change(way.start, way.old, "delete_copied", inner, mark, part=LAST)
    ended, problem = await attempted(work, f"delete {way.old}")
    if problem is None and mark is not None:
        problem = _problem(way, ended)
        if problem is not None:
            raise BackendFailed(problem)
    if problem is not None:
        raise BackendFailed(f"Copied to {way.new}, but the source is left: {problem}")


def _problem(way: Way, ended: Any) -> str | None:
    """Return what is to be told of a source that could not be deleted, or not all of it."""
    at = None if ended.at is None else way.start.outer(ended.at)
    said = renamed(ended.problem or "", way.start, way.old)
    if ended.is_gone:
        return (
            f"Copied to {way.new}, but {way.old} is gone: somebody else has moved or deleted it "
            "meanwhile. If it was moved, there are two copies now: compare them, and delete one."
        )
    if ended.is_partial:
        why = said or "Something was put into it meanwhile."
        return (
            f"Copied to {way.new}, where all of it is, but only a part of {way.old} could be "
            f"deleted: {why} What is left is in {at}. Look at it, then delete it."
        )
    if not ended.is_changed:
        return f"Copied to {way.new}, but the source is left: {said}" if said else None
    where = "" if at == way.old else f" It is at {at} now, as something else is at {way.old}."
    return (
        f"Copied to {way.new}, but the source is left: {way.old} was changed meanwhile.{where} "
        "Compare the two, and delete one of them."
    )
