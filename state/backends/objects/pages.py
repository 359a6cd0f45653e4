"""One page of a file, fetched chunk by chunk: a large file is never in memory as a whole."""

import base64
import codecs
from typing import NamedTuple

from langgraph_filesystem.state.backends.objects.errors import ChangedMeanwhile
from langgraph_filesystem.state.backends.objects.objects import Blob, Changed, Objects
from langgraph_filesystem.state.backends.objects.read import CHUNK, missing
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.backends.text_files import is_binary
from langgraph_filesystem.state.errors import ColumnPastEnd, NotText
from langgraph_filesystem.state.files import FileData

__all__ = ("Pages", "Window")


class Window(NamedTuple):
    """The part of a file that was asked for."""

    offset: int
    """Lines to skip."""
    limit: int
    """Lines to return at most."""
    column: int = 0
    """Characters to skip in the first of these lines."""
    characters: int | None = None
    """Characters to return at most."""


class _Position(NamedTuple):
    """A position in a text: lines before it, characters of its line before it, bytes before it."""

    line: int = 0
    column: int = 0
    byte: int = 0


class Pages:
    """Reads pages of the files of one store."""

    def __init__(self, objects: Objects, max_size: int) -> None:
        self._objects = objects
        self._max_size = max_size
        self._bookmarks: dict[str, tuple[object, _Position]] = {}
        """Version of a large file, and where its last page ended: the next one can start there."""

    async def read(self, path: str, window: Window) -> ReadResult:
        """Return lines of a text file, or a binary file whole as base64."""
        window = window._replace(offset=max(0, window.offset), column=max(0, window.column))
        start, first = await self._first_chunk(path, window)
        if not start.byte and is_binary(first.content):
            return await self._binary(path, first)
        is_whole = len(first.content) == first.size
        page = _Page(window, start)
        try:
            if is_whole:
                first.content.decode()  # a file is text as a whole, not page by page
            await self._fill(path, page, start, first)
        except UnicodeDecodeError:
            return await self._binary(path, first, "text that is not UTF-8")
        if (length := page.too_short) is not None:
            raise ColumnPastEnd(path, window.offset + 1, length, window.column)
        result, end = page.result(first.size)
        if is_whole:
            content = first.content
            result.total_lines = content.count(b"\n") + (content[-1:] not in (b"", b"\n"))
        else:
            self._keep_bookmark(path, first.version, end)
        return _dated(result, first)

    async def _first_chunk(self, path: str, window: Window) -> tuple[_Position, Blob]:
        """Return the bytes at the bookmark, if it is before the window, or at the beginning."""
        version, start = self._bookmarks.get(path, (None, _Position()))
        if start[:2] > (window.offset, window.column):
            start = _Position()
        first = None if path == "/" else await self._objects.get(path, start.byte, CHUNK)
        if first is not None and start.byte and first.version != version:
            start = _Position()
            first = await self._objects.get(path, 0, CHUNK)
        if first is None:
            raise await missing(self._objects, path)
        return start, first

    async def _fill(self, path: str, page: "_Page", start: _Position, first: Blob) -> None:
        at, content = start.byte, first.content
        while True:
            page.feed(content)
            at += len(content)
            if page.is_full:
                return
            if at >= first.size:
                page.finish()
                return
            content = await self._next_chunk(path, at, first)

    async def _next_chunk(self, path: str, start: int, first: Blob) -> bytes:
        try:
            blob = await self._objects.get(path, start, CHUNK, first)
        except Changed:
            blob = None
        if blob is None or not blob.content:
            raise ChangedMeanwhile(path)
        return blob.content

    async def _binary(self, path: str, first: Blob, why: str = "binary content") -> ReadResult:
        if first.size > self._max_size:
            raise NotText(path, first.size, why)
        whole = first if len(first.content) == first.size else await self._objects.get(path)
        if whole is None:
            raise ChangedMeanwhile(path)
        content = base64.b64encode(whole.content).decode()
        return _dated(ReadResult(file_data=FileData(content=content, encoding="base64")), whole)

    def _keep_bookmark(self, path: str, version: object, end: _Position | None) -> None:
        self._bookmarks.pop(path, None)
        if end is not None:
            self._bookmarks[path] = version, end
        if len(self._bookmarks) > 32:
            # Other threads may do the same at this moment.
            self._bookmarks.pop(next(iter(tuple(self._bookmarks))), None)


