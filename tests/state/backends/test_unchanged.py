"""Directories that are opened again: which of them nobody has touched."""

import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.unchanged import Trail, now
from tests.state.backends.disk.places import nested, open_handles


def tick() -> None:
    """Wait until the clock of the files, which moves by steps, has come to what it is now."""
    start = time.time_ns()
    while now() <= start:
        time.sleep(0.001)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
    tick()
    return tmp_path


def trusted(root: Path, since: int, *paths: str) -> list[bool]:
    handle = os.open(root, os.O_RDONLY)
    try:
        with closing(Trail(handle, since)) as trail:
            return [trail.directory(path).is_unchanged for path in paths]
    finally:
        os.close(handle)


def test_what_nobody_has_touched_is_unchanged(root: Path) -> None:
    assert trusted(root, now(), "", "a", "a/b", "a/b/c", "a/d", "e") == [True] * 6


def test_a_change_is_seen_below_it_and_nowhere_else(root: Path) -> None:
    since = now()
    (root / "a/b/new").touch()
    assert trusted(root, since, "", "a", "a/b", "a/b/c", "a/d", "e") == [
        *(True, True, False, False, True, True)
    ]


def test_a_swap_there_and_back_is_seen(root: Path) -> None:
    since = now()
    os.rename(root / "a/b", root / "a/was")
    os.symlink("/etc", root / "a/b")
    os.unlink(root / "a/b")
    os.rename(root / "a/was", root / "a/b")
    assert trusted(root, since, "a/b", "a/b/c", "a/d", "e") == [False, False, False, True]


def test_times_can_not_be_set_back(root: Path) -> None:
    since = now()
    (root / "a/new").touch()
    os.utime(root / "a", (0, 0))
    assert trusted(root, since, "a/b") == [False]


def test_a_link_is_no_directory(root: Path) -> None:
    (root / "link").symlink_to("a")
    for path in ("link", "link/b", "nothing", "a/nothing/b"):
        with pytest.raises(OSError, match=r"."):
            trusted(root, now(), path)


def test_a_directory_that_is_not_there_does_not_spoil_the_next(root: Path) -> None:
    handle = os.open(root, os.O_RDONLY)
    with closing(Trail(handle, now())) as trail:
        for _ in range(2):
            with pytest.raises(FileNotFoundError):
                trail.directory("a/nothing")
            assert os.fstat(trail.directory("a/b").handle).st_ino == (root / "a/b").stat().st_ino
    os.close(handle)


def test_few_handles_are_held_however_deep_it_is(tmp_path: Path) -> None:
    with nested(tmp_path, 400):
        before = open_handles()
        top = os.open(tmp_path, os.O_RDONLY)
        tick()
        with closing(Trail(top, now())) as trail:
            for depth in (400, 399, 398, 200, 201, 5, 400, 0):
                found = trail.directory("/".join(["d"] * depth))
                path = tmp_path / "/".join(["d"] * depth)
                assert os.fstat(found.handle).st_ino == os.stat(path).st_ino
                assert found.is_unchanged
                assert open_handles() - before < 60
        os.close(top)
        assert open_handles() == before


def test_a_file_system_without_fractions_is_given_time(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = 1_000_000_000
    seconds = os.stat(root).st_ctime_ns // second * second

    class Status:
        st_ctime_ns = seconds

    handle = os.open(root, os.O_RDONLY)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", lambda _: Status)
        assert not Trail(handle, seconds + second).directory("").is_unchanged
        assert Trail(handle, seconds + 3 * second).directory("").is_unchanged
    os.close(handle)


def test_what_is_changed_now_is_never_older_than_now(tmp_path: Path) -> None:
    (tmp_path / "d/e").mkdir(parents=True)
    for number in range(500):
        since = now()
        os.rename(tmp_path / "d/e", tmp_path / "d/f")
        os.rename(tmp_path / "d/f", tmp_path / "d/e")
        assert trusted(tmp_path, since, "d/e") == [False]
        if number % 50 == 0:
            time.sleep(0.003)
