"""The `glob` node: files by name."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, escaped, listed
from langgraph_filesystem.nodes.arguments import Arguments, VirtualPath
from langgraph_filesystem.nodes.filesystem import Filesystem

__all__ = ("Glob", "glob")


class Glob(Arguments):
    """Find files by a pattern of their names: `*`, `**`, `?`, `[ab]` and `{a,b}`. A pattern without
    `/` matches names at any depth, such as `*.py`; one with `/` matches paths relative to `path`,
    such as `src/**/*.py`. One file a line, sorted.
    """

    pattern: Annotated[str, Field(description="The pattern, such as `**/*.md`.")]
    path: Annotated[VirtualPath, Field(description="Directory to search.")] = "/"


async def glob(args: Glob, filesystem: Filesystem) -> Answer:
    """Return the paths of the files that match."""
    found, notes = await filesystem.glob(args.pattern, args.path)
    rows = sorted(escaped(info["path"]) for info in found if not info.get("is_dir"))
    if not rows:
        none = f"No file in {escaped(args.path)} matches {escaped(args.pattern)}."
        return Answer("\n".join([none, *notes]), {"files": 0})
    text, left_out = listed(rows, filesystem.budget, "files")
    return Answer("\n".join([text, *notes]), {"files": len(rows), "left_out": left_out})
