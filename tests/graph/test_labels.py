"""What the drawing says: purposes, effects, conditions and places."""

from typing import Any

import pytest
from langchain_core.tools import tool

from langgraph_filesystem import StateBackend, create_filesystem_agent
from langgraph_filesystem.labels import dispatch_labels, node_metadata, operation_metadata
from langgraph_filesystem.nodes.operations import OPERATIONS
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Shell
from tests.scripted import ScriptedModel


@tool
def own() -> str:
    """Do something of one's own."""
    return "done"


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_a_purpose_and_an_effect(name: str) -> None:
    metadata = operation_metadata(OPERATIONS[name])
    assert metadata["purpose"].endswith(".")
    assert metadata["effect"] == ("changing" if OPERATIONS[name].changes else "read-only")


def test_labels_say_where_an_operation_can_work() -> None:
    settings = Settings(Mounts({"/": StateBackend(), "/project": Shell(), "/memories/": Shell()}))
    labels = dispatch_labels(["ls", "execute"], ["own"], settings)
    assert labels == {
        "ls": "ls in /, /memories, /project",
        "execute": "execute in /memories, /project",
        "tools": "call own",
        "evict": "nothing to run",
    }


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tools": {"tools": [own]},
    "everything": {"tools": [own], "mounts": {"/": Shell()}, "response_format": dict[str, Any]},
}


@pytest.mark.parametrize("name", ["plain", "tools"])
def test_every_node_has_metadata_and_every_condition_a_label(name: str) -> None:
    drawn = create_filesystem_agent(ScriptedModel(), **OPTIONS[name]).get_graph()
    for node in drawn.nodes.keys() - {"__start__", "__end__"}:
        assert drawn.nodes[node].metadata, node
    for edge in drawn.edges:
        assert bool(edge.data) is edge.conditional, edge
    for source in ("router", "evict", "model"):
        labels = [edge.data for edge in drawn.edges if edge.source == source]
        assert len(set(labels)) == len(labels)


def test_nodes_that_may_write_say_so() -> None:
    changing = [
        name
        for name in ("prepare", "router", "model", "evict", "tools", "respond")
        if node_metadata(name)["effect"] == "changing"
    ]
    assert changing == ["evict", "tools"]
