"""Renaming never replaces what has the name already."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.renames import link_new, rename_new

Rename = Callable[[int, str, int, str], None]


@pytest.fixture(params=[rename_new, link_new], ids=["renameat2", "link"])
def rename(request: pytest.FixtureRequest) -> Rename:
    function: Rename = request.param
    return function


@pytest.fixture
def here(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_text("one")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to("file")
    handle = os.open(tmp_path, os.O_RDONLY)
    yield handle
    os.close(handle)


@pytest.mark.parametrize("name", ["file", "directory", "link"])
def test_an_entry_gets_another_name(tmp_path: Path, here: int, rename: Rename, name: str) -> None:
    before = os.lstat(tmp_path / name).st_ino
    rename(here, name, here, "new")
    assert os.lstat(tmp_path / "new").st_ino == before
    assert not os.path.lexists(tmp_path / name)


@pytest.mark.parametrize("taken", ["file", "directory", "link", "dangling"])
@pytest.mark.parametrize("kind", ["file", "directory"])
def test_what_is_there_is_left_alone(
    tmp_path: Path, here: int, rename: Rename, kind: str, taken: str
) -> None:
    (tmp_path / "dangling").symlink_to("nothing")
    source = tmp_path / "source"
    if kind == "file":
        source.write_text("two")
    else:
        source.mkdir()
    before = os.lstat(tmp_path / taken)
    with pytest.raises(FileExistsError):
        rename(here, "source", here, taken)
    assert os.path.samestat(os.lstat(tmp_path / taken), before)
    assert source.exists()
    assert (tmp_path / "file").read_text() == "one"


def test_what_is_missing_is_an_error(here: int, rename: Rename) -> None:
    with pytest.raises(FileNotFoundError):
        rename(here, "nothing", here, "new")
