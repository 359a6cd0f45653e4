"""What files of any backend hold, as bytes."""

import contextlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from langgraph_filesystem.state.files import file_bytes
from langgraph_filesystem.state.io import Io

__all__ = ("Fetched", "fetch")


class Fetched(NamedTuple):
    """The bytes of one file, or why there are none."""

    content: bytes | None
    problem: str | None


async def fetch(io: Io, backend: Any, paths: Sequence[str]) -> list[Fetched]:
    """Return what files hold: downloaded, or read where nothing can be downloaded."""
    if callable(getattr(backend, "download_files", None)):
        # How others say that a method is there in name only.
        with contextlib.suppress(NotImplementedError):
            answers = await io.call(backend, "download_files", list(paths))
            return [Fetched(answer.content, answer.error) for answer in answers]
    return [await _read(io, backend, path) for path in paths]


async def _read(io: Io, backend: Any, path: str) -> Fetched:
    if not callable(getattr(backend, "read", None)):
        return Fetched(None, "the backend can't read")
    page = await io.call(backend, "read", path, 0, sys.maxsize)
    file = getattr(page, "file_data", None)
    if file is None:
        return Fetched(None, getattr(page, "error", None))
    return Fetched(file_bytes(file), None)
