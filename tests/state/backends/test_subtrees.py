"""Trees by handles: every level, none by a link, and links that can't lead out of them."""

import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.subtrees import Descent, Level, levels, stays_inside
from tests.state.backends.disk.places import nested, open_handles


def test_each_directory_is_a_level_and_no_link_is(tmp_path: Path) -> None:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "sub" / "f").write_text("text")
    (tmp_path / "d" / "circle").symlink_to(".")
    (tmp_path / "d" / ".~lgfs-0").write_text("being written")
    Path(os.fsdecode(bytes(tmp_path) + b"/d/\xff")).mkdir()
    jail = Jail(tmp_path)
    found = {level.path: {it.name for it in level.entries} for level in walked(jail)}
    odd = os.fsdecode(b"\xff")
    assert found == {"": {"sub", "circle", odd}, "sub": {"f"}, odd: set()}


def walked(jail: Jail) -> list[Level]:
    parent, name = jail.open_entry("/d")
    try:
        return list(levels(jail, parent, name, "/d"))
    finally:
        os.close(parent)


def test_handles_are_closed_whenever_one_stops(tmp_path: Path) -> None:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    jail = Jail(tmp_path)
    before = open_handles()
    parent, name = jail.open_entry("/d")
    found = levels(jail, parent, name, "/d")
    next(found)
    found.close()
    os.close(parent)
    assert open_handles() == before


def test_depth_takes_no_handles(tmp_path: Path) -> None:
    jail = Jail(tmp_path)
    with nested(tmp_path, 2_500):  # more than a path can be long
        before, began = open_handles(), time.monotonic()
        parent, name = jail.open_entry("/d")
        found = [open_handles() for _ in levels(jail, parent, name, "/d")]
        os.close(parent)
        assert len(found) == 2_500
        assert max(found) - before <= 5
        assert time.monotonic() - began < 10


def test_who_comes_back_up_is_where_he_was(tmp_path: Path) -> None:
    (tmp_path / "d" / "a" / "b").mkdir(parents=True)
    (tmp_path / "d" / "c").mkdir()
    parent = os.open(tmp_path, os.O_RDONLY)
    with closing(Descent(parent, "d")) as descent:
        for path in ("a/b", "c", "", "a", "a/b"):
            assert os.path.samestat(os.fstat(descent.go(path)), (tmp_path / "d" / path).stat())
        (tmp_path / "d" / "a").rename(tmp_path / "away")
        (tmp_path / "away" / "b").rename(tmp_path / "b")
        with pytest.raises(OSError, match="Stale"):
            descent.go("c")
    os.close(parent)


@pytest.mark.parametrize(
    ("directory", "target", "stays"),
    [
        ("", "f", True),
        ("", "./sub//f", True),
        ("", "..", False),
        ("", "/etc", False),
        ("", "sub/../..", False),
        ("", "sub/../f", False),
        ("sub", "../f", True),
        ("sub", "..", True),
        ("sub", "../..", False),
        ("sub/deep", "../../f", True),
        ("sub/deep", "../../../d/f", False),
        ("sub/deep", "../link/../f", False),
    ],
)
def test_a_link_stays_inside_if_nothing_on_it_can_lead_out(
    directory: str, target: str, stays: bool
) -> None:
    assert stays_inside(directory, target) is stays
