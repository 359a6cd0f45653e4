"""Changes under a key: handed to what lies outside the state, and asked about."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from langgraph_filesystem.state.backends.protocol import Outcome, WriteResult
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.effects import Effects
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import Blocking
from langgraph_filesystem.state.view import View
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Shelf


class Keyed(Shelf):
    """A shelf that keeps the keys it is given."""

    def __init__(self, outcome: Outcome | None = None) -> None:
        super().__init__()
        self.keys: list[str | None] = []
        self.outcome = outcome

    def write(self, file_path: str, content: str, *, once: str | None = None) -> WriteResult:
        self.keys.append(once)
        return super().write(file_path, content)

    def recall(self, once: str) -> Outcome | None:
        self.keys.append(once)
        return self.outcome


def effects_on(backend: Any, key: str | None = "s.g.0") -> tuple[Effects, Any]:
    view = View(Mounts({"/m": backend}), Blocking(), Runtime(), {})
    return Effects(view, Blocking(), key), view.mounts.locate("/m")


async def test_each_part_of_a_call_has_a_key() -> None:
    keyed = Keyed()
    effects, mount = effects_on(keyed)
    await effects.change(mount, "/m/a", "write", "/a", "x", part="-copy0")
    assert await effects.outcome(mount, "/m/a") is None
    assert keyed.keys == ["s.g.0-copy0", "s.g.0"]


async def test_without_a_key_nothing_is_asked() -> None:
    keyed = Keyed(Outcome(finished=True))
    effects, mount = effects_on(keyed, None)
    await effects.change(mount, "/m/a", "write", "/a", "x")
    assert await effects.outcome(mount, "/m/a") is None
    assert keyed.keys == [None]


async def test_what_is_in_the_state_needs_no_key() -> None:
    effects, mount = effects_on(StateBackend())
    await effects.change(mount, "/m/a", "write", "/a", "x")
    assert await effects.outcome(mount, "/m/a") is None


async def test_work_that_is_neither_done_nor_undone_is_an_error() -> None:
    effects, mount = effects_on(Keyed(Outcome(finished=False)))
    with pytest.raises(FilesystemError, match="/m/a: this call was interrupted"):
        await effects.outcome(mount, "/m/a")


async def test_one_waits_until_something_may_be_changed() -> None:
    waited: list[str] = []

    class Waiting(Effects):
        async def ready(self) -> None:
            waited.append("ready")

    _, mount = effects_on(Keyed())
    view = View(Mounts({"/m": mount.backend}), Blocking(), Runtime(), {})
    effects = Waiting(view, Blocking(), "k")
    await effects.change(view.mounts.locate("/m"), "/m/a", "write", "/a", "x")
    await effects.outcome(view.mounts.locate("/m"), "/m/a")
    assert waited == ["ready", "ready"]
