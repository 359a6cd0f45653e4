"""What is said of paths is said with the paths that the listener knows."""

import pytest

from langgraph_filesystem.state.remarks import Named, Remark, joined, naming, separated


def test_a_remark_is_a_text() -> None:
    remark = Remark("Left out: ", Named("/a"), " and 2 more.")
    assert remark == "Left out: /a and 2 more."
    assert f"[{remark}]" == "[Left out: /a and 2 more.]"


@pytest.mark.parametrize(
    ("path", "prefix", "expected"),
    [("/a/b", "/m", "/m/a/b"), ("/a", "/", "/a"), ("/", "/m", "/m"), ("/", "/", "/")],
)
def test_paths_get_the_prefix_of_where_they_are(path: str, prefix: str, expected: str) -> None:
    assert Remark("see ", Named(path), " or /a").under(prefix) == f"see {expected} or /a"


def test_prefixes_add_up() -> None:
    assert Remark(Named("/a")).under("/m").under("/n") == "/n/m/a"


def test_remarks_are_joined_and_separated_with_their_paths() -> None:
    first, second = Remark("see ", Named("/a")), "a plain text"
    both = joined("\n", [first, second])
    assert both == "see /a\na plain text"
    assert both.under("/m") == "see /m/a\na plain text"
    assert separated("\n", both) == [first, second]
    assert separated("\n", both)[0].under("/m") == "see /m/a"
    assert joined("\n", []) is None


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "/a",
            "ls /a failed: /a/b, /ab, x/a and /a.",
            "ls /m/a failed: /m/a/b, /ab, x/a and /m/a.",
        ),
        ("/", "ls / failed: no /a", "ls /m failed: no /a"),
        ("/a", "nothing", "nothing"),
    ],
)
def test_a_path_is_found_in_words_of_others(path: str, text: str, expected: str) -> None:
    assert naming(path, text) == text
    assert naming(path, text).under("/m") == expected
