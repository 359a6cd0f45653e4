"""The `glob` node: files by their names."""

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

__all__ = ("Glob", "glob")


class Glob(Arguments):
    """Find files whose names match a pattern with `*`, `**`, `?`, `[ab]` and `{a,b}`. A pattern
    without `/`, such as `*.py`, matches names at any depth; one with `/`, such as `src/**/*.py`,
    matches paths relative to `path`. Returns one file per line, sorted.
    """

    pattern: Annotated[str, Field(description="The pattern, such as `**/*.md`.")]
    path: Annotated[VirtualPath, Field(description="Directory to search.")] = "/"


async def glob(args: Glob, workspace: Workspace) -> Answer:
    """Return the paths of the files that match."""
    result = await workspace.glob(args.pattern, args.path)
    notes = notes_of(result.note)
    rows = sorted(escaped(info["path"]) for info in result.matches or () if not info.get("is_dir"))
    if not rows:
        none = f"No file in {escaped(args.path)} matches {escaped(args.pattern)}."
        return Answer("\n".join([none, *notes]), {"files": 0})
    text, left_out = listed(rows, workspace.limits.characters, "files")
    return Answer("\n".join([text, *notes]), {"files": len(rows), "left_out": left_out})
