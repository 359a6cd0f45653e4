"""Reading files on disk: pages, whatever the size, and what is not text as it is."""

import base64
import os
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.protocol import ReadResult
from tests.state.backends.disk.places import RESOLVERS, Place, open_handles, unprivileged


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=RESOLVERS)
def backend(place: Place, request: pytest.FixtureRequest) -> Iterator[FilesystemBackend]:
    backend = FilesystemBackend(place.root, resolver=request.param, max_file_size_mb=2)
    before = open_handles()
    yield backend
    assert open_handles() <= before
    backend.close()


def content(result: ReadResult) -> str:
    assert result.error is None
    assert result.file_data is not None
    return result.file_data["content"]


def test_every_character_is_as_it_is(backend: FilesystemBackend, place: Place) -> None:
    text = "\ufeffa\r\nb\rc\nd\u2028e\x0bf\x0cg\x1ch\x85i\n\n\ttab\nno newline"
    (place.root / "file").write_bytes(text.encode())
    assert content(backend.read("/file")) == text
    assert backend.read("/file").total_lines == 6


def test_a_page_says_where_the_next_one_begins(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "file").write_text("".join(f"line {n}\n" for n in range(10)))
    page = backend.read("/file", 2, 3)
    assert content(page) == "line 2\nline 3\nline 4\n"
    assert (page.start_line, page.end_line, page.total_lines) == (3, 5, 10)
    assert (page.next_offset, page.next_column) == (5, None)
    end = backend.read("/file", 8, 5)
    assert (end.start_line, end.end_line, end.next_offset) == (9, 10, None)
    past = backend.read("/file", 10, 5)
    assert content(past) == ""
    assert (past.start_line, past.end_line, past.total_lines) == (None, None, 10)


@pytest.mark.parametrize("lines", [10, 300_000])
def test_a_page_within_a_line(backend: FilesystemBackend, place: Place, lines: int) -> None:
    (place.root / "file").write_text("äöü€\n" * lines)
    page = backend.read("/file", 3, column=2, max_characters=5)
    assert content(page) == "ü€\näö"
    assert (page.start_line, page.end_line) == (4, 5)
    assert (page.next_offset, page.next_column) == (4, 2)
    assert content(backend.read("/file", 4, 1, column=2)) == "ü€\n"
    assert content(backend.read("/file", 4, 1, column=4)) == "\n"
    error = backend.read("/file", 4, column=5).error
    assert error == "/file: line 5 has 4 characters, so column 5 is past its end."


def test_numbers_below_nothing_are_nothing(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "file").write_text("abc\n")
    assert content(backend.read("/file", -5, -1, column=-1, max_characters=-3)) == ""
    assert content(backend.read("/file", -5, 9, column=-1)) == "abc\n"


@pytest.mark.parametrize("lines", [3, 400_000])
def test_numbers_above_everything_are_everything(
    backend: FilesystemBackend, place: Place, lines: int
) -> None:
    (place.root / "file").write_text("abc\n" * lines)
    most = 10**30
    assert content(backend.read("/file", 0, most, max_characters=most)) == "abc\n" * lines
    assert content(backend.read("/file", most, most)) == ""
    assert "past its end" in (backend.read("/file", 0, most, column=most).error or "")


def test_a_link_inside_is_read(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "file").write_text("x")
    (place.root / "link").symlink_to("file")
    assert content(backend.read("/link")) == "x"
    assert backend.digest("/link") == backend.digest("/file")


BINARY = b"\x89PNG\0" + bytes(range(256))
LATIN = "Stra\xdfe\n".encode("latin-1")


@pytest.mark.parametrize("data", [BINARY, LATIN, LATIN * 200_000, b"ok\n" * 400_000 + LATIN])
def test_what_is_not_text_comes_whole(
    backend: FilesystemBackend, place: Place, data: bytes
) -> None:
    (place.root / "file").write_bytes(data)
    result = backend.read("/file", max(0, data.count(b"\n") - 1), 100)
    assert base64.b64decode(content(result)) == data
    assert result.file_data is not None
    assert result.file_data["encoding"] == "base64"
    assert backend.download_files(["/file"])[0].content == data


