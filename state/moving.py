"""A file or a directory gets another path: within a mount, across two, or partly in the state.

Results that a mount refused lie in the thread's own files, at paths of that mount. They go along
with the directory that they are in.
"""

from typing import Any

from langgraph_filesystem.state.copies import Way, copy_all, part_of_copy
from langgraph_filesystem.state.effects import Effects
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FilesystemError,
    Unsupported,
)
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.files import Files, file_bytes
from langgraph_filesystem.state.inventories import Item, is_taken
from langgraph_filesystem.state.moved import Moved
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.places import is_there
from langgraph_filesystem.state.refused import refused_files
from langgraph_filesystem.state.transfer import LAST, count_files, transfer
from langgraph_filesystem.state.view import EVICTED, View

__all__ = ("move",)

_OWN = "-own"
"""What tells the results in the state from the rest of a move, in the journal."""


async def move(view: View, effects: Effects, source: str, destination: str) -> Moved | None:
    """Move a file or a directory, within a mount or across two; return how much it was.

    `None` says that it was only copied: it is to be called again when the copy is stored.
    """
    view.mounts.refuse_point(source)
    view.mounts.refuse_point(destination)
    if is_within(destination, source):
        raise FilesystemError(f"{source}: can't be moved to {destination}, which is itself.")
    start, end = view.mounts.locate(source), view.mounts.locate(destination)
    way = Way(start, source, end, destination)
    refused = await refused_files(view, source)
    if not refused:
        return await _move(view, effects, way)
    moved: Moved | None = Moved(0)
    if await _is_on_mount(view, effects, way):
        moved = await _move(view, effects, way)
    elif await is_taken(view, end, destination) and not await _has_begun(effects, way, refused):
        raise FileExists(destination, "Delete it first, or choose another destination.")
    return None if moved is None else await _move_refused(view, effects, way, refused, moved)


async def _move(view: View, effects: Effects, way: Way) -> Moved | None:
    """Move what is on a mount, or one result that is not."""
    backend = view.backend(way.start)
    # A result that the mount refused is not there, but in the state.
    has_it = type(view.backend_for(way.start, way.old)) is type(backend)
    if way.start is way.end and has_it and callable(getattr(backend, "move", None)):
        return await _rename(view, effects, way)
    if not view.can(way.start, way.old, "delete"):
        raise Unsupported(
            f"{way.old}: can't be moved to {way.new}, as the backend mounted at "
            f"{way.start.prefix} can't delete. Nothing was copied. Read it, and write it there."
        )
    return await transfer(view, effects, way)


async def _rename(view: View, effects: Effects, way: Way) -> Moved | None:
    copied = effects.copied
    if await effects.outcome(way.start, way.old):
        return Moved.read(copied) if copied else Moved(await count_files(view, way))
    inner = way.start.inner(way.old), way.start.inner(way.new)
    result = await effects.change(way.start, way.old, "move", *inner, copied=copied)
    if copied:
        return Moved.read(copied)
    if now := getattr(result, "copied", None):
        # A backend made of several, one of them in the state.
        effects.copied = now
        return None
    return await _told(view, way, result)


async def _told(view: View, way: Way, result: Any) -> Moved:
    """Return what a backend says of its move; others say nothing, so the files are counted."""
    files, note = getattr(result, "files", None), getattr(result, "note", None)
    if files is None and note is None:
        files = await count_files(view, way)
    return Moved(files, note=note)


async def _is_on_mount(view: View, effects: Effects, way: Way) -> bool:
    """Say whether a mount has what is to be moved, or had it before a crash."""
    if effects.copied or await effects.outcome(way.start, way.old):
        return True
    is_done = await effects.outcome(way.start, way.old, LAST) is not None
    return is_done or await is_there(view, way.start, way.old)


async def _has_begun(effects: Effects, way: Way, refused: Files) -> bool:
    """Say whether results were copied before a crash."""
    first = way.there(min(refused))
    return await effects.outcome(way.end, first, _part(0) + part_of_copy(0)) is not None


async def _move_refused(
    view: View, effects: Effects, way: Way, refused: Files, moved: Moved
) -> Moved:
    """Move results that are in the state, and say which of them stay there."""
    if effects.is_in_state(way.end, way.new) or is_within(way.new, EVICTED):
        view.take({way.there(path): file for path, file in refused.items()})
        view.take(dict.fromkeys(refused))
        return _more(moved, len(refused))
    problems: list[str] = []
    for number, (path, file) in enumerate(sorted(refused.items())):
        one = Way(way.start, path, way.end, way.there(path))
        item = Item(path, len(file_bytes(file)))
        work = copy_all(view, effects, one, [item], _part(number))
        _, problem = await attempted(work, f"move {path}")
        if problem is None:
            view.take({path: None})
        else:
            problems.append(problem)
    if len(problems) == len(refused) and moved.files == 0:
        raise BackendFailed(problems[0])
    moved = _more(moved, len(refused) - len(problems))
    return moved._replace(note=_stay(way, problems)) if problems else moved


def _part(number: int) -> str:
    return f"{_OWN}{number}"


def _more(moved: Moved, files: int) -> Moved:
    return moved if moved.files is None else moved._replace(files=moved.files + files)


def _stay(way: Way, problems: list[str]) -> str:
    what = "1 result stays" if len(problems) == 1 else f"{len(problems):,} results stay"
    return f"{what} in {way.old}: {problems[0]}"
