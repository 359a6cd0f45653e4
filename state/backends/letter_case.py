"""Letters in whatever case, as Python's `re` sees them.

Engines differ in this beyond ASCII: to Python `i` is also the `i` without a dot and the `I` with
one, to others it is not. So nobody else is asked to ignore the case: what Python takes for the same
is spelled out.

>>> ascii(same_letters("s"))
"'Ss\\\\u017f'"
"""

import re
from functools import cache, lru_cache
from itertools import chain

__all__ = ("ignoring_case", "same_letters")

_PIECE = 256
_END = 0x1F000
"""Beyond it, no character has a case."""


@lru_cache(maxsize=1_024)
def same_letters(character: str) -> str:
    """Return the characters that are the same as one in whatever case, itself among them."""
    if character not in _cased():
        return character
    return "".join(_found(re.escape(character), re.IGNORECASE))


def ignoring_case(characters: str) -> tuple[str, str]:
    """Return what a class of characters takes in when the case is ignored, and what it loses.

    >>> ignoring_case("[^A-Y]")[1][:3]
    'abc'
    """
    plain, folded = set(_found(characters)), set(_found(characters, re.IGNORECASE))
    return "".join(sorted(folded - plain)), "".join(sorted(plain - folded))


def _found(characters: str, flags: int = 0) -> list[str]:
    return re.findall(characters, _cased(), flags)


@cache
def _cased() -> str:
    """Return all the characters that have a case."""
    pieces = (
        "".join(map(chr, range(start, start + _PIECE)))
        for start in chain(range(0, 0xD800, _PIECE), range(0xE000, _END, _PIECE))
    )
    # Most pieces have none: to look at them as a whole takes a tenth of the time.
    return "".join(c for piece in pieces if _has_case(piece) for c in piece if _has_case(c))


def _has_case(text: str) -> bool:
    return text.lower() != text or text.upper() != text
