"""Searching a tree with `rg`, and trusting it with nothing.

It searches by paths, which a directory that is swapped for a link could lead anywhere. So what it
says of a tree is a list of candidates. Each of them is opened from handle to handle, without a
link. Lines are matched again in the open file and read from there; a mere count is taken over only
if nothing on the way to the file has changed since before the search (`unchanged.py`).
"""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial

from langgraph_filesystem.state.backends.collected import Collected, Found, Search
from langgraph_filesystem.state.backends.contents import HEAD, is_binary, read_whole
from langgraph_filesystem.state.backends.excerpts import Hit
from langgraph_filesystem.state.backends.jail import RESERVED, TEMPORARY
from langgraph_filesystem.state.backends.ripgrep import Ripgrep
from langgraph_filesystem.state.backends.trees import DIRECTORY, FILE, GONE, Walk, nameable
from langgraph_filesystem.state.backends.unchanged import Trail, now
from langgraph_filesystem.state.globs import compile_glob

__all__ = ("confirmed_files", "first_files")

_AT_ONCE = 200
"""Files that are open at a time: a process may have a thousand."""
_KEPT = 80_000
"""Candidates that are kept; of more, the first ones in the order of their paths."""
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
            for name in names[: _AT_ONCE - len(files)]:
                path = batch.path + name
                with _noted(search, path):
                    file = _searched(search, path, os.open(name, FILE, dir_fd=batch.handle))
                    files += [file] if file else []
            if len(files) >= _AT_ONCE:
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
    start, since = _below(search.path, *_fixed(search)), now()
    try:
        candidates = _candidates(search, rg, top, start)
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
                search.omissions.unreadable.add(_below(search.path, *_fixed(search)))
            return None
        finally:
            os.close(top)
        top = below
    return top


def _fixed(search: Search) -> list[str]:
    return search.wanted.fixed if search.wanted else []


def _below(path: str, *names: str) -> str:
    """Return the path of a directory, with a `/` at its end."""
    return "/".join([path.rstrip("/"), *names, ""])


def _candidates(search: Search, rg: Ripgrep, top: int, start: str) -> list[tuple[str, int]]:
    """Return the files with lines, as paths from the top, in order."""
    found: dict[str, int] = {}
    names = search.wanted.names if search.wanted else ()
    ours = _below(search.jail.home, RESERVED)
    hidden = [f"{TEMPORARY}*", *([f"/{RESERVED}"] if ours == _below(start, RESERVED) else [])]
    counts = rg.counts_below(
        top, start, search.max_file_size, search.omissions, names=names, hidden=hidden
    )
    is_wanted = _filter(search, start, ours)
    for records in counts:
        known = {os.fsdecode(name): count for name, count in records}
        kept = [name for name in known if is_wanted(start + name)] if is_wanted else list(known)
        kept = nameable(search.jail, start, kept, search.omissions.unnameable)
        found.update((name, known[name]) for name in kept)
        if len(found) > 2 * _KEPT:
            found = dict(sorted(found.items())[:_KEPT])
    return sorted(found.items())


def _filter(search: Search, start: str, ours: str) -> Callable[[str], bool] | None:
    """Return what says of a path whether it matches the pattern for files, and is none of ours."""
    if search.glob is None:
        return (lambda path: not path.startswith(ours)) if ours.startswith(start) else None
    matches, skip = compile_glob(search.glob), len(_below(search.path))
    return lambda path: matches(path[skip:]) and not path.startswith(ours)


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
                if file := _searched(search, start + name, handle, count if is_trusted else -1):
                    files.append(file)
                    lines += count
            if len(files) >= _AT_ONCE or lines >= enough:
                yield from _results(search, rg, collected, files)
                _close(files)
                lines, enough = 0, collected.wanted
        yield from _results(search, rg, collected, files)


def _searched(search: Search, path: str, handle: int, count: int = -1) -> _File | None:
    """Return an open file, unless it is one that is not searched.

    It is closed in that case, and if how many lines match is all that must be known.
    """
    try:
        size = -1
        if count < 0:
            status = os.fstat(handle)
            size = status.st_size
            if not stat.S_ISREG(status.st_mode) or size > search.max_file_size:
                return None
        if is_binary(os.pread(handle, HEAD, 0)):
            return None
        if count >= 0:
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
        _count(search, rg, [file for file in files if file.count < 0])
        yield from (Found(file.path, file.count) for file in files if file.count > 0)
        return
    for file, hits in zip(files, _lines(search, rg, collected, files), strict=True):
        if hits:
            yield Found(file.path, len(hits), hits, partial(os.pread, file.handle))


def _count(search: Search, rg: Ripgrep, files: list[_File]) -> None:
    if (found := _quick_hits(search, files)) is not None:
        for file, hits in zip(files, found, strict=True):
            file.count = len(hits)
    else:
        counts = rg.counts_of([file.handle for file in files], search.omissions)
        for file, count in zip(files, counts, strict=True):
            file.count = count


def _lines(
    search: Search, rg: Ripgrep, collected: Collected, files: list[_File]
) -> Iterator[list[Hit]]:
    if (found := _quick_hits(search, files)) is not None:
        return found
    handles = [file.handle for file in files]
    return iter(rg.lines_of(handles, collected.wanted, search.omissions))


def _quick_hits(search: Search, files: list[_File]) -> Iterator[list[Hit]] | None:
    """Return what Python finds, if it has that before a process has started.

    Of a regex, and of letters in whatever case, it and `rg` think alike only where all is ASCII.
    """
    matcher = search.matcher
    if matcher.is_literal or not files:
        return (_hits(search, file) for file in files)  # as they are wanted
    if matcher.is_risky or not matcher.query.pattern.isascii():
        return None
    if sum(file.size for file in files) > _SMALL:
        return None
    contents = [read_whole(file.handle, file.size) for file in files]
    return map(matcher.hits, contents) if all(map(bytes.isascii, contents)) else None


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
