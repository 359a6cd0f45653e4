"""One search on disk: what is asked, and what has been found, made into an answer."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from langgraph_filesystem.state.backends.excerpts import Hit, Read, match_of
from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.omissions import Omissions
from langgraph_filesystem.state.backends.protocol import GrepMatch, GrepResult
from langgraph_filesystem.state.backends.scanning import Matcher
from langgraph_filesystem.state.backends.sizes import Sizes
from langgraph_filesystem.state.globs import GlobWalk
from langgraph_filesystem.state.search import MAX_MATCHES

__all__ = ("Collected", "Found", "Search")

_MAX_FILES = 10_000
"""More files than fit into any answer."""
_MAX_TEXT = 4_000_000
"""Characters of all lines together: long ones, with many around them, would be gigabytes."""
_LOOKING = 2.0
"""Seconds to look for matches in lines of megabytes, in all of them together."""


@dataclass
class Search:
    """What to look for, where, and until when."""

    jail: Jail
    matcher: Matcher
    path: str
    glob: str | None
    wanted: GlobWalk | None
    """The same as `glob`, for a walk."""
    max_file_size: int
    deadline: float
    sizes: Sizes = field(default_factory=Sizes)
    omissions: Omissions = field(default_factory=Omissions)


@dataclass(frozen=True)
class Found:
    """A file with lines that match."""

    path: str
    count: int
    hits: Sequence[Hit] = ()
    """Where the lines are; only needed where they are shown."""
    read: Read | None = None
    """Reads the file, until the next one is asked for."""


class Collected:
    """The answer of a search, as it grows. Files are added in the order of their paths."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._query = matcher.query
        limit = self._query.max_count
        self._left = limit if limit is not None else sys.maxsize
        self._text = 0
        self._looking = _LOOKING
        self._matches: list[GrepMatch] = []
        self._counts: dict[str, int] = {}
        self.is_full = False

    @property
    def shows_lines(self) -> bool:
        """Whether lines are wanted, and not only how many there are."""
        return self._query.output_mode == "content"

    @property
    def wanted(self) -> int:
        """How many lines more make a difference."""
        room = MAX_MATCHES - len(self._matches) if self.shows_lines else sys.maxsize - 1
        return min(self._left, room) + 1

    def add(self, found: Found) -> bool:
        """Take in a file, and say whether more can be taken."""
        if self._left <= 0 or len(self._counts) >= _MAX_FILES:
            self.is_full = True
            return False
        taken = min(found.count, self._left)
        self._left -= taken
        self._counts[found.path] = taken
        self.is_full = found.count > taken
        if self.shows_lines:
            self._show(found, taken)
        return not self.is_full

    def result(self) -> GrepResult:
        """Return the answer."""
        return GrepResult(matches=self._matches, counts=self._counts, truncated=self.is_full)

    def _show(self, found: Found, taken: int) -> None:
        assert found.read is not None
        for hit in found.hits[:taken]:
            if len(self._matches) >= MAX_MATCHES or self._text >= _MAX_TEXT:
                self.is_full = True
                return
            match = self._match(found.path, hit, found.read)
            self._matches.append(match)
            self._text += _length(match)

    def _match(self, path: str, hit: Hit, read: Read) -> GrepMatch:
        locate, context = self._matcher.locate, self._query.context
        began = time.monotonic()
        match = match_of(path, hit, read, locate, context, began + self._looking)
        self._looking -= time.monotonic() - began
        return match


def _length(match: GrepMatch) -> int:
    beside = [*match.get("context_before", ()), *match.get("context_after", ())]
    return len(match["text"]) + sum(len(line["text"]) for line in beside)
