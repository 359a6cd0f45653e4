"""Files from one mount to another: all of them or, after an error, none."""

from langgraph_filesystem.nodes.effects import Effects
from langgraph_filesystem.nodes.failures import attempted
from langgraph_filesystem.nodes.view import View
from langgraph_filesystem.state.errors import BackendFailed, FileExists
from langgraph_filesystem.state.files import checked_update
from langgraph_filesystem.state.mounts import Mount

__all__ = ("transfer",)

_LAST = "-last"
"""The part of a move that ends it."""
_MAX_DIRECTORIES = 10_000
"""Directories that a transfer walks through: links may go in circles."""


async def transfer(
    view: View, effects: Effects, source: tuple[Mount, str], destination: tuple[Mount, str]
) -> int:
    """Copy a file or a directory, then delete the source; return how many files it was.

    Run again after a crash it finds its own copies, and goes on from there.
    """
    (start, old), (end, new) = source, destination
    if await effects.outcome(start, old, _LAST):
        return 1
    if await effects.outcome(end, new, _copy(0)) is None:
        await _refuse_taken(view, end, new)
    files = await _files_under(view, start, old)
    contents = await _contents(view, start, old, files)
    copies = {new + path[len(old) :]: data for path, data in contents.items()}
    await _write_all(view, effects, end, copies)
    work = effects.change(start, old, "delete", start.inner(old), part=_LAST)
    _, problem = await attempted(work, f"delete {old}")
    if problem is not None:
        raise BackendFailed(f"Copied to {new}, but the source is left: {problem}")
    return len(files)


async def _refuse_taken(view: View, mount: Mount, path: str) -> None:
    listed, _ = await attempted(view.call(mount, path, "ls", mount.inner(path)), f"ls {path}")
    taken = listed is not None and listed.entries
    if taken or await view.digest(mount, path) is not None:
        raise FileExists(path, "Delete it first, or choose another destination.")


async def _files_under(view: View, mount: Mount, path: str) -> list[str]:
    """Return a file, or every file below a directory: what is missed here would be lost."""
    if await view.digest(mount, path) is not None:
        return [path]
    files: list[str] = []
    directories = [path]
    for directory in directories:
        result = await view.call(mount, directory, "ls", mount.inner(directory))
        for info in result.entries or ():
            found = directories if info.get("is_dir") else files
            found.append(mount.outer(info["path"]))
        if len(directories) > _MAX_DIRECTORIES:
            raise BackendFailed(
                f"{path}: more than {_MAX_DIRECTORIES:,} directories are below it, which is "
                "too much for one move. Move parts of it."
            )
    if not files:
        raise BackendFailed(f"{path}: no file that can be read is there, so nothing was moved.")
    return files


async def _contents(view: View, mount: Mount, source: str, files: list[str]) -> dict[str, bytes]:
    inner = [mount.inner(path) for path in files]
    found = await view.call(mount, source, "download_files", inner)
    contents: dict[str, bytes] = {}
    for path, download in zip(files, found, strict=True):
        if download.content is None:
            raise BackendFailed(f"{path}: could not be read ({download.error}).")
        contents[path] = download.content
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
    upload = [(mount.inner(path), content)]
    [arrived] = await effects.change(mount, path, "upload_files", upload, part=part)
    if arrived.error:
        raise BackendFailed(f"{path}: could not be written ({arrived.error}).")
    if update := getattr(arrived, "files_update", None):
        view.take(checked_update(update))


def _copy(number: int) -> str:
    return f"-copy{number}"
