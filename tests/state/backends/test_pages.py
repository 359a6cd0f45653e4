"""Pages of large files: the same lines from chunks of any size, from any known position on."""

import re
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.pages import Bookmarks, Page, Position, Window
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.backends.text_files import page_of
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import FileData

texts = st.text(st.sampled_from("a\n\r\u2028äß€\U0001f600"), max_size=40) | st.text(
    st.sampled_from("a€"), min_size=10, max_size=40
)
windows = st.builds(
    Window,
    offset=st.integers(0, 5),
    limit=st.integers(1, 8),
    column=st.integers(0, 20),
    characters=st.integers(1, 12) | st.just(1 << 30),
)


def read(
    data: bytes,
    window: Window,
    bookmarks: Bookmarks | None = None,
    *,
    chunk: int = 1 << 18,
    time_limit: float = 60,
    fetched: list[int] | None = None,
) -> ReadResult:
    """Read a page as a backend does."""
    bookmarks = bookmarks or Bookmarks()
    page = Page("/f", window, bookmarks.find("/f", window)[1], time_limit=time_limit)
    try:
        while not page.is_full and page.at < len(data):
            if fetched is not None:
                fetched.append(page.at)
            page.feed(data[page.at : page.at + chunk])
        return page.result(len(data))
    finally:
        bookmarks.keep("/f", None, page.end)


def tried(work: Callable[[], ReadResult]) -> ReadResult | str:
    try:
        return work()
    except FilesystemError as error:
        return str(error)


def content(result: ReadResult | str) -> str:
    assert isinstance(result, ReadResult), result
    assert result.file_data is not None
    return result.file_data["content"]


@given(text=texts, asked=st.lists(windows, min_size=1, max_size=6), chunk=st.integers(4, 12))
def test_a_page_is_that_of_the_whole_text_in_any_order(
    text: str, asked: list[Window], chunk: int
) -> None:
    bookmarks, data = Bookmarks(), text.encode()
    for window in asked:
        whole = FileData(content=text, encoding="utf-8")
        expected = tried(lambda w=window, f=whole: page_of("/f", f, *w))  # type: ignore[misc]
        found = tried(lambda w=window: read(data, w, bookmarks, chunk=chunk))  # type: ignore[misc]
        if isinstance(found, ReadResult) and isinstance(expected, ReadResult):
            if found.next_offset is not None:
                assert found.total_lines in (None, expected.total_lines)
                found.total_lines = expected.total_lines
            if not content(found):
                expected.start_line = expected.end_line = None
        assert found == expected


def test_paging_forward_reads_each_part_once() -> None:
    lines = [f"line {number} {'x' * 80}\n" for number in range(40_000)]
    data, bookmarks, fetched = "".join(lines).encode(), Bookmarks(), list[int]()
    for offset in range(0, 40_000, 1_000):
        page = read(data, Window(offset, 1_000), bookmarks, fetched=fetched)
        assert content(page) == "".join(lines[offset : offset + 1_000])
    assert (page.next_offset, page.total_lines) == (None, 40_000)
    assert len(fetched) * (1 << 18) < 4 * len(data)


def test_a_line_of_fifty_megabytes_is_paged_in_little_memory() -> None:
    data, bookmarks = ("aä€" * 9_000_000).encode(), Bookmarks()
    tracemalloc.start()
    try:
        for column in (0, 26_000_000, 26_005_000, 13_000_001, 26_999_990):
            page = read(data, Window(0, 100, column, 5_000), bookmarks)
            assert content(page) == ("aä€" * 2_000)[column % 3 :][: min(5_000, 27_000_000 - column)]
            assert page.total_lines == (1 if column == 26_999_990 else None)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_half_a_character_is_no_text() -> None:
    data = "fine\nä".encode()[:-1]
    assert content(read(data, Window(0, 1))) == "fine\n"
    with pytest.raises(UnicodeDecodeError):
        read(data, Window(1, 1))


@pytest.mark.parametrize(
    ("text", "window", "what", "expected"),
    [
        ("x\n", Window(3_900_000, 1), "lines", "x\n"),
        ("ä", Window(0, 1, 3_900_000, 5), "characters of the line", "äääää"),
    ],
)
def test_a_count_that_takes_too_long_continues_when_it_is_asked_again(
    text: str, window: Window, what: str, expected: str
) -> None:
    data, bookmarks = (text * 4_000_000).encode(), Bookmarks()
    pages = [tried(lambda: read(data, window, bookmarks, time_limit=-1)) for _ in range(40)]
    assert isinstance(pages[3], str)
    assert re.match(f"/f: the page is far from the beginning; .* {what} .* again", pages[3])
    assert content(next(page for page in pages if isinstance(page, ReadResult))) == expected


def test_bookmarks_are_bounded_and_only_used_before_a_window() -> None:
    bookmarks = Bookmarks()
    for number in range(1_000):
        bookmarks.keep(number, "v1", Position(5, 2, 99))
    assert bookmarks.find(0, Window(9, 1)) == (None, Position())
    assert bookmarks.find(999, Window(5, 1, 2)) == ("v1", Position(5, 2, 99))
    assert bookmarks.find(999, Window(5, 1, 1)) == (None, Position())
