"""The `edit_file` node: replaces exact text in a file."""

import difflib
import re
from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, Arguments, VirtualPath, counted, escaped
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("EditFile", "edit_file", "unified_diff")

_MAX_DIFF = 20_000
"""Characters on either side; diffing more takes longer than anybody reads."""

_HUNK = re.compile(r"^@@ -(\d+)((?:,\d+)?) \+(\d+)")


class EditFile(Arguments):
    """Replace exact text in a file that you have read. `old_string` must match exactly, including
    white space and without line numbers, and must occur only once unless `replace_all` is set.
    Several edits of one file may be sent in one message: they are applied in order.
    """

    file_path: Annotated[VirtualPath, Field(description="Absolute path, such as `/notes/plan.md`.")]
    old_string: Annotated[str, Field(description="The text to replace.")]
    new_string: Annotated[str, Field(description="The text to replace it with.")]
    replace_all: Annotated[bool, Field(description="Replace every occurrence.")] = False


async def edit_file(args: EditFile, workspace: Workspace) -> Answer:
    """Edit the file and say how many places changed."""
    result = await workspace.edit(
        args.file_path, args.old_string, args.new_string, args.replace_all
    )
    count = result.occurrences or 1
    diff = None
    if max(len(args.old_string), len(args.new_string)) <= _MAX_DIFF:
        old, new = args.old_string.split("\n"), args.new_string.split("\n")
        diff = unified_diff(args.file_path, old, new, first_line=result.first_line or 1)
    return Answer(
        f"Edited {escaped(args.file_path)} in {counted(count, 'place')}.",
        {"replacements": count, "diff": diff},
    )


def unified_diff(
    path: str, old: list[str], new: list[str], *, first_line: int, context: int = 0
) -> str:
    """Return the difference of some lines of a file, of which `first_line` is the first."""
    lines = difflib.unified_diff(old, new, f"a{path}", f"b{path}", lineterm="", n=context)
    return "\n".join(_HUNK.sub(lambda at: _shifted(at, first_line - 1), line) for line in lines)


def _shifted(hunk: re.Match[str], lines: int) -> str:
    """Return the beginning of a hunk header, which counts from the first line, with true lines."""
    return f"@@ -{int(hunk[1]) + lines}{hunk[2]} +{int(hunk[3]) + lines}"
