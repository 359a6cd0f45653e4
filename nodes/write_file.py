"""The `write_file` node: a new file, whole."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, counted, escaped
from langgraph_filesystem.nodes.arguments import Arguments, VirtualPath
from langgraph_filesystem.nodes.filesystem import Filesystem

__all__ = ("WriteFile", "write_file")


class WriteFile(Arguments):
    """Create a file with the given text; directories above it come into being. An existing file is
    left alone unless `overwrite` is set, and then it must have been read before.
    """

    file_path: Annotated[VirtualPath, Field(description="Absolute path, such as `/notes/plan.md`.")]
    content: Annotated[str, Field(description="The whole text of the file.")]
    overwrite: Annotated[bool, Field(description="Replace the file if it exists.")] = False


async def write_file(args: WriteFile, filesystem: Filesystem) -> Answer:
    """Write the file and say how much was written."""
    await filesystem.write(args.file_path, args.content, overwrite=args.overwrite)
    lines = args.content.count("\n") + (not args.content.endswith("\n") and args.content != "")
    characters = counted(len(args.content), "character")
    written = f"Wrote {escaped(args.file_path)}: {counted(lines, 'line')}, {characters}."
    return Answer(written, {"lines": lines, "characters": len(args.content)})
