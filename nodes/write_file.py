"""The `write_file` node: creates a file, or replaces one."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, Arguments, VirtualPath, counted, escaped
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("WriteFile", "write_file")


class WriteFile(Arguments):
    """Create a file with the given text, and the directories above it. An existing file is only
    replaced if `overwrite` is set and you have read it before.
    """

    file_path: Annotated[VirtualPath, Field(description="Absolute path, such as `/notes/plan.md`.")]
    content: Annotated[str, Field(description="The whole text of the file.")]
    overwrite: Annotated[bool, Field(description="Replace the file if it exists.")] = False


async def write_file(args: WriteFile, workspace: Workspace) -> Answer:
    """Write the file and say how much was written."""
    await workspace.write(args.file_path, args.content, overwrite=args.overwrite)
    lines = args.content.count("\n") + (not args.content.endswith("\n") and args.content != "")
    characters = counted(len(args.content), "character")
    written = f"Wrote {escaped(args.file_path)}: {counted(lines, 'line')}, {characters}."
    return Answer(written, {"lines": lines, "characters": len(args.content)})
