"""`Objects`: what a LangGraph store, a bucket and a remote filesystem have in common.

They keep a file as one value under its path. `ObjectStore` (`backend.py`) implements the file
operations with such values; an `Objects` knows one kind of store.

A directory exists as long as there is a file below it. Methods are `async` and written for sync and
async runs at once, see `state/io.py`.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from langgraph_filesystem.state.errors import FilesystemError, IsDirectory, NotDirectory
from langgraph_filesystem.state.paths import ancestors

__all__ = ("Blob", "Changed", "Entry", "Listing", "Objects", "Survey")


class Changed(Exception):
    """Another writer was faster: the object has changed, or exists already."""


@dataclass(frozen=True)
class Entry:
    """A file without its content."""

    path: str
    size: int
    modified_at: str | None = None
    version: Any = None
    """Differs between two states of a file; only the store can read it."""


@dataclass(frozen=True)
class Blob:
    """A file with its content, or with a part of it."""

    content: bytes
    size: int
    """Bytes of the whole file."""
    version: Any = None
    """Differs between two states of a file; only the store can read it."""
    created_at: str | None = None
    modified_at: str | None = None
    attributes: Any = None
    """What else the store keeps with a file, such as its content type. An edit keeps it."""


@dataclass
class Listing:
    """Files and directories below a directory."""

    files: list[Entry] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)
    """Only in the list of what is directly below a directory."""
    note: str | None = None
    """What was left out, and why."""
    complete: bool = True
    """Whether the list went to its end."""


@dataclass(frozen=True)
class Survey:
    """What is at some paths and above them, before files are written there."""

    files: set[str]
    """The paths, and paths above them, at which there are files."""
    directories: set[str]
    """The paths at which there are directories."""

    def has_file(self, path: str) -> bool:
        """Say whether there is a file at a path; raise if there can't be one."""
        if path in self.files:
            return True
        if path in self.directories or path == "/":
            raise IsDirectory(path)
        for above in ancestors(path):
            if above in self.files:
                raise NotDirectory(path, above)
        return False

    def add(self, path: str) -> None:
        """Add a file that is about to be written."""
        self.files.add(path)
        self.directories.update(ancestors(path))


class Objects(Protocol):
    """One store of objects. Nothing here checks what is above or below a path."""

    @property
    def identity(self) -> Hashable:
        """Identifies the store, for the locks of this process."""

    def check(self, path: str) -> None:
        """Raise for a path that can't hold a file here."""

    def notes(self, scope: str) -> "Objects":
        """Return the place where the journal keeps its notes, apart from the files."""

    async def info(self, path: str) -> Entry | None:
        """Return a file without its content, or `None` if there is none."""

    async def get(
        self, path: str, start: int = 0, length: int | None = None, same: Blob | None = None
    ) -> Blob | None:
        """Return bytes of a file, perhaps more than requested; `None` if there is no file.

        Raises `Changed` if the file is in another state than `same`.
        """

    async def get_many(self, paths: Sequence[str]) -> list[Blob | FilesystemError | None]:
        """Return whole files, or why one can't be read."""

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        """Write a file that is still the `old` one, or raise `Changed`."""

    async def put_many(
        self, contents: Mapping[str, bytes], *, overwrite: bool
    ) -> dict[str, FilesystemError]:
        """Write files; return why some were not. Without `overwrite` an old one is `FileExists`."""

    async def remove(self, paths: Sequence[str]) -> None:
        """Remove files; one that is gone already is no error."""

    async def remove_directory(self, path: str) -> bool:
        """Remove what is left of a directory without files; say whether it is gone."""

    async def rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Move files to where nothing is: all of them or, after an error, none."""

    async def children(self, directory: str) -> Listing:
        """Return what is directly below a directory."""

    async def below(self, directory: str, seconds: float | None = None) -> Listing:
        """Return every file below a directory, or as many as are found in that time."""

    async def is_directory(self, path: str) -> bool:
        """Say whether a file is below a path."""

    async def survey(self, paths: Sequence[str]) -> Survey:
        """Say what is at paths before files are written there."""
