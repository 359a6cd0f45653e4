"""Results that their mount refused to take: they lie in the state, at the paths they have.

`View.backend_for` finds one of them by its path. Here they are found like other files, below
directories of a mount that knows nothing of them.
"""

from typing import Any

from langgraph_filesystem.state.backends.state import BoundStateBackend, OverFiles, StateBackend
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import is_within, overlaps
from langgraph_filesystem.state.view import EVICTED, View

__all__ = ("refused_below", "refused_files")


async def refused_below(view: View, directory: str) -> BoundStateBackend | None:
    """Return what has the refused results below a directory, if there are any."""
    files = await refused_files(view, directory)
    return BoundStateBackend(files) if files else None


async def refused_files(view: View, directory: str) -> Files:
    """Return the refused results below a directory."""
    if not overlaps(directory, EVICTED):
        return {}
    at = [view.mounts.locate(EVICTED), *view.mounts.below(EVICTED)]
    mounts = [mount for mount in at if not isinstance(mount.backend, StateBackend)]
    files: Files = {}
    for mount in mounts:
        found = _files_at(view, mount, directory)
        if found and not await _has_files_of_thread(view, mount):
            files |= found
    return files


def _files_at(view: View, mount: Mount, directory: str) -> Files:
    """Return the files of the state below a directory, at paths of a mount."""
    return {
        path: file
        for path, file in view.files.items()
        if path != directory
        and is_within(path, directory)
        and is_within(path, EVICTED)
        and view.mounts.locate(path) is mount
    }


async def _has_files_of_thread(view: View, mount: Mount) -> bool:
    """Say whether a mount looks after the files of the thread itself, once it is opened."""
    opened, _ = await attempted(_opened(view, mount), "open")
    return isinstance(opened, OverFiles)


async def _opened(view: View, mount: Mount) -> Any:
    return view.backend(mount)
