"""Changes as unified diffs, for people and programs."""

import difflib

__all__ = ("unified_diff",)

_MAX_DIFFED = 20_000
"""Characters on either side; diffing more takes longer than anybody reads."""


def unified_diff(path: str, old: str, new: str) -> str | None:
    """Return the diff of two texts, or `None` where it would be too long to make."""
    if len(old) > _MAX_DIFFED or len(new) > _MAX_DIFFED:
        return None
    lines = difflib.unified_diff(
        old.split("\n"), new.split("\n"), f"a{path}", f"b{path}", lineterm=""
    )
    return "\n".join(lines)
