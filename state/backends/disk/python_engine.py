"""Reading files on disk so that they can be searched as text.

Bytes that are not UTF-8 become lone surrogates on the way in, so that nothing is lost, and `\\xff`
on the way out. A file of a tree is read whole; one that the search names is read in pieces,
whatever its size, with memory for a few megabytes.
"""

import codecs
import os
import stat
from collections.abc import Iterable, Iterator

from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.disk.left_out import LeftOut
from langgraph_filesystem.state.backends.disk.read import read_whole
from langgraph_filesystem.state.backends.protocol import GrepResult
from langgraph_filesystem.state.backends.search import Text
from langgraph_filesystem.state.backends.text_files import HEAD, is_binary
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
)

__all__ = ("read_pieces", "read_texts", "show_bytes")

_BLOCK = 1 << 20
_LONGEST = 4 << 20
"""Characters of a line that is matched as a whole; a longer one is matched in pieces."""
_OVERLAP = 1 << 14
"""Characters that two such pieces share: more than a literal can have."""


def read_texts(jail: Jail, paths: Iterable[str], left_out: LeftOut) -> Iterator[Text]:
    """Yield the text files among some paths, and note why others are left out."""
    for path in paths:
        try:
            data = _read(jail, path, left_out)
        except (FileNotFound, NotDirectory, IsDirectory):
            continue  # it was deleted or replaced meanwhile
        except FilesystemError:
            left_out.unreadable.add(path)
            continue
        if not is_binary(data):
            yield Text(path, data.decode(errors="surrogateescape"))


def _read(jail: Jail, path: str, left_out: LeftOut) -> bytes:
    handle = jail.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            return b""
        if status.st_size > left_out.max_file_size:
            left_out.large.add(path)
            return b""
        return read_whole(handle, status.st_size)
    except OSError as error:
        raise jail.explain(path, error) from None
    finally:
        os.close(handle)


def read_pieces(path: str, handle: int, context: int, left_out: LeftOut) -> Iterator[Text]:
    """Yield an open file piece by piece, each with the lines around it that context may need."""
    if is_binary(os.pread(handle, HEAD, 0)):
        left_out.binary = path
        return
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    piece, offset = Text(path, ""), 0
    while block := os.pread(handle, _BLOCK, offset):
        offset += len(block)
        piece = piece._replace(text=piece.text + decoder.decode(block))
        lines = piece.text.count("\n")
        if lines - context > piece.start:
            piece = piece._replace(stop=lines - context)
            yield piece
            piece = _following(piece, lines, context)
        elif len(piece.text) > _LONGEST:
            yield piece._replace(stop=lines + 1)
            piece = _rest_of_line(piece, lines)
    yield piece._replace(text=piece.text + decoder.decode(b"", final=True))


def _following(piece: Text, lines: int, context: int) -> Text:
    """Return the beginning of the next piece: what was not searched, and the context before it."""
    first = max(0, piece.stop - context)
    at = len(piece.text)
    for _ in range(lines - first + 1):
        at = piece.text.rfind("\n", 0, at)
    return Text(
        piece.path,
        piece.text[at + 1 :],
        first_line=piece.first_line + first,
        start=piece.stop - first,
        column=0 if first else piece.column,
    )


def _rest_of_line(piece: Text, lines: int) -> Text:
    """Return the beginning of the next piece of a very long line, which is the last one."""
    before = piece.column if lines == 0 else -piece.text.rfind("\n") - 1
    column = before + len(piece.text) - _OVERLAP
    return Text(piece.path, piece.text[-_OVERLAP:], piece.first_line + lines, column=column)


def show_bytes(result: GrepResult) -> None:
    """Make bytes that are not UTF-8 visible in the lines of a result."""
    for match in result.matches or ():
        for line in (match, *match.get("context_before", ()), *match.get("context_after", ())):
            if not line["text"].isascii():
                data = line["text"].encode(errors="surrogateescape")
                line["text"] = data.decode(errors="backslashreplace")
