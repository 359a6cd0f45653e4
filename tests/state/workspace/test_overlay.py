"""An overlay does what `langgraph_filesystem.testing` asks for, whatever lies below it."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import (
    FilesystemBackend,
    OverlayBackend,
    StateBackend,
    StoreBackend,
)
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
