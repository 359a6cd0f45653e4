"""Deleting a file or a directory, with the results in it that its mount refused to take."""

from langgraph_filesystem.state.effects import Effects
from langgraph_filesystem.state.places import is_there
from langgraph_filesystem.state.refused import refused_files
from langgraph_filesystem.state.view import View

__all__ = ("delete",)


async def delete(view: View, effects: Effects, path: str) -> None:
    """Delete a file, or a directory with all that is below it; never what is mounted."""
    view.mounts.refuse_point(path)
    mount = view.mounts.locate(path)
    refused = await refused_files(view, path)
    if not await effects.outcome(mount, path) and (
        not refused or await is_there(view, mount, path)
    ):
        await effects.change(mount, path, "delete", mount.inner(path))
    if refused:
        view.take(dict.fromkeys(refused))
