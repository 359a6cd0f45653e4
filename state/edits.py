"""Edits: exact text that is replaced by other text, in one place or everywhere."""

import difflib
import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NotRequired

from typing_extensions import TypedDict

from langgraph_filesystem.state.errors import FilesystemError, TextNotFound, TextNotUnique
from langgraph_filesystem.state.text import PathPart

__all__ = ("Edit", "PlannedEdit", "apply_edits", "edited_size", "plan_edit")


class Edit(TypedDict):
    """One replacement of exact text."""

    old: str
    new: str
    replace_all: bool
    call: NotRequired[str]
    """The id of the tool call that made it."""


@dataclass(frozen=True)
class PlannedEdit:
    """An edit that fits a text."""

    edit: Edit
    count: int
    """How many places it changes."""
    first_line: int
    """Number of the line in which the first of them begins, from 1."""

    def apply(self, text: str) -> str:
        """Return the text after the edit."""
        return text.replace(self.edit["old"], self.edit["new"])


def apply_edits(content: str, edits: Iterable[Edit]) -> tuple[str, list[Edit]]:
    """Apply edits in order; return the text, and the edits that don't fit it.

    The edits were checked when they were made. One that doesn't fit was overtaken by another branch
    of the graph: its text is missing, or no longer unique.
    """
    rejected: list[Edit] = []
    for edit in edits:
        count = content.count(edit["old"]) if edit["old"] else 0
        if count == 1 or (count and edit["replace_all"]):
            content = content.replace(edit["old"], edit["new"])
        else:
            rejected.append(edit)
    return content, rejected


def edited_size(size: int, planned: PlannedEdit) -> int:
    """Return the size of a file in bytes after an edit, without building its text."""
    grown = len(planned.edit["new"].encode()) - len(planned.edit["old"].encode())
    return size + planned.count * grown


def plan_edit(path: str, content: str, old: str, new: str, replace_all: bool) -> PlannedEdit:
    """Return the edit, or raise an error that says how to fix it.

    Text written with `\\n` also matches in a file with CRLF line ends, and the new text gets CRLF
    too: a file never ends up with both.
    """
    if not old:
        raise FilesystemError(
            PathPart(path),
            ": `old_string` is empty. Give the exact text to replace; to fill an empty file use "
            "`write_file` with `overwrite`.",
        )
    if old == new:
        raise FilesystemError(
            PathPart(path), ": `old_string` and `new_string` are the same. Nothing was changed."
        )
    count = content.count(old)
    if not count and "\n" in old and "\r" not in old and "\r\n" in content:
        old, new = old.replace("\n", "\r\n"), _with_crlf(new)
        count = content.count(old)
    elif "\n" in new and "\r" not in old + new and _is_crlf(content):
        new = _with_crlf(new)
    if not count:
        found = _nearest(content, old)
        raise TextNotFound(PathPart(path), f": `old_string` is not in the file. {found}")
    if count > 1 and not replace_all:
        raise TextNotUnique(
            PathPart(path),
            f": `old_string` occurs {count} times in the file ({_places(content, old)}). "
            "Add surrounding lines until it is unique, or set `replace_all`.",
        )
    first_line = content.count("\n", 0, content.find(old)) + 1
    return PlannedEdit(Edit(old=old, new=new, replace_all=replace_all), count, first_line)


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _is_crlf(content: str) -> bool:
    # One character is found forty times as fast as two, and most files have no CR.
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
"""To compare 2,000 lines of 200 characters takes about 0.1 s; more would delay the reply."""
_LINES_MATCHED = 5
"""An exact comparison takes up to 10 ms for long lines with few different characters, such as
digits: only the lines with the most characters in common get one."""


def _nearest(content: str, old: str) -> str:
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")[:200]
    if not wanted:
        return "Only white space was given: include more of the text around it."
    lines = content.split("\n", _LINES_COMPARED)[:_LINES_COMPARED]
    for number, line in enumerate(lines, 1):
        if wanted in line:
            return (
                f"Line {number} starts like it: {line[:200]!r}. Check white space and the lines "
                "that follow."
            )
    stripped = [line.strip()[:200] for line in lines]
    similarity, number = max(
        (_similarity(wanted, stripped[n]), -n) for n in _most_alike(wanted, stripped)
    )
    if similarity < 0.5:
        return "No line is similar: read the file again."
    return f"The most similar line is {1 - number}: {stripped[-number]!r}."


def _most_alike(wanted: str, lines: list[str]) -> list[int]:
    """Return the indexes of the few lines with the most characters in common with the text."""
    matcher = difflib.SequenceMatcher(b=wanted)

    def common(place: int) -> float:
        matcher.set_seq1(lines[place])
        return matcher.quick_ratio() if matcher.real_quick_ratio() >= 0.5 else 0.0

    return heapq.nlargest(_LINES_MATCHED, range(len(lines)), key=common)


def _similarity(wanted: str, line: str) -> float:
    return difflib.SequenceMatcher(a=line, b=wanted).ratio()
