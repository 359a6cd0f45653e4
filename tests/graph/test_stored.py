"""What a stored visit began with, read from its parent."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph

from langgraph_filesystem import FilesystemState, filesystem_node, open_sqlite
from langgraph_filesystem.state.io import Awaiting, Blocking, finished
from langgraph_filesystem.stored import marked, stored_seeds
from tests.databases import emptied, open_database
from tests.graph.runs import THREAD, agent, contents, opened_runs
from tests.scripted import call

GO: Any = {"messages": [HumanMessage("go", id="go")]}


def graph_with(node: Any, checkpointer: Any, schema: Any = FilesystemState) -> Any:
    builder = StateGraph(schema)
    builder.add_node("agent", node)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=checkpointer)


def stopping() -> Any:
    """Return an agent that stops before it writes."""
    return agent(call("write_file", file_path="/a", content="a"), interrupt_before=["write_file"])


def seeds_of(saver: Any, namespace: str) -> Any:
    place: Any = {"configurable": {**THREAD["configurable"], "checkpoint_ns": namespace}}
    return finished(stored_seeds(Blocking(), saver, place), "stored_seeds")


def test_a_visit_is_marked_with_how_deep_it_is() -> None:
    config: Any = {"metadata": {"user": "u"}, "configurable": {"checkpoint_ns": "a:1|b:2"}}
    assert marked(config)["metadata"] == {"user": "u", "filesystem_visit": 2}
    assert config["metadata"] == {"user": "u"}
    assert marked({})["metadata"] == {"filesystem_visit": 1}


@pytest.mark.usefixtures("database")
async def test_a_visit_began_with_what_its_parent_held(tmp_path: Path) -> None:
    path = emptied(tmp_path / "parent.db")
    with open_database(path) as (checkpointer, _):
        graph = graph_with(filesystem_node(stopping()), checkpointer)
        graph.invoke({**GO, "files": {"/b": "b"}}, THREAD)
        namespace = graph.get_state(THREAD).tasks[0].state["configurable"]["checkpoint_ns"]
        seeds = seeds_of(checkpointer, namespace)
        assert contents(seeds) == {"/b": "b"}
        assert [message.id for message in seeds["messages"]] == ["go"]
        # The parent itself is no visit, and what is not stored began with nothing.
        assert seeds_of(checkpointer, "") == {}
        assert seeds_of(checkpointer, "agent:unknown") == {}
    async with opened_runs(path, awaited=True) as runs:
        place: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": namespace}}
        again = await stored_seeds(Awaiting(), runs.checkpointer, place)
        assert contents(again) == {"/b": "b"}


def test_a_plain_subgraph_inside_a_visit_is_none(saver: Any) -> None:
    """It was given all files by value: to begin with the parent's would bring deleted ones back."""
    inner = graph_with(stopping(), None)
    graph = graph_with(filesystem_node(inner), saver)
    graph.invoke({**GO, "files": {"/b": "b"}}, THREAD)
    visit = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    plain = visit.tasks[0].state
    assert seeds_of(saver, visit.config["configurable"]["checkpoint_ns"])
    assert seeds_of(saver, plain.config["configurable"]["checkpoint_ns"]) == {}
    assert contents(plain.values) == {"/b": "b"}


def test_a_visit_whose_parent_was_pruned_can_still_be_read(tmp_path: Path) -> None:
    with open_sqlite(tmp_path / "parent.db") as (checkpointer, _):
        graph = graph_with(filesystem_node(stopping()), checkpointer)
        graph.invoke({**GO, "files": {"/b": "b"}}, THREAD)
        inside = graph.get_state(THREAD).tasks[0].state
        saver: Any = checkpointer
        with saver.cursor() as cursor:
            cursor.execute("DELETE FROM checkpoints WHERE checkpoint_ns = ''")
        assert seeds_of(checkpointer, inside["configurable"]["checkpoint_ns"]) == {}
        assert graph.get_state(inside).next == ("write_file",)
