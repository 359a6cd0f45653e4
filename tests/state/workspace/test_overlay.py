"""An overlay does what `langgraph_filesystem.testing` asks for, whatever lies below it."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import FilesystemBackend as ForeignFiles
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import (
    CompositeBackend,
    FilesystemBackend,
    OverlayBackend,
    StateBackend,
    StoreBackend,
)
from langgraph_filesystem.state.backends.file_store import Entry, MountContext
from langgraph_filesystem.state.errors import Unsupported
from langgraph_filesystem.state.files import FileData, digest_of
from langgraph_filesystem.state.io import run_sync
from langgraph_filesystem.testing import Applied, BackendConformance
from tests.state.backends.disk.places import fast_place
from tests.state.workspace import random_trees


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory in memory, which is faster."""
    with fast_place() as place:
        yield place.root


class TestOverlayOnDisk(BackendConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        self.root = tmp_path
        return Applied(OverlayBackend(FilesystemBackend(tmp_path)), prefix="/deep/mount")

    def end_backend(self, backend: Any) -> None:
        assert list(self.root.iterdir()) == [], "something was written below"


class TestOverlayOnStore(BackendConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        store = InMemoryStore()
        return Applied(OverlayBackend(StoreBackend(("files",), store=store)))


@pytest.mark.soak
class TestOverlayOnState(BackendConformance):
    complete = True

    def make_backend(self, tmp_path: Path) -> Any:
        return Applied(OverlayBackend(StateBackend()))


@pytest.mark.parametrize("seed", range(20))
def test_an_overlay_shows_what_a_copy_of_the_tree_shows(tmp_path: Path, seed: int) -> None:
    compare_with_a_copy(tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20, 300))
def test_many_overlays_show_what_copies_of_the_trees_show(tmp_path: Path, seed: int) -> None:
    compare_with_a_copy(tmp_path, seed)


def test_a_link_in_a_moved_directory_is_followed(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/file").write_text("needle\n")
    (tmp_path / "old/link").symlink_to("file")
    overlay = Applied(OverlayBackend(FilesystemBackend(tmp_path)))
    assert overlay.move("/old", "/deep/new").files == 2
    assert overlay.read("/deep/new/link").file_data["content"] == "needle\n"
    assert [one["path"] for one in overlay.glob("link").matches] == ["/deep/new/link"]
    assert not overlay.edit("/deep/new/link", "needle", "pin").error
    assert overlay.read("/deep/new/file").file_data["content"] == "pin\n"


@pytest.mark.parametrize("kind", ["disk", "foreign"])
def test_matches_that_are_hidden_do_not_use_up_the_limit(tmp_path: Path, kind: str) -> None:
    for name in "abcd":
        (tmp_path / name).write_text("needle\n")
    foreign: Any = ForeignFiles(root_dir=str(tmp_path), virtual_mode=True)
    overlay = Applied(OverlayBackend(FilesystemBackend(tmp_path) if kind == "disk" else foreign))
    for path in ("/a", "/b"):
        assert not overlay.delete(path).error
    assert not overlay.write("/bb", "needle\n").error
    found = overlay.grep("needle", max_count=2)
    assert [one["path"] for one in found.matches] == ["/bb", "/c"]


@pytest.mark.parametrize("path", ["/.lower", "/.lower/a"])
def test_the_place_of_files_below_is_out_of_reach(path: str) -> None:
    overlay = Applied(OverlayBackend(StateBackend()), {"/.lower/a": FileData(content="below")})
    assert overlay.read("/a").file_data["content"] == "below"
    done = [
        overlay.read(path),
        overlay.ls(path),
        overlay.write(path, "", overwrite=True),
        overlay.edit(path, "below", ""),
        overlay.delete(path),
        overlay.move(path, "/b"),
        overlay.move("/a", f"{path}/b"),
    ]
    assert all("reserved" in one.error for one in done)
    assert overlay.read("/a").file_data["content"] == "below"


@pytest.mark.parametrize("is_composite", [False, True])
def test_an_overlay_over_an_overlay_is_refused(tmp_path: Path, is_composite: bool) -> None:
    inner: Any = OverlayBackend(FilesystemBackend(tmp_path))
    lower = CompositeBackend(StateBackend(), {"/inner": inner}) if is_composite else inner
    with pytest.raises(ValueError, match="beside each other"):
        OverlayBackend(lower)


def test_a_store_without_links_keeps_the_file_that_a_link_should_replace() -> None:
    lower = StoreBackend(("files",), store=InMemoryStore())
    lower.write("/a", "content")
    store = lower.open(MountContext())
    link = Entry("/a", "link", target="b")
    with pytest.raises(Unsupported, match="no symbolic links"):
        run_sync(store.replace("/a", link, b"", digest_of(b"content")))
    assert lower.read("/a").file_data is not None


def test_a_search_of_a_link_goes_by_the_name_of_the_link(tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text("needle\n")
    (tmp_path / "a").symlink_to("c.py")
    overlay = Applied(OverlayBackend(FilesystemBackend(tmp_path)))
    assert overlay.grep("needle", "/a", "*.py").matches == []
    assert overlay.grep("needle", "/a", "a").counts == {"/a": 1}
    assert overlay.grep("needle", "/c.py", "*.py").counts == {"/c.py": 1}


def compare_with_a_copy(tmp_path: Path, seed: int) -> None:
    """Make random calls on an overlay and on a copy of what lies below, and compare all answers."""
    dice = random.Random(seed)
    lower, copy = tmp_path / "lower", tmp_path / "copy"
    lower.mkdir()
    random_trees.grow(lower, dice)
    shutil.copytree(lower, copy, symlinks=True)
    before = random_trees.tree_of(lower)
    overlay, real = Applied(OverlayBackend(FilesystemBackend(lower))), FilesystemBackend(copy)
    for _ in range(12):
        method, args, options = random_trees.change(dice)
        done = [getattr(backend, method)(*args, **options) for backend in (overlay, real)]
        assert _error(done[0]) == _error(done[1]), (method, args, done)
        places = dice.randrange(1 << 30)
        shown = [random_trees.look(b, random.Random(places)) for b in (overlay, real)]
        assert shown[0] == shown[1], (method, args)
    assert random_trees.tree_of(lower) == before


def _error(result: Any) -> Any:
    results = result if isinstance(result, list) else [result]
    return [bool(one.error) for one in results]
