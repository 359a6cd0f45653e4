"""What a move has moved, in a form that a checkpoint can keep between its two steps."""

from typing import NamedTuple

__all__ = ("Moved",)


class Moved(NamedTuple):
    """How much was moved, and what the other place could not hold as it was.

    >>> Moved.read(Moved(3, empty=2).text).remarks
    ['2 empty directories were not kept: there are none at the destination.']
    """

    files: int | None
    """How many files; `None` for a directory of which it is not known."""
    empty: int = 0
    """Directories without files that are gone."""
    links: int = 0
    """Symbolic links that are now what they led to."""
    note: str | None = None
    """What else there is to say."""

    @property
    def text(self) -> str:
        """What to keep until the move comes again: numbers, never empty, without a space."""
        return f"{self.files or 0}/{self.empty}/{self.links}"

    @classmethod
    def read(cls, text: str) -> "Moved":
        """Return what was kept."""
        files, empty, links = (*map(int, text.split("/")), 0, 0)[:3]
        return cls(files, empty, links)

    @property
    def remarks(self) -> list[str]:
        """What the model is told beside the number of files."""
        told: list[str] = []
        if self.empty:
            were = (
                "1 empty directory was"
                if self.empty == 1
                else f"{self.empty:,} empty directories were"
            )
            told.append(f"{were} not kept: there are none at the destination.")
        if self.links:
            became = (
                "1 symbolic link is" if self.links == 1 else f"{self.links:,} symbolic links are"
            )
            told.append(f"{became} now what {'it' if self.links == 1 else 'they'} led to.")
        return [*told, self.note] if self.note else told
