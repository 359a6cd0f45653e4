"""The guard rejects invalid files wherever they come from, and the thread can still be read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Command, Overwrite
from typing_extensions import TypedDict

from langgraph_filesystem import (
    FileData,
    FilesystemError,
    FilesystemState,
    add_filesystem,
    create_filesystem_agent,
    filesystem_condition,
    filesystem_node,
    guarded,
    merge_files,
)
from langgraph_filesystem.state.channels import FilesChannel
from tests.databases import aopen_database, emptied, open_database
from tests.graph.runs import Runs, contents, opened_runs
from tests.scripted import ScriptedModel, call, says

THREAD: Any = {"configurable": {"thread_id": "1"}}
GO: Any = {"messages": [HumanMessage("go")]}
BAD: Any = {"/../x": "1"}


def agent_on(checkpointer: Any) -> Any:
    script = [says(call("write_file", file_path="/a", content="x"))]
    return create_filesystem_agent(
        ScriptedModel(script), checkpointer=checkpointer, interrupt_before="*"
    )


@pytest.mark.parametrize(
    "node", ["__start__", "prepare", "evict", "model", "router", "write_file", "ls", None]
)
def test_a_refused_update_leaves_no_trace_as_whichever_node_it_comes(
    tmp_path: Path, node: str | None
) -> None:
    with open_database(tmp_path / "agent.sqlite") as (checkpointer, _):
        agent = agent_on(checkpointer)
        agent.invoke(GO, THREAD)
        while node in agent.get_graph().nodes and node not in agent.get_state(THREAD).next:
            agent.invoke(None, THREAD)
            if node in ("__start__", "ls"):
                break
        before = agent.get_state(THREAD)
        with pytest.raises(FilesystemError, match=r"/\.\./x"):
            agent.update_state(THREAD, {"files": BAD}, as_node=node)
        assert agent.get_state(THREAD) == before
        while agent.get_state(THREAD).next:
            agent.invoke(None, THREAD)
        assert set(agent.get_state(THREAD).values["files"]) == {"/a"}


@pytest.mark.parametrize(
    "given",
    [
        {**GO, "files": BAD},
        {**GO, "files": Overwrite(BAD)},
        {**GO, "files": {"__overwrite__": BAD}},
        Command(update={"files": BAD}),
        Command(update=[("files", BAD)]),
    ],
)
async def test_a_refused_input_leaves_no_trace(tmp_path: Path, given: Any) -> None:
    path = tmp_path / "agent.sqlite"
    with open_database(path) as (checkpointer, _):
        agent = agent_on(checkpointer)
        with pytest.raises(FilesystemError, match=r"/\.\./x"):
            agent.invoke(given, THREAD)
        assert agent.get_state(THREAD).created_at is None
    async with aopen_database(path) as (checkpointer, _):
        agent = agent_on(checkpointer)
        with pytest.raises(FilesystemError, match=r"/\.\./x"):
            await agent.ainvoke(given, THREAD)
        with pytest.raises(FilesystemError, match=r"/\.\./x"):
            await agent.aupdate_state(THREAD, {"files": BAD})
        assert (await agent.aget_state(THREAD)).created_at is None


def test_an_overwrite_of_good_files_replaces_them_all(tmp_path: Path) -> None:
    with open_database(tmp_path / "agent.sqlite") as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(), checkpointer=checkpointer)
        agent.invoke({**GO, "files": {"/a": "1", "/b": "2"}}, THREAD)
        agent.update_state(THREAD, {"files": Overwrite({"c": "3"})})
        assert agent.get_state(THREAD).values["files"] == {
            "/c": {"content": "3", "encoding": "utf-8"}
        }
        assert agent.invoke(GO, THREAD)["files"].keys() == {"/c"}


def test_a_copy_of_the_graph_is_guarded_too() -> None:
    agent = create_filesystem_agent(ScriptedModel()).with_config({"tags": ["copied"]})
    with pytest.raises(FilesystemError):
        agent.invoke({**GO, "files": BAD})


@pytest.mark.parametrize("update", [{"messages": 5}, {"messages": [object()]}, {"seen": 5}])
def test_a_refused_update_of_another_channel_leaves_no_trace_either(
    tmp_path: Path, update: dict[str, Any]
) -> None:
    with open_database(tmp_path / "agent.sqlite") as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(), checkpointer=checkpointer)
        agent.invoke(GO, THREAD)
        before = agent.get_state(THREAD)
        with pytest.raises((TypeError, ValueError, NotImplementedError)):
            agent.update_state(THREAD, update)
        with pytest.raises((TypeError, ValueError, NotImplementedError)):
            agent.invoke(Command(update=update), THREAD)
        assert agent.get_state(THREAD) == before
        agent.update_state(THREAD, {"files": {"/later": "x"}})
        assert set(agent.get_state(THREAD).values["files"]) == {"/later"}


# Parents that are not guarded


def update(left: dict[str, Any] | None, right: dict[str, Any]) -> dict[str, Any]:
    """Reduce files as other people do, without a look at them; `None` deletes."""
    return {k: v for k, v in {**(left or {}), **right}.items() if v is not None}


class Merged(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, FileData], merge_files]


class Updated(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, Any], update]


def parent_of(schema: Any, checkpointer: Any) -> Any:
    script = [says(call("write_file", file_path="/a", content="x"))]
    builder = StateGraph(schema)
    builder.add_node("agent", filesystem_node(create_filesystem_agent(ScriptedModel(script))))
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=checkpointer)


@pytest.mark.parametrize("schema", [FilesystemState, Merged, Updated])
@pytest.mark.parametrize("awaited", [False, True])
async def test_bad_files_of_a_parent_end_its_run_before_a_visit_stores_anything(
    tmp_path: Path, schema: Any, awaited: bool
) -> None:
    async with opened_runs(emptied(tmp_path / "parent.db"), awaited) as runs:
        graph = parent_of(schema, runs.checkpointer)
        await runs.invoke(graph, {**GO, "files": {"/kept": "k"}})
        known = await namespaces(runs)
        with pytest.raises(FilesystemError, match=r"/\.\./x"):
            await runs.invoke(graph, {**GO, "files": BAD})
        assert await namespaces(runs) == known
        if schema is Updated:
            # Only the visit looked at them, so they are in the thread: they can be taken out.
            assert (await runs.state(graph)).values["files"].keys() == {"/kept", "/a", "/../x"}
            good = {"files": {"/../x": None}}
            await runs.call(graph, "update_state", THREAD, good, "__start__")
            done = await runs.invoke(graph, {"messages": [HumanMessage("on")]})
            assert done["files"].keys() == {"/kept", "/a"}


@pytest.mark.parametrize("schema", [FilesystemState, Merged, Updated])
@pytest.mark.parametrize("awaited", [False, True])
async def test_a_parent_that_is_guarded_stays_whole(
    tmp_path: Path, schema: Any, awaited: bool
) -> None:
    async with opened_runs(emptied(tmp_path / "parent.db"), awaited) as runs:
        graph = guarded(parent_of(schema, runs.checkpointer))
        await runs.invoke(graph, {**GO, "files": {"/kept": "k"}})
        before = await runs.state(graph)
        with pytest.raises(FilesystemError, match=r"/\.\./x"):
            await runs.invoke(graph, {**GO, "files": BAD})
        assert await runs.state(graph) == before
        done = await runs.invoke(graph, {"messages": [HumanMessage("on")], "files": {"/b": "b"}})
        assert done["files"].keys() == {"/kept", "/a", "/b"}


async def namespaces(runs: Runs) -> set[str]:
    """Return which graphs have stored something in the thread."""
    if runs.awaited:
        found = [stored async for stored in runs.checkpointer.alist(THREAD)]
    else:
        found = list(runs.checkpointer.list(THREAD))
    return {stored.config["configurable"]["checkpoint_ns"] for stored in found}


# Nodes of other people


@dataclass
class State:
    """A state that is no mapping."""

    files: Annotated[dict[str, FileData], FilesChannel()]


def own_graph(node: Any) -> StateGraph[Any]:
    """Return a builder with a node of its own before a model of its own."""
    model = ScriptedModel([says(call("write_file", file_path="/a", content="a"))])
    builder = StateGraph(FilesystemState)
    builder.add_node("own", node)
    builder.add_node("think", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "own")
    builder.add_edge("own", "think")
    builder.add_conditional_edges("think", filesystem_condition, ["router", END])
    return add_filesystem(builder, then="think")


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize(
    "written",
    [
        {"files": BAD},
        Command(update={"files": BAD}),
        Command(update=[("files", BAD)]),
        [{"messages": []}, Command(update={"files": BAD})],
        State(files=BAD),
        {"files": {"/x": 5}},
        {"messages": [object()]},
    ],
)
async def test_a_node_that_writes_what_is_no_file_fails_and_the_thread_can_go_on(
    tmp_path: Path, written: Any, awaited: bool
) -> None:
    bad: list[Any] = [written]
    builder = own_graph(lambda state: bad.pop() if bad else {"files": {"/good": "g"}})
    async with opened_runs(emptied(tmp_path / "parent.db"), awaited) as runs:
        graph = guarded(builder.compile(checkpointer=runs.checkpointer))
        with pytest.raises((FilesystemError, NotImplementedError)) as refused:
            await runs.invoke(graph, {**GO, "files": {"/kept": "k"}})
        if isinstance(refused.value, FilesystemError):
            assert "/x" in str(refused.value)
        state = await runs.state(graph)
        assert (contents(state.values), state.next) == ({"/kept": "k"}, ("own",))
        done = await runs.invoke(graph, None)
        assert contents(done) == {"/kept": "k", "/good": "g", "/a": "a"}


def test_a_graph_that_is_guarded_is_drawn_as_it_was() -> None:
    builder = StateGraph(FilesystemState)
    builder.add_node("own", lambda state: {})
    builder.add_edge(START, "own")
    builder.add_conditional_edges("own", lambda state: END, ["own", END])
    compiled = builder.compile()
    assert guarded(compiled).get_graph() == compiled.get_graph()
    assert guarded(compiled).invoke({**GO, "files": {"/a": "a"}})["files"].keys() == {"/a"}


def test_a_dataclass_may_be_the_state_of_a_guarded_graph() -> None:
    builder = StateGraph(State)
    builder.add_node("own", lambda state: State(files={"/b": {"content": "b"}}))
    builder.add_edge(START, "own")
    graph = guarded(builder.compile())
    assert graph.invoke(State(files={"/a": {"content": "a"}}))["files"].keys() == {"/a", "/b"}
    with pytest.raises(FilesystemError, match=r"/\.\./x"):
        graph.invoke(State(files=BAD))
