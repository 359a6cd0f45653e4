"""Files from one mount to another through memory: a batch at a time, and all of them or none."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from langgraph_filesystem.state.effects import Effects
from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.inventories import Item
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.new_files import NewFiles
from langgraph_filesystem.state.view import View

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
    """Copy files, or raise and leave none of the copies. What others put there stays."""
    copies = NewFiles(view, effects, way.end, way.new)
    await copies.look([way.there(item.path) for item in files])
    for number, batch in enumerate(batches(files)):
        work = _copy(view, way, batch, copies, part + part_of_copy(number))
        _, problem = await attempted(work, f"copy {batch[0].path}")
        if problem is not None:
            left = await copies.take_back()
            raise BackendFailed(_with_left(problem, left))


async def _copy(view: View, way: Way, batch: list[Item], copies: NewFiles, part: str) -> None:
    contents = await _contents(view, way, batch)
    # Who does not look before it writes would overwrite what has come since.
    there = list(contents) if not copies.are_looked_for else []
    await _leave_equal(view, way, contents, there)
    if contents:
        there = await copies.write(contents, part)
        await _leave_equal(view, way, contents, there)


async def _contents(view: View, way: Way, batch: list[Item]) -> dict[str, bytes]:
    """Return what files hold, under the paths that they get."""
    contents: dict[str, bytes] = {}
    fetched = await view.fetch(way.start, way.old, [item.path for item in batch])
    for item, found in zip(batch, fetched, strict=True):
        if found.content is None:
            raise BackendFailed(f"{item.path}: could not be read ({found.problem}).")
        _check_size(way, item.path, len(found.content))
        contents[way.there(item.path)] = found.content
    return contents


async def _leave_equal(
    view: View, way: Way, contents: dict[str, bytes], paths: Sequence[str]
) -> None:
    """Leave out what is there already, from before a crash; refuse what others have there."""
    if not paths:
        return
    for path, found in zip(paths, await view.fetch(way.end, way.new, paths), strict=True):
        if found.content is not None and found.content != contents.pop(path):
            raise BackendFailed(
                f"{path}: others have written there meanwhile, so it was not overwritten, and "
                f"{way.old} is left as it is. Compare the two, and delete one of them."
            )


def _with_left(problem: str, left: list[str]) -> str:
    """Say what is wrong, and which copies are there for that."""
    if not left:
        return problem
    more = f" and {len(left) - 1:,} more" if len(left) > 1 else ""
    return (
        f"{problem.rstrip('.')}. What was copied before could not be deleted, and stays: "
        f"{left[0]}{more}."
    )


def _check_size(way: Way, path: str, size: int) -> None:
    if size > MAX_FILE:
        raise BackendFailed(
            f"{path}: has {size:,} bytes, more than the {MAX_FILE:,} that can be taken to "
            f"{way.new}, as a file goes there through memory. Nothing was moved. Leave it where "
            "it is, or copy it with a command, if there is one."
        )
