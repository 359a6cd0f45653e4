"""Copies of trees, and how one is told from its source."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.inventory import NotMovable
from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.pieces import Stopped
from langgraph_filesystem.state.backends.tree_copies import (
    Place,
    copy_tree,
    find_difference,
    is_inside,
    time_step,
)
from tests.state.backends.disk.places import open_handles


@pytest.fixture
def places(tmp_path: Path) -> Iterator[tuple[Place, Place]]:
    jail = Jail(tmp_path)
    (tmp_path / "a" / "sub").mkdir(parents=True)
    (tmp_path / "a" / "f").write_text("text")
    (tmp_path / "a" / "sub" / "g").write_text("more")
    (tmp_path / "a" / "sub" / "link").symlink_to("../f")
    one, other = jail.open_entry("/a"), jail.open_entry("/b")
    yield Place(jail, *one, "/a"), Place(jail, *other, "/b")
    os.close(one[0])
    os.close(other[0])


def go_on() -> None:
    """Let the copy be made."""


@pytest.mark.parametrize("flush", [False, True])
def test_a_copy_is_no_different(places: tuple[Place, Place], flush: bool) -> None:
    before = open_handles()
    assert find_difference(*places, go_on) == "/a"
    copy_tree(*places, go_on, flush=flush)
    assert find_difference(*places, go_on) is None
    assert open_handles() == before


@pytest.mark.parametrize(
    ("path", "difference"),
    [("f", "/a/f"), ("sub/g", "/a/sub/g"), ("sub/link", "/a/sub/link"), ("new", "/a/new")],
)
def test_whatever_changes_at_the_source_is_found(
    places: tuple[Place, Place], path: str, difference: str, tmp_path: Path
) -> None:
    copy_tree(*places, go_on, flush=False)
    (tmp_path / "a" / path).unlink(missing_ok=True)
    (tmp_path / "a" / path).write_text("other")
    assert find_difference(*places, go_on) == difference


def test_what_is_gone_from_the_source_is_no_difference(
    places: tuple[Place, Place], tmp_path: Path
) -> None:
    copy_tree(*places, go_on, flush=False)
    (tmp_path / "a" / "f").unlink()
    (tmp_path / "a" / "sub" / "link").unlink()
    assert find_difference(*places, go_on) is None


def test_a_file_is_copied_alone(tmp_path: Path) -> None:
    jail = Jail(tmp_path)
    (tmp_path / "f").write_text("text")
    parent, name = jail.open_entry("/f")
    source, target = Place(jail, parent, name, "/f"), Place(jail, parent, "g", "/g")
    copy_tree(source, target, go_on, flush=False)
    assert find_difference(source, target, go_on) is None
    (tmp_path / "g").write_text("text, longer")
    assert find_difference(source, target, go_on) == "/f"
    os.close(parent)


@pytest.mark.parametrize("step", [1, 100, 1_000, 1_000_000, 1_000_000_000, 2_000_000_000])
def test_a_file_system_that_keeps_times_less_exactly_has_copies_too(
    places: tuple[Place, Place], step: int, tmp_path: Path
) -> None:
    time = 1_111_111_113_999_999_999
    os.utime(tmp_path / "a" / "f", ns=(time, time))
    copy_tree(*places, go_on, flush=False)
    os.utime(tmp_path / "b" / "f", ns=(time, time // step * step))
    assert find_difference(*places, go_on, step=step) is None
    os.utime(tmp_path / "a" / "f", ns=(time, time + 3_000_000_000))
    assert find_difference(*places, go_on, step=step) == "/a/f"


def test_where_times_are_kept_exactly_none_is_taken_for_a_coarse_one(
    places: tuple[Place, Place], tmp_path: Path
) -> None:
    second = 1_111_111_112_000_000_000
    os.utime(tmp_path / "a" / "f", ns=(second, second))
    copy_tree(*places, go_on, flush=False)
    os.utime(tmp_path / "a" / "f", ns=(second, second + 1))
    assert find_difference(*places, go_on, step=time_step(places[1].parent, "b")) == "/a/f"


@pytest.mark.parametrize("step", [1, 100, 1_000, 1_000_000, 1_000_000_000, 2_000_000_000])
def test_how_exactly_times_are_kept_is_found_by_giving_one(
    places: tuple[Place, Place], step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    utime = os.utime

    def coarse(name: str, *, ns: tuple[int, int], **options: Any) -> None:
        utime(name, ns=(ns[0] // step * step, ns[1] // step * step), **options)

    monkeypatch.setattr(os, "utime", coarse)
    assert time_step(places[0].parent, "a") == step


def test_directories_keep_modes_and_times_whatever_is_masked(
    places: tuple[Place, Place], tmp_path: Path
) -> None:
    (tmp_path / "a" / "sub").chmod(0o777)
    (tmp_path / "a" / "shut").mkdir(0o400)
    (tmp_path / "a").chmod(0o775)
    for number, name in enumerate(("a/sub", "a/shut", "a")):
        os.utime(tmp_path / name, ns=(5, 1_000_000_001 + number))
    masked = os.umask(0o077)
    try:
        copy_tree(*places, go_on, flush=False)
    finally:
        os.umask(masked)
    found = [(tmp_path / name).stat() for name in ("b/sub", "b/shut", "b")]
    assert [stat.S_IMODE(one.st_mode) for one in found] == [0o777, 0o400, 0o775]
    assert [one.st_mtime_ns for one in found] == [1_000_000_001, 1_000_000_002, 1_000_000_003]


def test_a_comparison_that_nobody_wants_any_more_ends(places: tuple[Place, Place]) -> None:
    def stop() -> None:
        raise Stopped

    copy_tree(*places, go_on, flush=False)
    with pytest.raises(Stopped):
        find_difference(*places, stop)


def test_a_source_that_is_gone_is_told_of_the_source(
    places: tuple[Place, Place], tmp_path: Path
) -> None:
    (tmp_path / "a").rename(tmp_path / "away")
    with pytest.raises(NotMovable, match="/a: no such file"):
        copy_tree(*places, go_on, flush=False)


def test_a_directory_is_inside_of_itself_and_of_those_above(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    handle = os.open(tmp_path / "a" / "b", os.O_RDONLY)
    try:
        for above in (tmp_path / "a" / "b", tmp_path / "a", tmp_path, Path("/")):
            assert is_inside(handle, above.stat())
        assert not is_inside(handle, (tmp_path / "c").stat())
    finally:
        os.close(handle)
