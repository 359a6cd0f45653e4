"""Previews: both ends of a text, numbered, with long lines cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.nodes.previews import preview


def test_ten_lines_of_either_end_are_numbered() -> None:
    rows = preview("".join(f"l{n}\n" for n in range(1, 101)), 40_000).split("\n")
    assert rows[0] == "     1\tl1"
    assert rows[9:12] == ["    10\tl10", "[... 80 lines left out ...]", "    91\tl91"]
    assert rows[-1] == "   100\tl100"
    assert len(rows) == 21


@pytest.mark.parametrize("count", [2, 10, 11, 20])
def test_few_lines_are_shown_once_each(count: int) -> None:
    text = "\n".join(f"l{n}" for n in range(count))
    rows = preview(text, 40_000).split("\n")
    assert [row.split("\t")[1] for row in rows] == text.split("\n")


def test_lines_are_cut_at_a_thousand_characters() -> None:
    rows = preview(f"{'x' * 1_000}\n{'y' * 1_001}\n", 40_000).split("\n")
    assert rows == ["     1\t" + "x" * 1_000, "     2\t" + "y" * 1_000 + " [... 1,001 characters]"]


@pytest.mark.parametrize("end", ["", "\n"])
def test_one_long_line_shows_both_its_ends(end: str) -> None:
    rows = preview("a" * 5_000 + "b" * 5_000 + end, 40_000).split("\n")
    assert rows == [
        "     1\t" + "a" * 1_000,
        "[... 8,000 characters left out ...]",
        "\t" + "b" * 1_000,
    ]


@given(st.text("ab\n", max_size=300), st.integers(0, 50_000))
def test_a_preview_is_about_as_large_as_it_may_be(text: str, budget: int) -> None:
    shown = preview(text * 20, budget)
    assert len(shown) <= max(400, budget) + 20 * 40 + 50
