"""The engine in Python: lines of bytes, files of a tree, and files of any size."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_filesystem.state.backends import scanning
from langgraph_filesystem.state.backends.excerpts import Hit
from langgraph_filesystem.state.backends.omissions import Omissions
from langgraph_filesystem.state.backends.scanning import Matcher, read_file, scan, stream_hits
from langgraph_filesystem.state.backtracking import Unfinished
from langgraph_filesystem.state.search import Query, search

QUERIES = [
    Query("foo"),
    Query("FOO", ignore_case=True),
    Query("É", ignore_case=True),
    Query("fo[o]", regex=True),
    Query("^foo$", regex=True),
    Query("f.o|x", regex=True, ignore_case=True),
]


def later() -> float:
    return time.monotonic() + 60


def streamed(path: Path, query: Query) -> list[Hit]:
    with open(path, "rb") as file:
        return list(stream_hits(file.fileno(), "/f", Matcher(query), later(), Omissions()))


texts = st.text(st.sampled_from("fooFOx é\n\r\u2028K\u212a"), max_size=60)


@given(texts, st.sampled_from([*QUERIES, Query("k", ignore_case=True)]))
def test_hits_are_the_lines_that_the_search_of_texts_finds(text: str, query: Query) -> None:
    data = text.encode()
    found = Matcher(query).hits(data)
    assert [line for line, _ in found] == [
        match["line"] for match in search([("/f", text)], query).matches or ()
    ]
    starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == ord("\n"))]
    assert all(offset == starts[line - 1] for line, offset in found)


@given(st.binary(max_size=40), st.sampled_from([b"a", b"\xff", b"\xc3\xa9"]))
def test_a_literal_is_found_in_any_bytes(data: bytes, needle: bytes) -> None:
    try:
        query = Query(needle.decode())
    except UnicodeDecodeError:
        return
    expected = [number for number, line in enumerate(data.split(b"\n"), 1) if needle in line]
    assert [line for line, _ in Matcher(query).hits(data)] == expected


@given(st.lists(texts, max_size=5), st.sampled_from(QUERIES), st.integers(1, 40))
def test_a_file_is_streamed_as_if_it_were_read_whole(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], query: Query, block: int
) -> None:
    path = tmp_path_factory.mktemp("streamed") / "f"
    data = "\n".join(pieces).encode()
    path.write_bytes(data)
    # A block holds the longest line here, so that no line is matched in pieces.
    longest = max(map(len, data.split(b"\n"))) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "_BLOCK", longest + block)
        assert streamed(path, query) == Matcher(query).hits(data)


def test_a_long_line_is_matched_in_pieces_and_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_BLOCK", 100)
    monkeypatch.setattr(scanning, "_OVERLAP", 20)
    line = b"x" * 95 + b"foo" + b"y" * 500 + b"foo" + b"z" * 500
    path = tmp_path / "f"
    path.write_bytes(b"foo\n" + line + b"\nno\n" + line + b"foo\nfoo")
    for query in (Query("foo"), Query("fo[o]", regex=True), Query("FOO", ignore_case=True)):
        hits = streamed(path, query)
        assert [line for line, _ in hits] == [1, 2, 4, 5]
        data = path.read_bytes()
        assert [data[at - 1 : at] for _, at in hits] == [b"", b"\n", b"\n", b"\n"]


def test_a_match_across_the_border_of_two_pieces_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_BLOCK", 100)
    monkeypatch.setattr(scanning, "_OVERLAP", 20)
    path = tmp_path / "f"
    for place in range(150):
        path.write_bytes(b"x" * place + b"needle" + b"y" * 150)
        assert streamed(path, Query("needle")) == [(1, 0)]
        assert streamed(path, Query("needl[e]", regex=True)) == [(1, 0)]


def test_a_regex_that_may_backtrack_streams_too(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes((b"x" * 99 + b"\n") * 30_000 + b"foo\xff\n" + b"foo" * 2 + b"\n")
    assert streamed(path, Query(r"(?<!x)(fo+)+$", regex=True)) == [(30_002, 3_000_005)]
    assert streamed(path, Query(r"fo+[^o]", regex=True)) == [(30_002, 3_000_005)]


def test_streaming_stops_when_the_time_is_up(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"foo\n")
    omissions = Omissions()
    with open(tmp_path / "f", "rb") as file:
        hits = stream_hits(file.fileno(), "/f", Matcher(Query("foo")), 0.0, omissions)
        assert list(hits) == []
    assert omissions.is_late


def test_what_was_found_before_a_regex_took_too_long_is_kept() -> None:
    items = [("/a", b"aa"), ("/b", b"a" * 60 + b"b")]
    found = scan(items, Matcher(Query("(a+)+(?=$)", regex=True)), time.monotonic() + 2)
    assert next(found) == ("/a", b"aa", [(1, 0)])
    with pytest.raises(Unfinished, match="/b"):
        next(found)


@pytest.mark.parametrize(
    ("query", "line", "place"),
    [
        (Query("foo"), b"x foo", 2),
        (Query("foo"), b"x", -1),
        (Query("FOO", ignore_case=True), b"\xc3\xa9\xff foo", 4),
        (Query("fo[o]", regex=True), b"\xff\xfffoo", 2),
        (Query("fo+", regex=True), b"\xc3\xa9\xff foo", 4),
    ],
)
def test_a_match_is_located_in_bytes(query: Query, line: bytes, place: int) -> None:
    assert Matcher(query).locate(line) == place


def test_a_file_of_a_tree_is_read_or_it_is_noted_why_not(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"text")
    (tmp_path / "binary").write_bytes(b"a\0")
    (tmp_path / "large").write_bytes(b"x" * 11)
    (tmp_path / "link").symlink_to("text")
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "fifo")
    directory = os.open(tmp_path, os.O_RDONLY)
    omissions = Omissions()
    found = {
        name: read_file(directory, name, f"/{name}", 10, omissions)
        for name in ("text", "binary", "large", "link", "dir", "fifo", "nothing")
    }
    os.close(directory)
    assert found == dict.fromkeys(found) | {"text": b"text"}
    assert str(omissions.large) == "/large"
    assert str(omissions.unreadable) == ""
