"""`grep` on disk: which files of a tree are searched, by which engine, and what is left out.

- Every regular file below the path is searched, hidden or not, listed in an ignore file or not.
  Links are not followed; one that is the path itself is.
- Files with a NUL among their first 8,192 bytes are binary and skipped.
- Files over the size limit are left out and named in a note. One that the path names is searched
  whatever its size: it is read in pieces, with memory for a few megabytes.
- Bytes that are not UTF-8 are searched as lone surrogates and shown as `\\xff`.

`rg` finds the files that may match, where it is installed and understands the pattern; else all
files are candidates. The lines are always found by `state/backends/search.py`, so they are the
same. They are sorted by path and number. When the time is up, the answer is what was found until
then, with a note.
"""

import codecs
import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from itertools import islice

from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.disk.read import read_whole
from langgraph_filesystem.state.backends.disk.ripgrep import (
    RipgrepFailed,
    find_candidates,
    find_ripgrep,
    understands,
)
from langgraph_filesystem.state.backends.disk.walk import (
    SECONDS,
    LeftOut,
    can_name,
    search_start,
    walk,
)
from langgraph_filesystem.state.backends.file_store import Query, Skip
from langgraph_filesystem.state.backends.protocol import GrepResult
from langgraph_filesystem.state.backends.search import Text, check_query, search_texts
from langgraph_filesystem.state.backends.text_files import HEAD, is_binary
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
)
from langgraph_filesystem.state.globs import Glob

__all__ = ("grep", "show_bytes")

_RIPGREP_SHARE = 0.75
"""How much of the time `rg` may use: the files that it finds are still to be searched."""
_FIRST_FILES = 200
"""Files that are searched before `rg` is asked, if few lines are wanted. Measured on 10,000 files
with a common text: 1 ms instead of 60."""
_BLOCK = 1 << 20
_LONGEST = 4 << 20
"""Characters of a line that is matched as a whole; a longer one is matched in pieces."""
_OVERLAP = 1 << 14
"""Characters that two such pieces share: more than a literal can have."""


def grep(
    jail: Jail,
    query: Query,
    path: str | None = None,
    glob: str | None = None,
    *,
    max_file_size: int,
    skips: Skip | None = None,
    time_limit: float = SECONDS,
    use_ripgrep: bool = True,
) -> GrepResult:
    """Search the files below a directory, or one file."""
    check_query(query)
    start = search_start(jail, path)
    search = _Search(jail, query, start, glob, skips, max_file_size, time_limit)
    handle = jail.open(search.path, os.O_RDONLY)
    try:
        texts = search.texts(handle, find_ripgrep() if use_ripgrep else None)
        result = search_texts(texts, query, time_limit)
    except OSError as error:
        raise jail.explain(search.path, error) from None
    finally:
        os.close(handle)
    show_bytes(result)
    result.truncated = result.truncated or search.left_out.is_late
    result.note = search.left_out.note(result.note)
    return result


class _Search:
    """One search: where, until when, and what it left out."""

    def __init__(
        self,
        jail: Jail,
        query: Query,
        path: str,
        glob: str | None,
        skips: Skip | None,
        max_file_size: int,
        time_limit: float,
    ) -> None:
        self.path = path
        self._deadline = time.monotonic() + time_limit
        self.left_out = LeftOut(time_limit, max_file_size)
        self._jail = jail
        self._query = query
        self._glob = Glob(glob) if glob else None
        self._skips = skips
        self._top = path.rstrip("/") + "/"

    def texts(self, handle: int, program: str | None) -> Iterator[Text]:
        """Return what to search: an open file, or the files below an open directory."""
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            name = self.path.rpartition("/")[2]
            if self._glob and not self._glob.matches(name):
                return iter(())
            return _read_pieces(self.path, handle, self._query.context, self.left_out)
        return _read_texts(self._jail, self._paths(handle, program), self.left_out)

    def _paths(self, handle: int, program: str | None) -> Iterator[str]:
        """Yield the files that may have lines that match, sorted."""
        skips = self._skips
        paths = walk(self._jail, self.path, self._glob, self.left_out, self._deadline, skips=skips)
        last = ""
        if program and understands(self._query):
            if self._query.max_count is not None:
                for last in islice(paths, _FIRST_FILES):
                    yield last
            # Where `rg` fails, Python goes on with all files: it only needs more time.
            with contextlib.suppress(RipgrepFailed):
                paths = iter(self._candidates(handle, program, last))
        yield from paths

    def _candidates(self, handle: int, program: str, after: str) -> list[str]:
        seconds = _RIPGREP_SHARE * (self._deadline - time.monotonic())
        limit = self.left_out.max_file_size
        found = find_candidates(program, self._query, handle, limit, seconds)
        self.left_out.is_late = found.is_late
        for name in found.unreadable:
            if self._is_visible(name):
                self.left_out.unreadable.add(self._top + name)
        for path in self._wanted(found.large, after):
            self.left_out.large.add(path)
        return list(self._wanted(found.names, after))

    def _wanted(self, names: list[str], after: str) -> Iterator[str]:
        """Yield the paths of files that the search is about; note files that have no path."""
        for name in names:
            path = self._top + name
            is_match = self._glob is None or self._glob.matches(name)
            if is_match and path > after and self._is_visible(name):
                if can_name(self._jail, path):
                    yield path
                else:
                    self.left_out.unnameable.add(path)

    def _is_visible(self, name: str) -> bool:
        """Say whether a path from the top is not skipped, and leads through no file of ours."""
        directory = self.path
        if self._skips and self._skips(self._top + name):
            return False
        if "/." not in self._top + name:
            return True
        for part in name.split("/"):
            if self._jail.hides(directory, part):
                return False
            directory = f"{directory.rstrip('/')}/{part}"
        return True


def _read_texts(jail: Jail, paths: Iterable[str], left_out: LeftOut) -> Iterator[Text]:
    """Yield the text files among some paths, and note why others are left out."""
    for path in paths:
        try:
            data = _read_file(jail, path, left_out)
        except (FileNotFound, NotDirectory, IsDirectory):
            continue  # it was deleted or replaced meanwhile
        except FilesystemError:
            left_out.unreadable.add(path)
            continue
        if not is_binary(data):
            yield Text(path, data.decode(errors="surrogateescape"))


def _read_file(jail: Jail, path: str, left_out: LeftOut) -> bytes:
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


def _read_pieces(path: str, handle: int, context: int, left_out: LeftOut) -> Iterator[Text]:
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