class _Page:
    """Collects a window of a text from chunks of its bytes.

    Lines before the window are counted, not kept. Raises `UnicodeDecodeError` where the bytes of
    the page are not text.
    """

    def __init__(self, window: Window, start: _Position) -> None:
        self._first, self._limit = window.offset, max(0, window.limit)
        self._column = window.column
        self._most = None if window.characters is None else max(1, window.characters)
        self._line, self._byte = start.line, start.byte
        self._to_skip = window.column - (start.column if start.line == window.offset else 0)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._parts: list[str] = []
        self._lines = self._characters = 0
        self._ends_within_line = False
        self.too_short: int | None = None
        """The length of the first line, if the page would begin after its end."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""
        self._ends_within_line = chunk[-1:] not in (b"", b"\n")
        chunk = self._skip_lines(chunk)
        if self._line == self._first and not self.is_full:
            self._add(self._decoder.decode(chunk))

    def finish(self) -> None:
        """Check the end of the file: half a character there is not text."""
        self._decoder.decode(b"", final=True)
        if self._line == self._first and self._ends_within_line:
            self._check_skipped()

    @property
    def is_full(self) -> bool:
        """Whether no more bytes are needed."""
        return self._line == self._first and (
            self._lines >= self._limit
            or (self._most is not None and self._characters >= self._most)
        )

    def result(self, size: int) -> tuple[ReadResult, _Position | None]:
        """Return the page of a file of this size, and where the next page starts, if there is one.

        The number of lines is known if the page reaches the end.
        """
        text = self._cut()
        lines, rest = text.count("\n"), len(text) - (text.rfind("\n") + 1)
        column = rest if lines else rest + self._column
        end = _Position(self._line + lines, column, self._byte + len(text.encode()))
        last = end.line + (rest > 0)
        result = ReadResult(file_data=FileData(content=text, encoding="utf-8"))
        if text:
            result.start_line, result.end_line = self._line + 1, last
        if self._line < self._first or end.byte >= size:
            result.total_lines = max(last, self._line + self._ends_within_line)
            return result, None
        result.next_offset, result.next_column = end.line, end.column or None
        return result, end

    def _skip_lines(self, chunk: bytes) -> bytes:
        left = self._first - self._line
        if not left:
            return chunk
        found = chunk.count(b"\n")
        if found < left:
            self._line, self._byte = self._line + found, self._byte + len(chunk)
            return b""
        at = 0
        for _ in range(left):
            at = chunk.index(b"\n", at) + 1
        self._line, self._byte = self._first, self._byte + at
        return chunk[at:]

    def _add(self, text: str) -> None:
        if self._to_skip and text:
            text = self._skip_characters(text)
        self._parts.append(text)
        self._lines += text.count("\n")
        self._characters += len(text)

    def _skip_characters(self, text: str) -> str:
        """Skip characters up to the column, but not past the end of the line."""
        end = text.find("\n")
        skipped = min(self._to_skip, len(text) if end < 0 else end)
        self._to_skip -= skipped
        if end >= 0:
            self._check_skipped()
        self._byte += len(text[:skipped].encode())
        return text[skipped:]

    def _check_skipped(self) -> None:
        """Note whether the first line has ended before the column."""
        if self._to_skip:
            self.too_short = self._column - self._to_skip
            self._to_skip = 0

    def _cut(self) -> str:
        text = "".join(self._parts)
        end = 0
        if self._lines >= self._limit:
            for _ in range(self._limit):
                end = text.index("\n", end) + 1
            text = text[:end]
        return text if self._most is None else text[: self._most]


def _dated(result: ReadResult, blob: Blob) -> ReadResult:
    assert result.file_data is not None
    if blob.created_at is not None:
        result.file_data["created_at"] = blob.created_at
    if blob.modified_at is not None:
        result.file_data["modified_at"] = blob.modified_at
    return result
