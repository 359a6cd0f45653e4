"""Searching: literally or by regex, line by line, and always to an end."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.protocol import ContextLine, GrepMatch
from langgraph_filesystem.state.backends.regex_child import (
    RegexChild,
    RegexFailed,
    RegexTimeout,
    might_backtrack,
    rows_matching,
)
from langgraph_filesystem.state.backends.search import cut_line, locate, search
from langgraph_filesystem.state.backends.text_files import cut_lines
from langgraph_filesystem.state.errors import PatternRefused
from tests.state.backends.disk.places import children, open_handles

GREP = shutil.which("grep")
ODD_TEXTS = {
    "empty": "",
    "only newlines": "\n\n\n",
    "no last newline": "x\nfoo",
    "last newline": "x\nfoo\n",
    "form feed": "a\fb\nfoo\f\nfoo\n",
    "vertical tab": "a\vfoo\nfoo",
    "line separator": "a\u2028foo\nb\u2029\nfoo\n",
    "next line": "a\x85foo\nfoo\n",
    "file separators": "a\x1cb\x1dc\x1efoo\nfoo",
    "CR": "foo\rfoo\rx\nfoo\r",
    "CRLF": "x\r\nfoo\r\nfoo\r\n",
    "mixed": "foo\r\nx\nfoo\rfoo\n\n\nfoo",
    "BOM": "\ufefffoo\nfoo\n",
    "newlines around": "\n\nfoo\n\n",
    "twice in a line": "foo foo\nfoo foofoo\n",
}


def numbers(text: str, query: Query) -> list[int]:
    """Return the numbers of the lines that are found in one text."""
    return [match["line"] for match in search([("/f", text)], query).matches or ()]


@pytest.mark.parametrize(
    "query",
    [
        Query("foo"),
        Query("FOO", ignore_case=True),
        Query("foo", regex=True),
        Query("fo+", regex=True),
        Query("x|foo", regex=True),
        Query("^foo", regex=True),
        Query("^", regex=True),
    ],
    ids=lambda query: f"{query.pattern}{'/' if query.regex else ''}",
)
def test_line_numbers_are_those_of_the_pages_of_a_file(query: Query) -> None:
    flags = re.IGNORECASE if query.ignore_case else 0
    for text in ODD_TEXTS.values():
        found = search([("/f", text)], query).matches or []
        pages = [cut_lines(text, at, 1) for at in range(cut_lines(text, 0, 1).total)]
        rows = [(page.first, page.text.removesuffix("\n")) for page in pages]
        assert [(match["line"], match["text"]) for match in found] == [
            (number, row) for number, row in rows if re.search(query.pattern, row, flags)
        ]


@pytest.mark.parametrize("options", [["-F"], ["-F", "-i"]], ids=" ".join)
def test_line_numbers_are_those_of_grep(tmp_path: Path, options: list[str]) -> None:
    assert GREP is not None, "grep is on every machine that has make"
    file = tmp_path / "file"
    for text in ODD_TEXTS.values():
        file.write_bytes(text.encode())
        command = [GREP, "-a", "-n", *options, "foo", str(file)]
        done = subprocess.run(command, capture_output=True, check=False)
        printed = done.stdout.decode().split("\n")[:-1]
        expected = [int(line.partition(":")[0]) for line in printed]
        assert numbers(text, Query("foo", ignore_case="-i" in options)) == expected


texts = st.text(st.sampled_from("aAb\n\r\f\x85\u2028é"), max_size=30)


@given(texts, st.sampled_from(["a", "ab", "é", "\r", "\u2028", "aa"]), st.booleans())
def test_a_literal_is_found_in_the_lines_that_hold_it(
    text: str, needle: str, ignore_case: bool
) -> None:
    def folded(part: str) -> str:
        return part.lower() if ignore_case else part

    rows = text.split("\n")
    expected = [n for n, row in enumerate(rows, 1) if folded(needle) in folded(row)]
    assert numbers(text, Query(needle, ignore_case=ignore_case)) == expected


# Regexes that might take for ever

CATASTROPHES = {
    "nested repetition": ("(a+)+$", "a" * 60 + "b"),
    "alternatives that overlap": ("(?:a|aa)" * 60 + "b", "a" * 120),
    "one repetition in a line of megabytes": ("a+b", "a" * 5_000_000),
}
CHILD = """
import sys
from langgraph_filesystem.state.errors import PatternRefused
from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.search import search
pattern, text, times, before, seconds = sys.argv[1:]
files = [("/here", text * int(times))]
if before:
    files.insert(0, ("/before", before))
try:
    print(search(files, Query(pattern, regex=True), seconds=int(seconds)))
except PatternRefused as refused:
    print("refused", refused)
