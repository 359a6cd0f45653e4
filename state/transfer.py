"""Files from one mount to another: all of them or, after an error, none.

What is copied into the state is stored only once the node has returned; what is deleted outside of
it is gone at once. Between the two a killed process would lose the file, so such a move takes two
steps: the copy, and when it is in a checkpoint, in a second run of the same call, the deletion.
"""

from langgraph_filesystem.state.effects import Effects
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FilesystemError,
    Unsupported,
)
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.files import checked_update
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.places import is_there
from langgraph_filesystem.state.view import View

__all__ = ("LAST", "files_under", "move")

LAST = "-last"
"""The part of a move that ends it."""
_MAX_DIRECTORIES = 10_000
"""Directories that a transfer walks through: links may go in circles."""


async def move(view: View, effects: Effects, source: str, destination: str) -> int | None:
    """Move a file or a directory, within a mount or across two; return how many files it was.

    `None` says that it was only copied: it is to be called again when the copy is stored.
    """
    view.mounts.refuse_point(source)
    view.mounts.refuse_point(destination)
    if is_within(destination, source):
        raise FilesystemError(f"{source}: can't be moved to {destination}, which is itself.")
    start, end = view.mounts.locate(source), view.mounts.locate(destination)
    # A result that the mount refused is not there, but in the state.
    is_there = type(view.backend_for(start, source)) is type(view.backend(start))
    if start is end and is_there and callable(getattr(view.backend(start), "move", None)):
        return await _rename(effects, start, source, destination)
    return await _transfer(view, effects, (start, source), (end, destination))


async def _rename(effects: Effects, mount: Mount, source: str, destination: str) -> int | None:
    copied = effects.copied
    if await effects.outcome(mount, source):
        return int(copied or 1)
    inner = mount.inner(source), mount.inner(destination)
    result = await effects.change(mount, source, "move", *inner, copied=copied)
    if not copied and (now := getattr(result, "copied", None)):
        # A backend made of several, one of them in the state.
        effects.copied = now
        return None
    update = getattr(result, "files_update", None) or {}
    return int(copied or max(1, sum(value is None for value in update.values())))


async def _transfer(
    view: View, effects: Effects, source: tuple[Mount, str], destination: tuple[Mount, str]
) -> int | None:
    """Copy a file or a directory, then delete the source; return how many files it was.

    Run again after a crash it finds its own copies, and goes on from there.
    """
    (start, old), (end, new) = source, destination
    if effects.copied:
        return await _delete_copied(view, effects, source, destination)
    if await effects.outcome(start, old, LAST):
        await _check_arrived(view, effects, source, destination)
        return 1
    if await effects.outcome(end, new, _copy(0)) is None:
        await _refuse_taken(view, end, new)
    contents = await _contents(view, start, old, await files_under(view, start, old))
    copies = {new + path[len(old) :]: data for path, data in contents.items()}
    stored = view.update
    await _write_all(view, effects, end, copies)
    copy_is_stored = view.update is stored or effects.is_in_state(start, old)
    if effects.copied is not None and not copy_is_stored:
        effects.copied = str(len(copies))
        return None
    await _delete(effects, source, new)
    return len(copies)


async def _delete_copied(
    view: View, effects: Effects, source: tuple[Mount, str], destination: tuple[Mount, str]
) -> int:
    """Delete what was copied in an earlier step, or what is left of it, if it is the same still."""
    (start, old), (end, new) = source, destination
    count = int(effects.copied or 1)
    is_done = await effects.outcome(start, old, LAST) is not None
    # Not every backend knows what it has done: then it was deleted before a crash.
    if is_done or not await _is_anything(view, start, old):
        await _check_arrived(view, effects, source, destination)
        return count
    # Of a directory that was deleted in part, even in all but its name, the rest goes.
    left = await _files_left(view, start, old)
    contents = await _contents(view, start, old, left)
    names = [new + path[len(old) :] for path in contents]
    copies = await view.fetch(end, new, names)
    for (path, content), copy in zip(contents.items(), copies, strict=True):
        if copy.content != content:
            raise BackendFailed(
                f"Copied to {new}, but the source is left: {path} or its copy was changed."
            )
    await _delete(effects, source, new)
    return count


