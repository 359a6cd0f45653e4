"""Regexes in a process of their own: the same lines, and always an end."""

import re
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_filesystem.state import backtracking
from langgraph_filesystem.state.backtracking import Unfinished, in_process, may_backtrack
from langgraph_filesystem.state.errors import FileNotFound, PatternRefused
from langgraph_filesystem.state.search import lines_matching

texts = st.text(st.sampled_from("aAb\n\r\f\x85\u2028é"), max_size=30)


@settings(max_examples=20)
@given(st.lists(texts, max_size=4), st.sampled_from(["a", "a|b", "^$", "A.", ".$", "[ab]é"]))
def test_a_regex_finds_the_same_in_a_process_of_its_own(found: list[str], pattern: str) -> None:
    files = [(f"/{number}", text) for number, text in enumerate(found)]
    for ignore_case in (False, True):
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
        here = [(path, text, lines_matching(compiled, text)) for path, text in files]
        there = in_process(files, pattern, ignore_case, 60)
        assert list(there) == [row for row in here if row[2]]


@pytest.mark.parametrize(
    ("pattern", "risky"),
    [
        ("foo", False),
        ("foo|bar|baz", False),
        ("^foo.bar$", False),
        ("[a-z]x", False),
        (r"\bfoo\b", False),
        ("(?i)foo", False),
        ("(foo)", False),
        ("(?=foo)bar", False),
        ("a+", True),
        ("a?b", True),
        ("a{2}", True),
        ("(a*)*", True),
        ("(?>a+)b", True),
        ("a++b", True),
        (r"(a)\1", True),
        ("(a)(?(1)b|c)", True),
        ("(?=a*)b", True),
        ("(?<!a)b*", True),
        ("(a|ab)(c|bcd)", True),
        ("(a|(bx|cy)d)", True),
    ],
)
def test_a_regex_that_can_go_through_a_line_in_many_ways_is_matched_elsewhere(
    pattern: str, risky: bool
) -> None:
    assert may_backtrack(pattern) is risky


def test_a_process_that_dies_is_not_an_empty_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtracking, "_CHILD", "raise SystemExit(3)")
    with pytest.raises(PatternRefused, match="status 3"):
        list(in_process([("/f", "aaa")], "a+", False, 60))


def test_texts_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []
    threads = threading.active_count()

    def numbered() -> Iterator[tuple[int, str]]:
        for number in range(1_000):
            taken.append(number)
            yield number, "a"

    found = in_process(numbered(), "a+", False, 60)
    assert next(found) == (0, "a", [1])
    found.close()  # type: ignore[attr-defined]  # it is a generator
    assert len(taken) < 20
    assert threading.active_count() <= threads + 1


def test_files_that_fail_fail_the_search() -> None:
    def failing() -> Iterator[tuple[str, str]]:
        yield "/a", "a"
        raise FileNotFound("/b")

    with pytest.raises(FileNotFound, match="/b"):
        list(in_process(failing(), "a+", False, 60))


def test_files_that_come_too_slowly_are_not_taken_for_all() -> None:
    def slow() -> Iterator[tuple[str, str]]:
        yield "/a", "a"
        time.sleep(2)
        yield "/b", "a"

    found = in_process(slow(), "a+", False, 1)
    assert next(found)[0] == "/a"
    with pytest.raises(Unfinished, match="at /b"):
        next(found)
