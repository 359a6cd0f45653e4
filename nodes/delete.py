"""The `delete` node: a file or a directory goes."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, escaped
from langgraph_filesystem.nodes.arguments import Arguments, VirtualPath
from langgraph_filesystem.nodes.filesystem import Filesystem

__all__ = ("Delete", "delete")


class Delete(Arguments):
    """Delete a file, or a directory with everything in it. This can't be undone."""

    file_path: Annotated[VirtualPath, Field(description="Absolute path of what is to go.")]


async def delete(args: Delete, filesystem: Filesystem) -> Answer:
    """Delete it and say so."""
    await filesystem.delete(args.file_path)
    return Answer(f"Deleted {escaped(args.file_path)}.")
