"""Pages of text: a line ends at `\\n` and nowhere else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.backends.text_files import (
    Page,
    cut_lines,
    is_text,
    limit_page,
    not_text,
    page_of,
)
from langgraph_filesystem.state.errors import ColumnPastEnd
from langgraph_filesystem.state.files import FileData

texts = st.text(st.sampled_from("ab\n\r\f\v\x1c\x85\u2028\u2029é😀"), max_size=40)


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends, in another way than the code under test."""
    *ended, rest = text.split("\n")
    return [f"{line}\n" for line in ended] + ([rest] if rest else [])


@given(texts, st.integers(-2, 12), st.integers(-2, 12))
def test_a_page_is_a_slice_of_the_lines(text: str, offset: int, limit: int) -> None:
    lines = lines_of(text)
    start, count = max(0, offset), max(0, limit)
    expected = lines[start : start + count]
    page = cut_lines(text, offset, limit)
    assert page == Page("".join(expected), start + 1, start + len(expected), len(lines))


def read(
    text: str, offset: int = 0, limit: int = 100, column: int = 0, most: int | None = None
) -> tuple[str, Any]:
    page = page_of("/a", FileData(content=text), offset, limit, column, most)
    assert page.file_data is not None
    return page.file_data["content"], (page.next_offset, page.next_column)


@pytest.mark.parametrize(
    ("column", "most", "text", "place"),
    [
        (0, None, "abc\ndef\n", (None, None)),
        (1, None, "bc\ndef\n", (None, None)),
        (3, None, "\ndef\n", (None, None)),
        (0, 2, "ab", (0, 2)),
        (0, 4, "abc\n", (1, None)),
        (0, 5, "abc\nd", (1, 1)),
        (2, 1, "c", (0, 3)),
        (2, 3, "c\nd", (1, 1)),
        (0, 8, "abc\ndef\n", (None, None)),
        (0, 0, "", (0, None)),
    ],
)
def test_a_page_is_cut_to_a_column_and_a_number_of_characters(
    column: int, most: int | None, text: str, place: tuple[Any, Any]
) -> None:
    assert read("abc\ndef\n", column=column, most=most) == (text, place)


@given(texts, st.integers(1, 20), st.integers(1, 5))
def test_pages_one_after_the_other_are_the_text(text: str, most: int, limit: int) -> None:
    offset, column, pages = 0, 0, ""
    for _ in range(len(text) + 2):
        content, (next_offset, next_column) = read(text, offset, limit, column, most)
        assert len(content) <= most
        pages += content
        if next_offset is None:
            break
        offset, column = next_offset, next_column or 0
    assert pages == text


@pytest.mark.parametrize(("text", "column"), [("abc\n", 4), ("abc", 4), ("\n", 1)])
def test_a_column_past_the_end_of_its_line_is_an_error(text: str, column: int) -> None:
    with pytest.raises(ColumnPastEnd, match="is past its end"):
        read(text, column=column)


def test_a_binary_file_is_not_cut() -> None:
    page = ReadResult(file_data={"content": "/w==", "encoding": "base64"})
    assert limit_page("/a", page, 0, 2, 1) is page


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"caf\xe9", "text that is not UTF-8"), (b"a\0b", "binary content"), ("é".encode(), None)],
)
def test_what_is_not_text_is_told_from_what_is(content: bytes, kind: str | None) -> None:
    assert is_text(content) is (kind is None)
    if kind:
        assert f"/a: {kind} ({len(content)} bytes)" in str(not_text("/a", content))
