"""The `ls` node: what is in one directory."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, escaped, listed
from langgraph_filesystem.nodes.arguments import Arguments, VirtualPath
from langgraph_filesystem.nodes.filesystem import Filesystem

__all__ = ("Ls", "ls")


class Ls(Arguments):
    """List one directory: an entry a line, sorted, with `/` behind the names of directories."""

    path: Annotated[VirtualPath, Field(description="Absolute path of the directory.")] = "/"


async def ls(args: Ls, filesystem: Filesystem) -> Answer:
    """Return the entries as full paths, which the other operations take as they are."""
    entries, notes = await filesystem.ls(args.path)
    rows = sorted(
        escaped(entry["path"].rstrip("/")) + ("/" if entry.get("is_dir") else "")
        for entry in entries
    )
    if not rows and not notes:
        return Answer(f"{escaped(args.path)} is empty.", {"entries": 0})
    text, left_out = listed(rows, filesystem.budget, "entries")
    shown = "\n".join([text, *notes])
    return Answer(shown, {"entries": len(rows), "left_out": left_out})
