"""The `move` node: renames a file or a directory, also into another mount."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, Arguments, VirtualPath, counted, escaped
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("Move", "move")


class Move(Arguments):
    """Move or rename a file or a directory. Nothing may be at the destination yet."""

    source: Annotated[VirtualPath, Field(description="Absolute path to move.")]
    destination: Annotated[VirtualPath, Field(description="The new absolute path.")]


async def move(args: Move, workspace: Workspace) -> Answer | None:
    """Move it and say how many files it was; `None` if the call must come again to finish."""
    moved = await workspace.move_or_defer(args.source, args.destination)
    if moved is None:
        return None
    much = "" if moved.files is None else f" ({counted(moved.files, 'file')})"
    text = f"Moved {escaped(args.source)} to {escaped(args.destination)}{much}."
    artifact = {} if moved.files is None else {"files": moved.files}
    return Answer(f"{text} {escaped(moved.note)}" if moved.note else text, artifact)
