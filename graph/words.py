r"""The words of a typed line, and the values that they stand for.

    count=5 "two words" '["a", "b"]' C:\new

A quoted part keeps its spaces. What a word becomes follows from the JSON schema it is meant for.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ("Unreadable", "Word", "split_words", "types_of", "value_of")

_QUOTED = r"""'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*\""""
_WORD = re.compile(rf"""((?:{_QUOTED}|[^ \t'"]+)+)[ \t]*""", re.DOTALL)
_QUOTE = re.compile(_QUOTED, re.DOTALL)
_ESCAPE = re.compile(r'\\([nt"\\])')
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}

_TYPE_NAMES: dict[type, set[str]] = {
    type(None): {"null"},
    bool: {"boolean"},
    int: {"integer", "number"},
    float: {"number"},
    list: {"array"},
    dict: {"object"},
}
# Measured: a message with arguments nested 300 deep can't be stored in a checkpoint, 250 can.
_DEEPEST = 100


class Unreadable(Exception):
    """A line that can't become a call, with the reason for the person who typed it."""


class Word(NamedTuple):
    """A word of a line without its quotes."""

    text: str
    bare: int
    """How many leading characters stood outside quotes: only these can be syntax."""


def split_words(line: str) -> Iterator[Word]:
    """Split as a shell does, but keep a backslash outside double quotes: it may be a path's."""
    place = 0
    while place < len(line):
        match = _WORD.match(line, place)
        if match is None:
            raise Unreadable(f"a quote `{line[place]}` is not closed.")
        raw, place = match[1], match.end()
        quote = _QUOTE.search(raw)
        yield Word(_QUOTE.sub(_unquoted, raw), quote.start() if quote else len(raw))


def value_of(word: Word, schema: Any) -> Any:
    """Return the value in the type that the schema asks for.

    What does not convert stays as it was typed: the graph's own validation explains it better.
    """
    types = types_of(schema)
    if types <= {"string"}:
        return word.text
    value = _parsed(word.text)
    # Where text is welcome, `5` and `true` are text, and so is a null in quotes.
    if "string" in types and isinstance(value, bool | int | float):
        return word.text
    if value is None and word.bare < len(word.text):
        return word.text
    return value if _TYPE_NAMES.get(type(value), set()) & types else word.text


def types_of(schema: Any) -> set[str]:
    """Return the names of the JSON types that a schema allows, through `anyOf` and its kin."""
    if not isinstance(schema, dict):
        return set()
    own = schema.get("type", ())
    types = {own} if isinstance(own, str) else set(own)
    for key in ("anyOf", "oneOf", "allOf"):
        types.update(*map(types_of, schema.get(key) or ()))
    return types


def _unquoted(match: re.Match[str]) -> str:
    inner = match[0][1:-1]
    return inner if match[0][0] == "'" else _ESCAPE.sub(lambda escape: _ESCAPES[escape[1]], inner)


def _parsed(text: str) -> Any:
    """Return the JSON value, or the text itself when it is none that a checkpoint can keep."""
    literal = text.lower() if text.lower() in ("true", "false") else text
    try:
        value = json.loads(literal, parse_int=_int64, parse_float=_finite, parse_constant=_finite)
        return value if _depth(value) <= _DEEPEST else text
    except (ValueError, RecursionError):
        return text


def _int64(digits: str) -> int:
    value = int(digits)
    if not -(2**63) <= value < 2**63:
        raise ValueError("msgpack has no such integer")
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    return value


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)
