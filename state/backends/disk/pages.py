"""A page of a file, which may be larger than memory.

Lines are counted chunk by chunk, and the positions are remembered: the next page does not begin at
the top again. A hole in a sparse file has no line ends and is skipped.
"""

import codecs
import errno
import os
import sys
import threading
import time
from bisect import bisect_right, insort
from collections import OrderedDict
from typing import NamedTuple

from langgraph_filesystem.state.errors import ColumnPastEnd, FilesystemError
from langgraph_filesystem.state.text import PathPart

__all__ = ("LineIndex", "LineIndexes", "Page", "Window", "cut_page", "read_page")

_CHUNK = 1 << 18
_SPACING = 1 << 20
"""Bytes between two remembered positions of a count."""
_MAX_POSITIONS = 32_768
_MAX_FILES = 64
_FEW_LINES = 2_000
"""Lines that usually fit into one chunk."""
_SECONDS = 5.0
"""How long a count may take. Its positions are kept, so the next request gets further."""
_ANYWHERE = sys.maxsize
"""The column of a position whose column is not known: it is after every known one."""
_CONTINUATIONS = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that continue a character."""


class Window(NamedTuple):
    """The part of a file that is asked for."""

    offset: int
    """Lines to skip."""
    limit: int
    """Lines to return at most."""
    column: int
    """Characters to skip in the first of these lines."""
    characters: int
    """Characters to return at most."""


class Page(NamedTuple):
    """Lines of a file as they are, and where the next page begins."""

    text: str
    lines: int
    """How many lines are on it, whole or in part."""
    total: int | None
    """How many lines the file has, if known."""
    next_line: int | None
    """How many lines to skip for the next page; `None` at the end of the file."""
    next_column: int | None
    """How many characters of that line to skip, if the page stopped within it."""


class LineIndex:
    """Known positions in one file: line, column and byte."""

    def __init__(self) -> None:
        self.total: int | None = None
        """How many lines there are, once the end was seen."""
        self.is_text = False
        """Whether its beginning was seen, and is text."""
        self._positions = [(0, 0, 0)]
        self._lock = threading.Lock()

    def before(self, line: int, column: int) -> tuple[int, int, int]:
        """Return the last known position at or before a character of a line."""
        with self._lock:
            return self._positions[bisect_right(self._positions, (line, column, sys.maxsize)) - 1]

    def add(self, line: int, column: int, byte: int) -> None:
        """Remember that a character of a line begins at a byte."""
        position = line, column, byte
        with self._lock:
            at = bisect_right(self._positions, position)
            if self._positions[at - 1] != position:
                insort(self._positions, position)
            if len(self._positions) > _MAX_POSITIONS:
                del self._positions[1::2]


class LineIndexes:
    """The indexes of the files that were read last. A file that has changed is another file."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[int, ...], LineIndex] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, status: os.stat_result) -> LineIndex:
        """Return the index of a file."""
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        with self._lock:
            index = self._files.pop(key, None) or LineIndex()
            self._files[key] = index
            if len(self._files) > _MAX_FILES:
                self._files.popitem(last=False)
        return index


def cut_page(path: str, text: str, window: Window) -> Page:
    """Return a page of a text that is in memory."""
    total = text.count("\n") + (text[-1:] not in ("", "\n"))
    if window.offset >= total:
        return Page("", 0, total, None, None)
    start = len(text) - len(text.split("\n", window.offset)[-1])
    end = text.find("\n", start)
    length = (len(text) if end < 0 else end) - start
    if window.column > length:
        raise ColumnPastEnd(path, window.offset + 1, length, window.column)
    start += window.column
    shown, lines = _head(text[start:], window.limit, window.characters)
    return _page(shown, lines, window, total, is_end=start + len(shown) == len(text))


def read_page(
    path: str,
    handle: int,
    window: Window,
    index: LineIndex,
    *,
    chunk_size: int = _CHUNK,
    time_limit: float = _SECONDS,
) -> Page:
    """Return a page of an open file. Invalid UTF-8 in it raises `UnicodeDecodeError`."""
    start = _Search(path, handle, window, index, chunk_size, time_limit).find()
    if start is None:
        return Page("", 0, index.total, None, None)
    index.add(window.offset, window.column, start)
    text, lines, end = _read_from(handle, start, window, chunk_size)
    is_end = end >= os.fstat(handle).st_size
    page = _page(text, lines, window, index.total, is_end=is_end)
    if page.next_line is None:
        index.total = page.total
    else:
        index.add(page.next_line, page.next_column or 0, end)
    return page


