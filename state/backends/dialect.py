"""One language for regexes: that of Python's `re`, also where `rg` matches them.

A pattern is parsed as Python parses it and spelled again for the engine of `rg`, so that it means
the same to both: `\\<` is a `<`, not where a word begins, `{` may stand for itself, `\\w` and `\\s`
are what Python says, of the characters that its version of Unicode has, and so is what is the same
letter in another case. What `rg` has not (looking around, references back, possessive repetitions,
`\\A`, `\\Z`) can't be spelled, and stays with Python.

Where a word ends beyond ASCII can't be spelled either: there a pattern with `\\b` finds too much,
never too little, and Python must have another look at it (`Spelled.sure`).

Bytes that are not UTF-8 are matched by nothing but a literal search. `rg` sees to that itself; for
Python, which decodes them as lone surrogates, `for_any_bytes` takes them out of every class.

>>> for_ripgrep(r"(?:no|[^x])$", ignore_case=True)
Spelled(text='(?:[Nn][Oo]|[[^x]--[X]])$', sure='always')
>>> print(for_ripgrep(r"(?<=a)b", ignore_case=False))
None
"""

import re
from re import _constants as opcodes  # type: ignore[attr-defined]  # the parse tree has no public API
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Literal, NamedTuple
from unicodedata import unidata_version

from langgraph_filesystem.state.backends.letter_case import ignoring_case, same_letters

__all__ = ("Spelled", "Sure", "for_any_bytes", "for_ripgrep", "literal_of")

Sure = Literal["always", "ascii", "never"]

