"""What a command prints, as text that a model can read and no flood can fill."""

import tracemalloc

import pytest

from langgraph_filesystem.state.backends.execution.output import ERR, MARK, OUT, Output, Progress

OTHER = {OUT: ERR, ERR: OUT}


def text_of(*pieces: tuple[int, bytes], limit: int = 1_000) -> str:
    output = Output(limit)
    for stream, data in pieces:
        output.feed(stream, data)
    return output.text()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([], ""),
        ([(OUT, b"one\ntwo\n")], "one\ntwo\n"),
        ([(OUT, b"no newline")], "no newline"),
        ([(ERR, b"bad\nworse\n")], "[stderr] bad\n[stderr] worse\n"),
        ([(ERR, b"bad")], "[stderr] bad"),
        ([(ERR, b"\n\n")], "[stderr] \n[stderr] \n"),
        ([(OUT, b"a\n"), (ERR, b"b\n"), (OUT, b"c\n")], "a\n[stderr] b\nc\n"),
        # A block may end anywhere in a line: the other stream does not get into it.
        ([(OUT, b"hal"), (ERR, b"bad\n"), (OUT, b"f\n")], "[stderr] bad\nhalf\n"),
        ([(ERR, b"ba"), (OUT, b"fine\n"), (ERR, b"d\n")], "fine\n[stderr] bad\n"),
        # Two lines that never end are still two.
        ([(OUT, b"out"), (ERR, b"err")], "out\n[stderr] err"),
        ([(OUT, b"\xc3"), (OUT, b"\xa9\n")], "é\n"),
        ([(ERR, b"\xf0\x9f"), (ERR, b"\x98\x80\n")], "[stderr] 😀\n"),
        ([(OUT, b"\xff\xfe ok\n")], "\\xff\\xfe ok\n"),
        ([(OUT, b"cut \xf0\x9f")], "cut \\xf0\\x9f"),
        ([(OUT, b"a\0b\n")], "a\\x00b\n"),
        ([(OUT, b"10%\r20%\r\n")], "10%\r20%\r\n"),
    ],
)
def test_both_streams_become_one_text(pieces: list[tuple[int, bytes]], text: str) -> None:
    assert text_of(*pieces) == text


@pytest.mark.parametrize("stream", [OUT, ERR])
def test_a_long_line_does_not_hold_back_the_other_stream_for_ever(stream: int) -> None:
    text = text_of((stream, b"x" * 10_000), (OTHER[stream], b"other\n"), limit=100_000)
    first, second, _ = text.split("\n")
    assert first.removeprefix(MARK) == "x" * 10_000
    assert second.removeprefix(MARK) == "other"


def test_head_and_tail_stay_and_the_middle_is_counted() -> None:
    lines = [b"line %06d\n" % number for number in range(10_000)]
    output = Output(1_000)
    for line in lines:
        output.feed(OUT, line)
    text = output.text()
    head, _, tail = text.partition("\n[... ")
    assert output.truncated
    assert text.startswith("line 000000\n")
    assert text.endswith("line 009999\n")
    left_out, _, tail = tail.partition(" characters left out ...]\n")
    assert len(head) + int(left_out.replace(",", "")) + len(tail) == len(b"".join(lines))
    assert len(head) + len(tail) <= 1_000


def test_what_just_fits_is_whole_and_one_more_is_not() -> None:
    output = Output(1_000)
    output.feed(OUT, b"x" * 1_000)
    assert (output.text(), output.truncated) == ("x" * 1_000, False)
    output = Output(1_000)
    output.feed(OUT, b"x" * 1_001)
    assert output.text() == f"{'x' * 500}\n[... 1 characters left out ...]\n{'x' * 500}"
    assert output.truncated


@pytest.mark.parametrize("data", ["é".encode(), "日本".encode(), "😀".encode(), b"\xff", b"\n"])
@pytest.mark.parametrize("stream", [OUT, ERR])
def test_the_limit_is_one_of_the_text_that_comes_out(data: bytes, stream: int) -> None:
    output = Output(3_001)
    for _ in range(10_000):
        output.feed(stream, data)
    text = output.text()
    note = "\n[... 00,000 characters left out ...]\n"
    assert 2_990 <= len(text.encode()) <= 3_001 + len(note) + 2


def test_a_flood_takes_no_memory() -> None:
    output, progress = Output(100_000), Progress()
    chunk = b"y\n" * 32_768
    tracemalloc.start()
    for number in range(2_000):
        output.feed(number % 2, chunk)
        progress.feed(number % 2, chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000
    assert len(output.text()) < 110_000


def test_progress_reports_what_is_new_also_of_lines_that_have_not_ended() -> None:
    progress = Progress()
    progress.feed(OUT, b"one\ntw")
    assert progress.take() == "one\ntw"
    assert progress.take() == ""
    progress.feed(OUT, b"o\n")
    progress.feed(ERR, b"bad")
    assert progress.take() == "o\n[stderr] bad"
    progress.feed(OUT, b"\xc3")
    assert progress.take() == ""
    assert progress.take(final=True) == "\n\\xc3"


def test_of_a_flood_progress_reports_the_end() -> None:
    progress = Progress()
    progress.feed(OUT, b"x" * 100_000 + b"\nlast\n")
    text = progress.take()
    assert text.startswith("[... 96,006 characters left out ...]\n")
    assert text.endswith("x\nlast\n")
    assert len(text) < 5_000
