"""Where in a line the match is: found for every pattern, and never waited for too long."""

import gc
import os
import time

import pytest

from langgraph_filesystem.state.locating import Locator

LINE = "." * 5_000 + "Foo12" + "." * 5_000


@pytest.mark.parametrize(
    ("pattern", "regex", "ignore_case"),
    [
        ("Foo12", False, False),
        ("foo12", False, True),
        ("Foo[0-9]", True, False),
        (r"F\w+\d", True, False),
        (r"f(o|oo)+\d+", True, True),
    ],
)
def test_a_match_is_found_where_it_begins(pattern: str, regex: bool, ignore_case: bool) -> None:
    locator = Locator(pattern, regex=regex, ignore_case=ignore_case)
    assert locator.locate_all([LINE, "none", LINE[5_000:]]) == [5_000, -1, 0]


def test_characters_that_are_no_text_are_counted_like_others() -> None:
    locator = Locator(r"F\w+\d", regex=True, ignore_case=False)
    assert locator.locate("\udcff\u2028é\r\U0001f600Foo12") == 5


def test_a_regex_that_takes_for_ever_is_given_up_and_so_are_the_lines_behind_it() -> None:
    locator = Locator(r"(a+)+b", regex=True, ignore_case=False, seconds=0.5)
    began = time.monotonic()
    assert locator.locate_all(["aab", "a" * 60, "aab"]) == [0, -1, -1]
    assert time.monotonic() - began < 5


def test_a_process_that_is_no_longer_needed_ends() -> None:
    locator = Locator(r"F\w+\d", regex=True, ignore_case=False)
    assert locator.locate("Foo12") == 0
    child = locator._child.pid
    del locator
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
