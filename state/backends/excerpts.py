"""Lines of a file as a search shows them: cut out of the bytes, whatever they are.

A line that is not too long comes back whole, without its `\\n`. Of a longer one there is a piece,
with what was looked for in it. Bytes that are not UTF-8 are shown as `\\xff`: a search of the bytes
loses no line. However long the lines are, little of a file is in memory.
"""

import re
import time
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from langgraph_filesystem.state.backends.protocol import ContextLine, GrepMatch

__all__ = ("Hit", "Locate", "Read", "match_of")

Read: TypeAlias = Callable[[int, int], bytes]
"""From a size and an offset to the bytes there, fewer at the end of the file."""
Hit: TypeAlias = tuple[int, int]
"""The number of a line that matches, from 1, and the offset at which it begins."""
Locate: TypeAlias = Callable[[bytes], int]
"""From the bytes of a long line to where in them the match is, or -1."""

_WHOLE = 4_000
"""Bytes of a line that is shown whole."""
_AROUND = 400
"""Bytes to each side of the beginning of a match in a longer one."""
_STEP = 1 << 16
_FAR = 1 << 20
"""How far the end of a line is looked for; the match in it is, beyond that, as long as one may."""
_PARTIAL = re.compile(rb"\A[\x80-\xbf]{1,3}")


def match_of(
    path: str, hit: Hit, read: Read, locate: Locate, context: int, until: float = 0.0
) -> GrepMatch:
    """Return one matching line, with the lines around it; look for a far match until a time."""
    number, offset = hit
    text = _text(read, offset, locate, until)
    match = GrepMatch(path=path, line=number, text=text)
    if context:
        match["context_before"] = _before(read, offset, number, context)
        match["context_after"] = _after(read, offset, number, context)
    return match


def _text(read: Read, offset: int, locate: Locate | None = None, until: float = 0.0) -> str:
    window = read(_WHOLE + 1, offset)
    end = window.find(b"\n")
    if end >= 0 or len(window) <= _WHOLE:
        return _decoded(window[:end] if end >= 0 else window)
    return _piece(read, offset, _place(read, offset, locate, until) if locate else 0)


def _piece(read: Read, offset: int, place: int) -> str:
    start = max(0, place - _AROUND)
    window = read(2 * _AROUND, offset + start)
    end = window.find(b"\n")
    text = _decoded(_trimmed(window if end < 0 else window[:end], start > 0))
    before = f"[{start:,} bytes ...] " if start else ""
    is_cut = end < 0 and len(window) == 2 * _AROUND
    return f"{before}{text}{' [...]' if is_cut else ''}"


def _place(read: Read, offset: int, locate: Locate, until: float) -> int:
    """Return where in a line the match is, or 0 if it is not found in time."""
    for start in count(0, _STEP):
        if start >= _FAR and time.monotonic() > until:
            break
        # Twice a step: a match may lie across the border of two.
        window = read(2 * _STEP, offset + start)
        end = window.find(b"\n")
        found = locate(window if end < 0 else window[:end])
        if found >= 0:
            return start + found
        if end >= 0 or len(window) < 2 * _STEP:
            break
    return 0


def _before(read: Read, offset: int, number: int, context: int) -> list[ContextLine]:
    lines: list[ContextLine] = []
    while offset > 0 and len(lines) < context:
        start, is_whole = _line_start(read, offset - 1)
        number -= 1
        text = _text(read, start) if is_whole else f"[... {offset - 1 - start:,} bytes]"
        lines.insert(0, ContextLine(line=number, text=text))
        if not is_whole:
            break
        offset = start
    return lines


def _line_start(read: Read, end: int) -> tuple[int, bool]:
    """Return where the line begins that ends at an offset, if that is not too far."""
    at = end
    while at > 0 and end - at < _FAR:
        size = min(_STEP, at)
        at -= size
        found = read(size, at).rfind(b"\n")
        if found >= 0:
            return at + found + 1, True
    return at, at == 0


def _after(read: Read, offset: int, number: int, context: int) -> list[ContextLine]:
    lines: list[ContextLine] = []
    while len(lines) < context:
        end = _line_end(read, offset)
        if end is None or not read(1, end + 1):
            break
        offset, number = end + 1, number + 1
        lines.append(ContextLine(line=number, text=_text(read, offset)))
    return lines


def _line_end(read: Read, offset: int) -> int | None:
    """Return where the line ends that begins at an offset, if that is not too far."""
    for start in range(offset, offset + _FAR, _STEP):
        window = read(_STEP, start)
        if (found := window.find(b"\n")) >= 0:
            return start + found
        if len(window) < _STEP:
            break
    return None


def _trimmed(piece: bytes, has_start_cut: bool) -> bytes:
    """Take off the halves of characters at the cuts."""
    if has_start_cut:
        piece = _PARTIAL.sub(b"", piece)
    for back in range(1, min(4, len(piece)) + 1):
        lead = piece[-back]
        if lead >= 0xC0:
            width = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return piece[:-back] if back < width else piece
        if lead < 0x80:
            break
    return piece


def _decoded(line: bytes) -> str:
    return line.decode(errors="backslashreplace")
