"""The content of a file from one handle to another, a piece at a time; holes stay holes."""

import errno
import os
from collections.abc import Iterator

__all__ = ("Stopped", "pieces", "write_at")

_PIECE = 1 << 20
_SEEK_DATA: int | None = getattr(os, "SEEK_DATA", None)
_SEEK_HOLE: int = getattr(os, "SEEK_HOLE", 0)


class Stopped(OSError):
    """Whoever asked for a copy does not want it any more."""

    def __init__(self) -> None:
        super().__init__(errno.ECANCELED, os.strerror(errno.ECANCELED))


def pieces(handle: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield what a file of a size holds: where, and what; not the zeros that nobody has written."""
    for start, end in _ranges(handle, size):
        at = start
        while at < end and (piece := os.pread(handle, min(_PIECE, end - at), at)):
            yield at, piece
            at += len(piece)


def write_at(handle: int, at: int, piece: bytes) -> None:
    """Write all of a piece."""
    rest = memoryview(piece)
    while rest:
        written = os.pwrite(handle, rest, at)
        rest, at = rest[written:], at + written


def _ranges(handle: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield where a file has been written."""
    at = 0
    while at < size:
        try:
            start = at if _SEEK_DATA is None else os.lseek(handle, at, _SEEK_DATA)
            end = size if _SEEK_DATA is None else os.lseek(handle, start, _SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # the rest is a hole
                return
            if error.errno != errno.EINVAL:
                raise
            start, end = at, size  # the file system does not know
        yield start, min(end, size)
        at = end
