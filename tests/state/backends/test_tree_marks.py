"""Marks of files and trees: every change is seen, another name is none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.disk.jail import Jail
from langgraph_filesystem.state.backends.tree_marks import TreeMark, mark_tree


def mark_of(root: Path, name: str) -> TreeMark:
    jail = Jail(root)
    parent = os.open(root, os.O_RDONLY)
    try:
        return mark_tree(jail, parent, name, f"/{name}")
    finally:
        os.close(parent)
        jail.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "sub" / "f").write_text("text")
    (tmp_path / "d" / "sub" / "link").symlink_to("f")
    Path(os.fsdecode(bytes(tmp_path / "d") + b"/\xff")).write_text("no UTF-8")
    for path in tmp_path.rglob("*"):
        os.utime(path, ns=(1, 1), follow_symlinks=False)
    return tmp_path


def overwrite_in_place(root: Path) -> None:
    with open(root / "d" / "sub" / "f", "r+b") as file:
        file.write(b"TEXT")
    os.utime(root / "d" / "sub" / "f", ns=(1, 1))


def replace_it(root: Path) -> None:
    (root / "new").write_text("text")
    os.utime(root / "new", ns=(1, 1))
    (root / "new").rename(root / "d" / "sub" / "f")


def turn_link(root: Path) -> None:
    (root / "d" / "sub" / "link").unlink()
    (root / "d" / "sub" / "link").symlink_to("g")


CHANGES: list[Callable[[Path], object]] = [
    overwrite_in_place,
    replace_it,
    turn_link,
    lambda root: (root / "d" / "sub" / "new").touch(),
    lambda root: (root / "d" / "empty").mkdir(),
    lambda root: (root / "d" / "sub" / "f").unlink(),
    lambda root: (root / "d" / "sub" / "f").rename(root / "d" / "sub" / "g"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_in_a_tree_changes_its_mark(
    root: Path, change: Callable[[Path], object]
) -> None:
    before = mark_of(root, "d").text
    assert mark_of(root, "d").text == before
    change(root)
    assert mark_of(root, "d").text != before


@pytest.mark.parametrize("name", ["d", "f"])
def test_another_name_is_no_change(root: Path, name: str) -> None:
    (root / "f").write_text("text")
    before = mark_of(root, name).text
    (root / name).rename(root / "other")
    assert mark_of(root, "other").text == before
    assert TreeMark.is_of(before, (root / "other").stat())
    assert not TreeMark.is_of(before, root.stat())


def test_what_was_changed_just_now_might_be_changed_again_unseen(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    mark = mark_of(tmp_path, "f")
    status = (tmp_path / "f").stat()
    mark._begun = status.st_ctime_ns + 1_000_000
    assert mark.is_too_new
    mark._begun = status.st_ctime_ns + 1_000_000_000
    assert not mark.is_too_new


def test_what_is_hidden_is_no_part_of_it(root: Path) -> None:
    before = mark_of(root, "d").text
    (root / "d" / ".~lgfs-0123456789abcdef").touch()
    assert mark_of(root, "d").text == before
