"""`grep` on disk: which files of a tree are searched, by which engine, and what is left out.

- Every regular file below the path is searched, hidden or not, listed in an ignore file or not.
  Links are not followed; one that is the path itself is.
- Files with a NUL among their first 8,192 bytes are binary and skipped.
- Files over the size limit are left out and named in a note; one that the path names is searched
  whatever its size.

`rg` finds the files that may match, where it is installed and understands the pattern; else all
files are candidates. The lines are always found by `state/search.py`, so they are the same. They
are sorted by path and number. When the time is up, the answer is what was found until then, with a
note.
"""

import os
import stat
import time
from collections.abc import Iterator

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
from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.protocol import GrepResult
from langgraph_filesystem.state.globs import Glob
from langgraph_filesystem.state.search import Query, Text, check_query, search_texts

__all__ = ("grep",)

_GRACE = 2.0
"""Seconds to search the files that `rg` has found when the time is up."""


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
        seconds = max(search.deadline - time.monotonic(), _GRACE)
        result = search_texts(texts, query, min(seconds, time_limit))
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
        self.deadline = time.monotonic() + time_limit
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
        if program and understands(self._query):
            try:
                return iter(self._candidates(handle, program))
            except RipgrepFailed:
                pass  # Python needs more time, and nothing else
        return walk(self._jail, self.path, self._glob, self.left_out, self.deadline)

    def _candidates(self, handle: int, program: str) -> list[str]:
        limit, seconds = self.left_out.max_file_size, self.deadline - time.monotonic()
        found = find_candidates(program, self._query, handle, limit, seconds)
        self.left_out.is_late = found.is_late
        for name in found.unreadable:
            if self._is_visible(name):
                self.left_out.unreadable.add(self._top + name)
        for path in self._wanted(found.large):
            self.left_out.large.add(path)
        return list(self._wanted(found.names))

    def _wanted(self, names: list[str]) -> Iterator[str]:
        """Yield the paths of files that the search is about; note those that have none."""
        for name in names:
            if (self._glob is None or self._glob.matches(name)) and self._is_visible(name):
                if can_name(self._jail, self._top + name):
                    yield self._top + name
                else:
                    self.left_out.unnameable.add(self._top + name)

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
