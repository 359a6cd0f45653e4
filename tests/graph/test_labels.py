"""What the drawing says: purposes, effects, conditions and places."""

import re
from typing import Any

import pytest
from langchain_core.tools import tool

from langgraph_filesystem import StateBackend, create_filesystem_agent
from langgraph_filesystem.labels import (
    dispatch_labels,
    draw_mermaid,
    node_metadata,
    operation_metadata,
)
from langgraph_filesystem.nodes.registry import OPERATIONS
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


def test_the_edges_of_the_router_name_mounts_where_not_all_are_reachable() -> None:
    settings = Settings(Mounts({"/": StateBackend(), "/project": Shell(), "/memories/": Shell()}))
    assert dispatch_labels(["ls", "execute"], ["own"], settings) == {
        "ls": "",
        "execute": "in /memories, /project",
        "tools": "",
        "evict": "nothing left to run",
    }
    assert dispatch_labels(["execute"], [], Settings(Mounts({"/": Shell()})))["execute"] == ""


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tools": {"tools": [own]},
    "everything": {"tools": [own], "mounts": {"/": Shell()}, "response_format": dict[str, Any]},
}


@pytest.mark.parametrize("name", ["plain", "tools"])
def test_every_node_has_metadata_and_every_choice_a_label(name: str) -> None:
    drawn = create_filesystem_agent(ScriptedModel(), **OPTIONS[name]).get_graph()
    for node in drawn.nodes.keys() - {"__start__", "__end__"}:
        assert drawn.nodes[node].metadata, node
    by_source: dict[str, dict[str, Any]] = {}
    for edge in drawn.edges:
        by_source.setdefault(edge.source, {})[edge.target] = edge.data
    assert by_source["model"] == {"router": "tool calls", "__end__": "no tool calls"}
    assert by_source["evict"] == {"router": "calls still unanswered", "model": "all answered"}
    workers = by_source["router"].keys() - {"evict"}
    assert workers >= OPERATIONS.keys() - {"execute"}
    assert all(by_source[worker] == {"evict": None} for worker in workers)
    assert all(by_source["router"][worker] is None for worker in workers)


def test_review_leads_where_the_router_does_and_says_when_it_comes() -> None:
    agent = create_filesystem_agent(ScriptedModel(), [own], interrupt_on={"own": True})
    edges = [edge for edge in agent.get_graph().edges if edge.source in ("router", "review")]
    behind = {
        source: {edge.target: edge.data for edge in edges if edge.source == source}
        for source in ("router", "review")
    }
    assert behind["router"].pop("review") == "needs a person"
    assert behind["router"] == behind["review"]


def test_nodes_that_may_write_say_so() -> None:
    changing = [
        name
        for name in ("prepare", "router", "review", "model", "evict", "tools", "respond")
        if node_metadata(name)["effect"] == "changing"
    ]
    assert changing == ["evict", "tools"]


def test_a_drawing_for_documents_has_colours_in_the_place_of_metadata() -> None:
    drawn = draw_mermaid(create_filesystem_agent(ScriptedModel(), [own]).get_graph())
    assert "purpose" not in drawn
    assert "effect" not in drawn
    changing = re.findall(r"^\t(\w+)\(\1\):::changing$", drawn, re.MULTILINE)
    assert changing == ["evict", "write_file", "edit_file", "delete", "move", "tools"]
