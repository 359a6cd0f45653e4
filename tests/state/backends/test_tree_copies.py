"""Copies of trees, and how one is told from its source."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.inventory import NotMovable
from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.tree_copies import (
    Place,
    copy_tree,
    find_difference,
    is_inside,
)
from tests.state.backends.disks import open_handles


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
    assert find_difference(*places) == "/a"
    copy_tree(*places, go_on, flush=flush)
    assert find_difference(*places) is None
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
    assert find_difference(*places) == difference


def test_what_is_gone_from_the_source_is_no_difference(
    places: tuple[Place, Place], tmp_path: Path
) -> None:
    copy_tree(*places, go_on, flush=False)
    (tmp_path / "a" / "f").unlink()
    (tmp_path / "a" / "sub" / "link").unlink()
    assert find_difference(*places) is None


def test_a_file_is_copied_alone(tmp_path: Path) -> None:
    jail = Jail(tmp_path)
    (tmp_path / "f").write_text("text")
    parent, name = jail.open_entry("/f")
    source, target = Place(jail, parent, name, "/f"), Place(jail, parent, "g", "/g")
    copy_tree(source, target, go_on, flush=False)
    assert find_difference(source, target) is None
    (tmp_path / "g").write_text("text, longer")
    assert find_difference(source, target) == "/f"
    os.close(parent)


@pytest.mark.parametrize("step", [1, 100, 1_000, 1_000_000, 1_000_000_000, 2_000_000_000])
def test_a_file_system_that_keeps_times_less_exactly_has_copies_too(
    places: tuple[Place, Place], step: int, tmp_path: Path
) -> None:
    time = 1_111_111_113_999_999_999
    os.utime(tmp_path / "a" / "f", ns=(time, time))
    copy_tree(*places, go_on, flush=False)
    os.utime(tmp_path / "b" / "f", ns=(time, time // step * step))
    assert find_difference(*places) is None
    os.utime(tmp_path / "a" / "f", ns=(time, time + 3_000_000_000))
    assert find_difference(*places) == "/a/f"


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
