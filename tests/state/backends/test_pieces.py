"""What a file holds, piece by piece: all that was written, and not what was not."""

import errno
import os
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends import pieces as module
from langgraph_filesystem.state.backends.pieces import Stopped, pieces, write_at

MB = 1 << 20


def copied(source: Path, target: Path) -> int:
    """Copy a file; return how many bytes were read."""
    size = source.stat().st_size
    with open(source, "rb") as one, open(target, "wb") as other:
        read = 0
        for at, piece in pieces(one.fileno(), size):
            assert len(piece) <= MB
            write_at(other.fileno(), at, piece)
            read += len(piece)
        other.truncate(size)
    return read


@pytest.mark.parametrize("knows_holes", [True, False])
@pytest.mark.parametrize("written", [[], [0], [0, 3 * MB], [5 * MB], [2 * MB + 1]])
def test_the_copy_is_the_same(
    written: list[int], knows_holes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not knows_holes:
        monkeypatch.setattr(module, "_SEEK_DATA", None)
    with open(tmp_path / "a", "wb") as file:
        file.truncate(6 * MB + 7)
        for at in written:
            file.seek(at)
            file.write(os.urandom(100_000))
    read = copied(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert knows_holes or read == 6 * MB + 7


def test_an_empty_file_has_no_pieces(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert copied(tmp_path / "a", tmp_path / "b") == 0


def test_a_file_that_gets_shorter_ends_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"short")
    with open(tmp_path / "a", "rb") as file:
        assert [*pieces(file.fileno(), 3 * MB)] == [(0, b"short")]


def test_stopping_is_no_error_of_the_disk() -> None:
    assert Stopped().errno == errno.ECANCELED
