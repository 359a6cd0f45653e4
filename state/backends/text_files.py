"""Text files in memory: pages of lines, and which content is text.

A line ends at `\\n` and nowhere else, as for `grep -n`.
"""

import base64
from dataclasses import replace
from typing import NamedTuple

from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.errors import ColumnPastEnd, FilesystemError, NotText
from langgraph_filesystem.state.files import FileData
from langgraph_filesystem.state.text import PathPart

__all__ = (
    "HEAD",
    "Page",
    "cut_lines",
    "decoded",
    "encoded",
    "file_of",
    "is_binary",
    "is_text",
    "limit_page",
    "not_text",
    "page_of",
    "size_of",
)

HEAD = 8_192
"""A file with a NUL among this many bytes at its start is binary, as for `grep` and `git`."""


class Page(NamedTuple):
    """Consecutive lines of a text, with their line ends."""

    text: str
    first: int
    """Number of the first line, from 1."""
    last: int
    """Number of the last line; one less than `first` when the page is empty."""
    total: int
    """How many lines the whole text has."""


def cut_lines(text: str, offset: int, limit: int) -> Page:
    """Return up to `limit` lines after the first `offset` ones."""
    newlines = text.count("\n")
    total = newlines + (not text.endswith("\n") and text != "")
    offset, limit = max(0, offset), max(0, limit)
    count = max(0, min(limit, total - offset))
    if not count:
        return Page("", offset + 1, offset, total)
    start = _after_newlines(text, 0, offset)
    end = len(text) if offset + count >= total else _after_newlines(text, start, count)
    return Page(text[start:end], offset + 1, offset + count, total)


def page_of(
    path: str, file: FileData, offset: int, limit: int, column: int, max_characters: int | None
) -> ReadResult:
    """Return lines of a file; a file that is not text comes whole."""
    if file.get("encoding", "utf-8") == "base64":
        return ReadResult(file_data={**file})
    page = cut_lines(file["content"], offset, limit)
    result = ReadResult(
        file_data={**file, "content": page.text},
        total_lines=page.total,
        start_line=page.first if page.text else None,
        end_line=page.last if page.text else None,
        next_offset=page.last if page.last < page.total else None,
    )
    return limit_page(path, result, page.first - 1, column, max_characters)


def limit_page(
    path: str, page: ReadResult, offset: int, column: int, max_characters: int | None
) -> ReadResult:
    """Skip characters of the first line of a page, and cut the page to a number of characters.

    A page that is cut says where it stops, which may be right before the end of a line.
    """
    file = page.file_data
    is_whole = column <= 0 and max_characters is None
    if file is None or is_whole or file.get("encoding", "utf-8") != "utf-8":
        return page
    text = file["content"]
    if column > 0:
        length = text.find("\n") if "\n" in text else len(text)
        if text and column > length:
            raise ColumnPastEnd(path, offset + 1, length, column)
        text = text[column:]
    if max_characters is None or len(text) <= max_characters:
        return replace(page, file_data={**file, "content": text})
    text = text[: max(0, max_characters)]
    lines, rest = text.count("\n"), len(text) - (text.rfind("\n") + 1)
    line = offset + lines
    return replace(
        page,
        file_data={**file, "content": text},
        end_line=line + (rest > 0),
        next_offset=line,
        next_column=(rest if lines else rest + column) or None,
    )


def is_binary(head: bytes) -> bool:
    """Say whether a file that begins like this is binary."""
    return b"\0" in head[:HEAD]


def is_text(content: bytes) -> bool:
    """Say whether bytes can be read and edited as text."""
    try:
        decoded("", content)
    except NotText:
        return False
    return True


def not_text(path: str, content: bytes) -> NotText:
    """Return the error for a file that is not text."""
    why = "binary content" if is_binary(content) else "text that is not UTF-8"
    return NotText(path, len(content), why)


def decoded(path: str, content: bytes) -> str:
    """Return the text of a file, unchanged."""
    if is_binary(content):
        raise not_text(path, content)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise not_text(path, content) from None


def encoded(path: str, text: str) -> bytes:
    """Return a text as UTF-8; raise if it can't be encoded."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise FilesystemError(
            PathPart(path),
            f": the text has a lone surrogate at character {error.start:,}, which no file can "
            "hold. Write it without that character.",
        ) from None


def file_of(content: bytes) -> FileData:
    """Return bytes as a file of the state: as text where they are UTF-8."""
    try:
        return FileData(content=content.decode(), encoding="utf-8")
    except UnicodeDecodeError:
        return FileData(content=base64.b64encode(content).decode(), encoding="base64")


def size_of(file: FileData) -> int:
    """Return how many bytes a file has."""
    content = file["content"]
    if file.get("encoding", "utf-8") == "base64":
        return len(content) * 3 // 4 - content[-2:].count("=")
    return len(content) if content.isascii() else len(content.encode())


def _after_newlines(text: str, start: int, count: int) -> int:
    for _ in range(count):
        start = text.find("\n", start) + 1
    return start
