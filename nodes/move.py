"""The `move` node: a file or a directory gets another path."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, counted, escaped
from langgraph_filesystem.nodes.arguments import Arguments, VirtualPath
from langgraph_filesystem.nodes.filesystem import Filesystem

__all__ = ("Move", "move")


class Move(Arguments):
    """Move or rename a file or a directory. Nothing may be at the destination yet."""

    source: Annotated[VirtualPath, Field(description="Absolute path of what is to be moved.")]
    destination: Annotated[VirtualPath, Field(description="Absolute path that it gets.")]


async def move(args: Move, filesystem: Filesystem) -> Answer | None:
    """Move it and say how much was moved; or nothing yet, if it must come again to be finished."""
    moved = await filesystem.move(args.source, args.destination)
    if moved is None:
        return None
    much = "" if moved.files is None else f" ({counted(moved.files, 'file')})"
    told = f"Moved {escaped(args.source)} to {escaped(args.destination)}{much}."
    artifact = {} if moved.files is None else {"files": moved.files}
    return Answer(" ".join([told, *map(escaped, moved.remarks)]), artifact)
