"""What a move would take along: every file at or below a path, and what can't be taken.

A backend with `inventory(path)` tells it at once; of one without it a move goes through lists.
"""

from dataclasses import dataclass, field

from langgraph_filesystem.state.backends.protocol import FileInfo
from langgraph_filesystem.state.errors import FilesystemError

__all__ = ("Inventory", "NotMovable")


@dataclass
class Inventory:
    """Every file at or below a path."""

    error: str | None = None
    files: list[FileInfo] = field(default_factory=list)
    """With their sizes, and with what changes when one is changed."""
    count: int = 0
    """How many files, where they were only counted."""
    empty: int = 0
    """Directories with nothing in them: most mounts can't hold one."""
    links: int = 0
    """Files that are symbolic links: another mount gets what they lead to."""
    refused: tuple[str, str] | None = None
    """A path that can't be taken to another mount, and a message that names it."""


class NotMovable(FilesystemError):
    """An entry that another mount can't hold."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path
