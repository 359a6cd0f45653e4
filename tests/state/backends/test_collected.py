"""What a search has found, as it becomes an answer: in order, and no more than fits."""

from functools import partial

import pytest

from langgraph_filesystem.state.backends import collected as module
from langgraph_filesystem.state.backends.collected import Collected, Found
from langgraph_filesystem.state.backends.scanning import Matcher
from langgraph_filesystem.state.search import MAX_MATCHES, Query

QUERY = Query("x")
COUNT = Query("x", output_mode="count")


def part(data: bytes, size: int, offset: int) -> bytes:
    return data[offset : offset + size]


def found(path: str, data: bytes, query: Query = QUERY) -> Found:
    hits = Matcher(query).hits(data)
    return Found(path, len(hits), hits, partial(part, data))


def collecting(query: Query) -> Collected:
    return Collected(Matcher(query))


def test_lines_come_with_their_numbers_and_what_is_around_them() -> None:
    answer = collecting(Query("x", context=1))
    assert answer.add(found("/a", b"1\n2x\n3\n"))
    assert answer.add(found("/b", b"x"))
    result = answer.result()
    assert result.matches == [
        {
            "path": "/a",
            "line": 2,
            "text": "2x",
            "context_before": [{"line": 1, "text": "1"}],
            "context_after": [{"line": 3, "text": "3"}],
        },
        {"path": "/b", "line": 1, "text": "x", "context_before": [], "context_after": []},
    ]
    assert (result.counts, result.truncated) == ({"/a": 1, "/b": 1}, False)


def test_where_only_counts_are_wanted_no_file_is_read() -> None:
    answer = collecting(COUNT)
    assert answer.add(Found("/a", 3))
    assert answer.result().counts == {"/a": 3}
    assert answer.result().matches == []
    assert not answer.shows_lines


@pytest.mark.parametrize(
    ("limit", "counts", "is_cut"),
    [
        (1, {"/a": 1}, True),
        (2, {"/a": 2}, True),
        (3, {"/a": 2, "/b": 1}, True),
        (4, {"/a": 2, "/b": 2}, False),
        (5, {"/a": 2, "/b": 2}, False),
    ],
)
@pytest.mark.parametrize("mode", ["content", "count"])
def test_a_limit_counts_lines_of_all_files_together(
    limit: int, counts: dict[str, int], is_cut: bool, mode: str
) -> None:
    answer = collecting(Query("x", max_count=limit, output_mode=mode))  # type: ignore[arg-type]
    for path in ("/a", "/b"):
        if not answer.add(found(path, b"x\nx\n")):
            break
    assert answer.result().counts == counts
    assert answer.result().truncated is is_cut
    assert len(answer.result().matches or ()) == (sum(counts.values()) if mode == "content" else 0)


def test_it_says_how_many_lines_more_make_a_difference() -> None:
    answer = collecting(Query("x", max_count=5))
    assert answer.wanted == 6  # one more, to know that it was cut
    answer.add(found("/a", b"x\nx\n"))
    assert answer.wanted == 4
    assert collecting(QUERY).wanted == MAX_MATCHES + 1


def test_more_lines_than_fit_into_an_answer_are_counted_and_not_shown() -> None:
    answer = collecting(QUERY)
    assert not answer.add(found("/a", b"x\n" * (MAX_MATCHES + 5)))
    result = answer.result()
    assert len(result.matches or ()) == MAX_MATCHES
    assert (result.counts, result.truncated) == ({"/a": MAX_MATCHES + 5}, True)


def test_long_lines_together_are_no_more_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_TEXT", 1_000)
    answer = collecting(Query("x", context=1))
    assert not answer.add(found("/a", (b"x" * 99 + b"\n") * 100))
    assert 3 < len(answer.result().matches or ()) < 10
    assert answer.result().truncated


def test_matches_far_into_long_lines_are_looked_for_until_the_time_for_all_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = b"y" * 1_500_000 + b"x\n"
    for seconds, shown in ((60.0, "[1,499,600 bytes ...] "), (0.0, "yyy")):
        monkeypatch.setattr(module, "_LOOKING", seconds)
        answer = collecting(QUERY)
        answer.add(found("/a", data * 2))
        texts = [match["text"] for match in answer.result().matches or ()]
        assert [text.startswith(shown) for text in texts] == [True, True]


def test_more_files_than_fit_into_an_answer_are_left_out() -> None:
    answer = collecting(COUNT)
    added = [answer.add(Found(f"/{number}", 1)) for number in range(10_001)]
    assert added == [True] * 10_000 + [False]
    assert len(answer.result().counts or ()) == 10_000
    assert answer.result().truncated
