"""What a drawing of the graph says beyond its names: purposes on nodes, conditions on edges."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from langgraph.graph import StateGraph

from langgraph_filesystem.nodes.node import Edge
from langgraph_filesystem.nodes.operations import Operation
from langgraph_filesystem.nodes.settings import Settings

__all__ = ("add_labelled_edges", "dispatch_labels", "node_metadata", "operation_metadata")

_PURPOSES = {
    "prepare": "Answers calls that an earlier run left open.",
    "model": "Asks the chat model.",
    "router": "Plans which calls run now, and which backend serves them.",
    "evict": "Moves messages that are too large for the context to files.",
    "tools": "Runs the tools that were added to the agent.",
    "respond": "Asks the model for the structured response.",
    "ls": "Lists a directory.",
    "read_file": "Reads a page of a file.",
    "write_file": "Creates or replaces a file.",
    "edit_file": "Replaces exact text in a file.",
    "delete": "Deletes a file or a directory.",
    "move": "Moves a file or a directory.",
    "glob": "Finds files by their names.",
    "grep": "Searches the text of files.",
    "execute": "Runs a command in a shell.",
}
_CHANGING = frozenset({"evict", "tools"})
"""Nodes that may change files, or what lies outside; operations know it of themselves."""


def node_metadata(name: str) -> dict[str, Any]:
    """Return the purpose of a node that is no operation, and whether it is read-only."""
    return _metadata(_PURPOSES[name], name in _CHANGING)


def operation_metadata(operation: Operation) -> dict[str, Any]:
    """Return the purpose of an operation, and whether it is read-only."""
    return _metadata(_PURPOSES[operation.name], operation.changes)


def dispatch_labels(
    operations: Sequence[str], tools: Sequence[str], settings: Settings
) -> dict[str, str]:
    """Return what stands on the edges behind the router: the operation, and where it can work."""
    everywhere = sorted(mount.prefix for mount in settings.mounts.all)
    shells = sorted(mount.prefix for mount in settings.mounts.shells)
    labels = {name: f"{name} in {', '.join(everywhere)}" for name in operations}
    if "execute" in labels:
        labels["execute"] = f"execute in {', '.join(shells)}"
    if tools:
        labels["tools"] = f"call {', '.join(tools)}"
    return {**labels, "evict": "nothing to run"}


def add_labelled_edges(
    builder: StateGraph[Any, Any, Any, Any], source: str, edge: Edge, labels: Mapping[str, str]
) -> None:
    """Add the conditional edge behind a node, with a label for each node that it may go to."""

    def choose(state: Any) -> Any:
        target = edge.invoke(state)
        return labels[target] if isinstance(target, str) else target  # a `Send` names its node

    ends: dict[Hashable, str] = {label: target for target, label in labels.items()}
    builder.add_conditional_edges(source, Edge(edge.name or source, choose), ends)


def _metadata(purpose: str, changes: bool) -> dict[str, Any]:
    return {"purpose": purpose, "effect": "changing" if changes else "read-only"}
