"""What is known of where the lines of large files begin, for the files that were read last."""

import os
import threading
from bisect import bisect_left
from collections import OrderedDict

__all__ = ("Marks", "Memory")

_FILES = 64
"""How many files are remembered."""
_MARKS = 32_768
"""How many marks of a file: one for each megabyte that was counted, and one for each page."""


class Marks:
    """What is known of the lines of one file."""

    def __init__(self) -> None:
        self.total: int | None = None
        """How many lines there are, once the end was seen."""
        self.is_text = False
        """Whether its beginning was seen, and is text."""
        self._places: dict[tuple[int, int], int] = {}
        self._counts: list[tuple[int, int]] = [(0, 0)]
        self._columns: dict[int, list[tuple[int, int]]] = {}
        self._lock = threading.Lock()

    def place(self, line: int, column: int) -> int | None:
        """Return the byte at which a character of a line is, if it is known."""
        return self._places.get((line, column))

    def add_place(self, line: int, column: int, byte: int) -> None:
        """Note that a character of a line is at a byte."""
        if (line, column) in self._places:
            return
        with self._lock:
            if len(self._places) >= _MARKS:
                self._places.clear()
                self._columns.clear()
            self._places[line, column] = byte
            if column:
                _insert(self._columns.setdefault(line, []), (column, byte))
        self.add_count(line, byte)

    def add_column(self, line: int, column: int, byte: int) -> None:
        """Note that so many characters of a line begin before a byte, which may be within one."""
        with self._lock:
            if len(self._columns) < _MARKS:
                _insert(self._columns.setdefault(line, []), (column, byte))

    def add_count(self, lines: int, byte: int) -> None:
        """Note that so many line ends are before a byte."""
        with self._lock:
            _insert(self._counts, (lines, byte))
            if len(self._counts) > _MARKS:
                del self._counts[1::2]

    def before_line(self, line: int) -> tuple[int, int]:
        """Return the last place known before the beginning of a line: lines passed, and byte."""
        with self._lock:
            return self._counts[max(0, bisect_left(self._counts, (line, -1)) - 1)]

    def before_column(self, line: int, column: int) -> tuple[int, int] | None:
        """Return the last place known in a line before a column: characters passed, and byte."""
        with self._lock:
            known = self._columns.get(line, [])
            at = bisect_left(known, (column, -1)) - 1
            return known[at] if at >= 0 else None


def _insert(marks: list[tuple[int, int]], mark: tuple[int, int]) -> None:
    at = bisect_left(marks, mark)
    if marks[at : at + 1] != [mark]:
        marks.insert(at, mark)


class Memory:
    """The marks of the files that were read last. A file that was changed is another file."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[int, ...], Marks] = OrderedDict()
        self._lock = threading.Lock()

    def marks_of(self, status: os.stat_result) -> Marks:
        """Return what is known of a file."""
        key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        with self._lock:
            marks = self._files.pop(key, None) or Marks()
            self._files[key] = marks
            if len(self._files) > _FILES:
                self._files.popitem(last=False)
        return marks
