"""Glob patterns: which names and paths they match, decided once for every backend.

- `*` and `?` stay within one name, `**` crosses directories, `[ab]`, `[!ab]` and `{a,b}` work.
- A pattern without `/` matches names at any depth; one with `/` matches the path relative to the
  directory that is searched. A leading `/` anchors it there.
- Names that begin with a dot are matched like any other.

>>> glob = Glob("src/**/*.{py,md}")
>>> glob.matches("src/a/b.py"), glob.matches("src/c.md"), glob.matches("d.py")
(True, True, False)

A pattern is matched name by name. The names between two `**` are matched at the first place where
they fit, so the time is at most proportional to the names of a path times the names of the pattern.
One regex for the whole path would try a path of 100 names in millions of ways for four `**`.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import bracex  # a part of wcmatch, whose own expansion of braces is not public
from wcmatch import glob as wcglob

from langgraph_filesystem.state.errors import PatternRefused

__all__ = ("Glob", "compile_glob")

_FLAGS = wcglob.DOTGLOB | wcglob.FORCEUNIX
_MAX_LENGTH = 1_000
_MAX_ALTERNATIVES = 256
"""How many patterns the braces may expand to: more would take too long."""
_MAX_DOUBLE_STARS = 32
"""How many `**` a pattern may have."""

_PLAIN = re.compile(r"[\w. -]+")
"""A pattern without special characters."""

NameTest = Callable[[str], object]


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a relative path matches the pattern."""
    return Glob(pattern).matches


class Glob:
    """A pattern. Paths are relative to the directory that is searched."""

    def __init__(self, pattern: str) -> None:
        self._alternatives = _alternatives(pattern)
        tests = [_path_test(parts) for parts in self._alternatives]
        self.matches: Callable[[str], bool] = (
            tests[0] if len(tests) == 1 else lambda path: any(test(path) for test in tests)
        )
        """Whether the path of a file matches."""

    def may_match_below(self, directory: str) -> bool:
        """Say whether the pattern may match files somewhere below a directory."""
        names = directory.split("/") if directory else []
        return any(_may_match_below(parts, names) for parts in self._alternatives)


def _may_match_below(parts: Sequence[str], directories: Sequence[str]) -> bool:
    for place, name in enumerate(directories):
        if place >= len(parts) - 1:
            return False
        if parts[place] == "**":
            return True
        if not _name_test(parts[place])(name):
            return False
    return bool(parts)


def _alternatives(pattern: str) -> list[list[str]]:
    """Return the parts of each pattern that the braces expand to."""
    _check(pattern)
    anywhere = "/" not in pattern
    try:
        expanded = bracex.expand(pattern, keep_escapes=True, limit=_MAX_ALTERNATIVES)
        found = [_parts(one, anywhere) for one in dict.fromkeys(expanded)]
        for name in {part for parts in found for part in parts}:
            _name_test(name)
    except (bracex.ExpansionLimitException, re.error, RecursionError, ValueError) as error:
        raise PatternRefused(f"Glob pattern {_shown(pattern)} is invalid: {error}.") from None
    if max(parts.count("**") for parts in found) > _MAX_DOUBLE_STARS:
        raise PatternRefused(
            f"Glob pattern {_shown(pattern)} is invalid: it has more than {_MAX_DOUBLE_STARS} "
            "`**`. Use one: it matches any number of directories."
        )
    return [parts for parts in found if parts] or [[]]


def _check(pattern: str) -> None:
    if not pattern.strip("/"):
        raise PatternRefused("The glob pattern is empty. Use `**` for every file.")
    if len(pattern) > _MAX_LENGTH:
        raise PatternRefused(f"The glob pattern is longer than {_MAX_LENGTH} characters.")
    if "\0" in pattern:
        raise PatternRefused("The glob pattern has a NUL character.")
    if ".." in pattern.split("/"):
        raise PatternRefused(f"Glob pattern {_shown(pattern)} has a `..` part; use `path` instead.")


def _parts(pattern: str, anywhere: bool) -> list[str]:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if not parts or (pattern.endswith("/") and parts[-1] != "**"):
        return []  # it matches directories, and only files are searched for
    if parts[-1] == "**":
        parts.append("*")  # `src/**` matches everything below `src`, but not `src` itself
    return ["**", *parts] if anywhere else parts


def _path_test(parts: Sequence[str]) -> Callable[[str], bool]:
    if not parts:
        return lambda path: False
    blocks: list[list[NameTest]] = [[]]
    for part in parts:
        if part == "**":
            blocks.append([])
        else:
            blocks[-1].append(_name_test(part))
    if not blocks[0] and len(blocks) == 2 and len(blocks[1]) == 1:
        # The pattern of most searches: only the name counts. Measured: 15 times as fast.
        [only] = blocks[1]
        return lambda path: bool(only(path.rpartition("/")[2]))
    return lambda path: _match_blocks(blocks, path.split("/"))


@lru_cache(maxsize=1_024)
def _name_test(pattern: str) -> NameTest:
    if suffix := _suffix(pattern):
        return lambda name: name.endswith(suffix)
    if _PLAIN.fullmatch(pattern):
        return pattern.__eq__
    [regex], _ = wcglob.translate(pattern, flags=_FLAGS)
    return re.compile(regex).fullmatch


def _suffix(pattern: str) -> str | None:
    """Return the suffix if the pattern is `*` and a suffix."""
    return pattern[1:] if pattern[:1] == "*" and _PLAIN.fullmatch(pattern, 1) else None


def _match_blocks(blocks: Sequence[Sequence[NameTest]], names: Sequence[str]) -> bool:
    """Say whether names match blocks of patterns, with any number of names between two blocks."""
    head, tail = blocks[0], blocks[-1]
    if len(blocks) == 1:
        return len(names) == len(head) and _matches_at(head, names, 0)
    if len(names) < sum(map(len, blocks)):
        return False
    at, end = len(head), len(names) - len(tail)
    if not _matches_at(tail, names, end) or not _matches_at(head, names, 0):
        return False
    for block in blocks[1:-1]:
        last = end - len(block)
        while at <= last and not _matches_at(block, names, at):
            at += 1
        if at > last:
            return False
        at += len(block)
    return True


def _matches_at(block: Sequence[NameTest], names: Sequence[str], at: int) -> bool:
    return all(test(names[place]) for place, test in enumerate(block, at))


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else pattern[:100] + "...")
