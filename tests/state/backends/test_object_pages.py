"""Pages of files that come in pieces: the same as of a text that is there whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.object_pages import Bookmarks, Page, Place
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.lines import cut_lines

TEXTS = st.text(st.sampled_from("ab\n\ré😀"), max_size=60)


def page_of(
    content: bytes,
    offset: int,
    limit: int,
    column: int = 0,
    most: int | None = None,
    *,
    chunk: int = 3,
    start: Place | None = None,
) -> tuple[ReadResult, Place | None]:
    """Feed a page so many bytes at a time."""
    start = start or Place()
    page = Page(offset, limit, column, most, start)
    for at in range(start.byte, len(content), chunk):
        page.feed(content[at : at + chunk])
        if page.is_full:
            break
    else:
        page.finish()
    return page.result(len(content))


def text_of(result: ReadResult) -> str:
    assert result.file_data is not None
    return result.file_data["content"]


@given(TEXTS, st.integers(0, 12), st.integers(0, 8), st.integers(1, 9))
def test_a_page_is_as_of_the_whole_text(text: str, offset: int, limit: int, chunk: int) -> None:
    result, place = page_of(text.encode(), offset, limit, chunk=chunk)
    expected = cut_lines(text, offset, limit)
    assert text_of(result) == expected.text
    assert result.next_offset == (expected.last if expected.last < expected.total else None)
    if expected.text:
        assert (result.start_line, result.end_line) == (expected.first, expected.last)
    if place is None:
        assert result.total_lines == expected.total
    else:
        assert text.encode()[: place.byte].count(b"\n") == place.line


@given(TEXTS, st.integers(1, 5), st.integers(1, 7), st.integers(1, 9))
def test_pages_one_after_the_other_are_the_whole_text(
    text: str, limit: int, most: int, chunk: int
) -> None:
    content, pages = text.encode(), list[str]()
    place: Place | None = Place()
    while place is not None:
        result, following = page_of(
            content, place.line, limit, place.column, most, chunk=chunk, start=place
        )
        # The same page, without the place to begin at.
        again, _ = page_of(content, place.line, limit, place.column, most, chunk=chunk)
        assert text_of(again) == text_of(result)
        assert (again.next_offset, again.next_column) == (result.next_offset, result.next_column)
        assert len(text_of(result)) <= most
        assert following is None or following.byte > place.byte
        pages.append(text_of(result))
        place = following
    assert "".join(pages) == text


def test_a_column_behind_the_end_of_its_line_is_its_end() -> None:
    result, _ = page_of(b"ab\ncd\n", 0, 1, column=9)
    assert text_of(result) == "\n"


@pytest.mark.parametrize("content", [b"ab\xff", b"ab\xc3", b"\xc3\n"])
def test_what_is_no_text_is_none(content: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        page_of(content, 0, 5)


def test_bookmarks_are_of_the_last_few_files_and_never_behind_what_is_asked_for() -> None:
    bookmarks = Bookmarks()
    for number in range(100):
        bookmarks.keep(f"/{number}", "v1", Place(10, 2, 99))
    assert bookmarks.find("/99", 10, 2) == ("v1", Place(10, 2, 99))
    assert bookmarks.find("/99", 11, 0) == ("v1", Place(10, 2, 99))
    assert bookmarks.find("/99", 10, 1) == (None, Place())
    assert bookmarks.find("/0", 10, 2) == (None, Place())
    bookmarks.keep("/99", "v1", None)
    assert bookmarks.find("/99", 10, 2) == (None, Place())