def test_what_is_not_text_and_too_large_says_what_it_is(
    backend: FilesystemBackend, place: Place
) -> None:
    (place.root / "binary").write_bytes(BINARY)
    os.truncate(place.root / "binary", 3 << 20)
    (place.root / "latin").write_bytes(LATIN * 500_000)
    assert (
        backend.read("/binary").error
        == "/binary: binary content (3,145,728 bytes), which can't be read or edited as text. It "
        "can be moved, deleted or replaced as a whole."
    )
    error = backend.read("/latin").error or ""
    assert error.startswith("/latin: text that is not UTF-8 (3,500,000 bytes)")


def test_text_that_is_not_utf_8_is_listed_found_downloaded_and_not_edited(
    backend: FilesystemBackend, place: Place
) -> None:
    (place.root / "latin").write_bytes(LATIN)
    assert [info["path"] for info in backend.ls("/").entries or ()] == ["/latin"]
    assert [info["path"] for info in backend.glob("*").matches or ()] == ["/latin"]
    assert backend.grep("Stra").counts == {"/latin": 1}
    error = backend.edit("/latin", "Stra", "x").error or ""
    assert error.startswith("/latin: text that is not UTF-8 (7 bytes)")
    assert (place.root / "latin").read_bytes() == LATIN


def test_the_head_of_eight_gigabytes_is_a_page(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "huge").write_text("head\n" * 2_000)
    os.truncate(place.root / "huge", 8 << 30)
    (place.root / "empty").touch()
    os.truncate(place.root / "empty", 8 << 30)
    began = time.monotonic()
    tracemalloc.start()
    try:
        page = backend.read("/huge", 0, 10)
        assert content(page) == "head\n" * 10
        assert page.next_offset == 10
        assert backend.read("/huge", 1_995, 10, max_characters=100).next_column == 75
        assert backend.read("/huge", 1_995, 10).next_column == (4 << 20) - 25
        assert "binary content (8,589,934,592 bytes)" in (backend.read("/empty").error or "")
        assert backend.digest("/huge") == backend.digest("/huge") is not None
        assert "max_file_size_mb" in (backend.edit("/huge", "head", "x").error or "")
        assert backend.grep("head", max_count=5).error is None
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert time.monotonic() - began < 5


def test_one_line_of_fifty_megabytes(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "line").write_bytes(b"x" * 50_000_000)
    tracemalloc.start()
    try:
        for limits in ({}, {"max_characters": 100_000}, {"column": 49_000_000}):
            page = backend.read("/line", 0, 100, **limits)
            assert content(page).strip("x") == ""
        assert content(page) == "x" * 1_000_000
        assert backend.read("/line").next_column == 4 << 20
        assert backend.read("/line", max_characters=10**9).next_column == 4 << 20
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_downloads_say_of_each_file_what_went_wrong(
    backend: FilesystemBackend, place: Place
) -> None:
    (place.root / "dir").mkdir()
    (place.root / "file").write_bytes(b"\0x")
    (place.root / "closed").touch(0)
    (place.root / "out").symlink_to("../the-outside/secret.txt")
    os.mkfifo(place.root / "fifo")
    with unprivileged(place.root, place.root / "closed", place.root / "file"):
        found = backend.download_files(
            ["/file", "/nothing", "/dir", "/closed", "/out", "/../x", "/file/x", "/fifo"]
        )
    assert [(one.content, one.error) for one in found[:7]] == [
        (b"\0x", None),
        (None, "file_not_found"),
        (None, "is_directory"),
        (None, "permission_denied"),
        (None, "invalid_path"),
        (None, "invalid_path"),
        (None, "invalid_path"),
    ]
    assert "FIFO" in (found[7].error or "")


def test_a_digest_is_of_what_is_there_now(backend: FilesystemBackend, place: Place) -> None:
    assert backend.digest("/file") is None
    (place.root / "file").write_text("one")
    first = backend.digest("/file")
    (place.root / "file").write_text("two")
    assert backend.digest("/file") not in (None, first)
    for path in ("/", "/../x", "/file/x"):
        assert backend.digest(path) is None
