"""Lines: a line ends at `\\n` and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.lines import Page, cut_lines

texts = st.text(st.sampled_from("ab\n\r\f\v\x1c\x85\u2028\u2029é"), max_size=40)


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends, by another way than the code under test."""
    *ended, rest = text.split("\n")
    return [f"{line}\n" for line in ended] + ([rest] if rest else [])


@given(texts, st.integers(-2, 12), st.integers(-2, 12))
def test_a_page_is_a_slice_of_the_lines(text: str, offset: int, limit: int) -> None:
    lines = lines_of(text)
    start, count = max(0, offset), max(0, limit)
    expected = lines[start : start + count]
    page = cut_lines(text, offset, limit)
    assert page.text == "".join(expected)
    assert page.total == len(lines)
    assert page.first == start + 1
    assert page.last == start + len(expected)


@given(texts, st.integers(1, 5))
def test_pages_put_together_are_the_text(text: str, limit: int) -> None:
    pages = [cut_lines(text, at, limit) for at in range(0, len(text) + 1, limit)]
    assert "".join(page.text for page in pages) == text


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("", Page("", 1, 0, 0)),
        ("\n", Page("\n", 1, 1, 1)),
        ("a", Page("a", 1, 1, 1)),
        ("a\n", Page("a\n", 1, 1, 1)),
        ("a\nb", Page("a\nb", 1, 2, 2)),
        ("a\r\nb\rc\n", Page("a\r\nb\rc\n", 1, 2, 2)),
        ("a\fb\u2028c\x85d\ve\n", Page("a\fb\u2028c\x85d\ve\n", 1, 1, 1)),
        ("\ufeffa\n", Page("\ufeffa\n", 1, 1, 1)),
    ],
)
def test_only_a_newline_ends_a_line(text: str, page: Page) -> None:
    assert cut_lines(text, 0, 100) == page


def test_a_page_past_the_end_is_empty_and_says_how_many_lines_there_are() -> None:
    assert cut_lines("a\nb\n", 7, 10) == Page("", 8, 7, 2)
