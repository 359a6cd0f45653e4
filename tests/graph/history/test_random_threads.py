"""Random threads over an overlay against a plain copy of the tree: exact bytes, names and modes."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import (
    FilesystemBackend,
    OverlayBackend,
    StateBackend,
    StoreBackend,
    history,
)
from langgraph_filesystem.state.backends.file_store import MountContext
from langgraph_filesystem.state.files import ThreadFiles, file_bytes
from tests.graph.history.obedient import deletes, edits, moves, obedient, told, writes
from tests.state.backends.disk.places import fast_place
from tests.state.workspace import random_trees


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory in memory, which is faster."""
    with fast_place() as place:
        yield place.root


class DiskCopies:
    """A tree on disk, and a copy of it that gets the same calls directly."""

    def __init__(self, directory: Path, dice: random.Random) -> None:
        self._lower, self._copy = directory / "lower", directory / "copy"
        self._lower.mkdir()
        random_trees.grow(self._lower, dice)
        shutil.copytree(self._lower, self._copy, symlinks=True)
        self.lower = FilesystemBackend(self._lower)

    @property
    def copy(self) -> Any:
        return FilesystemBackend(self._copy)

    def write(self, path: str, content: str, overwrite: bool) -> None:
        below, is_new = self._lower / path[1:], not os.path.lexists(self._copy / path[1:])
        is_above = any(os.path.islink(above) for above in [below, *below.parents])
        written = self.copy.write(path, content, overwrite=overwrite)
        is_again = is_new and below.is_file() and self.is_hidden_alone(path)
        if is_again and not written.error and not is_above:
            (self._copy / path[1:]).chmod(below.stat().st_mode & 0o777)

    is_hidden_alone: Any = None

    def state(self) -> Any:
        return random_trees.tree_of(self._copy)

    def below(self) -> Any:
        return random_trees.tree_of(self._lower)

    def reset(self, state: Any) -> None:
        shutil.rmtree(self._copy)
        self._copy.mkdir()
        random_trees.plant(self._copy, state)

    def discarded(self) -> None:
        self.reset(self.below())


class StoreCopies:
    """The same in a store."""

    def __init__(self, directory: Path, dice: random.Random) -> None:
        store = InMemoryStore()
        self.lower: Any = StoreBackend(("lower",), store=store)
        self.copy: Any = StoreBackend(("copy",), store=store)
        for _ in range(8):
            content = dice.choice([*(text.encode() for text in random_trees.TEXTS)])
            self.lower.upload_files([(random_trees.path(dice), content)])
        self.reset(self.below())

    is_hidden_alone: Any = None

    def write(self, path: str, content: str, overwrite: bool) -> None:
        self.copy.write(path, content, overwrite=overwrite)

    def state(self) -> Any:
        return contents(self.copy)

    def below(self) -> Any:
        return contents(self.lower)

    def reset(self, state: Any) -> None:
        for path in contents(self.copy):
            self.copy.delete(path)
        self.copy.upload_files(list(state.items()))

    def discarded(self) -> None:
        self.reset(self.below())


class StateCopies(StoreCopies):
    """The same where the files below are in the thread as well."""

    values: Any = None
    """Returns the values of the thread."""

    def __init__(self, directory: Path, dice: random.Random) -> None:
        super().__init__(directory, dice)
        self.lower = StateBackend()
        self.reset({})

    def below(self) -> Any:
        files = self.values().get("files", {}) if self.values else {}
        below = sorted(path for path in files if path.startswith("/.lower/"))
        return {path.removeprefix("/.lower"): file_bytes(files[path]) for path in below}


def contents(backend: Any) -> dict[str, bytes]:
    paths = sorted(match["path"] for match in backend.glob("**").matches)
    found = backend.download_files(paths)
    return {path: one.content for path, one in zip(paths, found, strict=True)}


def act(agent: Any, config: Any, copies: Any, dice: random.Random) -> None:
    """Make a random call, in the thread and on the copy."""
    path, other = random_trees.path(dice), random_trees.path(dice)
    match dice.randrange(5):
        case 0 | 1:
            text, overwrite = dice.choice(random_trees.TEXTS), dice.random() < 0.5
            copies.write(path, text, overwrite)
            agent.invoke(told(writes(path, text, overwrite)), config)
        case 2:
            copies.copy.edit(path, "needle", "pin")
            agent.invoke(told(edits(path, "needle", "pin")), config)
        case 3:
            copies.copy.delete(path)
            agent.invoke(told(deletes(path)), config)
        case 4:
            copies.copy.move(path, other)
            agent.invoke(told(moves(path, other)), config)


def merged(agent: Any, config: Any, backend: OverlayBackend) -> dict[str, bytes]:
    """Return what an overlay shows in a thread."""
    values = agent.get_state(config).values
    thread = ThreadFiles(values.get("files") or {}, values.get("overlay") or {})
    return contents(backend.bound_to(backend.open(MountContext("/", thread))))


def play(directory: Path, seed: int, kind: Any) -> None:
    """Play a random thread: calls, forks, undos, discards and applies."""
    dice = random.Random(seed)
    copies = kind(directory, dice)
    backend = OverlayBackend(copies.lower)
    agent = obedient({"/": backend}, InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}

    def is_hidden_alone(path: str) -> bool:
        entry = agent.get_state(config).values.get("overlay", {}).get(path)
        return entry is not None and entry["kind"] == "deleted"

    copies.is_hidden_alone = is_hidden_alone
    copies.values = lambda: agent.get_state(config).values
    act(agent, config, copies, dice)
    known: list[tuple[Any, Any]] = []
    for _ in range(8):
        before = copies.below()
        match dice.randrange(10):
            case 0 if known:
                place, state = dice.choice(known)
                history.undo(agent, config, to=place)
                copies.reset(state)
            case 1 if known:  # a fork: the thread goes on from an earlier checkpoint
                place, state = dice.choice(known)
                config = {"configurable": {**place["configurable"], "thread_id": "1"}}
                copies.reset(state)
                act(agent, config, copies, dice)
                config = {"configurable": {"thread_id": "1"}}
            case 2:
                history.discard(agent, config)
                copies.discarded()
            case 3:
                result = history.apply(agent, config)
                assert (result.conflicts, result.failed) == ([], {})
                assert copies.below() == copies.state(), seed
                assert history.diff(agent, config) == ""
                before, known = copies.below(), []
            case _:
                act(agent, config, copies, dice)
        assert copies.below() == before
        assert merged(agent, config, backend) == contents(copies.copy), seed
        known.append((agent.get_state(config).config, copies.state()))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", [DiskCopies, StoreCopies, StateCopies])
def test_a_random_thread_is_like_a_copy(tmp_path: Path, seed: int, kind: Any) -> None:
    play(tmp_path, seed, kind)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(8, 308))
@pytest.mark.parametrize("kind", [DiskCopies, StoreCopies, StateCopies])
def test_hundreds_of_random_threads_are_like_copies(tmp_path: Path, seed: int, kind: Any) -> None:
    play(tmp_path, seed, kind)
