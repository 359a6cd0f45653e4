"""`grep` on disk, by one of two engines that give the same results.

What is searched, by `rg` and by Python alike:

- Every regular file below the path, hidden or not, listed in an ignore file or not. Links are not
  followed; one that is the path itself is. FIFOs, devices and sockets are never opened.
- Lines of bytes, that end at `\\n`. A literal is looked for in the bytes. A regex, in the language
  of Python's `re`, and letters in whatever case, are looked for in the text; bytes in it that are
  not UTF-8 match nothing.
- Not files with a NUL among their first 8,192 bytes: they are binary. A later NUL is a character.
- Not files over the size limit, of which a note tells; but the one that the path names, whatever
  its size, in little memory. Of a file that has grown over the limit in the last five minutes, and
  has nothing in it to be found, the note may not tell yet (`sizes.py`).

Results are sorted by path and line, and the first ones are returned when there are too many. When
the time is up there is what was found until then, and a note.
"""

import contextlib
import os
import stat
import sys
import time
from collections.abc import Generator
from functools import partial
from itertools import islice
from typing import Literal, TypeAlias

from langgraph_filesystem.state.backends.candidates import confirmed_files, first_files
from langgraph_filesystem.state.backends.collected import Collected, Found, Search
from langgraph_filesystem.state.backends.contents import HEAD, is_binary
from langgraph_filesystem.state.backends.excerpts import Hit
from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.omissions import Omissions
from langgraph_filesystem.state.backends.protocol import GrepResult
from langgraph_filesystem.state.backends.ripgrep import Ripgrep, RipgrepFailed, find_ripgrep
from langgraph_filesystem.state.backends.scanning import (
    Matcher,
    is_ascii,
    scan,
    stream_hits,
    tree_files,
)
from langgraph_filesystem.state.backends.sizes import Sizes
from langgraph_filesystem.state.backends.trees import SECONDS, Walk, nameable
from langgraph_filesystem.state.backtracking import Unfinished
from langgraph_filesystem.state.errors import Unsupported
from langgraph_filesystem.state.globs import GlobWalk, compile_glob
from langgraph_filesystem.state.search import Query

__all__ = ("Engine", "grep")

Engine: TypeAlias = Literal["rg", "python"]

_SMALL = 1 << 20
"""Bytes of a single file that Python has searched before `rg` has started."""
_FEW = 1_000
"""Lines that may well be found in the first files: then the others are not looked at."""


def grep(
    jail: Jail,
    query: Query,
    path: str = "/",
    glob: str | None = None,
    *,
    max_file_size: int,
    time_limit: float = SECONDS,
    engine: Engine | None = None,
    sizes: Sizes | None = None,
) -> GrepResult:
    """Search the files below a directory, or one file; an `engine` is chosen unless it is given.

    What one search sees of `sizes` makes the next one faster.
    """
    wanted = GlobWalk(glob) if glob else None
    search = Search(
        jail,
        Matcher(query),
        jail.normal(path),
        glob,
        wanted,
        max_file_size,
        deadline=time.monotonic() + time_limit,
        sizes=sizes or Sizes(),
    )
    handle = jail.open(search.path, os.O_RDONLY)
    try:
        collected = _collected(search, handle, engine)
    except OSError as error:
        raise jail.explain(search.path, error) from None
    finally:
        os.close(handle)
    result, omissions = collected.result(), search.omissions
    result.truncated = result.truncated or omissions.is_late
    result.note = omissions.note(time_limit, max_file_size)
    return result


def _collected(search: Search, handle: int, engine: Engine | None) -> Collected:
    status = os.fstat(handle)
    is_tree = stat.S_ISDIR(status.st_mode)
    if not is_tree and not _is_searched(search, handle):
        return Collected(search.matcher)
    program = _program(engine)
    is_quick = not is_tree and status.st_size <= _SMALL and not search.matcher.is_risky
    if program and (engine or not is_quick):
        try:
            rg = Ripgrep(program, search.matcher, search.deadline)
            return _by_ripgrep(search, handle, rg, is_tree)
        except RipgrepFailed:
            search.omissions = Omissions()
    return _by_python(search, handle, is_tree)


