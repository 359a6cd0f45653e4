"""The `delete` node: removes a file or a directory."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, Arguments, VirtualPath, escaped
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("Delete", "delete")


class Delete(Arguments):
    """Delete a file, or a directory with everything in it. This can't be undone."""

    file_path: Annotated[VirtualPath, Field(description="Absolute path to delete.")]


async def delete(args: Delete, workspace: Workspace) -> Answer:
    """Delete it and say so."""
    await workspace.delete(args.file_path)
    return Answer(f"Deleted {escaped(args.file_path)}.")
