"""The `ls` node: the entries of one directory."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import (
    Answer,
    Arguments,
    VirtualPath,
    escaped,
    listed,
    notes_of,
)
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("Ls", "ls")


class Ls(Arguments):
    """List one directory: one entry per line, sorted. Directories end in `/`."""

    path: Annotated[VirtualPath, Field(description="Absolute path of the directory.")] = "/"


async def ls(args: Ls, workspace: Workspace) -> Answer:
    """Return the entries as full paths, which the other operations accept."""
    result = await workspace.ls(args.path)
    entries, notes = result.entries or [], notes_of(result.note)
    rows = sorted(
        escaped(entry["path"].rstrip("/")) + ("/" if entry.get("is_dir") else "")
        for entry in entries
    )
    if not rows and not notes:
        return Answer(f"{escaped(args.path)} is empty.", {"entries": 0})
    text, left_out = listed(rows, workspace.limits.characters, "entries")
    shown = "\n".join([text, *notes])
    return Answer(shown, {"entries": len(rows), "left_out": left_out})
