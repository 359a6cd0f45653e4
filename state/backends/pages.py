"""A page of a file that may be larger than memory, from chunks of its bytes.

The backend fetches the chunks: a `Page` says from which byte on it needs more. Lines before the
page are counted, not kept. Where a page ends is remembered, so the next one does not begin at the
top again.
"""

import codecs
import sys
import time
from collections.abc import Hashable
from typing import NamedTuple

from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.errors import ColumnPastEnd, FilesystemError
from langgraph_filesystem.state.files import FileData
from langgraph_filesystem.state.text import PathPart

__all__ = ("SMALL", "Bookmarks", "Page", "Position", "Window")

SMALL = 1 << 20
"""Files up to this size are read whole for a page: then the number of their lines is known."""
_SECONDS = 5.0
"""How long counting may take. It goes on from where it stopped when the page is asked for again."""
_MAX_CHARACTERS = 4 << 20
"""Characters of a page: a file may be one line of gigabytes."""
_MAX_BOOKMARKS = 64
_UNKNOWN = sys.maxsize
"""The column of a position whose column is not known: it is after every known one."""


class Window(NamedTuple):
    """The part of a file that is asked for."""

    offset: int
    """Lines to skip."""
    limit: int
    """Lines to return at most."""
    column: int = 0
    """Characters to skip in the first of these lines."""
    characters: int = _MAX_CHARACTERS
    """Characters to return at most."""

    @classmethod
    def of(cls, offset: int, limit: int, column: int, characters: int | None) -> "Window":
        """Return a window with numbers that are within their ranges."""
        most = _MAX_CHARACTERS if characters is None else min(characters, _MAX_CHARACTERS)
        return cls(max(0, offset), max(0, limit), max(0, column), max(1, most))


class Position(NamedTuple):
    """A position in a text: lines before it, characters of its line before it, bytes before it."""

    line: int = 0
    column: int = 0
    byte: int = 0


class Bookmarks:
    """Where the last page of each file ended, for the files that were read last."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[object, Position]] = {}

    def find(self, file: Hashable, window: Window) -> tuple[object, Position]:
        """Return the version of a file and a position in it at or before a window."""
        version, position = self._kept.get(file, (None, Position()))
        is_before = position[:2] <= (window.offset, window.column)
        return (version, position) if is_before else (None, Position())

    def keep(self, file: Hashable, version: object, position: Position | None) -> None:
        """Remember a position; `None` is the end of the file, where no page begins."""
        self._kept.pop(file, None)
        if position is not None:
            self._kept[file] = version, position
        if len(self._kept) > _MAX_BOOKMARKS:
            # Other threads may do the same at this moment.
            self._kept.pop(next(iter(tuple(self._kept))), None)


class Page:
    """Collects a window of a text from chunks of its bytes, from a known position on.

    Raises `UnicodeDecodeError` where the bytes of the page are not text.
    """

    def __init__(
        self,
        path: str,
        window: Window,
        start: Position | None = None,
        *,
        time_limit: float = _SECONDS,
    ) -> None:
        start = start or Position()
        self.at = start.byte
        """The first byte of the next chunk."""
        self.end: Position | None = start
        """Where the next page begins, or how far the count got; `None` at the end of the file."""
        self._path, self._window = path, window
        self._line, self._byte = start.line, start.byte
        self._to_skip = window.column - (start.column if start.line == window.offset else 0)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._parts: list[str] = []
        self._lines = self._characters = 0
        self._ends_within_line = start.column > 0
        self._time_limit, self._until = time_limit, time.monotonic() + time_limit

    @property
    def is_full(self) -> bool:
        """Whether no more bytes are needed."""
        is_enough = self._lines >= self._window.limit or self._characters >= self._window.characters
        return self._line == self._window.offset and is_enough

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""
        self.at += len(chunk)
        self._ends_within_line = chunk[-1:] != b"\n"
        chunk = self._skip_lines(chunk)
        if self._line == self._window.offset and not self.is_full:
            self._add(self._decoder.decode(chunk))
        if not self._characters and time.monotonic() > self._until:
            raise self._too_far()

    def result(self, size: int) -> ReadResult:
        """Return the page of a file of this size, all of whose needed bytes were taken."""
        if not self.is_full:
            self._decoder.decode(b"", final=True)  # half a character at the end is not text
            if self._line == self._window.offset and self._ends_within_line:
                self._check_skipped()
        text, lines = "".join(self._parts), self._lines
        rest = len(text) - (text.rfind("\n") + 1)
        column = rest if lines else rest + self._window.column
        end = Position(self._line + lines, column, self._byte + len(text.encode()))
        last = end.line + (rest > 0)
        result = ReadResult(file_data=FileData(content=text, encoding="utf-8"))
        if text:
            result.start_line, result.end_line = self._line + 1, last
        if self._line < self._window.offset or end.byte >= size:
            result.total_lines = max(last, self._line + self._ends_within_line)
            self.end = None
        else:
            result.next_offset, result.next_column = end.line, end.column or None
            self.end = end
        return result

    def _skip_lines(self, chunk: bytes) -> bytes:
        left = self._window.offset - self._line
        if not left:
            return chunk
        found = chunk.count(b"\n")
        if found < left:
            self._line, self._byte = self._line + found, self._byte + len(chunk)
            column = _UNKNOWN if self._ends_within_line else 0
            self.end = Position(self._line, column, self._byte)
            return b""
        rest = chunk.split(b"\n", left)[-1]
        self._line, self._byte = self._window.offset, self._byte + len(chunk) - len(rest)
        return rest

    def _add(self, text: str) -> None:
        if self._to_skip and text:
            text = self._skip_characters(text)
        left = self._window.limit - self._lines
        rows = text.split("\n", min(left, len(text)))
        if len(rows) > left:
            text = text[: len(text) - len(rows[-1])]
        room = self._window.characters - self._characters
        if len(text) > room:
            text = text[:room]
            rows = text.split("\n")
        self._parts.append(text)
        self._lines += len(rows) - 1
        self._characters += len(text)

    def _skip_characters(self, text: str) -> str:
        """Skip characters up to the column, but not past the end of the line."""
        end = text.find("\n")
        skipped = min(self._to_skip, len(text) if end < 0 else end)
        self._to_skip -= skipped
        if end >= 0:
            self._check_skipped()
        self._byte += len(text[:skipped].encode())
        self.end = Position(self._line, self._window.column - self._to_skip, self._byte)
        return text[skipped:]

    def _check_skipped(self) -> None:
        """Raise if the first line has ended before the column."""
        if self._to_skip:
            length = self._window.column - self._to_skip
            line = self._window.offset + 1
            raise ColumnPastEnd(self._path, line, length, self._window.column)

    def _too_far(self) -> FilesystemError:
        column = self._window.column - self._to_skip
        is_line = self._line == self._window.offset
        reached = f"{column:,} characters of the line" if is_line else f"{self._line:,} lines"
        return FilesystemError(
            PathPart(self._path),
            f": the page is far from the beginning; after {self._time_limit:g} s {reached} "
            "were counted. Ask for it again: the count continues from there.",
        )
