"""Lines of a text: a line ends at `\\n` and nowhere else, as for `grep -n`."""

from typing import NamedTuple

__all__ = ("Page", "cut_lines")


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


def _after_newlines(text: str, start: int, count: int) -> int:
    for _ in range(count):
        start = text.find("\n", start) + 1
    return start
