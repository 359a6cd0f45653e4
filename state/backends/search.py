"""Search text line by line: for a literal text, or for a regex that can't hang the process.

A line ends at `\\n` and nowhere else, as for `grep -n`: so line numbers agree with `read_file` for
every file. All our backends search with this module.
"""

import contextlib
import re
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from langgraph_filesystem.state.backends.file_store import Query, batches
from langgraph_filesystem.state.backends.protocol import (
    ContextLine,
    FileInfo,
    GrepMatch,
    GrepResult,
)
from langgraph_filesystem.state.backends.regex_child import (
    Hit,
    RegexChild,
    RegexFailed,
    RegexTimeout,
    might_backtrack,
    rows_matching,
)
from langgraph_filesystem.state.backends.text_files import is_text
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, PatternRefused
from langgraph_filesystem.state.io import in_thread
from langgraph_filesystem.state.text import Note, PathPart, join_notes

__all__ = (
    "Text",
    "check_query",
    "cut_line",
    "limit_matches",
    "locate",
    "search",
    "search_fetched",
    "search_texts",
)

SECONDS = 5.0
"""How long a search may take before it answers with what it has."""
_LOCATING = 2.0
"""Seconds to find where in long lines the matches are."""
_MAX_PATTERN = 2_000
MAX_MATCHES = 20_000
_MAX_FILES = 10_000
_MAX_CHARACTERS = 4_000_000
"""Lines, files and characters of an answer: more than any `ToolMessage` shows."""
_WHOLE_LINE, _CUT_LINE, _BEFORE_MATCH = 1_100, 1_000, 400
"""Characters of a line that is shown whole, and of one that is cut; how many before the match."""

_BATCH_FILES, _BATCH_BYTES = 64, 8 << 20
"""What is fetched at once, as a compromise between speed and memory."""

Fetch: TypeAlias = Callable[[Sequence[str]], Awaitable[list[bytes | FilesystemError]]]
_Finder: TypeAlias = Callable[[str], list[Hit]]


class Text(NamedTuple):
    """The text of a file, or a piece of it."""

    path: str
    text: str
    first_line: int = 1
    """The number of the first line of the piece."""
    start: int = 0
    stop: int = sys.maxsize
    """The rows to search; the others are there as context."""
    column: int = 0
    """Characters of the first line that come before the piece."""


def search(files: Iterable[tuple[str, str]], query: Query, seconds: float = SECONDS) -> GrepResult:
    """Search pairs of path and text, in order, until a limit of the query or the time is up."""
    return search_texts((Text(path, text) for path, text in files), query, seconds)


def search_texts(texts: Iterable[Text], query: Query, seconds: float) -> GrepResult:
    """Search texts, or pieces of them, in order."""
    check_query(query)
    deadline = time.monotonic() + seconds
    answer = _Answer(query)
    path = ""
    with _finding(query, seconds) as find:
        try:
            for text in texts:
                path = text.path
                if time.monotonic() > deadline:
                    raise TimeoutError
                if (hits := find(text.text)) and not answer.add(text, hits):
                    break
        except TimeoutError:
            answer.stop(f"The search stopped after {seconds:.0f} s; search a smaller directory.")
        except RegexTimeout:
            if not answer.result.counts:
                raise _too_slow(query, seconds) from None
            answer.stop(
                Note(f"The search stopped after {seconds:.0f} s, at ", PathPart(path), _SIMPLER)
            )
        except RegexFailed as error:
            raise PatternRefused(f"{_shown(query)} failed: {error}. Simplify it.") from None
    return answer.result


