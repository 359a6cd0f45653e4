"""The `read_file` node: one numbered page of one file."""

import mimetypes
from typing import Annotated, Any

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, counted, escaped
from langgraph_filesystem.nodes.arguments import Arguments, VirtualPath
from langgraph_filesystem.nodes.filesystem import Filesystem
from langgraph_filesystem.state.backends.contents import not_text_of
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.errors import ColumnPastEnd, NotText, OffsetPastEnd
from langgraph_filesystem.state.files import FileData

__all__ = ("ReadFile", "read_file")

ROW = 5_000
"""Characters of a line in one row; a longer line goes on in rows of its own."""
_MAX_MEDIA = 10_000_000
"""Characters of base64 that are handed to a model: the largest image that providers take."""


class ReadFile(Arguments):
    """Read a page of a file. Each line comes with its number and a tab in front, which are not part
    of the file. A long line is split into rows numbered `5.1`, `5.2`. The last line of the reply
    says where the next page begins, or that the file ends. Images, audio, video and PDF are shown
    as they are.
    """

    file_path: Annotated[VirtualPath, Field(description="Absolute path, such as `/notes/plan.md`.")]
    offset: Annotated[int, Field(ge=0, description="How many lines to skip.")] = 0
    limit: Annotated[int, Field(ge=1, description="How many lines to return at most.")] = 100
    column: Annotated[
        int, Field(ge=0, description="How many characters to skip in the first of these lines.")
    ] = 0


async def read_file(args: ReadFile, filesystem: Filesystem) -> Answer:
    """Return the page, numbered from its true first line."""
    path = args.file_path
    result, skips = await filesystem.read(path, args.offset, args.limit, args.column)
    file = result.file_data or FileData(content="")
    if file.get("encoding") == "base64":
        await filesystem.mark_seen(path)
        return _media(path, file["content"])
    total = result.total_lines
    if not file["content"] and (args.offset or args.column):
        # An empty page would look to the model like an empty file.
        raise OffsetPastEnd(path, args.offset, args.offset if total is None else total)
    if file["content"]:
        answer = _page(args, result, skips, filesystem.budget)
    else:
        answer = Answer(f"{escaped(path)} exists and is empty.", {"lines": 0, "next_offset": None})
    await filesystem.mark_seen(path)
    return answer


def _page(args: ReadFile, result: ReadResult, skips: bool, budget: int) -> Answer:
    lines = (result.file_data or FileData(content=""))["content"].split("\n")
    ends_with_newline = lines[-1] == ""
    if ends_with_newline:
        lines.pop()
    if not skips:
        _refuse_past_end(args, len(lines[0]))
        lines[0] = lines[0][args.column :]
    cut = getattr(result, "next_column", None)
    rows, line, column = _rows(lines, args, bool(cut), budget)
    end, total = args.offset + len(lines), result.total_lines
    if line > end and cut:
        line, column = end, cut
    if total is None and not cut and _is_end(args, result, skips, len(lines)):
        total = end
    # A backend that doesn't count lines may have more of them when it filled the page.
    more = bool(column) or total is None or line <= max(end, total)
    footer = _footer(line, column, total, more, ends_with_newline)
    next_page = {"next_offset": line - 1, "next_column": column} if more else {"next_offset": None}
    return Answer("\n".join([*rows, footer]), {"lines": total, **next_page})


def _refuse_past_end(args: ReadFile, length: int) -> None:
    if args.column >= max(1, length):
        raise ColumnPastEnd(args.file_path, args.offset + 1, length, args.column)


def _is_end(args: ReadFile, result: ReadResult, skips: bool, lines: int) -> bool:
    """Say whether a page ends the file. One of ours says where the next begins."""
    return result.next_offset is None if skips else lines < args.limit


def _rows(
    lines: list[str], args: ReadFile, is_cut: bool, budget: int
) -> tuple[list[str], int, int]:
    """Return the rows that fit, and the line and column at which the next page begins."""
    rows: list[str] = []
    used = 200
    column, first = args.column, args.offset + 1
    last = args.offset + len(lines)
    for number, line in enumerate(lines, first):
        is_long = column + len(line) > ROW or (is_cut and number == last)
        for start in range(0, len(line) or 1, ROW):
            label = f"{number}.{(column + start) // ROW + 1}" if is_long else str(number)
            row = f"{label:>6}\t{line[start : start + ROW]}"
            used += len(row) + 1
            if used > budget and rows:
                return rows, number, column + start
            rows.append(row)
        column = 0
    return rows, first + len(lines), 0


def _footer(line: int, column: int, total: int | None, more: bool, ends_with_newline: bool) -> str:
    if column:
        return f"[line {line} goes on: read on with offset={line - 1} column={column}]"
    if more:
        of_all = "" if total is None else f" of {total}"
        return f"[{line - 1}{of_all} lines: read on with offset={line - 1}]"
    if ends_with_newline:
        return f"[end of file: {counted(total or 0, 'line')}]"
    return f"[end of file: {counted(total or 0, 'line')}, no newline behind the last one]"


def _media(path: str, content: str) -> Answer:
    kind, packed = mimetypes.guess_type(path)
    size = len(content) * 3 // 4 - content[-2:].count("=")
    media = (kind or "").partition("/")[0]
    if packed or (media not in ("image", "audio", "video") and kind != "application/pdf"):
        raise not_text_of(path, content)
    if len(content) > _MAX_MEDIA:
        raise NotText(path, size, f"{kind} too large to be shown")
    block: dict[str, Any] = {
        "type": media if media != "application" else "file",
        "base64": content,
        "mime_type": kind,
    }
    if block["type"] == "file":  # some providers take no file without a name
        block["filename"] = path.rpartition("/")[2]
    return Answer([block], {"mime_type": kind, "size": size})
