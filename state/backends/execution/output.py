"""What a command prints, as text: stderr marked, its middle left out when it is too long.

>>> output = Output(1_000)
>>> output.feed(0, b"one\\n")
>>> output.feed(1, b"two\\n")
>>> output.text()
'one\\n[stderr] two\\n'
"""

import codecs
from collections import deque

__all__ = ("ERR", "MARK", "OUT", "Output", "Progress")

OUT, ERR = 0, 1
MARK = "[stderr] "
"""How a line begins that was printed to stderr."""
_LONGEST_HELD = 8_192
"""Characters of a line that has not ended, until the other stream may stand behind them."""
_EVENT = 4_000
"""Characters in one report of progress."""


class _Lines:
    """Both streams as one text, a line at a time.

    Programs print blocks that end anywhere in a line: what is held back until the line ends does
    not get mixed with the other stream.
    """

    def __init__(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = [decoder("backslashreplace"), decoder("backslashreplace")]
        self._held = ["", ""]
        self._open: int | None = None
        """The stream whose line has begun and not ended."""

    def add(self, stream: int, data: bytes) -> str:
        """Return the text that can stand now."""
        text = self._held[stream] + self._decoders[stream].decode(data)
        end = len(text) if len(text) > _LONGEST_HELD else text.rfind("\n") + 1
        self._held[stream] = text[end:]
        return self._placed(stream, text[:end])

    def rest(self, *, final: bool = False) -> str:
        """Return the lines that have not ended, as far as they have come."""
        found = ""
        for stream in (OUT, ERR):
            text = self._held[stream]
            if final:
                text += self._decoders[stream].decode(b"", final=True)
            self._held[stream] = ""
            found += self._placed(stream, text)
        return found

    def _placed(self, stream: int, text: str) -> str:
        if not text:
            return ""
        begins = self._open != stream
        before = "\n" if begins and self._open is not None else ""
        self._open = None if text[-1] == "\n" else stream
        if "\0" in text:  # some databases can't hold it
            text = text.replace("\0", "\\x00")
        return before + (_marked(text, begins) if stream == ERR else text)


class Output:
    """The beginning and the end of what was printed, whatever its length."""

    def __init__(self, limit: int) -> None:
        self._lines = _Lines()
        self._head = ""
        self._tail: deque[str] = deque()
        self._head_room = limit // 2
        self._tail_room = limit - self._head_room
        self._tail_size = 0
        self._left_out = 0

    @property
    def truncated(self) -> bool:
        """Whether something is left out."""
        return self._left_out > 0

    def feed(self, stream: int, data: bytes) -> None:
        """Take what was printed."""
        self._keep(self._lines.add(stream, data))

    def text(self) -> str:
        """Return what was printed, now that nothing more will come."""
        self._keep(self._lines.rest(final=True))
        tail = "".join(self._tail)
        if self._tail_size > self._tail_room:
            kept = _last(tail, self._tail_room)
            self._left_out += len(tail) - len(kept)
            tail = kept
        if not self._left_out:
            return self._head + tail
        note = f"[... {self._left_out:,} characters left out ...]"
        return f"{self._head}\n{note}\n{tail}"

    def _keep(self, text: str) -> None:
        if self._head_room and text:
            kept = _first(text, self._head_room)
            self._head += kept
            # A character that does not fit ends the beginning, or later ones would stand before it.
            self._head_room = 0 if len(kept) < len(text) else self._head_room - _size(kept)
            text = text[len(kept) :]
        if text:
            self._tail.append(text)
            self._tail_size += _size(text)
        while self._tail and self._tail_size - _size(self._tail[0]) >= self._tail_room:
            dropped = self._tail.popleft()
            self._tail_size -= _size(dropped)
            self._left_out += len(dropped)


class Progress:
    """What was printed since the last report. Of a flood, each report has only the end."""

    def __init__(self) -> None:
        self._lines = _Lines()
        self._fresh = ""
        self._left_out = 0

    def feed(self, stream: int, data: bytes) -> None:
        """Take what was printed."""
        self._keep(self._lines.add(stream, data))

    def take(self, *, final: bool = False) -> str:
        """Return the report, and begin the next one."""
        self._keep(self._lines.rest(final=final))
        text, self._fresh = self._fresh, ""
        left_out, self._left_out = self._left_out, 0
        return f"[... {left_out:,} characters left out ...]\n{text}" if left_out else text

    def _keep(self, text: str) -> None:
        self._fresh += text
        if len(self._fresh) > _EVENT:
            self._left_out += len(self._fresh) - _EVENT
            self._fresh = self._fresh[-_EVENT:]


def _marked(text: str, begins: bool) -> str:
    """Mark each line, the first one only if it begins here."""
    marked = text[:-1].replace("\n", "\n" + MARK) + text[-1]
    return MARK + marked if begins else marked


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _first(text: str, size: int) -> str:
    return text[:size] if text.isascii() else text.encode()[:size].decode(errors="ignore")


def _last(text: str, size: int) -> str:
    return text[-size:] if text.isascii() else text.encode()[-size:].decode(errors="ignore")
