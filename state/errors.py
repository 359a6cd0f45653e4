"""Errors of the filesystem, with messages that tell a model what to do next.

```
FilesystemError
├── PathRefused
├── FileNotFound
├── FileExists
├── IsDirectory
├── NotDirectory
├── PermissionDenied
│   └── DeniedByRule
├── NotText
├── FileTooLarge
├── OffsetPastEnd
├── ColumnPastEnd
├── TextNotFound
├── TextNotUnique
├── NotRead
├── FileChanged
├── PatternRefused
├── Unsupported
├── BackendFailed
├── CommandStarted
├── InvalidCall
└── InvalidFiles (a ValueError too: the caller of the graph sees it)
```

Every message names the path, the reason and the next step. The graph turns each of these into an
error reply; none of them ends a run.
"""

from copy import copy
from typing import Any, Self

from langgraph_filesystem.state.text import Note, PathPart, Rename

__all__ = (
    "BackendFailed",
    "ColumnPastEnd",
    "CommandStarted",
    "DeniedByRule",
    "FileChanged",
    "FileExists",
    "FileNotFound",
    "FileTooLarge",
    "FilesystemError",
    "InvalidCall",
    "InvalidFiles",
    "IsDirectory",
    "NotDirectory",
    "NotRead",
    "NotText",
    "OffsetPastEnd",
    "PathRefused",
    "PatternRefused",
    "PermissionDenied",
    "TextNotFound",
    "TextNotUnique",
    "Unsupported",
)


class FilesystemError(Exception):
    """An error that is reported to the model, which can react to it.

    The message is given in parts. A path in it is a `PathPart`, so that it can be renamed for a
    reader who knows the file by another path: `FilesystemError(PathPart(path), ": is the root.")`.
    """

    def __init__(self, *parts: str) -> None:
        super().__init__(*parts)
        self.message = Note(*parts)

    def __str__(self) -> str:
        """Return the message."""
        return self.message

    def renamed(self, rename: Rename) -> Self:
        """Return the same error with other names for its paths."""
        error = copy(self)
        error.message = self.message.renamed(rename)
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle without `__init__`, whose arguments differ from class to class."""
        return _restored, (type(self), self.message)


class PathRefused(FilesystemError):
    """The path is not valid in any filesystem of this package."""

    _refused: tuple[str, str] | None = None
    """The path and the reason. The path is shown quoted, so that the message can't mark it."""

    def __init__(self, path: object, reason: str) -> None:
        shown = path if isinstance(path, str) else repr(path)
        super().__init__(f"Path {_shortened(shown)} is invalid: {reason}")
        self._refused = shown, reason

    def renamed(self, rename: Rename) -> Self:
        """Return the same error with another name for its path."""
        error = super().renamed(rename)
        if self._refused is not None:
            path, reason = self._refused
            error.message = PathRefused(rename(path), reason).message
            error._refused = rename(path), reason
        return error


class FileNotFound(FilesystemError):
    """Nothing is at the path."""

    def __init__(self, path: str, hint: str = "") -> None:
        look = hint or "Look for it with `ls` or `glob`."
        super().__init__(PathPart(path), f": no such file or directory. {look}")


class FileExists(FilesystemError):
    """Something is at the path already."""

    def __init__(self, path: str, hint: str = "Choose another path.") -> None:
        super().__init__(PathPart(path), f": the file exists already. {hint}")


class IsDirectory(FilesystemError):
    """A file was expected, and a directory is there."""

    def __init__(self, path: str) -> None:
        super().__init__(PathPart(path), ": is a directory, not a file. List it with `ls`.")


class NotDirectory(FilesystemError):
    """A directory was expected, and a file is there."""

    def __init__(self, path: str, file: str | None = None) -> None:
        super().__init__(
            PathPart(path),
            ": ",
            PathPart(file or path),
            " is a file, not a directory. Read it with `read_file`, or choose another path.",
        )


class PermissionDenied(FilesystemError):
    """The host does not allow it."""

    def __init__(self, path: str, what: str = "this") -> None:
        super().__init__(
            PathPart(path),
            f": permission denied, the host does not allow {what}. Choose another path, or ask "
            "for permission.",
        )


class DeniedByRule(PermissionDenied):
    """A rule of the agent does not allow it. The message does not say whether anything exists."""

    def __init__(self, path: str, reason: str) -> None:
        FilesystemError.__init__(
            self, PathPart(path), f": {reason} Choose another path, or ask for permission."
        )


class NotText(FilesystemError):
    """The content is not text, so it can't be shown or edited."""

    def __init__(self, path: str, size: int, why: str = "binary content") -> None:
        super().__init__(
            PathPart(path),
            f": {why} ({size:,} bytes), which can't be read or edited as text. "
            "It can be moved, deleted or replaced as a whole.",
        )


class FileTooLarge(FilesystemError):
    """A file is larger than its backend reads or writes at once."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        super().__init__(
            PathPart(path),
            f": has {size:,} bytes, more than the limit of {limit:,} (`max_file_size_mb` of the "
            "backend). Split it into smaller files, or change it with a command.",
        )


class OffsetPastEnd(FilesystemError):
    """The page begins after the end of the file."""

    def __init__(self, path: str, offset: int, total: int) -> None:
        super().__init__(
            PathPart(path),
            f": offset {offset} is past the end, the file has {total:,} lines. "
            f"Use an offset below {total}.",
        )


class ColumnPastEnd(FilesystemError):
    """The page begins after the end of its first line."""

    def __init__(self, path: str, line: int, length: int, column: int) -> None:
        super().__init__(
            PathPart(path),
            f": line {line} has {length:,} character{'' if length == 1 else 's'}, "
            f"so column {column} is past its end.",
        )


class TextNotFound(FilesystemError):
    """The text to replace is not in the file."""


class TextNotUnique(FilesystemError):
    """The text to replace occurs in the file more than once."""


class NotRead(FilesystemError):
    """The file would be changed by an agent that does not know its current content."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(PathPart(path), f": {reason}. Read it with `read_file`, then try again.")


class FileChanged(FilesystemError):
    """A file is not what a change of it was based on."""

    def __init__(self, path: str) -> None:
        super().__init__(PathPart(path), ": has changed since, so it was left as it is.")


class PatternRefused(FilesystemError):
    """A pattern is malformed, or would take too long to match."""


class Unsupported(FilesystemError):
    """The backend behind the path can't do this."""


class BackendFailed(FilesystemError):
    """The backend failed for a reason that no other class describes."""


class CommandStarted(FilesystemError):
    """A command was started before a crash, and nobody knows how far it got."""

    def __init__(self) -> None:
        super().__init__(
            "This command was started before the run was interrupted. It may have finished, or "
            "done a part of its work, so it was not run again. Check what it did, then decide."
        )


class InvalidCall(FilesystemError):
    """The tool call is malformed, or its arguments are invalid."""


class InvalidFiles(FilesystemError, ValueError):
    """The value can't be written to the `files` channel."""


def _restored(kind: type[FilesystemError], message: Note) -> FilesystemError:
    error = kind.__new__(kind)
    FilesystemError.__init__(error, *message.parts)
    return error


def _shortened(text: str) -> str:
    """Return enough of a text to recognise it: a path may be a megabyte of nonsense."""
    shown = repr(text[:200])
    return shown if len(text) <= 200 else f"{shown}... ({len(text):,} characters)"
