"""The path by which commands know a directory, for the file operations."""

from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.jail import RESERVED
from langgraph_filesystem.state.backends.second_path import JailOfCommands
from langgraph_filesystem.state.errors import PathRefused

PATHS = ["/workspace", "/.workspace"]


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/a.txt", "/a.txt"),
        ("/workspace", "/"),
        ("/workspace/", "/"),
        ("/workspace/a/b.txt", "/a/b.txt"),
        ("workspace/a", "/a"),
        ("/workspaces/a", "/workspaces/a"),
        ("/a/workspace/b", "/a/workspace/b"),
        ("/.workspace/a", "/.workspace/a"),
    ],
)
def test_a_path_that_a_command_prints_is_one_below_the_root(
    tmp_path: Path, path: str, normal: str
) -> None:
    jail = JailOfCommands(tmp_path, PATHS)
    assert jail.second == "/workspace"
    assert jail.normal(path) == normal


def test_what_the_directory_has_itself_keeps_its_path(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    jail = JailOfCommands(tmp_path, PATHS)
    assert jail.second == "/.workspace"
    assert jail.normal("/workspace/a") == "/workspace/a"
    assert jail.normal("/.workspace/a") == "/a"
    assert jail.can_name("/workspace")
    (tmp_path / ".workspace").symlink_to("nowhere")
    assert jail.second is None
    assert jail.normal("/.workspace/a") == "/.workspace/a"


def test_a_directory_with_only_the_first_name_of_it_does_not_hide_it(tmp_path: Path) -> None:
    (tmp_path / "srv/other").mkdir(parents=True)
    jail = JailOfCommands(tmp_path, ["/srv/repo"])
    assert jail.normal("/srv/repo/a") == "/a"
    assert jail.normal("/srv/other/a") == "/srv/other/a"
    (tmp_path / "srv/repo").mkdir()
    assert jail.normal("/srv/repo/a") == "/srv/repo/a"


def test_there_may_be_no_second_path(tmp_path: Path) -> None:
    jail = JailOfCommands(tmp_path, [])
    assert jail.second is None
    assert jail.normal("/workspace/a") == "/workspace/a"


@pytest.mark.parametrize("path", ["/workspace/../etc", f"/workspace/{RESERVED}/x"])
def test_it_is_no_way_around_what_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(PathRefused):
        JailOfCommands(tmp_path, PATHS).normal(path)
