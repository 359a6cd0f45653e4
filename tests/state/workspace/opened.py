"""A workspace as a node opens it."""

from collections.abc import Mapping
from typing import Any

from langgraph_filesystem.state.files import ThreadFiles, merge_files
from langgraph_filesystem.state.workspace.mounts import Mounts
from langgraph_filesystem.state.workspace.seen import Seen
from langgraph_filesystem.state.workspace.workspace import Workspace


def workspace(
    mounts: Any = None,
    files: Mapping[str, Any] | None = None,
    *,
    seen: Mapping[str, str] | None = None,
    key: str | None = None,
    **options: Any,
) -> Workspace:
    """Return a workspace over files of a thread; without `seen`, any file may be changed."""
    thread = ThreadFiles(merge_files({}, [files or {}]))
    opened = Workspace(Mounts(mounts), thread, seen=Seen(seen), **options)
    opened.key = key
    return opened


def texts(opened: Workspace) -> dict[str, str]:
    """Return the files of the thread after what the workspace did."""
    assert opened.files is not None
    return {path: file["content"] for path, file in opened.files.files.items()}


def paths(result: Any) -> list[str]:
    """Return the paths of a list or a search, sorted."""
    found = result.entries if hasattr(result, "entries") else result.matches
    return sorted(info["path"] for info in found or ())
