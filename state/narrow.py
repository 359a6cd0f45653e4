"""A page of whole lines, narrowed to a column of its first line and so many characters."""

from dataclasses import replace

from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.errors import ColumnPastEnd

__all__ = ("narrowed",)


def narrowed(path: str, page: ReadResult, offset: int, column: int, most: int | None) -> ReadResult:
    """Return the page from a column of its first line on, and of no more than `most` characters.

    A page that is cut says where it stops: it may be right before the end of a line.
    """
    file = page.file_data
    if file is None or file.get("encoding", "utf-8") != "utf-8" or (column <= 0 and most is None):
        return page
    text = file["content"]
    if column > 0:
        length = text.find("\n") if "\n" in text else len(text)
        if text and column > length:
            raise ColumnPastEnd(path, offset + 1, length, column)
        text = text[column:]
    if most is None or len(text) <= most:
        return replace(page, file_data={**file, "content": text})
    text = text[: max(0, most)]
    lines, rest = text.count("\n"), len(text) - (text.rfind("\n") + 1)
    line = offset + lines
    return replace(
        page,
        file_data={**file, "content": text},
        end_line=line + (rest > 0),
        next_offset=line,
        next_column=(rest if lines else rest + column) or None,
    )
