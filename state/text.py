"""Text for a model or a person: paths are marked in it, misleading characters are escaped.

A backend knows its files by its own paths, and the reader by the paths of the mount. So an error or
a note marks the paths in its text, and `renamed` replaces them by those that the reader knows.

>>> note = Note("Not searched: ", PathPart("/big.bin"), ".")
>>> note.renamed(lambda path: "/site" + path)
'Not searched: /site/big.bin.'
"""

import unicodedata
from collections.abc import Callable, Iterable

__all__ = ("Note", "PathPart", "Rename", "escaped", "escaped_message", "join_notes", "split_notes")

Rename = Callable[[str], str]
"""From the path that a backend uses to the path that the reader knows."""

_MISLEADING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, format characters (direction marks among them), surrogates, unassigned, separators."""


class PathPart(str):
    """A path inside a note."""

    __slots__ = ()


class Note(str):
    """A text that knows which of its parts are paths. To everybody else it is a plain `str`."""

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> "Note":
        """Join the parts; the parts of a note stay apart."""
        flat = tuple(piece for part in parts for piece in _parts_of(part))
        made = super().__new__(cls, "".join(flat))
        made.parts = flat
        return made

    def __reduce__(self) -> tuple[type["Note"], tuple[str, ...]]:
        """Pickle the parts."""
        return Note, self.parts

    def renamed(self, rename: Rename) -> "Note":
        """Return the note with other names for its paths."""
        return Note(*(PathPart(rename(p)) if isinstance(p, PathPart) else p for p in self.parts))


def join_notes(separator: str, notes: Iterable[str | None]) -> Note | None:
    """Return several notes as one, or `None` if there are none."""
    parts: list[str] = []
    for note in notes:
        if note:
            parts += [separator, note] if parts else [note]
    return Note(*parts) if parts else None


def split_notes(separator: str, note: str | None) -> list[Note]:
    """Return the notes that were joined."""
    found: list[list[str]] = [[]]
    for part in _parts_of(note or ""):
        if part == separator:
            found.append([])
        elif part:
            found[-1].append(part)
    return [Note(*parts) for parts in found if parts]


def escaped(text: str) -> str:
    """Escape characters that could make a name or a line look like another one.

    Newlines, terminal escapes and direction marks could make one entry look like two.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_harmless(char) else _escape(char) for char in text)


def escaped_message(message: str) -> str:
    """Escape a message of several lines, and line breaks in its paths."""
    return "".join(
        escaped(part)
        if isinstance(part, PathPart)
        else "\n".join(escaped(line) for line in part.split("\n"))
        for part in _parts_of(message)
    )


def _parts_of(part: str) -> tuple[str, ...]:
    return part.parts if isinstance(part, Note) else (part,)


def _is_harmless(char: str) -> bool:
    return char == "\t" or unicodedata.category(char) not in _MISLEADING


def _escape(char: str) -> str:
    code = ord(char)
    if char in "\n\r":
        return "\\n" if char == "\n" else "\\r"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
