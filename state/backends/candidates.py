"""Searching a tree with `rg`, and trusting it with nothing.

It searches by paths, which a directory that is swapped for a link could lead anywhere. So what it
says of a tree is a list of candidates. Each of them is opened from handle to handle, without a
link. Lines are matched again in the open file and read from there; a mere count is taken over only
if nothing on the way to the file has changed since before the search (`unchanged.py`).

A candidate may be too large by now, or always have been (`hints.py`): it is left out and noted.
"""

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from functools import partial

from langgraph_filesystem.state.backends.collected import Collected, Found, Search
from langgraph_filesystem.state.backends.contents import HEAD, is_binary, read_whole
from langgraph_filesystem.state.backends.dialect import Sure
from langgraph_filesystem.state.backends.excerpts import Hit
from langgraph_filesystem.state.backends.hints import hinted_files, slashed
from langgraph_filesystem.state.backends.ripgrep import Ripgrep
from langgraph_filesystem.state.backends.scanning import scan
from langgraph_filesystem.state.backends.trees import DIRECTORY, FILE, GONE, Walk, nameable
from langgraph_filesystem.state.backends.unchanged import Trail, now
from langgraph_filesystem.state.backtracking import Unfinished

__all__ = ("confirmed_files", "first_files")

_AT_ONCE = 200
"""Files that are open at a time: a process may have a thousand."""
_SMALL = 1 << 20
"""Bytes that Python searches for a regex in the time in which `rg` starts and opens them again."""
_GRACE = 5.0
"""Seconds to confirm what was found, when the time of the search is up."""


