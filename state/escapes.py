"""Names and lines of files, shown so that they can't pass for something else."""

import unicodedata

__all__ = ("escaped",)

_FORGING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, format characters (direction marks among them), surrogates, unassigned, separators."""


def escaped(name: str) -> str:
    """Return a name or a line with everything escaped that could pass for something else.

    Newlines, terminal escapes, and marks that turn the direction of text could make one entry look
    like two, or like another one.
    """
    if name.isascii() and name.isprintable():
        return name
    return "".join(char if _is_harmless(char) else _escape(char) for char in name)


def _is_harmless(char: str) -> bool:
    return char == "\t" or unicodedata.category(char) not in _FORGING


def _escape(char: str) -> str:
    code = ord(char)
    if char in "\n\r":
        return "\\n" if char == "\n" else "\\r"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
