"""What the operating system refuses, in words that name the virtual path and never the host's."""

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

__all__ = ("LeadsOutside", "SpecialFile", "explain", "explaining")


class LeadsOutside(PathRefused):
    """A link on the path leads out of the directory that is mounted."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            "a symbolic link on it leads out of the directory that is mounted here. "
            "Only what lies inside can be used; `ls` shows it.",
        )


class SpecialFile(FilesystemError):
    """A FIFO, a device or a socket: opening it could wait for ever."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path}: is a FIFO, a device or a socket, not a file. It can only be listed and "
            "deleted; choose another path."
        )


_REASONS = {
    errno.ENOSPC: "no space is left on the disk. The file is as it was; delete something first",
    errno.EDQUOT: "the disk quota is used up. The file is as it was; delete something first",
    errno.EFBIG: "it would get larger than the host allows. The file is as it was; write less",
    errno.EROFS: "the file system can only be read. Choose another path",
    errno.EMFILE: "too many files are open on the host. Try again later",
    errno.ENFILE: "too many files are open on the host. Try again later",
    errno.ETXTBSY: "it is a program that is running. Try again when it has ended",
    errno.EBUSY: "it is in use on the host. Try again later",
    errno.ENOTEMPTY: "something was put into it meanwhile. Try again",
    errno.ESTALE: "it was moved meanwhile. List it, then try again",
    errno.EXDEV: "it lies on another disk than its destination. Copy it, then delete it",
}


@contextlib.contextmanager
def explaining(path: str) -> Iterator[None]:
    """Raise an error of ours for what the system refuses."""
    try:
        yield
    except OSError as error:
        raise explain(path, error) from None


def explain(path: str, error: OSError) -> FilesystemError:
    """Return the error of ours that says what happened at a path."""
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
            return PathRefused(path, "it is longer than the host's file system allows.")
        case errno.EILSEQ | errno.EINVAL:
            return PathRefused(path, "the host's file system does not allow such a name.")
        case errno.ELOOP:
            return FilesystemError(
                f"{path}: its symbolic links go in a circle. Choose another path, or delete the "
                "link."
            )
    reason = _REASONS.get(error.errno or 0)
    if reason is None:
        reason = f"the host says {os.strerror(error.errno or errno.EIO)!r}. Try another path"
    return BackendFailed(f"{path}: {reason}.")
