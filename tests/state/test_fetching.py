"""What files hold, from backends of every kind."""

from typing import Any

import pytest

from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.fetching import fetch
from langgraph_filesystem.state.io import Awaiting, Blocking
from tests.nodes.backends import Shelf


class ReadOnly:
    """Files that can only be read."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        if file_path == "/raw":
            return ReadResult(file_data={"content": "/w==", "encoding": "base64"})
        if file_path != "/a":
            return ReadResult(error="file_not_found")
        return ReadResult(file_data={"content": "".join("text\n" for _ in range(min(limit, 3000)))})


class InNameOnly(ReadOnly):
    """Has a method that it does not implement, as by inheritance."""

    def download_files(self, paths: list[str]) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("io", [Blocking(), Awaiting()])
async def test_files_are_downloaded(io: Any) -> None:
    found = await fetch(io, Shelf(a="x", b=b"\xff"), ["/b", "/gone", "/a"])
    assert found == [(b"\xff", None), (None, "file_not_found"), (b"x", None)]


@pytest.mark.parametrize("kind", [ReadOnly, InNameOnly])
@pytest.mark.parametrize("io", [Blocking(), Awaiting()])
async def test_what_can_not_be_downloaded_is_read_to_its_end(kind: Any, io: Any) -> None:
    found = await fetch(io, kind(), ["/a", "/raw", "/gone"])
    assert found == [(b"text\n" * 3000, None), (b"\xff", None), (None, "file_not_found")]


async def test_what_can_not_be_read_either_is_said_to_be_so() -> None:
    assert await fetch(Blocking(), object(), ["/a"]) == [(None, "the backend can't read")]
