"""Remarks on a result that name paths, and can name them as they are called somewhere else.

A backend knows its files by paths of its own. Where it is mounted they have others, and what it
says of them must use those.

>>> remark = Remark("Left out: ", Named("/big.bin"), ".")
>>> remark.under("/site")
'Left out: /site/big.bin.'
"""

import re
from collections.abc import Iterable

__all__ = ("Named", "Remark", "joined", "naming", "separated")


class Named(str):
    """A path in a remark."""

    __slots__ = ()


class Remark(str):
    """A text that knows which of its parts are paths; to those who don't ask, just a text."""

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> "Remark":
        """Put the parts together."""
        made = super().__new__(cls, "".join(parts))
        made.parts = parts
        return made

    def under(self, prefix: str) -> "Remark":
        """Say the same with paths that begin with a prefix."""
        return Remark(
            *(_under(prefix, part) if isinstance(part, Named) else part for part in self.parts)
        )


def joined(separator: str, remarks: Iterable[str]) -> Remark | None:
    """Return several remarks as one, or `None` for none."""
    parts: list[str] = []
    for remark in remarks:
        parts += [separator] if parts else []
        parts += _parts(remark)
    return Remark(*parts) if parts else None


def separated(separator: str, remark: str) -> list[Remark]:
    """Return the remarks of which one was made with this separator."""
    found: list[list[str]] = [[]]
    for part in _parts(remark):
        if part == separator:
            found.append([])
        else:
            found[-1].append(part)
    return [Remark(*parts) for parts in found]


def naming(path: str, text: str) -> Remark:
    """Return a text of somebody else's as a remark that names a path wherever that stands in it."""
    no_more = r"(?![\w/.-])" if path == "/" else r"(?![\w-])"
    pieces = re.split(rf"(?<![\w/.-])({re.escape(path)}){no_more}", text)
    return Remark(*(Named(piece) if piece == path else piece for piece in pieces))


def _under(prefix: str, path: str) -> Named:
    return Named((prefix.rstrip("/") + path).rstrip("/") or "/")


def _parts(remark: str) -> tuple[str, ...]:
    return remark.parts if isinstance(remark, Remark) else (remark,)
