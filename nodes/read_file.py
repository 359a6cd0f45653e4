"""The `read_file` node: one numbered page of one file."""

import base64
from typing import Annotated, Any

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, Arguments, VirtualPath, counted, escaped
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.backends.text_files import HEAD, is_binary, not_text
from langgraph_filesystem.state.errors import NotText, OffsetPastEnd
from langgraph_filesystem.state.files import FileData
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("ReadFile", "read_file")

ROW = 5_000
"""Characters of a line in one row; a longer line goes on in rows of its own."""
_MAX_MEDIA = 7_500_000
"""Bytes that are handed to a model: as base64 10 MB, the largest image that providers take."""
_SHOWN_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The images that every provider takes. Another one would make it reject the conversation."""
_SIGNATURES: tuple[tuple[str, tuple[tuple[int, bytes], ...]], ...] = (
    ("image/png", ((0, b"\x89PNG\r\n\x1a\n"),)),
    ("image/jpeg", ((0, b"\xff\xd8\xff"),)),
    ("image/gif", ((0, b"GIF87a"),)),
    ("image/gif", ((0, b"GIF89a"),)),
    ("image/webp", ((0, b"RIFF"), (8, b"WEBP"))),
    ("image/bmp", ((0, b"BM"), (6, b"\0\0\0\0"))),
    ("image/tiff", ((0, b"II*\0"),)),
    ("image/tiff", ((0, b"MM\0*"),)),
    ("image/heic", ((4, b"ftyphei"),)),
    ("image/heic", ((4, b"ftypmif1"),)),
    ("image/avif", ((4, b"ftypavif"),)),
    ("application/pdf", ((0, b"%PDF-"),)),
    ("audio/mpeg", ((0, b"ID3"),)),
    ("audio/mpeg", ((0, b"\xff\xfb"),)),
    ("audio/mpeg", ((0, b"\xff\xf3"),)),
    ("audio/mpeg", ((0, b"\xff\xf2"),)),
    ("audio/aac", ((0, b"\xff\xf1"),)),
    ("audio/aac", ((0, b"\xff\xf9"),)),
    ("audio/wav", ((0, b"RIFF"), (8, b"WAVE"))),
    ("audio/aiff", ((0, b"FORM"), (8, b"AIF"))),
    ("audio/flac", ((0, b"fLaC"),)),
    ("video/ogg", ((0, b"OggS"), (28, b"\x80theora"))),
    ("audio/ogg", ((0, b"OggS"),)),
    ("audio/mp4", ((4, b"ftypM4A"),)),
    ("audio/mp4", ((4, b"ftypM4B"),)),
    ("video/quicktime", ((4, b"ftypqt"),)),
    ("video/quicktime", ((4, b"moov"),)),
    ("video/3gpp", ((4, b"ftyp3g"),)),
    ("video/mp4", ((4, b"ftyp"),)),
    ("video/x-msvideo", ((0, b"RIFF"), (8, b"AVI "))),
    ("video/mpeg", ((0, b"\0\0\x01\xba"),)),
    ("video/mpeg", ((0, b"\0\0\x01\xb3"),)),
    ("application/zip", ((0, b"PK\x03\x04"),)),
    ("application/gzip", ((0, b"\x1f\x8b"),)),
    ("application/x-xz", ((0, b"\xfd7zXZ\0"),)),
    ("application/x-7z-compressed", ((0, b"7z\xbc\xaf\x27\x1c"),)),
    ("application/vnd.sqlite3", ((0, b"SQLite format 3\0"),)),
    ("application/vnd.apache.parquet", ((0, b"PAR1"),)),
    ("application/x-executable", ((0, b"\x7fELF"),)),
)
"""Types, and the bytes at some offsets that tell them. The first type that fits is the type."""
_EBML = b"\x1aE\xdf\xa3"


class ReadFile(Arguments):
    """Read a page of a file. Each line starts with its number and a tab, which are not part of the
    file. A long line is split into rows numbered `5.1`, `5.2`. The last line of the reply says
    where the next page starts, or that the file ends. Images, audio, video and PDF are shown as
    they are.
    """

    file_path: Annotated[VirtualPath, Field(description="Absolute path, such as `/notes/plan.md`.")]
    offset: Annotated[int, Field(ge=0, description="Number of lines to skip.")] = 0
    limit: Annotated[int, Field(ge=1, description="Maximum number of lines to return.")] = 100
    column: Annotated[
        int, Field(ge=0, description="Number of characters to skip in the first line.")
    ] = 0


async def read_file(args: ReadFile, workspace: Workspace) -> Answer:
    """Return the page, numbered from its true first line."""
    path, budget = args.file_path, workspace.limits.characters
    result = await workspace.read(
        path, args.offset, args.limit, column=args.column, max_characters=budget
    )
    file = result.file_data or FileData(content="")
    media = await _media_bytes(path, file, workspace, is_start=not args.offset and not args.column)
    if media is not None:
        # Also where it can't be shown: then it may still be replaced as a whole.
        await workspace.mark_seen(path)
        return _media(path, media)
    if file["content"]:
        answer = _page(args, result, budget)
    elif args.offset or args.column:
        # An empty page would look to the model like an empty file.
        total = args.offset if result.total_lines is None else result.total_lines
        raise OffsetPastEnd(path, args.offset, total)
    else:
        answer = Answer(f"{escaped(path)} exists and is empty.", {"lines": 0, "next_offset": None})
    await workspace.mark_seen(path)
    return answer


def _page(args: ReadFile, result: ReadResult, budget: int) -> Answer:
    lines = (result.file_data or FileData(content=""))["content"].split("\n")
    ends_with_newline = lines[-1] == ""
    if ends_with_newline:
        lines.pop()
    cut = result.next_column
    rows, line, column = _rows(lines, args, bool(cut), budget)
    end, total = args.offset + len(lines), result.total_lines
    if line > end and cut:
        line, column = end, cut
    if total is None and not cut and result.next_offset is None:
        total = end
    # A backend that doesn't count lines may have more of them when it filled the page.
    more = bool(column) or total is None or line <= max(end, total)
    footer = _footer(line, column, total, more, ends_with_newline)
    next_page = {"next_offset": line - 1, "next_column": column} if more else {"next_offset": None}
    return Answer("\n".join([*rows, footer]), {"lines": total, **next_page})


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
        return f"[line {line} continues: next page with offset={line - 1} column={column}]"
    if more:
        of_all = "" if total is None else f" of {total}"
        return f"[{line - 1}{of_all} lines: next page with offset={line - 1}]"
    if ends_with_newline:
        return f"[end of file: {counted(total or 0, 'line')}]"
    return f"[end of file: {counted(total or 0, 'line')}, no newline at the end]"


async def _media_bytes(
    path: str, file: FileData, workspace: Workspace, *, is_start: bool
) -> bytes | None:
    """Return the bytes of a file that is not shown as text."""
    text = file["content"]
    if file.get("encoding") == "base64":
        return base64.b64decode(text)
    # Media may be all ASCII, a PDF often is: then a backend takes it for text.
    may_be_media = is_start and (text.startswith("%PDF-") or "\0" in text[:HEAD])
    if not may_be_media and not path.lower().endswith(".pdf"):
        return None
    [content] = await workspace.fetch([path])
    return content if isinstance(content, bytes) and _is_media(content) else None


def _is_media(content: bytes) -> bool:
    """Say whether bytes that could be text are media."""
    kind = _media_type(content)
    if kind == "application/pdf":
        return b"%%EOF" in content[-1_024:]  # else it is a text about PDF
    return kind is not None and is_binary(content)


def _media_type(content: bytes) -> str | None:
    """Return the MIME type that the bytes of a file tell, whatever its name is."""
    for kind, parts in _SIGNATURES:
        if all(content.startswith(part, offset) for offset, part in parts):
            return kind
    if content.startswith(_EBML):
        return "video/webm" if b"webm" in content[:64] else "video/x-matroska"
    return None


def _media(path: str, content: bytes) -> Answer:
    kind = _media_type(content)
    if kind is None:
        raise not_text(path, content)
    media = kind.partition("/")[0]
    if media == "application" and kind != "application/pdf":
        raise NotText(path, len(content), kind)
    if media == "image" and kind not in _SHOWN_IMAGES:
        raise NotText(path, len(content), f"{kind}, which models can't be shown")
    if len(content) > _MAX_MEDIA:
        raise NotText(path, len(content), f"{kind} too large to be shown")
    block: dict[str, Any] = {
        "type": media if media != "application" else "file",
        "base64": base64.b64encode(content).decode(),
        "mime_type": kind,
    }
    if block["type"] == "file":  # some providers take no file without a name
        block["filename"] = path.rpartition("/")[2]
    return Answer([block], {"mime_type": kind, "size": len(content), "path": path})
