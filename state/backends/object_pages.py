"""A page of a file, taken from its bytes as they come: a large file is never there whole."""

import codecs
from collections import OrderedDict
from typing import NamedTuple

from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.files import FileData

__all__ = ("Bookmarks", "Page", "Place")


class Place(NamedTuple):
    """A place in a text: lines before it, characters of its line before it, bytes before it."""

    line: int = 0
    column: int = 0
    byte: int = 0


class Page:
    """The part of a text that was asked for. Feed it bytes, from a place on, until it is full.

    Lines that are skipped are counted, not kept: memory is needed for the page alone. Raises
    `UnicodeDecodeError` where the bytes of the page are no text.
    """

    def __init__(
        self, offset: int, limit: int, column: int, most: int | None, start: Place
    ) -> None:
        self._first, self._limit = max(0, offset), max(0, limit)
        self._column = max(0, column)
        self._most = most if most is None else max(1, most)
        self._line, self._byte = start.line, start.byte
        self._to_skip = self._column - (start.column if start.line == self._first else 0)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._parts: list[str] = []
        self._lines = self._characters = 0
        self._is_mid_line = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""
        self._is_mid_line = not chunk.endswith(b"\n")
        chunk = self._skip_lines(chunk)
        if self._line == self._first and not self.is_full:
            self._add(self._decoder.decode(chunk))

    def finish(self) -> None:
        """Say that there are no more bytes: half a character at the end is no text."""
        self._decoder.decode(b"", final=True)

    @property
    def is_full(self) -> bool:
        """Say whether no more bytes are needed."""
        return self._line == self._first and (
            self._lines >= self._limit
            or (self._most is not None and self._characters >= self._most)
        )

    def result(self, size: int, total: int | None = None) -> tuple[ReadResult, Place | None]:
        """Return the page of a file of this size, and where the next one begins, if there is one.

        The number of its lines is known if it is given or if the page goes to the end.
        """
        text = self._cut()
        lines, rest = text.count("\n"), len(text) - (text.rfind("\n") + 1)
        column = rest if lines else rest + self._column
        place = Place(self._line + lines, column, self._byte + len(text.encode()))
        last = place.line + (rest > 0)
        file = FileData(content=text, encoding="utf-8")
        result = ReadResult(file_data=file, total_lines=total)
        if text:
            result.start_line, result.end_line = self._line + 1, last
        if self._line < self._first or place.byte >= size:
            if total is None:
                result.total_lines = max(last, self._line + self._is_mid_line)
            return result, None
        result.next_offset, result.next_column = place.line, place.column or None
        return result, place

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
        """Skip no further than to the end of the line."""
        end = text.find("\n")
        skipped = min(self._to_skip, len(text) if end < 0 else end)
        self._to_skip = self._to_skip - skipped if end < 0 else 0
        self._byte += len(text[:skipped].encode())
        return text[skipped:]

    def _cut(self) -> str:
        text = "".join(self._parts)
        end = 0
        if self._lines >= self._limit:
            for _ in range(self._limit):
                end = text.index("\n", end) + 1
            text = text[:end]
        return text if self._most is None else text[: self._most]


class Bookmarks:
    """Where the last page of a large file ended: the next one need not begin at the beginning."""

    def __init__(self) -> None:
        self._marks: OrderedDict[str, tuple[object, Place]] = OrderedDict()

    def find(self, path: str, offset: int, column: int) -> tuple[object, Place]:
        """Return a place that is not behind the one that is asked for, and of which version."""
        version, place = self._marks.get(path, (None, Place()))
        return (version, place) if place[:2] <= (offset, column) else (None, Place())

    def keep(self, path: str, version: object, place: Place | None) -> None:
        """Remember a place; of the last few files only."""
        self._marks.pop(path, None)
        if place is not None:
            self._marks[path] = version, place
        if len(self._marks) > 32:
            self._marks.popitem(last=False)
