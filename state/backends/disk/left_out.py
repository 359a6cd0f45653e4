"""Files that a walk or a search on disk left out, and the note about them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from langgraph_filesystem.state.text import Note, PathPart, join_notes

__all__ = ("LeftOut", "Names")

_SHOWN = 3


class Names:
    """How many paths there were of a kind, and the first of them in order."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[str] = []

    def add(self, path: str) -> None:
        """Count one more path; the `/` at the end of a directory makes no difference."""
        path = path.rstrip("/") or "/"
        if path not in self._first:
            self.count += 1
            self._first = sorted([*self._first, path])[:_SHOWN]

    def parts(self) -> list[str]:
        """Return the parts of a note: the first paths, and how many more there are."""
        shown = join_notes(", ", (Note(_readable(path)) for path in self._first))
        more = self.count - len(self._first)
        return [*(shown.parts if shown else ()), f" and {more:,} more." if more else "."]


@dataclass
class LeftOut:
    """Why a result is incomplete."""

    time_limit: float
    max_file_size: int = 0
    is_late: bool = False
    """Whether the time was up before everything was looked at."""
    binary: str = ""
    """The file that was to be searched, and is binary."""
    large: Names = field(default_factory=Names)
    unreadable: Names = field(default_factory=Names)
    unnameable: Names = field(default_factory=Names)
    """Names that are not valid text, or that mean something else in a path."""

    def note(self, before: str | None = None) -> str | None:
        """Return the note, appended to another one; `None` if nothing was left out."""
        return join_notes(" ", [*([before] if before else []), *self._sentences(not before)])

    def _sentences(self, is_late: bool) -> Iterator[str]:
        if self.is_late and is_late:
            yield f"The search stopped after {self.time_limit:g} s; search a smaller directory."
        if self.binary:
            yield Note(_readable(self.binary), " is binary and was not searched.")
        if self.large.count:
            limit = f"Not searched, because larger than {self.max_file_size:,} bytes (search a "
            yield Note(limit, "large file by naming it as `path`): ", *self.large.parts())
        if self.unreadable.count:
            yield Note("Left out, because unreadable: ", *self.unreadable.parts())
        if self.unnameable.count:
            yield Note("Left out, because no path can name it: ", *self.unnameable.parts())


def _readable(path: str) -> PathPart:
    """Return a path as readable text: a name may have bytes that are not text, and be long."""
    shown = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return PathPart(shown if len(shown) <= 200 else f"{shown[:100]}...{shown[-80:]}")