class _File:
    """A candidate: its path, and a handle of it if more must be known than how many lines match."""

    __slots__ = ("count", "handle", "path", "size")

    def __init__(self, path: str, handle: int, size: int, count: int = -1) -> None:
        self.path = path
        self.handle = handle
        self.size = size
        self.count = count

    def close(self) -> None:
        """Close it, if it is open."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)


def first_files(search: Search, rg: Ripgrep, collected: Collected) -> Generator[Found, None, None]:
    """Yield what is in the first files of the tree, without looking at the others."""
    jail = search.jail
    walk = Walk(jail, search.path, search.wanted, deadline=search.deadline, ordered=True)
    files: list[_File] = []
    with contextlib.closing(walk.batches()) as batches, _closed(files):
        for batch in batches:
            names = nameable(jail, batch.path, batch.names, walk.omissions.unnameable)
            room = _AT_ONCE - len(files)
            for name in names[:room]:
                path = batch.path + name
                with _noted(search, path):
                    file = _searched(search, path, os.open(name, FILE, dir_fd=batch.handle))
                    files += [file] if file else []
            # Of those that there is room for, some are not searched: behind the others is no gap.
            if len(names) > room or len(files) >= _AT_ONCE:
                break
        yield from _results(search, rg, collected, files)


def confirmed_files(
    search: Search, handle: int, rg: Ripgrep, collected: Collected
) -> Generator[Found, None, None]:
    """Yield what `rg` finds in a tree, in the order of the paths, and confirmed."""
    can_match = search.wanted is None or search.wanted.start
    top = _top(search, handle) if can_match else None
    if top is None:
        return
    start, since = slashed(search.path, *_fixed(search)), now()
    try:
        candidates = hinted_files(search, rg, top, start)
        rg = rg.until(max(search.deadline, time.monotonic()) + _GRACE)
        with contextlib.closing(Trail(top, since)) as trail:
            yield from _confirmed(search, rg, collected, trail, start, candidates)
    finally:
        os.close(top)


def _top(search: Search, handle: int) -> int | None:
    """Return a handle of the directory in which all that is wanted lies, or `None`."""
    top = os.dup(handle)
    for name in _fixed(search):
        try:
            below = os.open(name, DIRECTORY, dir_fd=top)
        except OSError as error:
            if error.errno == errno.EACCES:
                search.omissions.unreadable.add(slashed(search.path, *_fixed(search)))
            return None
        finally:
            os.close(top)
        top = below
    return top


def _fixed(search: Search) -> list[str]:
    return search.wanted.fixed if search.wanted else []


def _confirmed(
    search: Search,
    rg: Ripgrep,
    collected: Collected,
    trail: Trail,
    start: str,
    candidates: list[tuple[str, int]],
) -> Iterator[Found]:
    give_up = max(search.deadline, time.monotonic()) + _GRACE
    files: list[_File] = []
    lines, enough = 0, collected.wanted
    with _closed(files):
        for name, count in candidates:
            if time.monotonic() > give_up:
                search.omissions.is_late = True
                break
            above, _, last = name.rpartition("/")
            with _noted(search, start + name):
                directory = trail.directory(above)
                is_trusted = directory.is_unchanged and not collected.shows_lines
                handle = os.open(last, FILE, dir_fd=directory.handle)
                trust = rg.sure if is_trusted else "never"
                if file := _searched(search, start + name, handle, count, trust):
                    files.append(file)
                    lines += count
            if len(files) >= _AT_ONCE or lines >= enough:
                yield from _results(search, rg, collected, files)
                _close(files)
                lines, enough = 0, collected.wanted
        yield from _results(search, rg, collected, files)


def _searched(
    search: Search, path: str, handle: int, count: int = -1, trust: Sure = "never"
) -> _File | None:
    """Return an open file, unless it is one that is not searched.

    It is closed in that case, and if `count` lines match, as far as that is to be trusted: that is
    all that must be known then.
    """
    try:
        status = os.fstat(handle)
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            return None
        if size > search.max_file_size:
            search.omissions.large.add(path)
            search.sizes.forget(path)
            return None
        if is_binary(head := os.pread(handle, HEAD, 0)):
            return None
        if trust == "ascii" and (head if size < HEAD else read_whole(handle, size)).isascii():
            trust = "always"
        if trust == "always":
            return _File(path, -1, size, count)
        file, handle = _File(path, handle, size), -1
        return file
    finally:
        if handle >= 0:
            os.close(handle)


def _results(
    search: Search, rg: Ripgrep, collected: Collected, files: list[_File]
) -> Iterator[Found]:
    """Yield what is in open files, matched in these."""
    if not collected.shows_lines:
        late = _count(search, rg, [file for file in files if file.count < 0])
        yield from (Found(file.path, file.count) for file in files if file.count > 0)
        if late is not None:
            raise late
        return
    for file, hits in zip(files, _lines(search, rg, collected, files), strict=True):
        if hits:
            yield Found(file.path, len(hits), hits, partial(os.pread, file.handle))


def _count(search: Search, rg: Ripgrep, files: list[_File]) -> Unfinished | None:
    """Count the lines of each file; return why some could not be counted, if so."""
    counts: Iterable[int]
    if _is_quick(search, files):
        counts = (len(_hits(search, file)) for file in files)
    elif rg.sure == "always":
        counts = rg.counts_of([file.handle for file in files], search.omissions)
    else:
        counts = map(len, _sure_hits(search, rg, sys.maxsize, files))
    try:
        for file, count in zip(files, counts, strict=True):
            file.count = count
    except Unfinished as late:
        return late
    return None


def _lines(
    search: Search, rg: Ripgrep, collected: Collected, files: list[_File]
) -> Iterator[list[Hit]]:
    if _is_quick(search, files):
        return (_hits(search, file) for file in files)  # as they are wanted
    return _sure_hits(search, rg, collected.wanted, files)


def _is_quick(search: Search, files: list[_File]) -> bool:
    """Say whether Python has found all before a process has started."""
    if search.matcher.is_literal:
        return True
    return not search.matcher.is_risky and sum(file.size for file in files) <= _SMALL


def _sure_hits(search: Search, rg: Ripgrep, most: int, files: list[_File]) -> Iterator[list[Hit]]:
    """Yield what `rg` finds where it can be trusted, and what Python finds elsewhere.

    If the time is up before all is searched, that is raised behind what was found.
    """
    trusted = [file for file in files if _is_sure(rg, file)]
    found = rg.lines_of([file.handle for file in trusted], most, search.omissions)
    hits = dict(zip((file.path for file in trusted), found, strict=True))
    others = [file for file in files if file.path not in hits]
    contents = ((file.path, read_whole(file.handle, file.size)) for file in others)
    late, deadline = None, search.deadline
    try:
        # One by one: what was found stays when the time is up.
        hits.update((path, lines) for path, _, lines in scan(contents, search.matcher, deadline))
    except Unfinished as error:
        late = error
    yield from (hits.get(file.path, []) for file in files)
    if late is not None:
        raise late


def _is_sure(rg: Ripgrep, file: _File) -> bool:
    if rg.sure == "ascii":
        return read_whole(file.handle, file.size).isascii()
    return rg.sure == "always"


def _hits(search: Search, file: _File) -> list[Hit]:
    return search.matcher.hits(read_whole(file.handle, file.size))


class _noted:
    """Go on after a file that can't be opened, and note it, unless it is just gone.

    A class, as it is entered for each file: a generator takes four times as long.
    """

    __slots__ = ("_path", "_search")

    def __init__(self, search: Search, path: str) -> None:
        self._search = search
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, OSError) or error.errno in (errno.EMFILE, errno.ENFILE):
            return False
        if error.errno not in GONE:
            self._search.omissions.unreadable.add(self._path)
        return True


@contextlib.contextmanager
def _closed(files: list[_File]) -> Iterator[None]:
    try:
        yield
    finally:
        _close(files)


def _close(files: list[_File]) -> None:
    for file in files:
        file.close()
    files.clear()
