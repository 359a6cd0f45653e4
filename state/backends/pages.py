"""A page of a file, which may be larger than memory.

Lines are counted chunk by chunk, and what was counted is remembered: the next page does not begin
at the top again. A hole in a sparse file has no line ends and is skipped.
"""

import codecs
import errno
import os
import time
from typing import NamedTuple

from langgraph_filesystem.state.backends.marks import Marks
from langgraph_filesystem.state.errors import ColumnPastEnd, FilesystemError

__all__ = ("Page", "Window", "cut_page", "read_page")

_CHUNK = 1 << 18
_APART = 1 << 20
"""Bytes between two marks of a count."""
_FEW = 2_000
"""Lines that are likely to fit into one chunk."""
_SECONDS = 5.0
"""How long a count may take. What was counted is kept, so asking again gets further."""
_CONTINUATIONS = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that go on with a character."""


class Window(NamedTuple):
    """What part of a file is asked for."""

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
    """How many lines the file has, where that is known."""
    next_line: int | None
    """How many lines to skip for the next page; `None` at the end of the file."""
    next_column: int | None
    """How many characters of that line to skip, if the page stopped within it."""


def cut_page(path: str, text: str, window: Window) -> Page:
    """Return a page of a text that is at hand as a whole."""
    total = text.count("\n") + (text[-1:] not in ("", "\n"))
    if window.offset >= total:
        return Page("", 0, total, None, None)
    start = _after_newlines(text, window.offset)
    end = text.find("\n", start)
    length = (len(text) if end < 0 else end) - start
    if window.column > length:
        raise ColumnPastEnd(path, window.offset + 1, length, window.column)
    start += window.column
    shown, lines = _head(text[start:], window.limit, window.characters)
    return _page(shown, lines, window, total, is_end=start + len(shown) == len(text))


def read_page(path: str, handle: int, size: int, window: Window, marks: Marks) -> Page:
    """Return a page of an open file. What is no UTF-8 in it raises `UnicodeDecodeError`."""
    start = marks.place(window.offset, window.column)
    if start is None:
        start = _Search(path, handle, window, marks).find()
        if start is None:
            return Page("", 0, marks.total, None, None)
        marks.add_place(window.offset, window.column, start)
    text, lines, end = _read_from(handle, start, window)
    page = _page(text, lines, window, marks.total, is_end=end >= size)
    if page.next_line is None:
        marks.total = page.total
    else:
        marks.add_place(page.next_line, page.next_column or 0, end)
    return page


class _Search:
    """Looks for the byte at which a page begins."""

    def __init__(self, path: str, handle: int, window: Window, marks: Marks) -> None:
        self._path, self._handle, self._window, self._marks = path, handle, window, marks
        self._until = time.monotonic() + _SECONDS
        status = os.fstat(handle)
        self._has_holes = status.st_blocks * 512 < status.st_size

    def find(self) -> int | None:
        """Return the byte, or nothing if the file has fewer lines."""
        offset, column = self._window.offset, self._window.column
        start = self._marks.before_column(offset, column)
        if start is None:
            line = self._line(offset)
            if line is None or not column:
                return line
            if not os.pread(self._handle, 1, line):
                self._marks.total = offset
                return None
            start = 0, line
        return self._character(*start)

    def _line(self, number: int) -> int | None:
        """Return where a line begins."""
        passed, at = self._marks.before_line(number)
        marked = at
        while passed < number:
            at = self._after_hole(at)
            chunk = os.pread(self._handle, _CHUNK, at)
            if not chunk:
                is_open = at > 0 and os.pread(self._handle, 1, at - 1) != b"\n"
                self._marks.total = passed + is_open
                return None
            found = chunk.count(b"\n")
            if passed + found >= number:
                return at + _after_newline_bytes(chunk, number - passed)
            passed, at = passed + found, at + len(chunk)
            if at - marked >= _APART:
                self._marks.add_count(passed, at)
                marked = at
                self._check_time(f"{passed:,} lines")
        return at

    def _character(self, passed: int, at: int) -> int:
        """Return where a character of the line is, of which so many are passed at a byte."""
        column, marked = self._window.column, at
        while chunk := os.pread(self._handle, _CHUNK, at):
            line, newline, _ = chunk.partition(b"\n")
            found = len(line.translate(None, _CONTINUATIONS))
            if passed + found > column:
                return at + _after_characters(line, column - passed)
            passed, at = passed + found, at + len(line)
            if newline:
                break
            if at - marked >= _APART:
                self._marks.add_column(self._window.offset, passed, at)
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
                f"{self._path}: the page lies far behind; {reached} were passed in "
                f"{_SECONDS:.0f} s. Ask for it again: the search goes on from there."
            )


def _read_from(handle: int, start: int, window: Window) -> tuple[str, int, int]:
    """Return the text from a byte on, how many line ends it has, and the byte behind it."""
    size = min(max(8192, window.limit * 100), _CHUNK)
    if window.limit <= _FEW:  # as most pages are: all of it is there at once
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
        at, size = at + len(chunk), _CHUNK
    text = "".join(pieces)
    return text, lines, start + (len(text) if text.isascii() else len(text.encode()))


def _head(text: str, limit: int, characters: int) -> tuple[str, int]:
    """Return so many lines at most, and so many characters; and how many line ends that are."""
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


def _after_newlines(text: str, count: int) -> int:
    """Return the place behind so many line ends, which are there."""
    return len(text) - len(text.split("\n", count)[-1])


def _after_newline_bytes(chunk: bytes, count: int) -> int:
    """Return the same for bytes."""
    return len(chunk) - len(chunk.split(b"\n", count)[-1])


def _after_characters(line: bytes, count: int) -> int:
    """Return the place of a character in bytes that may begin within another."""
    if line.isascii():
        return count
    begun = len(line) - len(line.lstrip(_CONTINUATIONS))
    decoder = codecs.getincrementaldecoder("utf-8")()
    return begun + len(decoder.decode(line[begun:])[:count].encode())
