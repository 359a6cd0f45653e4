"""Before anything outside the state is changed, the checkpoint of the step is in the saver."""

import asyncio
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_filesystem import FilesystemState, create_filesystem_agent
from langgraph_filesystem.nodes.node import _Blocking
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.state.backends.protocol import EditResult, WriteResult
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answers, call, says

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class SlowSaver(InMemorySaver):
    """A saver that takes its time, as one behind a network does."""

    def put(self, *args: Any, **options: Any) -> Any:
        time.sleep(0.02)
        return super().put(*args, **options)

    async def aput(self, *args: Any, **options: Any) -> Any:
        await asyncio.sleep(0.02)
        return super().put(*args, **options)


class Witness(Shelf):
    """A shelf that notes the keys it is given, and what the saver has when it is changed."""

    def __init__(self, saver: InMemorySaver) -> None:
        super().__init__(a="x")
        self.saver = saver
        self.keys: list[str | None] = []
        self.stored: list[bool] = []

    def write(self, file_path: str, content: str, *, once: str | None = None) -> WriteResult:
        self._look(once)
        return super().write(file_path, content)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        once: str | None = None,
    ) -> EditResult:
        self._look(once)
        return super().edit(file_path, old_string, new_string, replace_all)

    def _look(self, once: str | None) -> None:
        self.keys.append(once)
        latest = self.saver.get_tuple(CONFIG)
        waiting = latest.checkpoint["channel_values"].get("__pregel_tasks", []) if latest else []
        self.stored.append(bool(waiting))


SCRIPT = [
    says(call("write_file", "1", file_path="/m/b", content="x")),
    says(
        call("edit_file", "2", file_path="/m/b", old_string="x", new_string="y"),
        call("edit_file", "3", file_path="/m/b", old_string="y", new_string="z"),
    ),
]


def agent_with(saver: InMemorySaver | None) -> tuple[Any, Witness]:
    backend = Witness(saver or InMemorySaver())
    agent = create_filesystem_agent(
        ScriptedModel(SCRIPT), mounts={"/m": backend}, checkpointer=saver
    )
    return agent, backend


@pytest.mark.parametrize("runs_async", [False, True])
async def test_an_effect_waits_for_its_checkpoint(runs_async: bool) -> None:
    agent, backend = agent_with(SlowSaver())
    if runs_async:
        state = await agent.ainvoke({"messages": [HumanMessage("go")]}, CONFIG)
    else:
        state = agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert [m.status for m in answers(state)] == ["success"] * 3
    assert backend.files["/b"] == b"z"
    assert backend.stored == [True] * 3


def test_each_call_has_a_key_of_its_own() -> None:
    agent, backend = agent_with(InMemorySaver())
    agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    scopes, groups, places = zip(*(str(key).split(".") for key in backend.keys), strict=True)
    assert len(set(scopes)) == 1
    assert groups[0] != groups[1] == groups[2]
    assert places == ("0", "0", "1")


def test_without_a_saver_there_is_nothing_to_wait_for() -> None:
    agent, backend = agent_with(None)
    agent.invoke({"messages": [HumanMessage("go")]})
    assert backend.keys == [None] * 3


def test_whoever_stores_at_the_end_only_is_not_kept_waiting() -> None:
    agent, backend = agent_with(SlowSaver())
    agent.invoke({"messages": [HumanMessage("go")]}, CONFIG, durability="exit")
    assert backend.stored == [False] * 3
    assert backend.files["/b"] == b"z"


def test_in_a_subgraph_the_checkpoints_of_the_parents_are_waited_for_too() -> None:
    saver = SlowSaver()
    agent, backend = agent_with(None)
    seen: list[int] = []

    def look(once: str | None) -> None:
        spaces = {tuple_.config["configurable"]["checkpoint_ns"] for tuple_ in saver.list(CONFIG)}
        seen.append(len(spaces))

    backend._look = look  # type: ignore[method-assign]
    parent = StateGraph(FilesystemState)
    parent.add_node("agent", agent)
    parent.add_edge(START, "agent")
    graph = parent.compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert seen == [2, 2, 2]


def test_a_subgraph_that_stores_nothing_still_works() -> None:
    agent = create_filesystem_agent(
        ScriptedModel(SCRIPT), mounts={"/m": (backend := Witness(InMemorySaver()))}
    )
    agent.checkpointer = False
    parent = StateGraph(FilesystemState)
    parent.add_node("agent", agent)
    parent.add_edge(START, "agent")
    graph = parent.compile(checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert backend.files["/b"] == b"z"


async def test_a_saver_that_never_stores_is_an_error_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("langgraph_filesystem.nodes.once._PATIENCE", 0.05)
    monkeypatch.setattr("langgraph_filesystem.nodes.once._PATIENCE_WITH_NONE", 0.5)
    config: Any = {
        "configurable": {
            "__pregel_checkpointer": InMemorySaver(),
            "thread_id": "t",
            "checkpoint_map": {"": "never"},
        }
    }
    with pytest.raises(TimeoutError, match="could not be stored"):
        await Once(config, _Blocking()).ready()


def test_the_key_of_a_call_is_the_same_when_it_is_run_again() -> None:
    keys = []
    message = AIMessage("", id="ai-1", tool_calls=[SCRIPT[0].tool_calls[0]])
    for _ in range(2):
        saver = InMemorySaver()
        backend = Witness(saver)
        model = ScriptedModel([message])
        agent = create_filesystem_agent(model, mounts={"/m": backend}, checkpointer=saver)
        agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
        keys += backend.keys
    assert keys[0] == keys[1]
