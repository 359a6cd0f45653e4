"""Changes as unified diffs."""

from langgraph_filesystem.nodes.patches import unified_diff


def test_a_diff_names_the_file_and_the_lines() -> None:
    assert unified_diff("/a.py", "one\ntwo", "one\n2") == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2"
    )


def test_texts_that_are_the_same_have_no_diff() -> None:
    assert unified_diff("/a", "x", "x") == ""


def test_long_texts_are_not_compared() -> None:
    assert unified_diff("/a", "x" * 20_001, "") is None
    assert unified_diff("/a", "", "x" * 20_001) is None
    assert unified_diff("/a", "x" * 20_000, "") is not None
