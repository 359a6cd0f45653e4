"""What the system refuses is told in our words, with the virtual path and never the host's."""

import errno
import os

import pytest

from langgraph_filesystem.state.backends.refusals import (
    LeadsOutside,
    SpecialFile,
    explain,
    explaining,
)
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
    PermissionDenied,
)


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOENT, FileNotFound, "no such file"),
        (errno.ENOTDIR, NotDirectory, "is a file"),
        (errno.EISDIR, IsDirectory, "is a directory"),
        (errno.EACCES, PermissionDenied, "permission denied"),
        (errno.EPERM, PermissionDenied, "permission denied"),
        (errno.ENXIO, SpecialFile, "FIFO"),
        (errno.ENAMETOOLONG, PathRefused, "longer than"),
        (errno.ELOOP, FilesystemError, "circle"),
        (errno.ENOSPC, FilesystemError, "no space is left"),
        (errno.EROFS, FilesystemError, "only be read"),
        (errno.EXDEV, FilesystemError, "another disk"),
        (errno.EIO, FilesystemError, os.strerror(errno.EIO)),
    ],
)
def test_every_reason_has_words(number: int, kind: type[FilesystemError], words: str) -> None:
    with pytest.raises(kind, match=words) as raised, explaining("/a/b"):
        raise OSError(number, "x", "/home/of/somebody")
    assert "/a/b" in str(raised.value)
    assert "somebody" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_an_error_without_a_number_is_one_too() -> None:
    assert "/a" in str(explain("/a", OSError("odd")))


def test_a_link_that_leads_outside_is_a_refused_path() -> None:
    assert issubclass(LeadsOutside, PathRefused)
    assert "'/a'" in str(LeadsOutside("/a"))
