"""What can go wrong with files, in words that help a model to go on.

```
FilesystemError
├── PathRefused
├── FileNotFound
├── FileExists
├── IsDirectory
├── NotDirectory
├── PermissionDenied
├── NotText
├── OffsetPastEnd
├── ColumnPastEnd
├── TextNotFound
├── TextNotUnique
├── NotRead
├── PatternRefused
├── Unsupported
├── BackendFailed
├── InvalidCall
└── InvalidFiles (a ValueError too: the caller of the graph sees it)
```

Every message names the path as the model knows it, the reason and the next step. The graph turns
each of these into an error reply; none of them ends a run.
"""

__all__ = (
    "BackendFailed",
    "ColumnPastEnd",
    "FileExists",
    "FileNotFound",
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
    """Something a model can be told and can act on."""


class PathRefused(FilesystemError):
    """The path is not one that this filesystem will ever hold."""

    def __init__(self, path: object, reason: str) -> None:
        shown = path if isinstance(path, str) else repr(path)
        super().__init__(f"Path {_short(shown)} is refused: {reason}")


class FileNotFound(FilesystemError):
    """Nothing is at the path."""

    def __init__(self, path: str, hint: str = "") -> None:
        super().__init__(f"{path}: no such file or directory. {hint or _LOOK}")


class FileExists(FilesystemError):
    """Something is at the path already."""

    def __init__(self, path: str, hint: str) -> None:
        super().__init__(f"{path}: the file exists already. {hint}")


class IsDirectory(FilesystemError):
    """A file was meant, and a directory is there."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: is a directory, not a file. List it with `ls`.")


class NotDirectory(FilesystemError):
    """A directory was meant, and a file is there."""

    def __init__(self, path: str, file: str | None = None) -> None:
        super().__init__(
            f"{path}: {file or path} is a file, not a directory. Read it with `read_file`, "
            "or choose another path."
        )


class PermissionDenied(FilesystemError):
    """The host does not let this process do it."""

    def __init__(self, path: str, what: str = "it") -> None:
        super().__init__(
            f"{path}: permission denied, the host does not allow {what}. Choose another path, "
            "or ask for the permission."
        )


class NotText(FilesystemError):
    """The bytes are not text that can be shown or edited."""

    def __init__(self, path: str, size: int, why: str = "binary content") -> None:
        super().__init__(
            f"{path}: {why} ({size:,} bytes), which can't be read or edited as text. "
            "It can be moved, deleted or replaced as a whole."
        )


class OffsetPastEnd(FilesystemError):
    """A page was asked for that begins behind the end of the file."""

    def __init__(self, path: str, offset: int, total: int) -> None:
        super().__init__(
            f"{path}: offset {offset} is past the end, the file has {total:,} lines. "
            f"Use an offset below {total}."
        )


class ColumnPastEnd(FilesystemError):
    """A page was asked for that begins behind the end of its first line."""

    def __init__(self, path: str, line: int, length: int, column: int) -> None:
        super().__init__(
            f"{path}: line {line} has {length:,} characters, so column {column} is past its end."
        )


class TextNotFound(FilesystemError):
    """The text to replace is not in the file."""


class TextNotUnique(FilesystemError):
    """The text to replace stands in the file more than once."""


class NotRead(FilesystemError):
    """The file would be changed without knowing what is in it now."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}. Read it with `read_file`, then try again.")


class PatternRefused(FilesystemError):
    """A pattern is malformed, or would take too long to match."""


class Unsupported(FilesystemError):
    """The backend behind the path can't do this."""


class BackendFailed(FilesystemError):
    """The backend raised something of its own."""


class InvalidCall(FilesystemError):
    """A tool call that can't be carried out as it was written."""


class InvalidFiles(FilesystemError, ValueError):
    """A value for the `files` channel that is not files."""


_LOOK = "Look for it with `ls` or `glob`."


def _short(text: str) -> str:
    """A path may be a megabyte of nonsense: show enough of it to know which one it was."""
    shown = repr(text[:200])
    return shown if len(text) <= 200 else f"{shown}... ({len(text):,} characters)"
