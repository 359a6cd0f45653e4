"""The protocol of backends: the methods that a mount calls, and the results that they return.

The protocol is structural, with the method and field names of `deepagents` backends: any object
with these methods can be mounted. A method reports a failure in the `error` of its result. Optional
keywords (`overwrite`, `regex`, `max_count`, `timeout`, ...) are passed only to a method that takes
them.

A backend that changes something outside the state may take `once` in the methods that do so: the
key of the call. It notes the change under this key before it makes it, and after a crash
`recall(once)` returns what is known of the call.

Paths are absolute within the backend: `/` is its own root, wherever it is mounted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, Protocol, TypeAlias, runtime_checkable

from typing_extensions import TypedDict

from langgraph_filesystem.state.files import FileData, FileEdit

__all__ = (
    "Backend",
    "BackendFactory",
    "CommandBackend",
    "ContextLine",
    "DeleteResult",
    "EditResult",
    "ExecuteResponse",
    "FileDownloadResponse",
    "FileInfo",
    "FileUploadResponse",
    "FilesUpdate",
    "GlobResult",
    "GrepMatch",
    "GrepResult",
    "LsResult",
    "MoveResult",
    "Outcome",
    "OutputMode",
    "ReadResult",
    "WriteResult",
)

FilesUpdate: TypeAlias = Mapping[str, FileData | FileEdit | None]
"""What a backend asks the graph to write to the `files` channel; it can't write there itself."""
OutputMode: TypeAlias = Literal["files_with_matches", "content", "count"]


class FileInfo(TypedDict):
    """One entry of a directory or one match of a glob."""

    path: str
    is_dir: NotRequired[bool]
    is_link: NotRequired[bool]
    """Whether it is a symbolic link, which `is_dir` has followed."""
    size: NotRequired[int]
    modified_at: NotRequired[str]


class ContextLine(TypedDict):
    """A line beside a match."""

    line: int
    text: str


class GrepMatch(TypedDict):
    """One line that matches, numbered from 1."""

    path: str
    line: int
    text: str
    context_before: NotRequired[list[ContextLine]]
    context_after: NotRequired[list[ContextLine]]


@dataclass
class LsResult:
    """The entries of a directory, in any order."""

    error: str | None = None
    entries: list[FileInfo] | None = None
    note: str | None = None
    """Why the list is incomplete, if it is."""


@dataclass
class ReadResult:
    """Lines of a file, unchanged and without numbers.

    A backend that takes `column` skips that many characters of the first line. One that takes
    `max_characters` returns at most that many, and may stop within a line.
    """

    error: str | None = None
    file_data: FileData | None = None
    total_lines: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    next_offset: int | None = None
    """How many lines to skip for the next page; `None` at the end of the file."""
    next_column: int | None = None
    """How many characters of that line to skip, where the page stopped within it."""
    no_lines_requested: bool = False
    """Whether no line was requested, so that the file was not read; used by `deepagents`."""


@dataclass
class WriteResult:
    """A file that was written."""

    error: str | None = None
    path: str | None = None
    files_update: FilesUpdate | None = None


@dataclass
class EditResult:
    """A file that was edited, and in how many places."""

    error: str | None = None
    path: str | None = None
    occurrences: int | None = None
    files_update: FilesUpdate | None = None
    first_line: int | None = None
    """Number of the line in which the first replacement begins, from 1."""


@dataclass
class DeleteResult:
    """A file, or everything below a directory, that was deleted."""

    error: str | None = None
    path: str | None = None
    files_update: FilesUpdate | None = None


@dataclass
class MoveResult:
    """A file or a directory that was moved."""

    error: str | None = None
    path: str | None = None
    files_update: FilesUpdate | None = None
    files: int | None = None
    """How many files were moved, if that is known."""
    note: str | None = None
    """What could not be kept at the destination, if anything."""


@dataclass
class GlobResult:
    """The files that match, in any order."""

    error: str | None = None
    matches: list[FileInfo] | None = None
    truncated: bool = False
    note: str | None = None
    """Why the result is incomplete, if it is."""
    other_links: Sequence[str] = ()
    """Links that match and lead to no file here: in an overlay they may lead to one."""
    truncation_reason: str | None = None
    """The reason as a keyword: `budget`, `unreadable` or `transport`; used by `deepagents`."""


@dataclass
class GrepResult:
    """The lines that match, or how many lines match in each file."""

    error: str | None = None
    matches: list[GrepMatch] | None = None
    truncated: bool = False
    counts: dict[str, int] | None = None
    """Path to number of matching lines; only from a backend that was asked for an `output_mode`."""
    note: str | None = None
    """Why the result is incomplete, if it is."""


@dataclass
class FileDownloadResponse:
    """The bytes of one file, or the error."""

    path: str
    content: bytes | None = None
    error: str | None = None


@dataclass
class FileUploadResponse:
    """Whether one file was stored."""

    path: str
    error: str | None = None
    files_update: FilesUpdate | None = field(default=None)


@dataclass
class ExecuteResponse:
    """What a command printed and how it ended."""

    output: str
    exit_code: int | None = None
    truncated: bool = False
    signal: str | None = None
    """Name of the signal that ended it, such as `SIGSEGV`; then there is no exit code."""
    timed_out: bool = False
    """Whether it was stopped by its timeout."""
    timeout: float | None = None
    """The seconds after which it timed out, if it did."""


@dataclass
class Outcome:
    """What a backend knows of a call that it may have carried out before a crash."""

    finished: bool
    """Whether the effect is complete; otherwise it may have happened, completely or in part."""
    occurrences: int | None = None
    """Of an edit: in how many places."""
    response: ExecuteResponse | None = None
    """Of a command that ended: what it printed."""


@runtime_checkable
class Backend(Protocol):
    """A place for files."""

    def ls(self, path: str) -> Any: ...

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any: ...

    def write(self, file_path: str, content: str) -> Any: ...

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> Any: ...

    def glob(self, pattern: str, path: str | None = None) -> Any: ...

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None) -> Any: ...


@runtime_checkable
class CommandBackend(Backend, Protocol):
    """A place for files where commands can run."""

    @property
    def id(self) -> str: ...

    def execute(self, command: str) -> Any: ...


BackendFactory: TypeAlias = Callable[[Any], Backend]
"""A function of the runtime of a node, called whenever a node runs."""
