"""Edits: exact text for exact text, and errors that help."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.edits import Edit, apply_edits, edited_size, plan_edit
from langgraph_filesystem.state.errors import FilesystemError, TextNotFound, TextNotUnique

texts = st.text(st.sampled_from("ab\n\r"), max_size=12)


def edited(content: str, old: str, new: str, replace_all: bool = False) -> str:
    planned = plan_edit("/f", content, old, new, replace_all)
    result, rejected = apply_edits(content, [planned.edit])
    assert rejected == []
    assert planned.apply(content) == result
    return result


@pytest.mark.parametrize(
    ("content", "old", "new", "replace_all", "expected"),
    [
        ("one two", "two", "three", False, "one three"),
        ("a a a", "a", "b", True, "b b b"),
        ("a\nb\n", "a\nb", "c", False, "c\n"),
        ("gone", "gone", "", False, ""),
        ("no newline", "newline", "end", False, "no end"),
        ("\ufeffhead\n", "head", "top", False, "\ufefftop\n"),
        ("\ufeffhead\n", "\ufeff", "", False, "head\n"),
        ("a\fb\u2028c", "b\u2028", "x", False, "a\fxc"),
        ("\\1 $1", "\\1", "\\2", False, "\\2 $1"),
    ],
)
def test_exact_text_is_replaced(
    content: str, old: str, new: str, replace_all: bool, expected: str
) -> None:
    assert edited(content, old, new, replace_all) == expected


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        # Text of several lines is found, and what replaces it ends its lines as the file does.
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
        ("a\r\nb\r\n", "a\nb\n", "x\r\ny\n", "x\r\ny\r\n"),
        # Text of one line that becomes several does so too.
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\r\nb\r\n", "a", "x", "x\r\nb\r\n"),
        # What names `\r` itself is taken as it stands.
        ("a\r\nb\r\n", "a\r\nb", "a\nb", "a\nb\r\n"),
        # A file with both kinds has no kind of its own.
        ("a\r\nb\nc\n", "b", "b\nx", "a\r\nb\nx\nc\n"),
        ("a\nb\r\nc\n", "b\nc", "x\ny", "a\nx\r\ny\n"),
        ("a\nb\n", "b", "b\nc", "a\nb\nc\n"),
    ],
)
def test_a_file_with_crlf_keeps_it(content: str, old: str, new: str, expected: str) -> None:
    assert edited(content, old, new) == expected


@given(st.lists(st.sampled_from(["a", "b", ""]), max_size=6), texts, texts)
def test_an_edit_without_cr_never_mixes_the_line_ends_of_a_file(
    lines: list[str], old: str, new: str
) -> None:
    content = "".join(f"{line}\r\n" for line in lines)
    if "\r" in old + new:
        return
    try:
        result = edited(content, old, new, replace_all=True)
    except FilesystemError:
        return
    assert result.count("\n") == result.count("\r\n")


def test_a_planned_edit_knows_how_many_places_it_changes_and_where_the_first_is() -> None:
    planned = plan_edit("/f", "x\na b a\na\n", "a", "c", True)
    assert planned.edit == Edit(old="a", new="c", replace_all=True)
    assert (planned.count, planned.first_line) == (3, 2)
    assert plan_edit("/f", "a b", "a", "c", False).first_line == 1


@given(texts, texts, texts, st.booleans())
def test_a_planned_edit_changes_the_places_it_says(
    content: str, old: str, new: str, replace_all: bool
) -> None:
    try:
        planned = plan_edit("/f", content, old, new, replace_all)
    except FilesystemError:
        return
    edit, count = planned.edit, planned.count
    assert content.count(edit["old"]) == count
    assert count == 1 or replace_all
    after = content.replace(edit["old"], edit["new"])
    assert apply_edits(content, [edit]) == (after, [])
    assert edited_size(len(content.encode()), planned) == len(after.encode())
    assert "\n" * (planned.first_line - 1) == "".join(
        char for char in content[: content.find(edit["old"])] if char == "\n"
    )


@pytest.mark.parametrize(
    ("content", "old", "new", "kind", "help_given"),
    [
        ("a", "", "b", FilesystemError, "`write_file`"),
        ("a", "a", "a", FilesystemError, "are the same"),
        ("a", "b", "c", TextNotFound, "read the file again"),
        ("", "b", "c", TextNotFound, "read the file again"),
        ("a", " \n ", "c", TextNotFound, "white space"),
        ("def f():\n    return 1\n", "def f():\n  return 1", "x", TextNotFound, "Line 1 starts"),
        ("one\ndef gather(x):\n", "def gathers(x):", "x", TextNotFound, "most similar line is 2"),
        ("a\nb\na\n", "a", "c", TextNotUnique, r"2 times in the file \(line 1, 3\)"),
        ("a\n" * 9, "a", "c", TextNotUnique, r"line 1, 2, 3, 4, 5, \.\.\."),
        ("a\n" * 5, "a", "c", TextNotUnique, r"line 1, 2, 3, 4, 5\)"),
    ],
)
def test_an_edit_that_does_not_fit_says_what_to_do(
    content: str, old: str, new: str, kind: type[Exception], help_given: str
) -> None:
    with pytest.raises(kind, match=help_given) as raised:
        plan_edit("/f.py", content, old, new, False)
    assert type(raised.value) is kind
    assert "/f.py" in str(raised.value)


def test_the_first_of_two_lines_that_are_equally_near_is_named() -> None:
    with pytest.raises(TextNotFound, match="most similar line is 2:"):
        plan_edit("/f", "zzz\nalpha beta\nalpha beta\n", "alpha bets", "x", False)


def test_the_help_for_a_missing_text_is_short_whatever_the_file_is() -> None:
    with pytest.raises(TextNotFound) as raised:
        plan_edit("/f", "0123456789" * 100_000, "98765432100", "x", False)
    assert len(str(raised.value)) < 1_000


def test_edits_that_do_not_fit_change_nothing_and_come_back() -> None:
    edits = [
        Edit(old="x", new="y", replace_all=False),
        Edit(old="", new="y", replace_all=True),
        Edit(old="b", new="y", replace_all=False),
        Edit(old="a", new="y", replace_all=False),
    ]
    assert apply_edits("aabc", edits) == ("aayc", [edits[0], edits[1], edits[3]])


def test_edits_apply_in_order_to_what_the_one_before_left() -> None:
    edits = [
        Edit(old="a", new="b", replace_all=False),
        Edit(old="b", new="c", replace_all=True),
        Edit(old="cc", new="d", replace_all=False),
    ]
    assert apply_edits("ab", edits) == ("d", [])
