"""What is known of where commands find files, of backends of ours and of others."""

from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import FilesystemBackend as TheirFiles
from deepagents.backends import LocalShellBackend as TheirShell

from langgraph_filesystem import LocalShellBackend, StateBackend
from langgraph_filesystem.state.shells import host_root_of, place_of, second_paths_of
from tests.nodes.backends import Broken, Shell


@pytest.mark.parametrize("backend", [StateBackend(), Shell(), Broken(OSError()), object()])
def test_of_most_backends_nothing_is_known(backend: Any) -> None:
    assert place_of(backend) is None
    assert host_root_of(backend) is None
    assert not second_paths_of(backend, "/m")


def test_a_shell_of_ours_says_where_commands_find_its_root(tmp_path: Path) -> None:
    here = str(tmp_path.resolve())
    shell = LocalShellBackend(tmp_path)
    assert place_of(shell) == here
    assert second_paths_of(shell, "/") == [(here, "/")]
    assert second_paths_of(shell.mounted_at("/project"), "/project") == [(here, "/")]
    assert second_paths_of(shell.mounted_at(here), here) == []


def test_without_virtual_mode_paths_are_the_hosts(tmp_path: Path) -> None:
    here = str(tmp_path.resolve())
    shell = LocalShellBackend(here, virtual_mode=False)
    assert place_of(shell) == "/"
    assert second_paths_of(shell, "/") == []
    assert second_paths_of(shell.mounted_at("/host"), "/host") == [(here, here)]


@pytest.mark.parametrize(
    ("virtual", "prefix", "inner"), [(True, "/", "/"), (True, "/m", "/"), (False, "/m", None)]
)
def test_a_shell_of_theirs_is_known_by_its_directory(
    tmp_path: Path, virtual: bool, prefix: str, inner: str | None
) -> None:
    here = str(tmp_path.resolve())
    shell = TheirShell(root_dir=tmp_path, virtual_mode=virtual)
    assert place_of(shell) == (here if virtual else "/")
    assert list(second_paths_of(shell, prefix)) == [(here, inner or here)]
    assert not second_paths_of(shell, here)
    assert host_root_of(shell) == (here if virtual else None)


def test_a_directory_of_theirs_without_commands_has_a_root_only(tmp_path: Path) -> None:
    files = TheirFiles(root_dir=tmp_path, virtual_mode=True)
    assert place_of(files) is None
    assert not second_paths_of(files, "/m")
    assert host_root_of(files) == str(tmp_path.resolve())
