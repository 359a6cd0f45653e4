"""Errors of the operating system, explained with the virtual path and never with the host's."""

import contextlib
import errno
import os
from collections.abc import Iterator

from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
    PermissionDenied,
)
from langgraph_filesystem.state.text import PathPart

__all__ = (
    "AttributeLost",
    "Busy",
    "LeadsOutside",
    "RefusedOnDisk",
    "SpecialFile",
    "explain",
    "explaining",
)


class RefusedOnDisk(PathRefused):
    """The path can't be used in this directory on disk."""

    def __init__(self, path: str, reason: str) -> None:
        FilesystemError.__init__(self, "Path ", PathPart(path), f" is not allowed: {reason}")


class LeadsOutside(RefusedOnDisk):
    """A link on the path leads out of the mounted directory."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            "a symbolic link on it leads out of the mounted directory. Use only files inside; "
            "`ls` shows them.",
        )


class SpecialFile(FilesystemError):
    """A FIFO, a device or a socket: opening it could block for ever."""

    def __init__(self, path: str) -> None:
        super().__init__(
            PathPart(path),
            ": is a FIFO, a device or a socket, not a file. It can only be listed and deleted; "
            "choose another path.",
        )


class Busy(OSError):
    """Another writer holds the entry for too long."""

    def __init__(self) -> None:
        super().__init__(errno.EBUSY, os.strerror(errno.EBUSY))


class AttributeLost(OSError):
    """The new file can't have an extended attribute, such as an access list, of the old one."""

    def __init__(self, attribute: str, reason: int | None) -> None:
        super().__init__(reason or errno.EIO, os.strerror(reason or errno.EIO))
        self.attribute = attribute


_REASONS = {
    errno.ENOSPC: "no space is left on the disk. The file is as it was; delete something first",
    errno.EDQUOT: "the disk quota is used up. The file is as it was; delete something first",
    errno.EFBIG: "it would get larger than the host allows. The file is as it was; write less",
    errno.EROFS: "the file system is read-only. Choose another path",
    errno.EMFILE: "too many files are open on the host. Try again later",
    errno.ENFILE: "too many files are open on the host. Try again later",
    errno.ETXTBSY: "it is a program that is running. Try again when it has ended",
    errno.EBUSY: "it is in use on the host. Try again later",
    errno.ENOTEMPTY: "something was put into it meanwhile. Try again",
    errno.ESTALE: "it was moved meanwhile. List it, then try again",
    errno.EXDEV: "it is on another disk than its destination. Copy it, then delete it",
    errno.ECANCELED: "the run was cancelled. Nothing was moved",
}


@contextlib.contextmanager
def explaining(path: str) -> Iterator[None]:
    """Raise a `FilesystemError` for an error of the system."""
    try:
        yield
    except OSError as error:
        raise explain(path, error) from None


def explain(path: str, error: OSError) -> FilesystemError:
    """Return the `FilesystemError` for an error of the system at a path."""
    if isinstance(error, AttributeLost):
        return BackendFailed(
            PathPart(path),
            f": was not changed, because its extended attribute {error.attribute!r} could not be "
            f"kept ({error.strerror}). Change it with a command, or write another file.",
        )
    match error.errno:
        case errno.ENOENT:
            return FileNotFound(path)
        case errno.ENOTDIR:
            return NotDirectory(path)
        case errno.EISDIR:
            return IsDirectory(path)
        case errno.EACCES | errno.EPERM:
            return PermissionDenied(path)
        case errno.ENXIO | errno.ENODEV | errno.EOPNOTSUPP:
            return SpecialFile(path)
        case errno.ENAMETOOLONG:
            return RefusedOnDisk(path, "it is longer than the host's file system allows.")
        case errno.EILSEQ | errno.EINVAL:
            return RefusedOnDisk(path, "the host's file system does not allow such a name.")
        case errno.ELOOP:
            return FilesystemError(
                PathPart(path),
                ": the symbolic links on this path go in a circle. Choose another path, or delete "
                "the link.",
            )
    reason = _REASONS.get(error.errno or 0)
    if reason is None:
        reason = f"the host reports {os.strerror(error.errno or errno.EIO)!r}. Try another path"
    return BackendFailed(PathPart(path), f": {reason}.")
