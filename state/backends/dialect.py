"""One language for regexes: that of Python's `re`, also where `rg` matches them.

A pattern is parsed as Python parses it and spelled again for the engine of `rg`, so that it means
the same to both: `\\<` is a `<`, not where a word begins, `{` may stand for itself, `\\w` and `\\s`
are what Python says. What `rg` has not (looking around, references back, possessive repetitions,
`\\A`, `\\Z`) can't be spelled, and stays with Python.

Bytes that are not UTF-8 are matched by nothing but a literal search. `rg` sees to that itself; for
Python, which decodes them as lone surrogates, `for_any_bytes` takes them out of every class.

>>> print(for_ripgrep(r"def \\w+\\(", ignore_case=False))
def (?:[[\\p{L}\\p{N}_]])+\\x28
>>> print(for_ripgrep(r"(?<=a)b", ignore_case=False))
None
"""

import re
from re import _constants as opcodes  # type: ignore[attr-defined]  # the parse tree has no public API
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

__all__ = ("for_any_bytes", "for_ripgrep", "literal_of")

_RUST = {
    opcodes.CATEGORY_DIGIT: r"\d",
    opcodes.CATEGORY_NOT_DIGIT: r"\D",
    # Python counts the four separators of ASCII as space.
    opcodes.CATEGORY_SPACE: r"[\s\x1c-\x1f]",
    opcodes.CATEGORY_NOT_SPACE: r"[^\s\x1c-\x1f]",
    opcodes.CATEGORY_WORD: r"[\p{L}\p{N}_]",
    opcodes.CATEGORY_NOT_WORD: r"[^\p{L}\p{N}_]",
}
_PYTHON = {
    opcodes.CATEGORY_DIGIT: r"\d",
    opcodes.CATEGORY_NOT_DIGIT: r"\D",
    opcodes.CATEGORY_SPACE: r"\s",
    opcodes.CATEGORY_NOT_SPACE: r"\S",
    opcodes.CATEGORY_WORD: r"\w",
    opcodes.CATEGORY_NOT_WORD: r"\W",
}
_PLACES = {
    opcodes.AT_BEGINNING: "^",
    opcodes.AT_END: "$",
    opcodes.AT_BOUNDARY: r"\b",
    opcodes.AT_NON_BOUNDARY: r"\B",
}
_BROKEN = range(0xDC80, 0xDD00)
"""What `surrogateescape` decodes bytes to that are not UTF-8."""
_NOT_BROKEN = r"(?![\udc80-\udcff])"
_NEGATIVE = (opcodes.CATEGORY_NOT_DIGIT, opcodes.CATEGORY_NOT_SPACE, opcodes.CATEGORY_NOT_WORD)
_WITHOUT_MEANING = re.MULTILINE | re.DOTALL | re.VERBOSE | re.UNICODE
"""Flags that change nothing once a pattern is parsed and a text is one line."""


class _Unspeakable(Exception):
    """A part of a pattern that the other engine has no words for."""


def for_ripgrep(pattern: str, *, ignore_case: bool) -> str | None:
    """Return the pattern as `rg` takes it, or `None` if it can't be said there."""
    try:
        return _Spelling(_RUST, "").spelled(pattern, ignore_case)
    except _Unspeakable:
        return None


