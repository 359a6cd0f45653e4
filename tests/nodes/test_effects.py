"""A call that is run again recognises its own work, and a command never runs twice unseen."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.effects import Effects
from langgraph_filesystem.nodes.node import _Blocking
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.state.backends.protocol import ExecuteResponse, Outcome, WriteResult
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.view import View
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import PlainShell, Shelf, Shell


def effects_on(backend: Any, key: str | None = "scope.group.0") -> tuple[Effects, Any]:
    config: Any = {"configurable": {"__pregel_checkpointer": InMemorySaver(), "thread_id": "t"}}
    io = _Blocking()
    mounts = Mounts({"/m": backend})
    effects = Effects(View(mounts, io, Runtime(), {}), io, Once(config, io))
    effects.key = key
    return effects, mounts.locate("/m/a")


class Keyed(Shelf):
    """A shelf that knows of a call what it is told to know."""

    def __init__(self, outcome: Outcome | None) -> None:
        super().__init__()
        self.outcome = outcome
        self.keys: list[str | None] = []

    def write(self, file_path: str, content: str, *, once: str | None = None) -> WriteResult:
        self.keys.append(once)
        return super().write(file_path, content)

    def recall(self, once: str) -> Outcome | None:
        self.keys.append(once)
        return self.outcome


async def test_an_effect_outside_gets_the_key_of_its_call_and_part() -> None:
    backend = Keyed(None)
    effects, mount = effects_on(backend)
    assert await effects.outcome(mount, "/m/a") is None
    await effects.change(mount, "/m/a", "write", "/a", "x", part="-copy0")
    assert backend.keys == ["scope.group.0", "scope.group.0-copy0"]


async def test_finished_work_is_recognised() -> None:
    effects, mount = effects_on(Keyed(Outcome(finished=True, occurrences=3)))
    outcome = await effects.outcome(mount, "/m/a")
    assert outcome is not None
    assert outcome.occurrences == 3


async def test_what_others_changed_since_is_for_the_model_to_see() -> None:
    effects, mount = effects_on(Keyed(Outcome(finished=False)))
    with pytest.raises(FilesystemError, match="/m/a: this call was interrupted"):
        await effects.outcome(mount, "/m/a")


async def test_without_a_saver_no_backend_is_asked() -> None:
    backend = Keyed(Outcome(finished=True))
    effects, mount = effects_on(backend, key=None)
    assert await effects.outcome(mount, "/m/a") is None
    assert backend.keys == []


async def test_a_command_is_not_begun_twice_in_a_sandbox_that_keeps_no_journal() -> None:
    shell = Shell("hi")
    effects, _ = effects_on(shell)
    await effects.execute(shell, "one")
    effects.key = "scope.group.1"
    await effects.execute(shell, "two")
    for key in ("scope.group.0", "scope.group.1"):
        again, _ = effects_on(shell, key)
        with pytest.raises(FilesystemError, match="begun before the run was interrupted"):
            await again.execute(shell, "again")
    later, _ = effects_on(shell, "scope.later.0")
    await later.execute(shell, "three")
    assert [asked["command"] for asked in shell.asked] == ["one", "two", "three"]
    [marks] = shell.files.values()
    assert marks == b"later.0\n"


async def test_a_command_runs_where_nothing_can_be_marked() -> None:
    class Bare:
        def execute(self, command: str) -> ExecuteResponse:
            return ExecuteResponse("ran", 0)

        def ls(self, path: str) -> None: ...

    effects, _ = effects_on(Bare())
    assert (await effects.execute(Bare(), "x")).output == "ran"


async def test_a_command_that_ended_is_answered_from_the_journal() -> None:
    class Journaled(PlainShell):
        def recall(self, once: str) -> Outcome:
            return Outcome(finished=True, response=ExecuteResponse("printed before", 3))

    backend = Journaled()
    effects, _ = effects_on(backend)
    assert await effects.execute(backend, "x") == ExecuteResponse("printed before", 3)
