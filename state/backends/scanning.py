"""The search engine in Python, for when there is no `rg`, or when it can't match a pattern.

It gives the same results. A file of a tree is read whole, as they are searched up to a size; one
that is searched for itself is taken block by block, whatever its size. A line that is longer than a
block is matched in pieces that overlap: there a regex sees a piece for a line.
"""

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple, TypeVar

from langgraph_filesystem.state.backends.contents import is_binary, read_whole
from langgraph_filesystem.state.backends.dialect import for_any_bytes, literal_of
from langgraph_filesystem.state.backends.excerpts import Hit
from langgraph_filesystem.state.backends.omissions import Omissions
from langgraph_filesystem.state.backends.trees import FILE, GONE, Walk
from langgraph_filesystem.state.backtracking import in_process, may_backtrack
from langgraph_filesystem.state.errors import PatternRefused
from langgraph_filesystem.state.locating import Locator
from langgraph_filesystem.state.search import Query, check_query

__all__ = ("Matcher", "is_ascii", "read_file", "scan", "stream_hits", "tree_files")

K = TypeVar("K")

_BLOCK = 1 << 20
_OVERLAP = 1 << 14
"""More than the bytes of the longest literal."""


class Matcher:
    """What a query finds in bytes."""

    def __init__(self, query: Query) -> None:
        check_query(query)
        try:
            self.needle = query.pattern.encode()
        except UnicodeEncodeError:
            raise PatternRefused(
                "The pattern has a lone surrogate, which no file can hold. Search without it."
            ) from None
        self.query = query
        self.is_literal = not query.regex and not query.ignore_case
        self.is_risky = query.regex and may_backtrack(query.pattern)
        """Whether it may only be matched where it can be stopped."""
        self.spelled = query.pattern if query.regex else re.escape(query.pattern)
        """The same as a regex."""
        self._must_have = self._literal()

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern for text."""
        return re.compile(self.spelled, re.IGNORECASE if self.query.ignore_case else 0)

    @cached_property
    def for_any_bytes(self) -> re.Pattern[str]:
        """The pattern for what may not be UTF-8."""
        return for_any_bytes(self.spelled, ignore_case=self.query.ignore_case)

    def hits(self, data: bytes) -> list[Hit]:
        """Return the lines that match."""
        if not self.may_match(data):
            return []
        if self.is_literal:
            return _lines_with(self.needle, data)
        if not self.query.regex and self.needle.isascii() and data.isascii():
            return _lines_with(self.needle.lower(), data.lower())
        text, compiled = self._decoded(data)
        rows = text.split("\n")
        if rows[-1] == "":
            rows.pop()
        search = compiled.search
        return _with_offsets([n for n, row in enumerate(rows, 1) if search(row)], data)

    def may_match(self, data: bytes) -> bool:
        """Say whether it is worth while to look closer."""
        return self._must_have in data

    def locate(self, line: bytes) -> int:
        """Return where in a line the match is, or -1."""
        if self.is_literal:
            return line.find(self.needle)
        if self.is_risky:
            text = line.decode(errors="surrogateescape")
            at = self._locator.locate(text)
        else:
            text, compiled = self._decoded(line)
            found = compiled.search(text)
            at = found.start() if found else -1
        return len(text[:at].encode(errors="surrogateescape")) if at >= 0 else -1

    @cached_property
    def _locator(self) -> Locator:
        pattern = self.for_any_bytes
        folds = bool(pattern.flags & re.IGNORECASE)
        return Locator(pattern.pattern, regex=True, ignore_case=folds)

    def _literal(self) -> bytes:
        if self.query.ignore_case:
            return b""
        return literal_of(self.query.pattern).encode() if self.query.regex else self.needle

    def _decoded(self, data: bytes) -> tuple[str, re.Pattern[str]]:
        try:
            return data.decode(), self.compiled
        except UnicodeDecodeError:
            return data.decode(errors="surrogateescape"), self.for_any_bytes


def scan(
    items: Iterable[tuple[K, bytes]], matcher: Matcher, deadline: float
) -> Iterator[tuple[K, bytes, list[Hit]]]:
    """Yield what matches of all that is given, with the lines that do."""
    if not matcher.is_risky:
        for key, data in items:
            if hits := matcher.hits(data):
                yield key, data, hits
        return
    texts = (
        (key, data.decode(errors="surrogateescape"))
        for key, data in items
        if matcher.may_match(data)
    )
    pattern, seconds = matcher.for_any_bytes, deadline - time.monotonic()
    folds = bool(pattern.flags & re.IGNORECASE)
    found = in_process(
        texts, pattern.pattern, folds, max(0.1, seconds), shown=matcher.query.pattern
    )
    for key, text, numbers in found:
        data = text.encode(errors="surrogateescape")
        yield key, data, _with_offsets(numbers, data)


def tree_files(walk: Walk, max_file_size: int, deadline: float) -> Iterator[tuple[str, bytes]]:
    """Yield the files that a walk meets and that are searched, in its order."""
    omissions = walk.omissions
    for batch in walk.batches():
        for name in batch.names:
            if time.monotonic() > deadline:
                omissions.is_late = True
                return
            path = batch.path + name
            if data := read_file(batch.handle, name, path, max_file_size, omissions):
                yield path, data


def read_file(
    directory: int, name: str, path: str, limit: int, omissions: Omissions
) -> bytes | None:
    """Return what a file of a tree holds; note why, if it is not to be searched."""
    try:
        handle = os.open(name, FILE, dir_fd=directory)
    except OSError as error:
        if error.errno not in GONE:
            omissions.unreadable.add(path)
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > limit:
            omissions.large.add(path)
            return None
        data = read_whole(handle, status.st_size)
    except OSError:
        omissions.unreadable.add(path)
        return None
    finally:
        os.close(handle)
    return None if is_binary(data) else data


def is_ascii(handle: int, deadline: float) -> bool:
    """Say whether a file is ASCII from beginning to end, as far as it can be read in time."""
    offset = 0
    while time.monotonic() < deadline and (block := os.pread(handle, _BLOCK, offset)):
        if not block.isascii():
            return False
        offset += len(block)
    return True


class _Block(NamedTuple):
    """Where a block of a file stands."""

    path: str
    line: int
    """The number of its first line."""
    offset: int
    line_start: int
    """Where its first line begins, which may be before the block."""

    def __str__(self) -> str:
        return self.path


def stream_hits(
    handle: int, path: str, matcher: Matcher, deadline: float, omissions: Omissions
) -> Iterator[Hit]:
    """Yield the lines of a file that match, block by block."""
    blocks = _blocks(handle, path, deadline, omissions)
    last = 0
    for block, _, hits in scan(blocks, matcher, deadline):
        for line, offset in hits:
            number = block.line + line - 1
            if number > last:  # of a long line, another piece may have matched already
                yield number, block.offset + offset if line > 1 else block.line_start
                last = number


def _blocks(
    handle: int, path: str, deadline: float, omissions: Omissions
) -> Iterator[tuple[_Block, bytes]]:
    block, kept = _Block(path, 1, 0, 0), b""
    while chunk := os.pread(handle, _BLOCK, block.offset + len(kept)):
        if time.monotonic() > deadline:
            omissions.is_late = True
            return
        data = kept + chunk
        end = data.rfind(b"\n") + 1
        if end:
            yield block, data[:end]
            kept, start = data[end:], block.offset + end
            block = _Block(path, block.line + data.count(b"\n"), start, start)
        elif len(data) > _BLOCK:
            yield block, data
            kept = data[-_OVERLAP:]
            block = block._replace(offset=block.offset + len(data) - _OVERLAP)
        else:
            kept = data
    if kept:
        yield block, kept


def _lines_with(needle: bytes, data: bytes) -> list[Hit]:
    hits: list[Hit] = []
    at, line, counted = data.find(needle), 1, 0
    while at >= 0:
        line += data.count(b"\n", counted, at)
        hits.append((line, data.rfind(b"\n", 0, at) + 1))
        end = data.find(b"\n", at)
        if end < 0:
            break
        counted, at = at, data.find(needle, end + 1)
    return hits


def _with_offsets(numbers: list[int], data: bytes) -> list[Hit]:
    """Return lines, which are given in order, with where they begin."""
    hits: list[Hit] = []
    line, at = 1, 0
    for number in numbers:
        for _ in range(number - line):
            at = data.find(b"\n", at) + 1
        line = number
        hits.append((number, at))
    return hits
