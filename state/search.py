"""Searching text: literally, or by a regex that can't hang the process.

A line ends at `\\n` and nowhere else, as for `grep -n`: so line numbers agree with `read_file` for
every file. A regex that can't backtrack is matched here, any other in a process of its own that is
ended when its time is up (`backtracking.py`).
"""

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.protocol import (
    ContextLine,
    GrepMatch,
    GrepResult,
)
from langgraph_filesystem.state.backtracking import Unfinished, in_process, may_backtrack
from langgraph_filesystem.state.errors import PatternRefused

__all__ = ("MAX_MATCHES", "Query", "check_query", "lines_matching", "search")

_SECONDS = 5.0
"""How long a search may take before it answers with what it has."""
MAX_MATCHES = 20_000
"""More lines than fit into any answer; counts go on beyond it."""
_MAX_PATTERN = 2_000


def search(files: Iterable[tuple[str, str]], query: Query) -> GrepResult:
    """Search pairs of path and text, in order, until the limits of the query are reached."""
    check_query(query)
    if query.regex and may_backtrack(query.pattern):
        found = in_process(files, query.pattern, query.ignore_case, _SECONDS)
    else:
        found = _here(files, _line_finder(query))
    return _collect(found, query)


def check_query(query: Query) -> None:
    """Refuse a pattern that can't be searched for."""
    if not query.pattern:
        raise PatternRefused("The pattern is empty. Give the text to look for.")
    if len(query.pattern) > _MAX_PATTERN:
        raise PatternRefused(f"The pattern is longer than {_MAX_PATTERN} characters.")
    if not query.regex and "\n" in query.pattern:
        raise PatternRefused("The pattern spans lines, but lines are searched one by one.")
    if query.regex:
        try:
            re.compile(query.pattern)
        except (re.error, OverflowError, RecursionError, FutureWarning) as error:
            raise PatternRefused(
                f"The regex {query.pattern[:100]!r} is malformed: {error}. "
                "Leave `regex` off to look for the text as it is."
            ) from None


def _collect(found: Iterator[tuple[str, str, list[int]]], query: Query) -> GrepResult:
    deadline = time.monotonic() + _SECONDS
    matches: list[GrepMatch] = []
    counts: dict[str, int] = {}
    left = query.max_count if query.max_count is not None else sys.maxsize
    result = GrepResult(matches=matches, counts=counts)
    for path, text, lines in _until_time_is_up(found, result):
        if left <= 0:
            result.truncated = True
            break
        taken, result.truncated = lines[:left], len(lines) > left
        left -= len(taken)
        counts[path] = len(taken)
        if query.output_mode == "content":
            room = MAX_MATCHES - len(matches)
            matches.extend(_matches(path, text, taken[:room], query.context))
            if len(taken) > room:
                result.truncated = True
                break
        if time.monotonic() > deadline:
            result.truncated = True
            result.note = f"The search stopped after {_SECONDS:.0f} s; search a smaller directory."
            break
    return result


def _until_time_is_up(
    found: Iterator[tuple[str, str, list[int]]], result: GrepResult
) -> Iterator[tuple[str, str, list[int]]]:
    try:
        yield from found
    except Unfinished as unfinished:
        result.truncated, result.note = True, str(unfinished)


def _matches(path: str, text: str, lines: list[int], context: int) -> Iterator[GrepMatch]:
    rows = text.split("\n")
    for line in lines:
        match = GrepMatch(path=path, line=line, text=rows[line - 1])
        if context:
            before, after = range(max(1, line - context), line), range(line + 1, line + context + 1)
            end = len(rows) - (rows[-1] == "")
            match["context_before"] = [ContextLine(line=n, text=rows[n - 1]) for n in before]
            match["context_after"] = [
                ContextLine(line=n, text=rows[n - 1]) for n in after if n <= end
            ]
        yield match


def _here(
    files: Iterable[tuple[str, str]], finder: Callable[[str], list[int]]
) -> Iterator[tuple[str, str, list[int]]]:
    for path, text in files:
        if lines := finder(text):
            yield path, text, lines


def _line_finder(query: Query) -> Callable[[str], list[int]]:
    if query.regex or query.ignore_case:
        pattern = query.pattern if query.regex else re.escape(query.pattern)
        compiled = re.compile(pattern, re.IGNORECASE if query.ignore_case else 0)
        return lambda text: lines_matching(compiled, text)
    return lambda text: _lines_holding(query.pattern, text)


def _lines_holding(needle: str, text: str) -> list[int]:
    lines: list[int] = []
    at, line, counted = text.find(needle), 1, 0
    while at >= 0:
        line += text.count("\n", counted, at)
        lines.append(line)
        end = text.find("\n", at)
        if end < 0:
            break
        counted, at = at, text.find(needle, end + 1)
    return lines


def lines_matching(compiled: re.Pattern[str], text: str) -> list[int]:
    """Return the numbers of the lines that a compiled pattern is found in."""
    rows = text.split("\n")
    if rows[-1] == "":
        rows.pop()
    return [number for number, row in enumerate(rows, 1) if compiled.search(row)]
