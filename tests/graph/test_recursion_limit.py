"""A `recursion_limit` allows as many turns as it does in agents with two supersteps a turn."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, StateGraph

from langgraph_filesystem import (
    FilesystemState,
    create_filesystem_agent,
    filesystem_node,
    guarded,
)
from tests.scripted import ScriptedModel, answers, call, says

GO: Any = {"messages": [HumanMessage("go")]}
LIMIT: Any = {"recursion_limit": 20}
TURNS = 9


def agent(turns: int = TURNS, **options: Any) -> Any:
    script = [says(call("ls", path="/")) for _ in range(turns)]
    return create_filesystem_agent(ScriptedModel(script), **options)


def parent_of(*nodes: Any) -> Any:
    builder = StateGraph(FilesystemState)
    for number, node in enumerate(nodes):
        builder.add_node(f"agent{number}", node)
        builder.add_edge(START, f"agent{number}")
    return builder.compile()


GRAPHS: dict[str, Callable[[], Any]] = {
    "agent": agent,
    "agent that summarizes": lambda: agent(summarize=100_000),
    "node of a parent": lambda: parent_of(filesystem_node(agent())),
    "node of a guarded parent": lambda: guarded(parent_of(filesystem_node(agent()))),
    "compiled graph in a parent": lambda: parent_of(agent()),
    "with_config": lambda: agent().with_config(LIMIT),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("method", ["invoke", "ainvoke", "stream", "astream"])
async def test_9_turns_fit_into_a_limit_of_20(name: str, method: str) -> None:
    graph, config = GRAPHS[name](), None if name == "with_config" else LIMIT
    if method == "invoke":
        state = graph.invoke(GO, config)
    elif method == "ainvoke":
        state = await graph.ainvoke(GO, config)
    elif method == "stream":
        state = list(graph.stream(GO, config, stream_mode="values"))[-1]
    else:
        state = [values async for values in graph.astream(GO, config, stream_mode="values")][-1]
    assert len(answers(state)) == TURNS
    assert state["messages"][-1].text == "done"


def test_a_limit_ends_a_run_about_where_it_ends_another_agent() -> None:
    @tool
    def look() -> str:
        """Look."""
        return "nothing"

    turns, looks = 0, [says(call("look")) for _ in range(100)]
    other = create_agent(ScriptedModel(looks), [look])
    for event in _until_the_limit(other, stream_mode="updates"):
        turns += "tools" in event
    ours = sum("ls" in event for event in _until_the_limit(agent(100), stream_mode="updates"))
    assert turns - 1 <= ours <= turns


def test_a_limit_is_raised_once_for_all_graphs_inside() -> None:
    inner = filesystem_node(agent(100))
    for graph in (agent(100), parent_of(inner), guarded(parent_of(inner))):
        steps = [ns for ns, _ in _until_the_limit(graph, stream_mode="updates", subgraphs=True)]
        assert len(steps) == 2 * LIMIT["recursion_limit"]


def test_the_default_allows_as_many_turns_as_that_of_another_agent() -> None:
    limits: list[int] = []

    @tool
    def look(config: RunnableConfig) -> str:
        """Look."""
        limits.append(config["recursion_limit"])
        return "nothing"

    script = [says(call("look"))]
    create_agent(ScriptedModel(script), [look]).invoke(GO)
    create_filesystem_agent(ScriptedModel(script), [look]).invoke(GO)
    assert limits[1] == 2 * limits[0]


def test_a_limit_that_is_no_limit_is_an_error() -> None:
    with pytest.raises(ValueError, match="recursion_limit"):
        agent().invoke(GO, {"recursion_limit": 0})


def _until_the_limit(graph: Any, **options: Any) -> list[Any]:
    """Return what a graph streams until it reaches the limit."""
    events: list[Any] = []
    with pytest.raises(GraphRecursionError):
        events.extend(graph.stream(GO, LIMIT, **options))
    return events
