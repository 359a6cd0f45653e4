"""What a search on disk left out, and the sentence that says so."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from langgraph_filesystem.state.text import Note, PathPart, join_notes

__all__ = ("Omissions", "Tally")


class Tally:
    """How many there were of something, with the names that come first in order."""

    def __init__(self, most: int = 3) -> None:
        self.count = 0
        self._first: list[str] = []
        self._most = most

    def add(self, name: str) -> None:
        """Count one more; a directory may end in `/` or not."""
        name = name.rstrip("/") or "/"
        if name in self._first:
            return
        self.count += 1
        insort(self._first, name)
        del self._first[self._most :]

    def __str__(self) -> str:
        return self.remark()

    def remark(self) -> Note:
        """Return the first names, and how many more there are."""
        more = self.count - len(self._first)
        shown = join_notes(", ", (Note(_readable(name)) for name in self._first))
        return Note(*(shown.parts if shown else ()), f" and {more:,} more" if more else "")


@dataclass
class Omissions:
    """Why a result is not whole."""

    unreadable: Tally = field(default_factory=Tally)
    unnameable: Tally = field(default_factory=Tally)
    """Names that are no text, or that stand for something else in a path."""
    large: Tally = field(default_factory=Tally)
    may_be_large: bool = False
    """Whether large files may have been left out that nobody has counted."""
    binary: str = ""
    """The file that was to be searched, and is binary."""
    is_late: bool = False
    late: str = ""
    """What to say of the time, where there is more to say than that it was up."""

    @property
    def has_all_sizes(self) -> bool:
        """Whether every file was looked at, and none was too large."""
        return not (self.large.count or self.may_be_large or self.is_late)

    def note(self, time_limit: float, max_file_size: int = 0) -> Note | None:
        """Return all there is to say, if there is anything."""
        return join_notes(" ", self._sentences(time_limit, max_file_size))

    def _sentences(self, time_limit: float, max_file_size: int) -> Iterator[str]:
        if self.late:
            yield self.late
        elif self.is_late:
            yield f"The search stopped after {time_limit:g} s; search a smaller directory."
        if self.binary:
            yield Note(_readable(self.binary), " is binary, and so was not searched.")
        if self.large.count or self.may_be_large:
            others = ", among others" if self.may_be_large else ""
            named = f"; left out{others}: " if self.large.count else ""
            yield Note(
                f"Files over {max_file_size:,} bytes are searched only when `path` names them",
                *(named, *self.large.remark().parts, "."),
            )
        if self.unreadable.count:
            yield Note("Left out, as it can't be read: ", *self.unreadable.remark().parts, ".")
        if self.unnameable.count:
            yield Note("Left out, as no path can name it: ", *self.unnameable.remark().parts, ".")


def _readable(name: str) -> PathPart:
    """A name may hold bytes that are no text, and be as long as a path can get."""
    shown = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return PathPart(shown if len(shown) <= 200 else f"{shown[:100]}...{shown[-80:]}")