async def search_fetched(
    fetch: Fetch, files: Sequence[FileInfo], query: Query, *, max_size: int, seconds: float
) -> GrepResult:
    """Fetch files and search them, in the order of their paths, until the time is up.

    Files that are too large are named, not fetched.
    """
    check_query(query)
    total = GrepResult(matches=[], counts={})
    files = sorted(files, key=lambda info: info["path"])
    large = [info["path"] for info in files if info.get("size", 0) > max_size]
    notes, unreadable = [_left_out(large, f"larger than {max_size:,} bytes")], list[str]()
    deadline = time.monotonic() + seconds
    small = [info for info in files if info.get("size", 0) <= max_size]
    for paths in batches(small, _BATCH_FILES, _BATCH_BYTES):
        if time.monotonic() > deadline:
            total.truncated = True
            notes.append(
                Note(f"The search stopped after {seconds:g} s. Search a smaller directory.")
            )
        if total.truncated:
            break
        texts: list[tuple[str, str]] = []
        for path, content in zip(paths, await fetch(paths), strict=True):
            if isinstance(content, bytes):
                texts += [(path, content.decode())] if is_text(content) else []
            elif not isinstance(content, FileNotFound):  # it was deleted meanwhile
                unreadable.append(path)
        found = await in_thread(search, texts, _remaining(query, total))
        notes.append(_extend(total, found))
    notes.append(_left_out(unreadable, "it could not be read"))
    total.note = join_notes(" ", notes)
    return total


def check_query(query: Query) -> None:
    """Refuse a pattern that can't be searched for."""
    if not query.pattern:
        raise PatternRefused("The pattern is empty. Give the text to look for.")
    if len(query.pattern) > _MAX_PATTERN:
        raise PatternRefused(f"The pattern is longer than {_MAX_PATTERN} characters.")
    if not query.regex and "\n" in query.pattern:
        raise PatternRefused("The pattern spans lines, but lines are searched one by one.")
    try:
        query.pattern.encode()
        re.compile(query.pattern if query.regex else "")
    except UnicodeEncodeError:
        raise PatternRefused(
            "The pattern has a lone surrogate, which no file can hold. Search without it."
        ) from None
    except (re.error, OverflowError, RecursionError, FutureWarning) as error:
        raise PatternRefused(
            f"{_shown(query)} is malformed: {error}. "
            "Leave `regex` off to look for the text as it is."
        ) from None


def locate(query: Query, lines: Sequence[str]) -> list[int]:
    """Return the column of the first match in each line, or -1 where it is not found in time."""
    columns: list[int] = []
    with (
        contextlib.suppress(RegexTimeout, RegexFailed),
        _finding(query, _LOCATING) as find,
    ):
        for line in lines:
            hits = find(line)
            columns.append(hits[0][1] if hits else -1)
    return columns + [-1] * (len(lines) - len(columns))


def cut_line(line: str, column: int = 0, before: int = 0) -> str:
    """Return a line, cut around a column if it is long.

    `before` is how many characters of the line are missing already. A cut line is not cut again.
    """
    if len(line) <= _WHOLE_LINE and not before:
        return line
    start = max(0, min(column - _BEFORE_MATCH, len(line) - _CUT_LINE))
    skipped = before + start
    shown = line[start : start + _CUT_LINE]
    is_cut = start + _CUT_LINE < len(line)
    return f"{f'[{skipped:,} characters ...] ' if skipped else ''}{shown}{' [...]' * is_cut}"


def limit_matches(found: GrepResult, max_count: int | None) -> GrepResult:
    """Cut a result, in place, to so many matching lines in all."""
    counts, left = found.counts or {}, max_count
    if left is None or sum(counts.values()) <= left:
        return found
    kept: Counter[str] = Counter()
    for path, count in counts.items():
        kept[path] = min(count, left)
        left -= kept[path]
    found.counts = {path: count for path, count in kept.items() if count}
    matches: list[GrepMatch] = []
    for match in found.matches or ():
        if kept[match["path"]] > 0:
            kept[match["path"]] -= 1
            matches.append(match)
    found.matches, found.truncated = matches, True
    return found


# Finding lines


@contextlib.contextmanager
def _finding(query: Query, seconds: float) -> Iterator[_Finder]:
    """Yield a function that finds the rows of a text that match."""
    flags = re.IGNORECASE if query.ignore_case else 0
    if query.regex and might_backtrack(query.pattern):
        child = RegexChild(query.pattern, flags, seconds)
        try:
            yield lambda text: child.rows_matching(_rows(text))
        finally:
            child.close()
    elif query.is_literal:
        yield lambda text: _rows_holding(query.pattern, text)
    else:
        compiled = re.compile(query.pattern if query.regex else re.escape(query.pattern), flags)
        yield lambda text: rows_matching(compiled, _rows(text))


def _rows(text: str) -> list[str]:
    rows = text.split("\n")
    if rows[-1] == "":
        rows.pop()  # the end of the last line is no line of its own
    return rows


