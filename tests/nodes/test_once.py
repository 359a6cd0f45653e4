"""Before anything outside the state is changed, the checkpoint of the step is in the saver."""

import asyncio
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from langgraph_filesystem import (
    CompositeBackend,
    FilesystemError,
    FilesystemState,
    StateBackend,
    add_filesystem,
    create_filesystem_agent,
    filesystem_condition,
    filesystem_node,
    guarded,
)
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.state.backends.protocol import EditResult, WriteResult
from langgraph_filesystem.state.langgraph_internals import durability_of
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answers, call, says

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class SlowSaver(InMemorySaver):
    """A saver that takes its time for the first checkpoints, as one behind a network may."""

    slow = 1
    seconds = 1.0

    def put(self, *args: Any, **options: Any) -> Any:
        time.sleep(self._pause())
        return super().put(*args, **options)

    async def aput(self, *args: Any, **options: Any) -> Any:
        await asyncio.sleep(self._pause())
        return super().put(*args, **options)

    def _pause(self) -> float:
        self.slow -= 1
        return self.seconds if self.slow >= 0 else 0.02


class FailingSaver(InMemorySaver):
    """A saver that stores nothing."""

    def put(self, *args: Any, **options: Any) -> Any:
        raise ConnectionError("the database is gone")

    async def aput(self, *args: Any, **options: Any) -> Any:
        raise ConnectionError("the database is gone")


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


def own_graph(saver: InMemorySaver) -> tuple[Any, Witness]:
    """Return a graph without a guard."""
    backend, model = Witness(saver), ScriptedModel(SCRIPT)
    builder = StateGraph(FilesystemState)
    builder.add_node("think", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", filesystem_condition, ["router", END])
    add_filesystem(builder, then="think", mounts={"/m": backend})
    return builder.compile(checkpointer=saver), backend


async def invoked(graph: Any, awaited: bool, **options: Any) -> Any:
    given: Any = {"messages": [HumanMessage("go")]}
    if awaited:
        return await graph.ainvoke(given, CONFIG, **options)
    return graph.invoke(given, CONFIG, **options)


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("make", [agent_with, own_graph])
async def test_an_effect_comes_after_its_checkpoint(make: Any, awaited: bool) -> None:
    agent, backend = make(SlowSaver())
    state = await invoked(agent, awaited)
    assert [m.status for m in answers(state)] == ["success"] * 3
    assert backend.files["/b"] == b"z"
    assert backend.stored == [True] * 3


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("durability", [None, "async", "sync"])
async def test_a_saver_that_fails_ends_the_run_before_any_effect(
    awaited: bool, durability: Any
) -> None:
    agent, backend = agent_with(FailingSaver())
    with pytest.raises(ConnectionError, match="the database is gone"):
        await invoked(agent, awaited, durability=durability)
    assert backend.keys == []
    assert "/b" not in backend.files


@pytest.mark.parametrize(
    ("mounts", "given", "chosen"),
    [
        ({"/": StateBackend()}, {}, "async"),
        ({"/": StateBackend(), "/n": StateBackend()}, {"durability": "async"}, "async"),
        ({"/m": Shelf()}, {}, "sync"),
        ({"/m": Shelf()}, {"durability": "async"}, "sync"),
        ({"/m": Shelf()}, {"durability": "sync"}, "sync"),
        ({"/m": Shelf()}, {"durability": "exit"}, "exit"),
        ({"/m": lambda runtime: Shelf()}, {}, "sync"),
        (CompositeBackend(StateBackend(), {"/m": Shelf()}), {}, "sync"),
        (CompositeBackend(StateBackend(), {"/m": StateBackend()}), {}, "async"),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_checkpoints_are_stored_first_where_a_mount_reaches_outside_the_state(
    mounts: Any, given: dict[str, Any], chosen: str, nested: bool
) -> None:
    seen: list[str] = []

    @tool
    def look(config: RunnableConfig) -> str:
        """Look."""
        seen.append(durability_of(config))
        return ""

    saver = InMemorySaver()
    script = ScriptedModel([says(call("look"))])
    agent = create_filesystem_agent(
        script, [look], mounts=mounts, checkpointer=None if nested else saver
    )
    if nested:
        parent = StateGraph(FilesystemState)
        parent.add_node("agent", filesystem_node(agent))
        parent.add_edge(START, "agent")
        agent = guarded(parent.compile(checkpointer=saver))
    agent.invoke({"messages": [HumanMessage("go")]}, CONFIG, **given)
    assert seen == [chosen]


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


@pytest.mark.parametrize("own_saver", [None, InMemorySaver()], ids=["no saver", "own saver"])
@pytest.mark.parametrize("wrap", [lambda graph: graph, guarded], ids=["plain", "guarded"])
def test_in_a_subgraph_the_checkpoints_of_the_parents_are_waited_for_too(
    wrap: Any, own_saver: Any
) -> None:
    saver = SlowSaver()
    agent, backend = agent_with(own_saver)
    seen: list[set[int]] = []

    def look(once: str | None) -> None:
        seen.append({space.count("|") + bool(space) for space in stored_spaces(saver)})

    backend._look = look  # type: ignore[method-assign]
    parent = StateGraph(FilesystemState)
    parent.add_node("agent", agent)
    parent.add_edge(START, "agent")
    graph = wrap(parent.compile(checkpointer=saver))
    graph.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert seen == [{0, 1}] * 3


def stored_spaces(saver: InMemorySaver) -> set[str]:
    return {stored.config["configurable"]["checkpoint_ns"] for stored in saver.list(CONFIG)}


def test_a_subgraph_that_stores_nothing_does_not_wait() -> None:
    backend = Witness(InMemorySaver())
    agent = create_filesystem_agent(
        ScriptedModel(SCRIPT), mounts={"/m": backend}, checkpointer=False
    )
    parent = StateGraph(FilesystemState)
    parent.add_node("agent", filesystem_node(agent))
    parent.add_edge(START, "agent")
    saver = InMemorySaver()
    parent.compile(checkpointer=saver).invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert stored_spaces(saver) == {""}
    assert backend.files["/b"] == b"z"
    assert backend.keys == [None] * 3


async def test_a_checkpoint_that_is_never_stored_is_an_error_in_the_end() -> None:
    config: Any = {
        "configurable": {
            "__pregel_checkpointer": InMemorySaver(),
            "thread_id": "t",
            "checkpoint_map": {"": "never"},
        }
    }
    with pytest.raises(FilesystemError, match=r"was not stored within 0\.05 s"):
        await Once(config, patience=0.05).ready()


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