async def _check_arrived(
    view: View, effects: Effects, source: tuple[Mount, str], destination: tuple[Mount, str]
) -> None:
    """Raise if the source is gone, but what it became is not in the state.

    So it is where a thread went on from a checkpoint before the move: mounts don't go back.
    """
    (_, old), (end, new) = source, destination
    if effects.is_in_state(end, new) and not await _is_anything(view, end, new):
        raise BackendFailed(
            f"{old}: was moved to {new} already, in another course of this thread, and is not in "
            "this one. Look for it there."
        )


async def _is_anything(view: View, mount: Mount, path: str) -> bool:
    return await view.digest(mount, path) is not None or await is_there(view, mount, path)


async def _delete(effects: Effects, source: tuple[Mount, str], new: str) -> None:
    mount, old = source
    work = effects.change(mount, old, "delete", mount.inner(old), part=LAST)
    _, problem = await attempted(work, f"delete {old}")
    if problem is not None:
        raise BackendFailed(f"Copied to {new}, but the source is left: {problem}")


async def _refuse_taken(view: View, mount: Mount, path: str) -> None:
    listed, _ = await attempted(view.call(mount, path, "ls", mount.inner(path)), f"ls {path}")
    taken = listed is not None and listed.entries
    if taken or await view.digest(mount, path) is not None:
        raise FileExists(path, "Delete it first, or choose another destination.")


async def files_under(view: View, mount: Mount, path: str) -> list[str]:
    """Return a file, or every file below a directory: what is missed here would be lost."""
    files = await _files_left(view, mount, path)
    if not files:
        raise BackendFailed(f"{path}: no file that can be read is there, so nothing was moved.")
    return files


async def _files_left(view: View, mount: Mount, path: str) -> list[str]:
    if await view.digest(mount, path) is not None:
        return [path]
    files: list[str] = []
    directories = [path]
    for directory in directories:
        result = await view.call(mount, directory, "ls", mount.inner(directory))
        if getattr(result, "unnamed", 0):
            # They can't be copied, and would be deleted with the rest.
            raise BackendFailed(
                f"{directory}: is left where it is, as not all of it can be moved: {result.note}"
            )
        for info in result.entries or ():
            found = directories if info.get("is_dir") else files
            found.append(mount.outer(info["path"]))
        if len(directories) > _MAX_DIRECTORIES:
            raise BackendFailed(
                f"{path}: more than {_MAX_DIRECTORIES:,} directories are below it, which is "
                "too much for one move. Move parts of it."
            )
    return files


async def _contents(view: View, mount: Mount, source: str, files: list[str]) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for path, found in zip(files, await view.fetch(mount, source, files), strict=True):
        if found.content is None:
            raise BackendFailed(f"{path}: could not be read ({found.problem}).")
        contents[path] = found.content
    return contents


async def _write_all(
    view: View, effects: Effects, mount: Mount, contents: dict[str, bytes]
) -> None:
    written: list[str] = []
    for path, content in contents.items():
        work = _write(view, effects, mount, (path, content, _copy(len(written))))
        _, problem = await attempted(work, f"write {path}")
        if problem is not None:
            for copied in written:
                undo = effects.change(mount, copied, "delete", mount.inner(copied), part="-undo")
                await attempted(undo, f"delete {copied}")
            raise BackendFailed(problem)
        written.append(path)


async def _write(view: View, effects: Effects, mount: Mount, file: tuple[str, bytes, str]) -> None:
    path, content, part = file
    inner = mount.inner(path)
    work = effects.change(mount, path, "upload_files", [(inner, content)], part=part)
    try:
        [arrived] = await work
    except Unsupported:
        await effects.change(mount, path, "write", inner, _text(path, content), part=part)
        return
    if arrived.error:
        raise BackendFailed(f"{path}: could not be written ({arrived.error}).")
    if update := getattr(arrived, "files_update", None):
        view.take(checked_update(update))


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unsupported(f"{path}: is no text, and the backend there takes only text.") from None


def _copy(number: int) -> str:
    return f"-copy{number}"