_AGE = rf"\p{{age:{unidata_version.rpartition('.')[0]}}}"
"""The characters that this Python knows: `rg` may be newer."""
_RUST = {
    opcodes.CATEGORY_DIGIT: rf"[\d&&{_AGE}]",
    opcodes.CATEGORY_NOT_DIGIT: rf"[^\d&&{_AGE}]",
    # Python counts the four separators of ASCII as space.
    opcodes.CATEGORY_SPACE: r"[\s\x1c-\x1f]",
    opcodes.CATEGORY_NOT_SPACE: r"[^\s\x1c-\x1f]",
    opcodes.CATEGORY_WORD: rf"[\p{{L}}\p{{N}}_&&{_AGE}]",
    opcodes.CATEGORY_NOT_WORD: rf"[^\p{{L}}\p{{N}}_&&{_AGE}]",
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
_MAYBE = {
    # All places but those between two word characters of ASCII.
    opcodes.AT_BOUNDARY: r"(?-u:\b{start-half}|\b{end-half})",
    opcodes.AT_NON_BOUNDARY: "",
}
"""Where Python may see what it looks for, and `rg` can't tell."""
_NO_WORD = "".join(c for c in map(chr, range(128)) if not c.isalnum() and c != "_")
_BROKEN = range(0xDC80, 0xDD00)
"""What `surrogateescape` decodes bytes to that are not UTF-8."""
_NOT_BROKEN = r"(?![\udc80-\udcff])"
_NEGATIVE = (opcodes.CATEGORY_NOT_DIGIT, opcodes.CATEGORY_NOT_SPACE, opcodes.CATEGORY_NOT_WORD)
_WITHOUT_MEANING = re.MULTILINE | re.DOTALL | re.VERBOSE | re.UNICODE
"""Flags that change nothing once a pattern is parsed and a text is one line."""


class Spelled(NamedTuple):
    """A pattern for `rg`."""

    text: str
    sure: Sure
    """Whether it finds what Python finds: if not, it finds that and more. In between, it finds the
    same where all is ASCII."""


class _Unspeakable(Exception):
    """A part of a pattern that the other engine has no words for."""


def for_ripgrep(pattern: str, *, ignore_case: bool) -> Spelled | None:
    """Return the pattern as `rg` takes it, or `None` if it can't be said there."""
    spelling = _ForRipgrep()
    try:
        return Spelled(spelling.spelled(pattern, ignore_case), spelling.sure)
    except _Unspeakable:
        return None


def for_any_bytes(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    """Return the pattern for lines that may hold bytes which are not UTF-8."""
    try:
        return re.compile(_Spelling().spelled(pattern, ignore_case))
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
    """How Python spells what a pattern means."""

    _categories = _PYTHON
    _before = _NOT_BROKEN
    """What stands before everything that could match a broken byte."""

    def spelled(self, pattern: str, ignore_case: bool) -> str:
        """Return a pattern that was parsed, and so is well formed, in this spelling."""
        tree = parser.parse(pattern)
        flags = tree.state.flags
        _refuse_flags(flags)
        return self._whole(tree, bool(ignore_case or flags & re.IGNORECASE))

    def _whole(self, tree: Any, folds: bool) -> str:
        return ("(?i)" if folds else "") + self._sequence(tree)

    def _sequence(self, tree: Any) -> str:
        return "".join(self._node(op, args) for op, args in tree)

    def _node(self, op: Any, args: Any) -> str:
        if op is opcodes.LITERAL:
            return self._literal(args)
        if op is opcodes.NOT_LITERAL:
            return self._class([(opcodes.NEGATE, None), (opcodes.LITERAL, args)])
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

    def _literal(self, code: int) -> str:
        return _character(code)

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


class _ForRipgrep(_Spelling):
    """How `rg` spells the same."""

    _categories = _RUST
    _before = ""

    def __init__(self) -> None:
        self.sure: Sure = "always"
        self._folds = False

    def _whole(self, tree: Any, folds: bool) -> str:
        self._folds = folds
        return self._sequence(tree)

    def _sequence(self, tree: Any) -> str:
        for at, (op, args) in enumerate(tree):
            if op is opcodes.AT and args in _MAYBE:
                is_beside = _ends_a_word(tree[:at], -1) or _ends_a_word(tree[at + 1 :], 0)
                is_exact = is_beside and args is opcodes.AT_BOUNDARY
                self.sure = "ascii" if is_exact and self.sure != "never" else "never"
        return super()._sequence(tree)

    def _node(self, op: Any, args: Any) -> str:
        return _MAYBE[args] if op is opcodes.AT and args in _MAYBE else super()._node(op, args)

    def _literal(self, code: int) -> str:
        same = same_letters(chr(code)) if self._folds else ""
        return f"[{_characters(same)}]" if same[1:] else _character(code)

    def _group(self, number: Any, added: int, removed: int, tree: Any) -> str:
        _refuse_flags(added | removed)
        before = self._folds
        self._folds = bool((before or added & re.IGNORECASE) and not removed & re.IGNORECASE)
        inside = self._sequence(tree)
        self._folds = before
        return f"(?:{inside})"

    def _class(self, items: Any) -> str:
        plain = super()._class(items)
        if not self._folds:
            return plain
        more, less = map(_characters, ignoring_case(_python_class(items)))
        return f"[{plain}{more}{f'--[{less}]' if less else ''}]" if more or less else plain


def _python_class(items: Any) -> str:
    return _Spelling()._class(items).removeprefix(_NOT_BROKEN)


def _characters(text: str) -> str:
    return "".join(map(_character, map(ord, text)))


def _ends_a_word(tree: Any, end: int) -> bool:
    """Say whether what matches has a word character at an end, first or last, if it is ASCII."""
    if not len(tree):
        return False
    op, args = tree[end]
    if op is opcodes.LITERAL:
        return chr(args) not in _NO_WORD
    if op is opcodes.IN:
        return not re.search(_python_class(args), _NO_WORD)
    if op is opcodes.SUBPATTERN:
        return _ends_a_word(args[3], end)
    if op is opcodes.BRANCH:
        return all(_ends_a_word(branch, end) for branch in args[1])
    if op in (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT):
        return args[0] > 0 and _ends_a_word(args[2], end)
    return False


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
