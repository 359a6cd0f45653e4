"""What is remembered of the lines of large files."""

import os
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends import marks as module
from langgraph_filesystem.state.backends.marks import Marks, Memory


def test_the_nearest_place_before_a_line_is_found() -> None:
    marks = Marks()
    assert marks.before_line(0) == marks.before_line(9) == (0, 0)
    marks.add_count(10, 1000)
    marks.add_count(20, 2000)
    marks.add_count(10, 1500)
    assert marks.before_line(10) == (0, 0)
    assert marks.before_line(11) == (10, 1500)
    assert marks.before_line(20) == (10, 1500)
    assert marks.before_line(99) == (20, 2000)


def test_the_nearest_place_in_a_line_is_found() -> None:
    marks = Marks()
    marks.add_place(3, 0, 100)
    marks.add_place(3, 50, 160)
    marks.add_place(3, 90, 210)
    assert marks.place(3, 50) == 160
    assert marks.place(3, 51) is None
    assert marks.before_column(3, 50) is None
    assert marks.before_column(3, 51) == (50, 160)
    assert marks.before_column(3, 999) == (90, 210)
    assert marks.before_column(4, 999) is None
    assert marks.before_line(4) == (3, 210)


def test_marks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MARKS", 100)
    marks = Marks()
    for number in range(1_000):
        marks.add_place(number, 0, number * 10)
        marks.add_place(number, 5, number * 10 + 5)
    assert len(marks._counts) <= 101
    assert len(marks._places) <= 101
    assert len(marks._columns) <= 101
    lines, byte = marks.before_line(500)
    assert byte // 10 == lines < 500


def test_a_file_that_was_changed_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("one")
    memory = Memory()
    marks = memory.marks_of(os.stat(tmp_path / "file"))
    assert memory.marks_of(os.stat(tmp_path / "file")) is marks
    os.utime(tmp_path / "file", (1, 1))
    assert memory.marks_of(os.stat(tmp_path / "file")) is not marks


def test_only_the_files_read_last_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FILES", 3)
    memory = Memory()
    for number in range(5):
        (tmp_path / str(number)).touch()
    marks = [memory.marks_of(os.stat(tmp_path / str(number))) for number in range(3)]
    assert memory.marks_of(os.stat(tmp_path / "0")) is marks[0]
    memory.marks_of(os.stat(tmp_path / "3"))
    assert memory.marks_of(os.stat(tmp_path / "0")) is marks[0]
    assert memory.marks_of(os.stat(tmp_path / "1")) is not marks[1]
