"""Pages: the same lines from a text in memory and from a file that is too large for it."""

import os
import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.disk.pages import (
    LineIndex,
    LineIndexes,
    Page,
    Window,
    cut_page,
    read_page,
)
from langgraph_filesystem.state.errors import FilesystemError

EVERYTHING = 1 << 30

texts = st.text(st.sampled_from("a\n\r\u2028äß€\U0001f600"), max_size=40) | st.text(
    st.sampled_from("a€"), min_size=10, max_size=40
)
windows = st.builds(
    Window,
    offset=st.integers(0, 5),
    limit=st.integers(0, 8),
    column=st.integers(0, 20),
    characters=st.integers(1, 12) | st.just(EVERYTHING),
)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str | bytes], int]]:
    handles: list[int] = []

    def opened(content: str | bytes) -> int:
        (tmp_path / "file").write_bytes(content.encode() if isinstance(content, str) else content)
        handles.append(os.open(tmp_path / "file", os.O_RDONLY))
        return handles[-1]

    yield opened
    for handle in handles:
        os.close(handle)


def page_of(handle: int, window: Window, index: LineIndex | None = None, **options: Any) -> Page:
    return read_page("/f", handle, window, index or LineIndex(), **options)


def tried(work: Callable[[], Page]) -> Page | str:
    try:
        return work()
    except FilesystemError as error:
        return str(error)


