"""What a mount has at and below a path: looked at before any of it is moved."""

from typing import Any, NamedTuple

from langgraph_filesystem.state.backends.protocol import FileInfo
from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.places import is_there
from langgraph_filesystem.state.view import View, renamed

__all__ = ("Found", "Item", "can", "find_all", "is_anything", "is_taken")

_MAX_DIRECTORIES = 10_000
"""Directories that are listed one by one: links may go in circles."""


class Item(NamedTuple):
    """A file."""

    path: str
    size: int | None
    """`None` where the backend does not say."""
    stamp: str | None = None
    """What changes when the file is changed, where the backend has such a thing."""

    @property
    def info(self) -> FileInfo:
        """The same as a backend says it."""
        info = FileInfo(path=self.path)
        if self.size is not None:
            info["size"] = self.size
        if self.stamp is not None:
            info["modified_at"] = self.stamp
        return info


class Found(NamedTuple):
    """All files at or below a path."""

    files: list[Item]
    empty: int = 0
    """Directories with nothing in them."""
    links: int = 0
    """Files that are symbolic links."""


def can(backend: object, method: str) -> bool:
    """Say whether a backend is of a class that has a method: some objects have any attribute."""
    return callable(getattr(type(backend), method, None))


async def find_all(view: View, mount: Mount, path: str) -> Found:
    """Return every file at or below a path: what is missed here would be lost in a move.

    Raises for what can't be taken to another mount.
    """
    if not can(view.backend_for(mount, path), "inventory"):
        return await _find_by_lists(view, mount, path)
    result = await view.call(mount, path, "inventory", mount.inner(path))
    if result.refused:
        inner, problem = result.refused
        raise BackendFailed(renamed(problem, mount, mount.outer(inner)))
    files = [_item(mount, info) for info in result.files]
    return Found(files, result.empty, result.links)


async def is_anything(view: View, mount: Mount, path: str) -> bool:
    """Say whether something is at a path, or may be."""
    if hasattr(view.backend_for(mount, path), "digest"):
        if await view.digest(mount, path) is not None:
            return True
    elif await _entry(view, mount, path) is not None:
        return True
    return await is_there(view, mount, path)


async def is_taken(view: View, mount: Mount, path: str) -> bool:
    """Say whether a file is at a path, or a directory with something in it."""
    listed, _ = await attempted(view.call(mount, path, "ls", mount.inner(path)), f"ls {path}")
    if listed is not None and listed.entries:
        return True
    entry = None
    if not hasattr(view.backend_for(mount, path), "digest"):
        # Its digest would be made of all that a file holds.
        entry = await _entry(view, mount, path)
    is_file = entry is not None and not entry.get("is_dir")
    return is_file or await view.digest(mount, path) is not None


async def _find_by_lists(view: View, mount: Mount, path: str) -> Found:
    entry = await _entry(view, mount, path)
    if entry is not None and not entry.get("is_dir"):
        return Found([_item(mount, entry)])
    if entry is None and await view.digest(mount, path) is not None:
        return Found([Item(path, None)])
    files: list[Item] = []
    directories, empty = [path], 0
    for directory in directories:
        result = await view.call(mount, directory, "ls", mount.inner(directory))
        _refuse_unnamed(directory, result)
        empty += not result.entries
        for info in result.entries or ():
            if info.get("is_dir"):
                directories.append(mount.outer(info["path"]))
            else:
                files.append(_item(mount, info))
        if len(directories) > _MAX_DIRECTORIES:
            raise BackendFailed(
                f"{path}: more than {_MAX_DIRECTORIES:,} directories are below it, which is "
                "too much for one move. Move parts of it."
            )
    return Found(files, empty)


async def _entry(view: View, mount: Mount, path: str) -> FileInfo | None:
    """Return what the list of the directory above says of a path, if it can be had."""
    if path == mount.prefix:
        return None
    above = path.rpartition("/")[0] or "/"
    listed, _ = await attempted(view.call(mount, above, "ls", mount.inner(above)), f"ls {above}")
    entries: list[FileInfo] = [] if listed is None else listed.entries or []
    return next((entry for entry in entries if mount.outer(entry["path"]) == path), None)


def _refuse_unnamed(directory: str, result: Any) -> None:
    if getattr(result, "unnamed", 0):
        # They can't be copied, and would be deleted with the rest.
        raise BackendFailed(
            f"{directory}: is left where it is, as not all of it can be moved: {result.note}"
        )


def _item(mount: Mount, info: FileInfo) -> Item:
    return Item(mount.outer(info["path"]), info.get("size"), info.get("modified_at"))