def _rows_holding(needle: str, text: str) -> list[Hit]:
    hits: list[Hit] = []
    at, row, counted = text.find(needle), 0, 0
    while at >= 0:
        row += text.count("\n", counted, at)
        hits.append((row, at - text.rfind("\n", 0, at) - 1))
        end = text.find("\n", at)
        if end < 0:
            break
        counted, at = at, text.find(needle, end + 1)
    return hits


# Making an answer


def _remaining(query: Query, total: GrepResult) -> Query:
    """Return the query for the next files, with what is left of its limit."""
    if query.max_count is None:
        return query
    return replace(query, max_count=query.max_count - sum((total.counts or {}).values()))


def _extend(total: GrepResult, part: GrepResult) -> Note | None:
    """Add the result for some files to that for files before them; return its note."""
    total.matches = [*(total.matches or ()), *(part.matches or ())]
    total.counts = {**(total.counts or {}), **(part.counts or {})}
    total.truncated = part.truncated
    return join_notes(" ", [part.note])


def _left_out(paths: Sequence[str], why: str) -> Note | None:
    if not paths:
        return None
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return Note("Not searched: ", PathPart(paths[0]), f"{more} ({why}).")


class _Answer:
    """The result of a search, as it grows."""

    def __init__(self, query: Query) -> None:
        self.result = GrepResult(matches=[], counts={})
        self._query = query
        self._left = sys.maxsize if query.max_count is None else query.max_count
        self._characters = 0
        self._last = ("", 0)

    def add(self, text: Text, hits: list[Hit]) -> bool:
        """Add the matching rows of a text; return whether there is room for more."""
        counts = self.result.counts
        assert counts is not None
        hits = [hit for hit in hits if self._is_new(text, hit[0])]
        if not hits:
            return True
        if self._left <= 0 or (len(counts) >= _MAX_FILES and text.path not in counts):
            self.result.truncated = True
            return False
        taken = hits[: self._left]
        self._left -= len(taken)
        counts[text.path] = counts.get(text.path, 0) + len(taken)
        self._last = (text.path, text.first_line + taken[-1][0])
        self.result.truncated = len(taken) < len(hits)
        if self._query.output_mode == "content":
            self._show(text, taken)
        return not self.result.truncated

    def stop(self, note: str) -> None:
        """Note that the search stopped early, and why."""
        self.result.truncated, self.result.note = True, note

    def _is_new(self, text: Text, row: int) -> bool:
        """Say whether a row was not counted yet: two pieces of a very long line are one line."""
        if not text.start <= row < text.stop:
            return False
        path, line = self._last
        return text.path != path or text.first_line + row > line

    def _show(self, text: Text, hits: list[Hit]) -> None:
        matches, rows = self.result.matches, _rows(text.text)
        assert matches is not None
        for row, column in hits:
            if len(matches) >= MAX_MATCHES or self._characters >= _MAX_CHARACTERS:
                self.result.truncated = True
                return
            before = text.column if row == 0 else 0
            line = cut_line(rows[row], column, before)
            match = GrepMatch(path=text.path, line=text.first_line + row, text=line)
            self._characters += len(line)
            if self._query.context:
                self._add_context(match, text, rows, row)
            matches.append(match)

    def _add_context(self, match: GrepMatch, text: Text, rows: list[str], row: int) -> None:
        first, last = max(0, row - self._query.context), row + self._query.context + 1
        beside = [
            ContextLine(line=text.first_line + at, text=cut_line(line))
            for at, line in enumerate(rows[first:last], first)
        ]
        match["context_before"] = beside[: row - first]
        match["context_after"] = beside[row - first + 1 :]
        self._characters += sum(len(line["text"]) for line in beside)


_SIMPLER = "; search a smaller directory, or write the regex without nested repetitions."


def _too_slow(query: Query, seconds: float) -> PatternRefused:
    return PatternRefused(
        f"{_shown(query)} took more than {seconds:.0f} s and found nothing until then. Write it "
        "without nested repetitions such as `(a+)+`, or search fewer files with `path` or `glob`."
    )


def _shown(query: Query) -> str:
    return f"The regex {query.pattern[:100]!r}"
