"""What an open file holds: its bytes, what kind they are, and a digest to know it again by."""

import base64
import contextlib
import hashlib
import os
from datetime import UTC, datetime
from functools import lru_cache

from langgraph_filesystem.state.errors import FilesystemError, NotText

__all__ = (
    "HEAD",
    "FileTooLarge",
    "decoded",
    "digest_of",
    "encoded",
    "is_binary",
    "is_text",
    "mark_of",
    "modified_at",
    "not_text",
    "not_text_of",
    "read_whole",
)

HEAD = 8192
"""A NUL among so many bytes at the beginning makes a file binary, as for `grep` and `git`."""
_CHUNK = 1 << 20


class FileTooLarge(FilesystemError):
    """A file is larger than what is taken into memory at once."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        super().__init__(
            f"{path}: has {size:,} bytes, more than the {limit:,} that are edited at once "
            "(`max_file_size_mb` of the backend). Write a smaller file, or change it with a "
            "program."
        )


def read_whole(handle: int, size: int) -> bytes:
    """Return what a file holds, about so many bytes."""
    first = os.pread(handle, size + 1, 0)
    if len(first) <= size and not os.pread(handle, 1, len(first)):
        return first
    pieces, at = [first], len(first)
    while piece := os.pread(handle, _CHUNK, at):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def is_binary(head: bytes) -> bool:
    """Say whether a file that begins so is binary."""
    return b"\0" in head[:HEAD]


def is_text(content: bytes) -> bool:
    """Say whether bytes are text, as we read it."""
    try:
        decoded("", content)
    except NotText:
        return False
    return True


def not_text(path: str, head: bytes, size: int) -> NotText:
    """Return the error for a file that begins so and is no text, with what it is instead."""
    return NotText(path, size, "binary content" if is_binary(head) else "text that is not UTF-8")


def not_text_of(path: str, base64_content: str) -> NotText:
    """Return the error for a file that came as base64."""
    size = len(base64_content) * 3 // 4 - base64_content[-2:].count("=")
    return not_text(path, base64.b64decode(base64_content[: 4 * HEAD // 3 // 4 * 4]), size)


def decoded(path: str, content: bytes) -> str:
    """Return the text of a file that can be edited, with every character as it is."""
    with contextlib.suppress(UnicodeDecodeError):
        if not is_binary(content):
            return content.decode()
    raise not_text(path, content, len(content))


def encoded(path: str, text: str) -> bytes:
    """Return the bytes of a text that shall be written."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise FilesystemError(
            f"{path}: the text has a lone surrogate at character {error.start:,}, which no file "
            "can hold. Write it without."
        ) from None


def digest_of(handle: int, limit: int) -> str:
    """Return a digest of what a file holds; of a file over the limit, of what the host says of it.

    The host's word for a large file is its place, size and time of change: a rename keeps it.
    """
    status = os.fstat(handle)
    if status.st_size > limit:
        return mark_of(status)
    digest, at = hashlib.sha256(), 0
    while piece := os.pread(handle, _CHUNK, at):
        digest.update(piece)
        at += len(piece)
    return digest.hexdigest()[:24]


def mark_of(status: os.stat_result) -> str:
    """Return what tells an entry from others without looking into it."""
    known = f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(known.encode()).hexdigest()[:24]


def modified_at(status: os.stat_result) -> str:
    """Return the time of the last change as the state writes it: ISO 8601, in UTC."""
    seconds, nanoseconds = divmod(status.st_mtime_ns, 1_000_000_000)
    return f"{_second(seconds)}.{nanoseconds // 1_000_000:03}+00:00"


@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return "1970-01-01T00:00:00"  # a time that no calendar has