def _program(engine: Engine | None) -> str | None:
    if engine == "python":
        return None
    program = find_ripgrep()
    if engine and program is None:
        raise Unsupported("There is no `rg`: pip install 'langgraph-filesystem[search]'.")
    return program


def _is_searched(search: Search, handle: int) -> bool:
    """Say whether a file that the path names is searched; note it if it is binary."""
    name = search.path.rpartition("/")[2]
    if search.glob and not compile_glob(search.glob)(name):
        return False
    if is_binary(os.pread(handle, HEAD, 0)):
        search.omissions.binary = search.path
        return False
    return True


def _by_ripgrep(search: Search, handle: int, rg: Ripgrep, is_tree: bool) -> Collected:
    collected = Collected(search.matcher)
    if not is_tree:
        if not _is_sure(rg, search, handle):
            return _by_python(search, handle, is_tree)
        return _filled(search, collected, _file_by_ripgrep(search, handle, rg, collected))
    limit = search.matcher.query.max_count
    if limit is not None and limit <= _FEW:
        _filled(search, collected, first_files(search, rg, collected))
        if collected.is_full:
            return collected
        collected, search.omissions = Collected(search.matcher), Omissions()
    return _filled(search, collected, confirmed_files(search, handle, rg, collected))


def _by_python(search: Search, handle: int, is_tree: bool) -> Collected:
    collected = Collected(search.matcher)
    if is_tree:
        return _filled(search, collected, _tree_by_python(search))
    return _filled(search, collected, _file_by_python(search, handle, collected))


def _filled(search: Search, collected: Collected, files: Generator[Found, None, None]) -> Collected:
    """Collect files until there are enough, or no more."""
    with contextlib.closing(files):
        try:
            for found in files:
                if not collected.add(found):
                    break
        except Unfinished as unfinished:
            search.omissions.is_late = True
            search.omissions.late = str(unfinished)
    return collected


def _is_sure(rg: Ripgrep, search: Search, handle: int) -> bool:
    """Say whether `rg` finds in an open file what Python finds."""
    return rg.sure == "always" or (rg.sure == "ascii" and is_ascii(handle, search.deadline))


def _file_by_ripgrep(
    search: Search, handle: int, rg: Ripgrep, collected: Collected
) -> Generator[Found, None, None]:
    if collected.shows_lines:
        [hits] = rg.lines_of([handle], collected.wanted, search.omissions)
        count = len(hits)
    else:
        hits, [count] = [], rg.counts_of([handle], search.omissions)
    if count:
        yield Found(search.path, count, hits, partial(os.pread, handle))


def _file_by_python(
    search: Search, handle: int, collected: Collected
) -> Generator[Found, None, None]:
    found = stream_hits(handle, search.path, search.matcher, search.deadline, search.omissions)
    found = islice(found, min(collected.wanted, sys.maxsize))
    hits: list[Hit] = []
    count = 0
    for hit in found:
        count += 1
        if collected.shows_lines:
            hits.append(hit)
    if count:
        yield Found(search.path, count, hits, partial(os.pread, handle))


def _tree_by_python(search: Search) -> Generator[Found, None, None]:
    jail, omissions = search.jail, search.omissions
    walk = Walk(
        jail,
        search.path,
        search.wanted,
        deadline=search.deadline,
        ordered=True,
        omissions=omissions,
    )
    files = tree_files(walk, search.max_file_size, search.deadline)
    for path, data, hits in scan(files, search.matcher, search.deadline):
        if nameable(jail, "", [path], omissions.unnameable):
            yield Found(path, len(hits), hits, partial(_read, data))


def _read(data: bytes, size: int, offset: int) -> bytes:
    return data[offset : offset + size]
