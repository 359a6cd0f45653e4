"""Text and bytes: which files are text, and how text becomes bytes and back."""

import base64
import contextlib
import os

from langgraph_filesystem.state.errors import FilesystemError, FileTooLarge, NotText
from langgraph_filesystem.state.text import PathPart

__all__ = (
    "HEAD",
    "FileTooLarge",
    "decoded",
    "encoded",
    "is_binary",
    "is_text",
    "not_text",
    "not_text_of",
    "read_whole",
)

HEAD = 8192
"""A NUL among so many bytes at the beginning makes a file binary, as for `grep` and `git`."""
_CHUNK = 1 << 20


def read_whole(handle: int, size: int) -> bytes:
    """Return the content of a file that has about so many bytes."""
    first = os.pread(handle, size + 1, 0)
    if len(first) <= size and not os.pread(handle, 1, len(first)):
        return first
    pieces, at = [first], len(first)
    while piece := os.pread(handle, _CHUNK, at):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def is_binary(head: bytes) -> bool:
    """Say whether a file that begins like this is binary."""
    return b"\0" in head[:HEAD]


def is_text(content: bytes) -> bool:
    """Say whether bytes are text that can be read and edited."""
    try:
        decoded("", content)
    except NotText:
        return False
    return True


def not_text(path: str, head: bytes, size: int) -> NotText:
    """Return the error for a file that is not text, by how it begins."""
    return NotText(path, size, "binary content" if is_binary(head) else "text that is not UTF-8")


def not_text_of(path: str, base64_content: str) -> NotText:
    """Return the error for a file whose content is given as base64."""
    size = len(base64_content) * 3 // 4 - base64_content[-2:].count("=")
    return not_text(path, base64.b64decode(base64_content[: 4 * HEAD // 3 // 4 * 4]), size)


def decoded(path: str, content: bytes) -> str:
    """Return the text of a file that can be edited, with every character as it is."""
    with contextlib.suppress(UnicodeDecodeError):
        if not is_binary(content):
            return content.decode()
    raise not_text(path, content, len(content))


def encoded(path: str, text: str) -> bytes:
    """Return the bytes of a text to write."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise FilesystemError(
            PathPart(path),
            f": the text has a lone surrogate at character {error.start:,}, which can't be stored "
            "in a file. Write it without.",
        ) from None
