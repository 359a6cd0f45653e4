"""Edits as operations: which text gives way to which, once or everywhere."""

import difflib
import heapq
from collections.abc import Iterable

from typing_extensions import TypedDict

from langgraph_filesystem.state.errors import FilesystemError, TextNotFound, TextNotUnique
from langgraph_filesystem.state.text import PathPart

__all__ = ("Edit", "apply_edits", "plan_edit")


class Edit(TypedDict):
    """One replacement of exact text."""

    old: str
    new: str
    replace_all: bool


def apply_edits(content: str, edits: Iterable[Edit]) -> str:
    """Apply edits in order; one whose text is gone changes nothing.

    The edits were checked when they were made, so text that is gone was replaced since by another
    branch of the graph. A reducer can't ask anybody: the other branch's text stays.
    """
    for edit in edits:
        if edit["old"]:
            content = content.replace(edit["old"], edit["new"], -1 if edit["replace_all"] else 1)
    return content


def plan_edit(path: str, content: str, old: str, new: str, replace_all: bool) -> tuple[Edit, int]:
    """Return the edit that does what was asked and how many places it changes.

    Text written with `\\n` matches a file with CRLF line ends and keeps them: such a file gets no
    line of another kind.
    """
    if not old:
        raise FilesystemError(
            PathPart(path),
            ": `old_string` is empty. Give the exact text to replace; to fill an empty file use "
            "`write_file` with `overwrite`.",
        )
    if old == new:
        raise FilesystemError(PathPart(path), ": `old_string` and `new_string` are the same text.")
    count = content.count(old)
    if not count and "\n" in old and "\r" not in old and "\r\n" in content:
        old, new = old.replace("\n", "\r\n"), _with_crlf(new)
        count = content.count(old)
    elif "\n" in new and "\r" not in old + new and _is_crlf(content):
        new = _with_crlf(new)
    if not count:
        raise TextNotFound(
            PathPart(path), f": `old_string` is not in the file. {_nearest(content, old)}"
        )
    if count > 1 and not replace_all:
        raise TextNotUnique(
            PathPart(path),
            f": `old_string` occurs {count} times in the file ({_places(content, old)}). "
            "Add lines around it until it is unique, or set `replace_all`.",
        )
    return Edit(old=old, new=new, replace_all=replace_all), count


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _is_crlf(content: str) -> bool:
    # One letter is looked for forty times as fast as two, and most files have none.
    return "\r" in content and content.count("\n") == content.count("\r\n") > 0


def _places(content: str, old: str) -> str:
    lines: list[str] = []
    at, line, last = content.find(old), 1, 0
    while at >= 0 and len(lines) < 5:
        line += content.count("\n", last, at)
        lines.append(str(line))
        last, at = at, content.find(old, at + len(old))
    return f"line {', '.join(lines)}{', ...' if at >= 0 else ''}"


_LINES_COMPARED = 2_000
"""Counting the letters of 2,000 lines of 200 characters takes about 0.1 s; more would hold up the
reply."""
_LINES_MATCHED = 5
"""A real comparison takes up to 10 ms where lines are long and of few letters, such as digits: only
the lines with the most letters in common get one."""


def _nearest(content: str, old: str) -> str:
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")[:200]
    if not wanted:
        return "Only white space was given: take more of the text around it."
    lines = content.split("\n", _LINES_COMPARED)[:_LINES_COMPARED]
    for number, line in enumerate(lines, 1):
        if wanted in line:
            return (
                f"Line {number} begins like it: {line[:200]!r}. Check white space and the lines "
                "that follow."
            )
    stripped = [line.strip()[:200] for line in lines]
    likeness, number = max((_likeness(wanted, stripped[n]), -n) for n in _alike(wanted, stripped))
    if likeness < 0.5:
        return "No line is like it: read the file again."
    return f"The nearest line is {1 - number}: {stripped[-number]!r}."


def _alike(wanted: str, lines: list[str]) -> list[int]:
    """Return the places of the few lines that have the most letters in common with the text."""
    matcher = difflib.SequenceMatcher(b=wanted)

    def common(place: int) -> float:
        matcher.set_seq1(lines[place])
        return matcher.quick_ratio() if matcher.real_quick_ratio() >= 0.5 else 0.0

    return heapq.nlargest(_LINES_MATCHED, range(len(lines)), key=common)


def _likeness(wanted: str, line: str) -> float:
    return difflib.SequenceMatcher(a=line, b=wanted).ratio()
