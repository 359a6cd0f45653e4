"""Virtual paths: absolute, separated by `/`, without `..`.

>>> normalize_path("notes//./plan.md")
'/notes/plan.md'
>>> is_within("/notes/plan.md", "/notes")
True
"""

import re
from collections.abc import Iterable, Iterator

from langgraph_filesystem.state.errors import PathRefused

__all__ = ("ancestors", "is_within", "normalize_path", "overlaps")

MAX_NAME_BYTES = 255
"""The limit of ext4, APFS and NTFS."""
MAX_PATH_BYTES = 4096
"""`PATH_MAX` on Linux."""

_DRIVE = re.compile(r"[A-Za-z]:")
_PLAIN = re.compile(r"(?:/[A-Za-z0-9_\-][A-Za-z0-9_\-.]{0,63}){1,32}")
"""Matches most paths. They are normalized already, so the checks below can be skipped."""


def normalize_path(path: object, *, allowed_prefixes: Iterable[str] | None = None) -> str:
    """Return the normalized path, or raise `PathRefused`.

    `//`, `/./`, a trailing `/` and backslashes are normalized, and a relative path is below `/`.
    Errors: a `..` part, a leading `~`, a drive letter, NUL, surrogates and over-long names.
    """
    if not isinstance(path, str):
        raise PathRefused(path, "a path is text, such as `/notes/plan.md`.")
    normal = path if _PLAIN.fullmatch(path) else _normalize(path)
    if allowed_prefixes is not None:
        _check_prefix(path, normal, allowed_prefixes)
    return normal


def ancestors(path: str) -> Iterator[str]:
    """Yield the directories above the path, nearest first, without `/`."""
    path = path.rpartition("/")[0]
    while path:
        yield path
        path = path.rpartition("/")[0]


def is_within(path: str, directory: str) -> bool:
    """Say whether the path is the directory or below it."""
    return path == directory or path.startswith(directory if directory == "/" else directory + "/")


def overlaps(one: str, other: str) -> bool:
    """Say whether two paths are equal or one is above the other."""
    return is_within(one, other) or is_within(other, one)


def _normalize(path: str) -> str:
    if not path:
        raise PathRefused(path, "it is empty. Give an absolute path, such as `/notes/plan.md`.")
    if "\0" in path:
        raise PathRefused(path, "it has a NUL character.")
    if path[0] == "~":
        raise PathRefused(path, "`~` is not expanded. Give an absolute path.")
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    # The parts, not the text: `./C:/x` and `\\\\C:\\x` would be drives once they are normalized.
    if parts and _DRIVE.match(parts[0]):
        raise PathRefused(path, "there are no drive letters. Give a path that begins with `/`.")
    for part in parts:
        _check_name(path, part)
    normal = "/" + "/".join(parts)
    if len(normal.encode()) > MAX_PATH_BYTES:
        raise PathRefused(path, f"it is longer than {MAX_PATH_BYTES} bytes.")
    return normal


def _check_name(path: str, name: str) -> None:
    if name == "..":
        raise PathRefused(path, "it has a `..` part. Give the absolute path that you mean.")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise PathRefused(path, "it has characters that are not valid Unicode.") from None
    if size > MAX_NAME_BYTES:
        raise PathRefused(path, f"a name in it is longer than {MAX_NAME_BYTES} bytes.")


def _check_prefix(path: str, normal: str, allowed: Iterable[str]) -> None:
    prefixes = [normalize_path(prefix) for prefix in allowed]
    if not any(is_within(normal, prefix) for prefix in prefixes):
        raise PathRefused(path, f"only paths below {', '.join(prefixes)} are allowed.")