def for_any_bytes(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    """Return the pattern for lines that may hold bytes which are not UTF-8."""
    try:
        return re.compile(_Spelling(_PYTHON, _NOT_BROKEN).spelled(pattern, ignore_case))
    except _Unspeakable:  # then `rg` does not take it either, and there is nobody to agree with
        return re.compile(pattern, re.IGNORECASE if ignore_case else 0)


def literal_of(pattern: str) -> str:
    """Return the longest text that every match has in it, as far as that is easily told.

    >>> literal_of(r"(?:async )?def \\w+_handler\\(")
    '_handler('
    """
    tree = parser.parse(pattern)
    if tree.state.flags & re.IGNORECASE:
        return ""
    return max(_literals(tree), key=len)


def _literals(tree: Any) -> list[str]:
    """Return the texts that stand in a row of a pattern, one after the other."""
    found = [""]
    for op, args in tree:
        if op is opcodes.LITERAL:
            found[-1] += chr(args)
        elif op is opcodes.SUBPATTERN and not (args[1] or args[2]):
            first, *others = _literals(args[3])
            found[-1] += first
            found += others
        elif op is not opcodes.AT:
            found.append("")
    return found


class _Spelling:
    """How one engine spells what a pattern means."""

    def __init__(self, categories: dict[Any, str], before: str) -> None:
        self._categories = categories
        self._before = before
        """What stands before everything that could match a broken byte."""

    def spelled(self, pattern: str, ignore_case: bool) -> str:
        """Return a pattern that was parsed, and so is well formed, in this spelling."""
        tree = parser.parse(pattern)
        flags = tree.state.flags
        _refuse_flags(flags)
        folds = ignore_case or flags & re.IGNORECASE
        return ("(?i)" if folds else "") + self._sequence(tree)

    def _sequence(self, tree: Any) -> str:
        return "".join(self._node(op, args) for op, args in tree)

    def _node(self, op: Any, args: Any) -> str:
        if op is opcodes.LITERAL:
            return _character(args)
        if op is opcodes.NOT_LITERAL:
            return f"{self._before}[^{_character(args)}]"
        if op is opcodes.ANY:
            return f"{self._before}."
        if op is opcodes.AT and args in _PLACES:
            return _PLACES[args]
        if op is opcodes.IN:
            return self._class(args)
        if op is opcodes.BRANCH:
            return f"(?:{'|'.join(map(self._sequence, args[1]))})"
        if op is opcodes.SUBPATTERN:
            return self._group(*args)
        if op in (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT):
            return f"(?:{self._sequence(args[2])}){_times(args[0], args[1])}"
        raise _Unspeakable

    def _group(self, number: Any, added: int, removed: int, tree: Any) -> str:
        _refuse_flags(added | removed)
        sign = "i" if added & re.IGNORECASE else "-i" if removed & re.IGNORECASE else ""
        return f"(?{sign}:{self._sequence(tree)})"

    def _class(self, items: Any) -> str:
        negated = items[0][0] is opcodes.NEGATE
        inside = "".join(self._item(op, args) for op, args in items[negated:])
        before = self._before if negated or any(map(_takes_broken, items)) else ""
        return f"{before}[{'^' * negated}{inside}]"

    def _item(self, op: Any, args: Any) -> str:
        if op is opcodes.LITERAL:
            return _character(args)
        if op is opcodes.RANGE:
            return f"{_character(args[0])}-{_character(args[1])}"
        if op is opcodes.CATEGORY and args in self._categories:
            return self._categories[args]
        raise _Unspeakable


def _takes_broken(item: tuple[Any, Any]) -> bool:
    op, args = item
    if op is opcodes.RANGE:
        return bool(args[0] < _BROKEN.stop and args[1] >= _BROKEN.start)
    return op is opcodes.CATEGORY and args in _NEGATIVE


def _refuse_flags(flags: int) -> None:
    if flags & ~(_WITHOUT_MEANING | re.IGNORECASE):
        raise _Unspeakable


def _character(code: int) -> str:
    """Return one character so that both engines take it for itself, in a class too."""
    if 0xD800 <= code < 0xE000:
        raise _Unspeakable
    character = chr(code)
    # Never with a backslash alone: to Rust, `\\<` is the beginning of a word.
    is_plain = code >= 0x80 or character.isalnum() or character in " _"
    return character if is_plain else rf"\x{code:02x}"


def _times(least: int, most: Any) -> str:
    if most is opcodes.MAXREPEAT:
        return {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    return "?" if (least, most) == (0, 1) else f"{{{least},{most}}}"
