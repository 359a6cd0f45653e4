"""Glob patterns: which names and paths they match, decided once for every backend.

- `*` and `?` stay within one name, `**` crosses directories, `[ab]`, `[!ab]` and `{a,b}` work.
- A pattern without `/` matches names at any depth; one with `/` matches the path relative to the
  directory that is searched. A leading `/` anchors it there.
- Names that begin with a dot are matched like any other.

>>> match = compile_glob("src/**/*.{py,md}")
>>> match("src/a/b.py"), match("src/c.md"), match("d.py")
(True, True, False)
"""

import re
from collections.abc import Callable

from wcmatch import glob as wcglob

from langgraph_filesystem.state.errors import PatternRefused

__all__ = ("compile_glob",)

_FLAGS = wcglob.GLOBSTAR | wcglob.BRACE | wcglob.DOTGLOB | wcglob.FORCEUNIX
_MAX_LENGTH = 1_000
_MAX_ALTERNATIVES = 256
"""How many patterns the braces may stand for: a brace bomb is an error, not a hang."""
_MAX_GLOBSTARS = 4
"""Each `**` multiplies the ways a deep path can be split: with four, a path of 100 names takes
under 0.1 s in the worst case; with eight, minutes."""
_ONLY_STARS = re.compile(r"(?:\*\*/)+(?=\*\*(?:/|$))")


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a relative path matches the pattern."""
    anchored = pattern.startswith("/")
    pattern = _ONLY_STARS.sub("", pattern.strip("/") if anchored else pattern)
    _check(pattern)
    if "/" not in pattern and not anchored:
        pattern = pattern if pattern == "**" else f"**/{pattern}"
    try:
        matcher = wcglob.compile(pattern, flags=_FLAGS, limit=_MAX_ALTERNATIVES)
    except Exception as error:  # wcmatch and bracex each have errors of their own
        raise PatternRefused(f"Glob pattern {_shown(pattern)} is refused: {error}") from None
    return lambda path: bool(matcher.match(path))


def _check(pattern: str) -> None:
    if not pattern:
        raise PatternRefused("The glob pattern is empty. Use `**` for every file.")
    if len(pattern) > _MAX_LENGTH:
        raise PatternRefused(f"The glob pattern is longer than {_MAX_LENGTH} characters.")
    if "\0" in pattern:
        raise PatternRefused("The glob pattern has a NUL character.")
    if ".." in pattern.split("/"):
        raise PatternRefused(f"Glob pattern {_shown(pattern)} has a `..` part; use `path` instead.")
    if pattern.count("**") > _MAX_GLOBSTARS:
        raise PatternRefused(
            f"Glob pattern {_shown(pattern)} has more than {_MAX_GLOBSTARS} `**`. Use fewer."
        )


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else pattern[:100] + "...")