def reference(text: str, window: Window) -> Page | str:
    """Return the page as it is defined: line by line."""
    lines = text.split("\n")
    rows = [row + "\n" for row in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    if window.offset >= len(rows):
        return Page("", 0, len(rows), None, None)
    first = rows[window.offset].removesuffix("\n")
    if window.column > len(first):
        return (
            f"/f: line {window.offset + 1} has {len(first):,} character"
            f"{'s' * (len(first) != 1)}, so column {window.column} is past its end."
        )
    asked = "".join(rows[window.offset : window.offset + window.limit])[window.column :]
    shown = asked[: window.characters] if window.limit else ""
    behind = "".join(rows[: window.offset]) + rows[window.offset][: window.column] + shown
    count = len(shown.split("\n")) - (shown.endswith("\n") or not shown)
    if behind == text:
        return Page(shown, count, len(rows), None, None)
    rest = len(behind) - behind.rfind("\n") - 1
    return Page(shown, count, len(rows), behind.count("\n"), rest or None)


@given(texts, windows)
def test_a_page_is_what_it_is_defined_to_be(text: str, window: Window) -> None:
    assert tried(lambda: cut_page("/f", text, window)) == reference(text, window)


@given(text=texts, asked=st.lists(windows, min_size=1, max_size=6), chunk=st.integers(4, 12))
def test_a_page_of_a_large_file_is_the_same_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, text: str, asked: list[Window], chunk: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "large"
    path.write_bytes(text.encode())
    handle = os.open(path, os.O_RDONLY)
    index = LineIndex()
    try:
        for window in asked:
            found = tried(lambda w=window: page_of(handle, w, index, chunk_size=chunk))  # type: ignore[misc]
            expected = reference(text, window)
            if isinstance(found, Page) and isinstance(expected, Page):
                assert found._replace(total=None) == expected._replace(total=None)
                assert found.total in (None, expected.total)
                if found.next_line is None:
                    assert found.total == expected.total
            else:
                assert found == expected
    finally:
        os.close(handle)


@given(texts, st.integers(1, 4), st.integers(1, 5))
def test_the_pages_of_a_file_are_the_file(text: str, limit: int, characters: int) -> None:
    place: tuple[int | None, int] = (0, 0)
    read = ""
    while place[0] is not None:
        window = Window(place[0], limit, place[1], characters)
        page = cut_page("/f", text, window)
        read += page.text
        place = page.next_line, page.next_column or 0
    assert read == text


def test_paging_forward_reads_each_part_once(
    opened: Callable[[str | bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"line {number} {'x' * 80}\n" for number in range(40_000)]
    handle = opened("".join(lines))
    read: list[int] = []
    pread = os.pread

    def counting(handle: int, size: int, at: int) -> bytes:
        read.append(size)
        return pread(handle, size, at)

    monkeypatch.setattr(os, "pread", counting)
    index = LineIndex()
    for offset in range(0, 40_000, 1_000):
        page = page_of(handle, Window(offset, 1_000, 0, EVERYTHING), index)
        assert page.text == "".join(lines[offset : offset + 1_000])
    assert page.next_line is None
    assert page.total == 40_000
    assert sum(read) < 4 * os.fstat(handle).st_size
    read.clear()
    page_of(handle, Window(35_500, 10, 0, EVERYTHING), index)
    assert sum(read) < 3 << 20


def test_a_hole_is_skipped(opened: Callable[[str | bytes], int], tmp_path: Path) -> None:
    handle = opened("head\nsecond\n")
    size = 8 << 30
    os.truncate(tmp_path / "file", size)
    with open(tmp_path / "file", "r+b") as file:
        file.seek(size - 5)
        file.write(b"\nend\n")
    tracemalloc.start()
    try:
        assert page_of(handle, Window(0, 2, 0, EVERYTHING)).text == "head\nsecond\n"
        tail = page_of(handle, Window(3, 10, 0, EVERYTHING))
        assert (tail.text, tail.total) == ("end\n", 4)
        assert page_of(handle, Window(9, 10, 0, EVERYTHING)) == Page("", 0, 4, None, None)
        middle = page_of(handle, Window(2, 10, 0, 1_000))
        assert (middle.text, middle.next_line, middle.next_column) == ("\0" * 1000, 2, 1_000)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_line_of_fifty_megabytes_is_paged_in_little_memory(
    opened: Callable[[str | bytes], int],
) -> None:
    handle = opened("aä€" * 9_000_000)
    index = LineIndex()
    tracemalloc.start()
    try:
        for column in (0, 26_000_000, 26_005_000, 13_000_001, 26_999_990):
            page = page_of(handle, Window(0, 100, column, 5_000), index)
            assert page.text == ("aä€" * 2_000)[column % 3 :][: min(5_000, 27_000_000 - column)]
            assert page.total == (1 if column == 26_999_990 else None)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_half_a_character_is_no_text(opened: Callable[[str | bytes], int]) -> None:
    handle = opened("fine\nä".encode()[:-1])
    assert page_of(handle, Window(0, 1, 0, EVERYTHING)).text == "fine\n"
    with pytest.raises(UnicodeDecodeError):
        page_of(handle, Window(1, 1, 0, EVERYTHING))


@pytest.mark.parametrize(
    ("text", "window", "what", "expected"),
    [
        ("x\n", Window(3_900_000, 1, 0, EVERYTHING), "lines", "x\n"),
        ("ä", Window(0, 1, 3_900_000, 5), "characters of the line", "äääää"),
    ],
)
def test_a_count_that_takes_too_long_continues_when_it_is_asked_again(
    opened: Callable[[str | bytes], int], text: str, window: Window, what: str, expected: str
) -> None:
    handle, index = opened(text * 4_000_000), LineIndex()
    pages = [tried(lambda: page_of(handle, window, index, time_limit=-1)) for _ in range(20)]
    assert isinstance(pages[3], str)
    assert re.match(f"/f: the page is far from the beginning; .* {what} .* again", pages[3])
    assert isinstance(pages[-1], Page)
    assert pages[-1].text == expected


def test_no_position_is_within_a_character(opened: Callable[[str | bytes], int]) -> None:
    handle, index = opened("0€€345€7€9"), LineIndex()
    for column in (9, 2, 3, 1, 4, 5, 6, 7, 8):
        page = page_of(handle, Window(0, 1, column, 1), index, chunk_size=4)
        assert page.text == "0€€345€7€9"[column]


def test_an_index_is_bounded_and_finds_the_nearest_position() -> None:
    index = LineIndex()
    for line in range(50_000):
        index.add(line, 0, line * 10)
    line, column, byte = index.before(40_000, 3)
    assert 30_000 < line <= 40_000
    assert (column, byte) == (0, line * 10)


def test_a_file_that_has_changed_has_another_index(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("one")
    indexes = LineIndexes()
    first = indexes.of(os.stat(tmp_path / "file"))
    assert indexes.of(os.stat(tmp_path / "file")) is first
    os.utime(tmp_path / "file", (1, 1))
    assert indexes.of(os.stat(tmp_path / "file")) is not first
