"""What is in a tree on disk, and what of it another mount could not hold."""

import os
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.disk_inventory import (
    count_files,
    open_linked,
    reading,
    take_inventory,
)
from langgraph_filesystem.state.backends.inventory import NotMovable
from langgraph_filesystem.state.backends.disk.jail import Jail


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "d" / "sub").mkdir(parents=True)
    (root / "d" / "a").write_text("12")
    (root / "d" / "sub" / "b").write_text("345")
    (tmp_path / "secret").write_text("secret")
    return root


def test_files_come_with_sizes_and_with_what_tells_a_change(root: Path) -> None:
    found = take_inventory(Jail(root), "/d")
    assert {info["path"]: info["size"] for info in found.files} == {"/d/a": 2, "/d/sub/b": 3}
    assert (found.error, found.empty, found.links, found.refused) == (None, 0, 0, None)
    os.utime(root / "d" / "a", ns=(0, 1_000_000_001))
    [info] = take_inventory(Jail(root), "/d/a").files
    assert info["modified_at"] == "1970-01-01T00:00:01.000000001+00:00"


def test_a_file_is_found_alone_and_a_missing_one_is_told(root: Path) -> None:
    assert [info["path"] for info in take_inventory(Jail(root), "/d/a").files] == ["/d/a"]
    refused = take_inventory(Jail(root), "/d/none").refused
    assert refused is not None
    assert refused[1].startswith("/d/none: no such file")


def test_empty_directories_and_links_to_files_are_counted(root: Path) -> None:
    (root / "d" / "empty" / "inner").mkdir(parents=True)
    (root / "d" / "link").symlink_to("sub/b")
    found = take_inventory(Jail(root), "/d")
    assert (found.empty, found.links, len(found.files)) == (1, 1, 3)
    on_disk = take_inventory(Jail(root), "/d", to_disk=True)
    assert (on_disk.links, on_disk.count, on_disk.files) == (0, 2, [])


@pytest.mark.parametrize(
    ("target", "where"),
    [("sub", "to a directory"), ("../../secret", "out of its mount"), ("none", "to nothing")],
)
def test_links_that_are_no_files_are_refused(root: Path, target: str, where: str) -> None:
    (root / "d" / "link").symlink_to(target)
    with pytest.raises(NotMovable, match=f"/d/link: is a symbolic link that leads {where}"):
        open_linked(Jail(root), "/d/link")
    refused = take_inventory(Jail(root), "/d").refused
    assert refused is not None
    assert refused[0] == "/d/link"


def test_names_that_are_no_paths_go_to_disks_only(root: Path) -> None:
    Path(os.fsdecode(bytes(root) + b"/d/sub/\xff")).write_text("x")
    refused = take_inventory(Jail(root), "/d").refused
    assert refused is not None
    assert refused[0] == "/d/sub"
    assert "not all of it can be moved: an entry has a name that" in refused[1]
    assert take_inventory(Jail(root), "/d", to_disk=True).count == 3


def test_files_are_counted_up_to_a_bound(root: Path) -> None:
    jail = Jail(root)
    parent, name = jail.open_entry("/d")
    try:
        assert count_files(jail, parent, name, 3) == 2
        assert count_files(jail, parent, name, 2) is None
    finally:
        os.close(parent)


def test_what_can_not_be_read_is_told_of_the_source() -> None:
    with pytest.raises(NotMovable, match="/a: permission denied"), reading("/a"):
        raise PermissionError(13, "no")
