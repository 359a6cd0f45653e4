"""Lines as a search shows them: whole or cut, and nothing lost that is not text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.excerpts import match_of
from langgraph_filesystem.state.backends.protocol import ContextLine, GrepMatch


def excerpt(
    data: bytes, line: int, needle: bytes = b"foo", context: int = 0, until: float = 0.0
) -> GrepMatch:
    offset = len(b"".join(part + b"\n" for part in data.split(b"\n")[: line - 1]))
    reads: list[int] = []

    def read(size: int, at: int) -> bytes:
        assert at >= 0
        reads.append(size)
        return data[at : at + size]

    match = match_of("/f", (line, offset), read, lambda row: row.find(needle), context, until)
    assert max(reads) < 200_000
    return match


@given(st.lists(st.binary(max_size=9).filter(lambda row: b"\n" not in row), min_size=1, max_size=9))
def test_context_is_what_stands_around(rows: list[bytes]) -> None:
    data = b"\n".join(rows)
    for number in range(1, len(rows) + 1):
        match = excerpt(data, number, context=2)
        lines = [row.decode(errors="backslashreplace") for row in rows]
        if lines[-1] == "" and number < len(lines):
            lines.pop()  # the end of the last line is no line of its own
        assert match["text"] == lines[number - 1]
        assert match.get("context_before") == [
            ContextLine(line=n, text=lines[n - 1]) for n in range(max(1, number - 2), number)
        ]
        assert match.get("context_after") == [
            ContextLine(line=n, text=lines[n - 1])
            for n in range(number + 1, min(number + 2, len(lines)) + 1)
        ]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"plain", "plain"),
        (b"crlf\r", "crlf\r"),
        ("caf\u00e9".encode(), "caf\u00e9"),
        (b"caf\xe9", "caf\\xe9"),
        (b"\xff\xfe\0", "\\xff\\xfe\0"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        (b"x" * 4_000, "x" * 4_000),
    ],
)
def test_a_line_is_shown_whole(line: bytes, shown: str) -> None:
    for data in (line, line + b"\n", line + b"\nnext"):
        assert excerpt(data, 1)["text"] == shown


@pytest.mark.parametrize("place", [0, 5, 399, 400, 401, 5_000, 70_000, 131_070, 300_000])
def test_a_long_line_is_cut_around_the_match(place: int) -> None:
    data = b"x" * place + b"foo" + b"y" * 400_000
    text = excerpt(data + b"\nnext", 1)["text"]
    assert "foo" in text
    assert len(text) < 900
    start = max(0, place - 400)
    assert text.startswith(f"[{start:,} bytes ...] x" if start else ("x" if place else "foo"))
    assert text.endswith("y [...]")


def test_a_match_far_into_a_line_is_looked_for_as_long_as_there_is_time() -> None:
    data = b"x" * 2_000_000 + b"foo"
    assert excerpt(data, 1)["text"] == "x" * 800 + " [...]"
    text = excerpt(data, 1, until=time.monotonic() + 60)["text"]
    assert text == f"[1,999,600 bytes ...] {'x' * 400}foo"
    assert excerpt(data + b"\nfoo", 2, until=time.monotonic() + 60)["text"] == "foo"
    start = time.monotonic()
    endless = excerpt(b"x" * 50_000_000, 1, until=start + 0.01)
    assert endless["text"] == "x" * 800 + " [...]"
    assert time.monotonic() - start < 5


def test_the_end_of_a_long_line_is_not_marked_as_cut() -> None:
    assert excerpt(b"x" * 5_000 + b"foo\nnext", 1)["text"].endswith("xxfoo")


@given(st.text(st.sampled_from("aé\u4e2d\U0001f600"), min_size=3, max_size=50))
def test_no_half_of_a_character_is_shown(text: str) -> None:
    data = text.encode() * 999 + b"foo" + text.encode() * 999
    shown = excerpt(data, 1)["text"]
    assert "foo" in shown
    assert "\\x" not in shown
    assert "\ufffd" not in shown


def test_context_of_long_lines_is_cut_too() -> None:
    data = b"b" * 9_000 + b"\nfoo\n" + b"a" * 9_000 + b"\nend"
    match = excerpt(data, 2, context=3)
    assert match.get("context_before") == [ContextLine(line=1, text="b" * 800 + " [...]")]
    assert match.get("context_after") == [
        ContextLine(line=3, text="a" * 800 + " [...]"),
        ContextLine(line=4, text="end"),
    ]


def test_the_beginning_of_a_line_is_not_looked_for_too_far_back() -> None:
    data = b"a\n" + b"b" * 3_000_000 + b"\nfoo"
    [before] = excerpt(data, 3, context=3).get("context_before") or []
    assert before["line"] == 2
    assert before["text"].endswith("bytes]")
