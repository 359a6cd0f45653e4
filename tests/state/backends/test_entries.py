"""Entries of a directory for a sandbox: no link is followed on the way."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.entries import open_entries


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_text("x")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tool").write_text("x")
    (tmp_path / "outside").symlink_to("/etc")
    (tmp_path / "inside").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    handle = os.open(tmp_path, os.O_RDONLY)
    yield handle
    os.close(handle)


def test_files_and_directories_are_handed_over_and_links_stay_links(directory: int) -> None:
    paths = ["file", "bin", "bin/tool", "inside", "outside", "fifo", "gone", "bin/gone"]
    files, arguments = open_entries(directory, paths)
    assert arguments == [
        *("--bind-fd", "16", "/file"),
        *("--bind-fd", "17", "/bin"),
        *("--bind-fd", "18", "/bin/tool"),
        *("--symlink", "file", "/inside"),
        *("--symlink", "/etc", "/outside"),
    ]
    names = [os.path.basename(os.readlink(f"/proc/self/fd/{handle}")) for handle in files.values()]
    assert names == ["file", "bin", "tool"]
    for handle in files.values():
        os.close(handle)


def test_nothing_behind_a_link_is_handed_over(directory: int) -> None:
    assert open_entries(directory, ["outside/passwd", "outside/ssl"]) == ({}, [])


def test_nothing_stays_open_that_is_not_handed_over(directory: int) -> None:
    before = len(os.listdir("/dev/fd"))
    open_entries(directory, ["inside", "outside", "fifo", "gone", "outside/passwd"] * 10)
    assert len(os.listdir("/dev/fd")) == before
