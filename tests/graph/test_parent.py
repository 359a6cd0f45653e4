"""What a subgraph learns of the graph that it works for."""

import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph, add_messages
from langgraph.managed import RemainingSteps
from typing_extensions import TypedDict

from langgraph_filesystem import FileData, FilesystemState, merge_files
from langgraph_filesystem.parent import SEEN, Parent


class Plain(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, FileData], merge_files]
    seen: list[str]
    count: Annotated[int, operator.add]
    steps: RemainingSteps


def parent_in(schema: Any, given: Any) -> Parent:
    """Return what a node of a graph sees of it."""
    found: list[Parent] = []

    def node(state: Any, config: RunnableConfig) -> Any:
        found.append(Parent(config))
        return {}

    builder = StateGraph(schema)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.compile().invoke(given)
    return found[0]


def test_keys_of_a_parent_and_what_they_take() -> None:
    parent = parent_in(Plain, {"messages": [], "files": {"/a": "a"}, "count": 2})
    assert parent.has("files")
    assert not parent.has("structured_response")
    assert parent.get("count") == 2
    assert (parent.holds("count"), parent.holds("seen"), parent.holds("steps")) == (
        True,
        False,
        False,
    )
    assert (parent.reduces("count"), parent.reduces("seen")) == (True, False)
    assert (parent.takes_edits, parent.takes_moves) == (True, False)
    # Its own `seen` is something else, so ours is kept beside it.
    assert parent.seen == SEEN
    parent.check([])


def test_a_parent_with_our_state_takes_everything() -> None:
    parent = parent_in(FilesystemState, {"messages": []})
    assert (parent.takes_edits, parent.takes_moves, parent.seen) == (True, True, "seen")
    parent.check([])


@pytest.mark.parametrize("config", [{}, {"configurable": {"thread_id": "1"}}])
def test_outside_of_a_graph_the_caller_takes_everything(config: RunnableConfig) -> None:
    parent = Parent(config)
    assert not parent.has("files")
    assert parent.takes_edits
    parent.check([])


def test_a_workflow_is_no_parent_but_a_caller() -> None:
    found: list[Parent] = []

    @entrypoint()
    def workflow(given: Any, config: RunnableConfig) -> None:
        found.append(Parent(config))

    workflow.invoke(1)
    assert not found[0].has("__previous__")
    found[0].check([])


def test_files_that_are_given_need_no_key() -> None:
    class Talk(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    parent = parent_in(Talk, {"messages": []})
    parent.check(["files"])
    with pytest.raises(ValueError, match="no key `files`"):
        parent.check(["messages"])
