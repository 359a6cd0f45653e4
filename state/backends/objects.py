"""Objects under keys: what a LangGraph store and a bucket have in common.

`StoreBackend` and `RemoteBackend` keep a file as one value under its path. What they know of their
store is in an `Objects`; what a file operation is, is written once over it (`object_reading`,
`object_writing`), for graphs that are invoked and for those that are awaited.

Paths are those of the backend: normal and absolute. A directory is there while a file is below it.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from langgraph_filesystem.state.errors import FilesystemError

__all__ = ("Blob", "Changed", "Entry", "Listing", "Objects", "Survey")


class Changed(Exception):
    """What was to be written is no more what it was: somebody else was faster."""


@dataclass(frozen=True)
class Entry:
    """A file, without what is in it."""

    path: str
    size: int
    modified_at: str | None = None
    version: Any = None
    """What tells this state of the file from others, if the time is not all that does."""


@dataclass(frozen=True)
class Blob:
    """A file with its bytes, or with a part of them."""

    content: bytes
    size: int
    """How many bytes the whole file has."""
    version: Any = None
    """How the store tells this state of the file from others; only it can read this."""
    created_at: str | None = None
    modified_at: str | None = None
    attributes: Any = None
    """What else the store keeps with it, such as a content type: an edit does not change it."""


@dataclass
class Listing:
    """Files and directories below a directory."""

    files: list[Entry] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)
    """Only of a list of what is directly below."""
    note: str | None = None
    """What was left out, and why."""
    whole: bool = True
    """Whether the list was not ended before its end."""


@dataclass(frozen=True)
class Survey:
    """What is at a path, and what keeps a file from being there."""

    is_file: bool = False
    is_directory: bool = False
    """Whether files are below it. Not looked at where a file is."""
    above: str | None = None
    """A file where a directory would have to be. Not looked at where a file is."""


class Objects(Protocol):
    """A store, as operations on files use it. Nothing here checks what lies above or below a path.

    Every method does what is slow through the `Io` that it was made with, so that one object works
    either for calls that block or for calls that are awaited.
    """

    @property
    def identity(self) -> Hashable:
        """What makes this place another than that of other objects: for locks of this process."""

    def check(self, path: str) -> None:
        """Raise for a path that can't be one of a file here."""

    async def info(self, path: str) -> Entry | None:
        """Return the size of a file, or `None` where there is none."""

    async def get(
        self, path: str, start: int = 0, length: int | None = None, same: Blob | None = None
    ) -> Blob | None:
        """Return bytes of a file, all of them if that is as cheap; `None` where there is none.

        Raises `Changed` if it is not the `same` state of the file any more.
        """

    async def get_many(self, paths: Sequence[str]) -> list[Blob | None]:
        """Return whole files."""

    async def create(self, path: str, content: bytes) -> None:
        """Write a file that is not there, or raise `Changed`."""

    async def update(self, path: str, content: bytes, old: Blob) -> None:
        """Write a file that is as it was, or raise `Changed`."""

    async def replace(self, contents: Mapping[str, bytes]) -> dict[str, FilesystemError]:
        """Write files, whatever is there; return why some of them could not be written."""

    async def create_each(self, contents: Mapping[str, bytes]) -> dict[str, FilesystemError]:
        """Write files where none are; return why some of them could not be written."""

    async def remove(self, paths: Sequence[str]) -> None:
        """Remove files; one that is gone already is no error."""

    async def remove_directory(self, path: str) -> bool:
        """Remove what is left of a directory without files; say whether it is gone."""

    async def rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Give files other paths where nothing is: all of them or, after an error, none."""

    async def children(self, directory: str) -> Listing:
        """Return what is directly below a directory."""

    async def below(self, directory: str, seconds: float | None = None) -> Listing:
        """Return every file below a directory, or as many as are found in the time."""

    async def is_directory(self, path: str) -> bool:
        """Say whether a file is below a path."""

    async def survey(self, paths: Sequence[str], message: str | None = None) -> list[Survey]:
        """Say what is at paths, before something is written there.

        For the parts of one message what costs much may be looked at once.
        """

    async def note_names(self, directory: str) -> list[str]:
        """Return the names of the notes of a journal."""

    async def note(self, directory: str, name: str) -> bytes | None:
        """Return a note of a journal."""

    async def put_note(self, directory: str, name: str, value: bytes) -> None:
        """Write a note of a journal."""

    async def remove_notes(self, directory: str, names: Sequence[str]) -> None:
        """Remove notes of a journal."""