"""


def searched_elsewhere(pattern: str, text: str, before: str = "", seconds: int = 1) -> str:
    # In a process of its own: one that hangs can't be stopped in this one.
    part, times = (text[0], len(text)) if len(set(text)) == 1 else (text, 1)
    command = [sys.executable, "-c", CHILD, pattern, part, str(times), before, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(("pattern", "text"), CATASTROPHES.values(), ids=CATASTROPHES)
def test_a_catastrophic_regex_is_an_error_that_says_what_to_do(pattern: str, text: str) -> None:
    told = searched_elsewhere(pattern, text)
    assert told.startswith(f"refused The regex {pattern[:100]!r} took more than 1 s")
    assert "without nested repetitions" in told


def test_what_was_found_before_the_time_was_up_is_kept() -> None:
    found = searched_elsewhere("(a+)+$", "a" * 60 + "b", before="found: aa", seconds=3)
    assert "'text': 'found: aa'" in found
    assert "truncated=True" in found
    assert "The search stopped after 3 s, at /here" in found


@pytest.mark.parametrize(
    ("pattern", "risky"),
    [
        *((pattern, False) for pattern in ("foo", "foo|bar", "^a.b$", "[a-z]x", r"\bfoo\b\(\)")),
        *((pattern, True) for pattern in ("a+", "a?b", "a{2}", "(a*)*", "a++b", "(?i)a", "(a)")),
        *((pattern, True) for pattern in (r"(a)\1", "(?=a)b", "(a|ab)(c|bcd)", r"\\(a)", r"\\+")),
    ],
)
def test_only_a_plain_regex_is_matched_in_this_process(pattern: str, risky: bool) -> None:
    assert might_backtrack(pattern) is risky


@given(st.lists(texts, max_size=4), st.sampled_from(["a", "a|b", "^$", "A.", ".$", "[ab]é"]))
@settings(max_examples=20, deadline=None)
def test_a_child_process_finds_the_same(rows: list[str], pattern: str) -> None:
    compiled = re.compile(pattern, re.IGNORECASE)
    child = RegexChild(pattern, re.IGNORECASE, 60)
    try:
        assert child.rows_matching(rows) == rows_matching(compiled, rows)
        odd = ["\ud800a", "\0a", "\x1b[0m\u2028", "\udcffa"]
        assert child.rows_matching(odd) == rows_matching(compiled, odd)
    finally:
        child.close()


def test_a_child_process_that_ends_says_why() -> None:
    late = RegexChild("(a+)+$", 0, 0.2)
    with pytest.raises(RegexTimeout):
        late.rows_matching(["a" * 60 + "b"])
    late.close()
    before = children()
    killed = RegexChild("a+", 0, 60)
    [pid] = children() - before
    signal.pidfd_send_signal(fd := os.pidfd_open(pid), signal.SIGKILL)
    os.close(fd)
    with pytest.raises(RegexFailed, match="status -9"):
        killed.rows_matching(["a"])
    killed.close()


KILLED = """
import os, threading, time
from langgraph_filesystem.state.backends.regex_child import RegexChild
from tests.state.backends.disk.places import children
child = RegexChild("(a+)+$", 0, 2)
print(*children(), flush=True)
threading.Thread(target=child.rows_matching, args=[["a" * 60 + "b"]]).start()
time.sleep(0.5)
os.kill(os.getpid(), 9)
"""


def test_a_child_process_ends_when_this_one_is_killed() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    assert done.stderr == ""
    child = Path("/proc", done.stdout.strip())
    while child.exists() and ") Z " not in (child / "stat").read_text():
        time.sleep(0.05)


def test_no_search_leaves_anything_behind() -> None:
    before = open_handles(), threading.active_count(), children()
    for query in (Query("a+", regex=True), Query("a+", regex=True, max_count=1)):
        search([("/a", "a\na"), ("/b", "a"), ("/c", "a")], query)
    assert (open_handles(), threading.active_count(), children()) == before


# Long lines


@pytest.mark.parametrize(
    ("pattern", "regex", "ignore_case"),
    [
        ("Foo12", False, False),
        ("foo12", False, True),
        ("Foo[0-9]", True, False),
        (r"f(o|oo)+\d+", True, True),
    ],
)
def test_a_match_is_located_in_lines_and_long_ones_are_cut_there(
    pattern: str, regex: bool, ignore_case: bool
) -> None:
    line = "." * 5_000 + "Foo12" + "." * 5_000
    query = Query(pattern, regex, ignore_case)
    assert locate(query, [line, "none", line[5_000:]]) == [5_000, -1, 0]
    [match] = search([("/a", line)], query).matches or []
    cut = f"[4,600 characters ...] {'.' * 400}Foo12{'.' * 595} [...]"
    assert match["text"] == cut_line(line, 5_000) == cut
    assert cut_line(cut) == cut


def test_a_match_that_is_not_located_in_time_is_given_up_with_those_behind_it() -> None:
    query = Query(r"(a+)+b", regex=True)
    assert locate(query, ["aab", "a" * 60, "aab"]) == [0, -1, -1]


# Patterns that are refused, and limits


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (Query(""), "empty"),
        (Query("", regex=True), "empty"),
        (Query("x" * 2_001), "2000 characters"),
        (Query("a\nb"), "spans lines"),
        (Query("(", regex=True), "malformed"),
        (Query("a**", regex=True), "malformed"),
        (Query("(?P<n>a)(?P<n>b)", regex=True), "malformed"),
        (Query("a{99999999999999999999}", regex=True), "malformed"),
        (Query("(" * 1_000 + ")" * 1_000, regex=True), "malformed"),
        (Query("[[a]", regex=True), "malformed"),  # a warning of Python, and an error here
        (Query("\ud800"), "surrogate"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_pattern_that_can_not_be_searched_is_refused_with_the_reason(
    query: Query, reason: str
) -> None:
    with pytest.raises(PatternRefused, match=reason) as raised:
        search([("/f", "a")], query)
    assert len(str(raised.value)) < 500


FILES = [("/a", "x\nfoo 1\ny\nfoo 2\n"), ("/b", "none"), ("/c", "foo 3\nfoo 4\nfoo 5")]


def test_matches_come_in_the_order_of_the_files() -> None:
    result = search(FILES, Query("foo"))
    assert result.matches == [
        GrepMatch(path="/a", line=2, text="foo 1"),
        GrepMatch(path="/a", line=4, text="foo 2"),
        GrepMatch(path="/c", line=1, text="foo 3"),
        GrepMatch(path="/c", line=2, text="foo 4"),
        GrepMatch(path="/c", line=3, text="foo 5"),
    ]
    assert result.counts == {"/a": 2, "/c": 3}
    assert (result.truncated, result.note, result.error) == (False, None, None)


@pytest.mark.parametrize("mode", ["count", "files_with_matches"])
def test_other_modes_count_and_bring_no_lines(mode: str) -> None:
    query = Query("foo", output_mode="count" if mode == "count" else "files_with_matches")
    result = search(FILES, query)
    assert result.matches == []
    assert result.counts == {"/a": 2, "/c": 3}


@pytest.mark.parametrize(
    ("max_count", "counts", "truncated"),
    [
        (0, {}, True),
        (1, {"/a": 1}, True),
        (2, {"/a": 2}, True),
        (3, {"/a": 2, "/c": 1}, True),
        (5, {"/a": 2, "/c": 3}, False),
        (9, {"/a": 2, "/c": 3}, False),
        (None, {"/a": 2, "/c": 3}, False),
    ],
)
@pytest.mark.parametrize("pattern", ["foo", "fo+"])
def test_a_search_stops_at_its_limit_and_says_so(
    pattern: str, max_count: int | None, counts: dict[str, int], truncated: bool
) -> None:
    result = search(FILES, Query(pattern, regex=True, max_count=max_count))
    assert result.counts == counts
    assert len(result.matches or ()) == sum(counts.values())
    assert result.truncated is truncated


def test_a_limit_that_is_reached_at_the_last_match_leaves_nothing_out() -> None:
    result = search([("/a", "foo"), ("/b", "bar")], Query("foo", max_count=1))
    assert result.truncated is False


def test_context_is_cut_at_the_ends_of_the_file() -> None:
    [match] = search([("/f", "a\nfoo\nb\nc\n")], Query("foo", context=2)).matches or []
    assert match["context_before"] == [ContextLine(line=1, text="a")]
    assert match["context_after"] == [
        ContextLine(line=3, text="b"),
        ContextLine(line=4, text="c"),
    ]


def test_the_end_of_the_last_line_is_no_line_of_its_own() -> None:
    [match] = search([("/f", "foo\n")], Query("foo", context=3)).matches or []
    assert match["context_before"] == []
    assert match["context_after"] == []
    [match] = search([("/f", "foo\n\n")], Query("foo", context=3)).matches or []
    assert match["context_after"] == [ContextLine(line=2, text="")]


def test_more_matches_than_any_answer_holds_are_cut_and_counted() -> None:
    text = "a\n" * 30_000
    result = search([("/f", text), ("/g", "a")], Query("a"))
    assert len(result.matches or ()) == 20_000
    assert result.truncated
    counted = search([("/f", text), ("/g", "a")], Query("a", output_mode="count"))
    assert counted.counts == {"/f": 30_000, "/g": 1}
    assert not counted.truncated


def test_files_are_taken_one_by_one_and_not_beyond_the_limit() -> None:
    taken: list[str] = []

    def files() -> object:
        for path in ("/a", "/b", "/c", "/d"):
            taken.append(path)
            yield path, "foo"

    search(files(), Query("foo", max_count=1))  # type: ignore[arg-type]
    assert taken == ["/a", "/b"]
