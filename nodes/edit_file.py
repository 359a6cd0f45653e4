"""The `edit_file` node: exact text in a file gives way to other text."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, counted, escaped
from langgraph_filesystem.nodes.arguments import Arguments, VirtualPath
from langgraph_filesystem.nodes.filesystem import Filesystem
from langgraph_filesystem.nodes.patches import unified_diff

__all__ = ("EditFile", "edit_file")


class EditFile(Arguments):
    """Replace exact text in a file that you have read. `old_string` must match to the character,
    white space included and without line numbers, and must stand in the file once unless
    `replace_all` is set. Several edits of one file may be sent in one message: they are applied in
    their order.
    """

    file_path: Annotated[VirtualPath, Field(description="Absolute path, such as `/notes/plan.md`.")]
    old_string: Annotated[str, Field(description="The text to replace.")]
    new_string: Annotated[str, Field(description="The text to put in its place.")]
    replace_all: Annotated[bool, Field(description="Replace it wherever it stands.")] = False


async def edit_file(args: EditFile, filesystem: Filesystem) -> Answer:
    """Edit the file and say in how many places it changed."""
    count = await filesystem.edit(
        args.file_path, args.old_string, args.new_string, args.replace_all
    )
    diff = unified_diff(args.file_path, args.old_string, args.new_string)
    return Answer(
        f"Edited {escaped(args.file_path)} in {counted(count, 'place')}.",
        {"replacements": count, "diff": diff},
    )
