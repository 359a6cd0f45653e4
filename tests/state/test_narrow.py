"""A page of lines, narrowed to a column and so many characters."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.errors import ColumnPastEnd
from langgraph_filesystem.state.lines import cut_lines
from langgraph_filesystem.state.narrow import narrowed


def page_of(text: str, offset: int = 0, limit: int = 100) -> ReadResult:
    page = cut_lines(text, offset, limit)
    return ReadResult(
        file_data={"content": page.text, "encoding": "utf-8"},
        total_lines=page.total,
        next_offset=page.last if page.last < page.total else None,
    )


def content(page: ReadResult) -> str:
    assert page.file_data is not None
    return page.file_data["content"]


@pytest.mark.parametrize(
    ("column", "most", "text", "place"),
    [
        (0, None, "abc\ndef\n", (None, None)),
        (1, None, "bc\ndef\n", (None, None)),
        (3, None, "\ndef\n", (None, None)),
        (0, 2, "ab", (0, 2)),
        (0, 3, "abc", (0, 3)),
        (0, 4, "abc\n", (1, None)),
        (0, 5, "abc\nd", (1, 1)),
        (2, 1, "c", (0, 3)),
        (2, 3, "c\nd", (1, 1)),
        (0, 8, "abc\ndef\n", (None, None)),
        (0, 0, "", (0, None)),
    ],
)
def test_a_page_is_cut_like_this(
    column: int, most: int | None, text: str, place: tuple[Any, Any]
) -> None:
    page = narrowed("/a", page_of("abc\ndef\n"), 0, column, most)
    assert (content(page), (page.next_offset, page.next_column)) == (text, place)


@given(st.text("ab\n\r\u2028😀", max_size=60), st.integers(1, 20), st.integers(1, 5))
def test_pages_one_after_the_other_are_the_text(text: str, most: int, limit: int) -> None:
    offset, column, pages = 0, 0, ""
    for _ in range(len(text) + 2):
        page = narrowed("/a", page_of(text, offset, limit), offset, column, most)
        assert len(content(page)) <= most
        pages += content(page)
        if page.next_offset is None:
            break
        offset, column = page.next_offset, page.next_column or 0
    assert pages == text


@pytest.mark.parametrize(("text", "column"), [("abc\n", 4), ("abc", 4), ("\n", 1)])
def test_a_column_past_the_end_of_its_line_is_an_error(text: str, column: int) -> None:
    with pytest.raises(ColumnPastEnd, match="is past its end"):
        narrowed("/a", page_of(text), 0, column, None)


def test_what_is_no_text_is_left_as_it_is() -> None:
    page = ReadResult(file_data={"content": "/w==", "encoding": "base64"})
    assert narrowed("/a", page, 0, 2, 1) is page
    failed = ReadResult(error="no")
    assert narrowed("/a", failed, 0, 2, 1) is failed