class _Search:
    """Looks for the byte at which a page begins."""

    def __init__(
        self,
        path: str,
        handle: int,
        window: Window,
        index: LineIndex,
        chunk_size: int,
        time_limit: float,
    ) -> None:
        self._path, self._handle, self._window, self._index = path, handle, window, index
        self._chunk_size, self._time_limit = chunk_size, time_limit
        self._spacing = min(_SPACING, 4 * chunk_size)
        self._until = time.monotonic() + time_limit
        status = os.fstat(handle)
        self._has_holes = status.st_blocks * 512 < status.st_size

    def find(self) -> int | None:
        """Return the byte, or `None` if the file has fewer lines."""
        line, column, at = self._index.before(self._window.offset, self._window.column)
        if line < self._window.offset:
            found = self._find_line(line, at)
            if found is None:
                return None
            column, at = 0, found
        if column == self._window.column:
            return at
        if not column and not os.pread(self._handle, 1, at):
            self._index.total = self._window.offset
            return None
        return self._find_column(column, at)

    def _find_line(self, passed: int, at: int) -> int | None:
        """Return where the line begins, from a byte with so many line ends before it."""
        number, marked = self._window.offset, at
        while True:
            at = self._after_hole(at)
            chunk = os.pread(self._handle, self._chunk_size, at)
            if not chunk:
                has_rest = at > 0 and os.pread(self._handle, 1, at - 1) != b"\n"
                self._index.total = passed + has_rest
                return None
            found = chunk.count(b"\n")
            if passed + found >= number:
                return at + len(chunk) - len(chunk.split(b"\n", number - passed)[-1])
            passed, at = passed + found, at + len(chunk)
            if at - marked >= self._spacing:
                self._index.add(passed, _ANYWHERE, at)
                marked = at
                self._check_time(f"{passed:,} lines")

    def _find_column(self, passed: int, at: int) -> int:
        """Return where the character is, from a byte with so many characters before it."""
        column, marked = self._window.column, at
        while chunk := _whole_characters(os.pread(self._handle, self._chunk_size, at)):
            line, newline, _ = chunk.partition(b"\n")
            found = len(line.translate(None, _CONTINUATIONS))
            if passed + found > column:
                return at + len(line.decode()[: column - passed].encode())
            passed, at = passed + found, at + len(line)
            if newline:
                break
            if at - marked >= self._spacing:
                self._index.add(self._window.offset, passed, at)
                marked = at
                self._check_time(f"{passed:,} characters of the line")
        if column > passed:
            raise ColumnPastEnd(self._path, self._window.offset + 1, passed, column)
        return at

    def _after_hole(self, at: int) -> int:
        if not self._has_holes:
            return at
        try:
            return os.lseek(self._handle, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                return at  # a file system that knows of no holes
            return os.lseek(self._handle, 0, os.SEEK_END)

    def _check_time(self, reached: str) -> None:
        if time.monotonic() > self._until:
            raise FilesystemError(
                PathPart(self._path),
                f": the page is far from the beginning; after {self._time_limit:g} s {reached} "
                "were counted. Ask for it again: the count continues from there.",
            )


def _read_from(handle: int, start: int, window: Window, chunk_size: int) -> tuple[str, int, int]:
    """Return the text from a byte on, how many line ends it has, and the byte behind it."""
    size = min(max(8192, window.limit * 100), chunk_size)
    if window.limit <= _FEW_LINES:  # as most pages are: one read may be enough
        chunk = os.pread(handle, size, start)
        parts = chunk.split(b"\n", window.limit)
        end = len(chunk) - len(parts[-1])
        if len(parts) > window.limit and end <= window.characters:
            return chunk[:end].decode(), window.limit, start + end
    decoder = codecs.getincrementaldecoder("utf-8")()
    pieces: list[str] = []
    lines, characters, at = 0, 0, start
    while lines < window.limit and characters < window.characters:
        chunk = os.pread(handle, size, at)
        text = decoder.decode(chunk, final=not chunk)
        shown, found = _head(text, window.limit - lines, window.characters - characters)
        pieces.append(shown)
        lines, characters = lines + found, characters + len(shown)
        if not chunk or len(shown) < len(text):
            break
        at, size = at + len(chunk), chunk_size
    text = "".join(pieces)
    return text, lines, start + (len(text) if text.isascii() else len(text.encode()))


def _head(text: str, limit: int, characters: int) -> tuple[str, int]:
    """Return at most so many lines and characters, and how many line ends they have."""
    if limit < len(text):
        parts = text.split("\n", limit)
        lines = len(parts) - 1
        if lines == limit:
            text = text[: len(text) - len(parts[-1])]
    else:
        lines = text.count("\n")
    if len(text) <= characters:
        return text, lines
    return text[:characters], text.count("\n", 0, characters)


def _page(text: str, ends: int, window: Window, total: int | None, *, is_end: bool) -> Page:
    line = window.offset + ends
    rest = len(text) - text.rfind("\n") - 1
    column = rest if ends else window.column + rest
    lines = ends + (rest > 0)
    if is_end:
        return Page(text, lines, line + (column > 0) if total is None else total, None, None)
    return Page(text, lines, total, line, column or None)


def _whole_characters(chunk: bytes) -> bytes:
    """Cut off a character at the end that is not complete, so that a position is never in one."""
    for back in range(1, min(4, len(chunk))):
        if chunk[-back] & 0xC0 == 0xC0:
            length = 2 + (chunk[-back] >= 0xE0) + (chunk[-back] >= 0xF0)
            return chunk[:-back] if length > back and back < len(chunk) else chunk
    return chunk
