"""`grep` on disk: which files of a tree are searched, by which engine, and what is left out.

- Every regular file below the path is searched, hidden or not, listed in an ignore file or not.
  Links are not followed; one that is the path itself is.
- Files with a NUL among their first 8,192 bytes are binary and skipped.
- Files over the size limit are left out and named in a note; one that the path names is searched
  whatever its size.

`rg` finds the files that may match, where it is installed and understands the pattern; else all
files are candidates. The lines are always found by `state/backends/search.py`, so they are the
same. They are sorted by path and number. When the time is up, the answer is what was found until
then, with a note.
"""

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from itertools import islice

from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.disk.left_out import LeftOut
from langgraph_filesystem.state.backends.disk.python_engine import (
    read_pieces,
    read_texts,
    show_bytes,
)
from langgraph_filesystem.state.backends.disk.ripgrep import (
    RipgrepFailed,
    find_candidates,
    find_ripgrep,
    understands,
)
from langgraph_filesystem.state.backends.disk.walk import SECONDS, can_name, search_start, walk
from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.protocol import GrepResult
from langgraph_filesystem.state.backends.search import Text, check_query, search_texts
from langgraph_filesystem.state.globs import Glob

__all__ = ("grep",)

_RIPGREP_SHARE = 0.75
"""How much of the time `rg` may use: the files that it finds are still to be searched."""
_FIRST_FILES = 200
"""Files that are searched before `rg` is asked, if few lines are wanted. Measured on 10,000 files
with a common text: 1 ms instead of 60."""


def grep(
    jail: Jail,
    query: Query,
    path: str | None = None,
    glob: str | None = None,
    *,
    max_file_size: int,
    time_limit: float = SECONDS,
    use_ripgrep: bool = True,
) -> GrepResult:
    """Search the files below a directory, or one file."""
    check_query(query)
    search = _Search(jail, query, search_start(jail, path), glob, max_file_size, time_limit)
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
        max_file_size: int,
        time_limit: float,
    ) -> None:
        self.path = path
        self._deadline = time.monotonic() + time_limit
        self.left_out = LeftOut(time_limit, max_file_size)
        self._jail = jail
        self._query = query
        self._glob = Glob(glob) if glob else None
        self._top = path.rstrip("/") + "/"

    def texts(self, handle: int, program: str | None) -> Iterator[Text]:
        """Return what to search: an open file, or the files below an open directory."""
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            name = self.path.rpartition("/")[2]
            if self._glob and not self._glob.matches(name):
                return iter(())
            return read_pieces(self.path, handle, self._query.context, self.left_out)
        return read_texts(self._jail, self._paths(handle, program), self.left_out)

    def _paths(self, handle: int, program: str | None) -> Iterator[str]:
        """Yield the files that may have lines that match, sorted."""
        paths = walk(self._jail, self.path, self._glob, self.left_out, self._deadline)
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
        """Say whether a path from the top leads through no file of ours."""
        directory = self.path
        if "/." not in self._top + name:
            return True
        for part in name.split("/"):
            if self._jail.hides(directory, part):
                return False
            directory = f"{directory.rstrip('/')}/{part}"
        return True
