"""What a node writes is looked at before it is stored."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from langgraph_filesystem import (
    FileData,
    FilesystemError,
    FilesystemState,
    add_filesystem,
    filesystem_condition,
    guarded,
)
from langgraph_filesystem.state.channels import FilesChannel
from tests.databases import emptied
from tests.graph.runs import contents, opened_runs
from tests.scripted import ScriptedModel, call, says

GO: Any = {"messages": [HumanMessage("go")]}
BAD: Any = {"/../x": "1"}


@dataclass
class State:
    """A state that is no mapping."""

    files: Annotated[dict[str, FileData], FilesChannel()]


def parent(node: Any) -> StateGraph[Any]:
    """Return a builder with a node of its own before a model of its own."""
    model = ScriptedModel([says(call("write_file", file_path="/a", content="a"))])
    builder = StateGraph(FilesystemState)
    builder.add_node("own", node)
    builder.add_node("think", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "own")
    builder.add_edge("own", "think")
    builder.add_conditional_edges("think", filesystem_condition, ["router", END])
    return add_filesystem(builder, then="think")


@pytest.mark.usefixtures("database")
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
    builder = parent(lambda state: bad.pop() if bad else {"files": {"/good": "g"}})
    async with opened_runs(emptied(tmp_path / "parent.db"), awaited) as runs:
        graph = builder.compile(checkpointer=runs.checkpointer)
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
