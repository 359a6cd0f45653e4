"""What `rg` says of a tree: which files may have lines that match, and how many.

It looks at everything, and what is ours or not wanted is left out of what it says.

Where no file was too large a short while ago (`sizes.py`), it looks at files of any size, in little
memory and for not much longer than it took then. If that is not enough, all is forgotten, and it
looks again.
"""

import contextlib
import os
import time
from collections.abc import Callable

from langgraph_filesystem.state.backends.child_output import CAN_BOUND_MEMORY
from langgraph_filesystem.state.backends.collected import Search
from langgraph_filesystem.state.backends.disk.jail import RESERVED, TEMPORARY
from langgraph_filesystem.state.backends.omissions import Omissions
from langgraph_filesystem.state.backends.ripgrep import Ripgrep, RipgrepFailed
from langgraph_filesystem.state.backends.trees import nameable
from langgraph_filesystem.state.globs import compile_glob

__all__ = ("hinted_files", "slashed")

_KEPT = 80_000
"""Files that are kept; of more, the first ones in the order of their paths."""
_MORE = 0.5
"""Seconds that a search may take beyond twice the time of another: a machine may be busy."""


def slashed(path: str, *names: str) -> str:
    """Return the path of a directory, with a `/` at its end."""
    return "/".join([path.rstrip("/"), *names, ""])


def hinted_files(search: Search, rg: Ripgrep, top: int, start: str) -> list[tuple[str, int]]:
    """Return the files with lines, as paths from the top, in order."""
    seconds = search.sizes.seconds(start) if CAN_BOUND_MEMORY else None
    if seconds is not None:
        until = min(search.deadline, time.monotonic() + 2 * seconds + _MORE)
        with contextlib.suppress(RipgrepFailed):
            found = _listed(search, rg.until(until), top, start, None)
            if not search.omissions.is_late or until == search.deadline:
                return found
        search.sizes.forget(start)
        search.omissions = Omissions()
    began = time.monotonic()
    found = _listed(search, rg, top, start, search.max_file_size)
    # What has just failed would only fail again.
    if seconds is None and not _names(search) and search.omissions.has_all_sizes:
        search.sizes.note(start, time.monotonic() - began)
    return found


def _listed(
    search: Search, rg: Ripgrep, top: int, start: str, max_file_size: int | None
) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    sees = _seeing(search, start)
    wants = _wanting(search, start, sees)
    names, omissions = _names(search), search.omissions
    for records in rg.counts_below(
        top, start, max_file_size, omissions, names=names, wants=wants, sees=sees
    ):
        known = {os.fsdecode(name): count for name, count in records}
        kept = list(filter(wants, known))
        kept = nameable(search.jail, start, kept, omissions.unnameable)
        found.update((name, known[name]) for name in kept)
        if len(found) > 2 * _KEPT:
            found = dict(sorted(found.items())[:_KEPT])
    return sorted(found.items())


def _names(search: Search) -> list[str]:
    return search.wanted.names if search.wanted else []


def _seeing(search: Search, start: str) -> Callable[[str], bool]:
    """Return what says of a path from the top whether it is none of ours, and leads through none.

    Each is first asked for a text that hardly any path has in it.
    """
    ours = slashed(search.jail.home, RESERVED)
    return lambda name: (
        not (
            (TEMPORARY in name and f"/{TEMPORARY}" in f"/{name}")
            or (RESERVED in name and f"{start}{name}/".startswith(ours))
        )
    )


def _wanting(search: Search, start: str, sees: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return what says of the path of a file from the top whether it is to be searched."""
    if search.glob is None:
        return sees
    matches, skip = compile_glob(search.glob), len(slashed(search.path))
    return lambda name: matches((start + name)[skip:]) and sees(name)
