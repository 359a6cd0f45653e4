"""What a drawing of the graph says beyond its names: purposes of nodes, conditions on edges."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from langchain_core.runnables.graph import Graph
from langgraph.graph import StateGraph

from langgraph_filesystem.nodes.node import Edge
from langgraph_filesystem.nodes.registry import Operation
from langgraph_filesystem.nodes.settings import Settings

__all__ = (
    "add_labelled_edges",
    "dispatch_labels",
    "draw_mermaid",
    "node_metadata",
    "operation_metadata",
    "subagent_metadata",
)

_PURPOSES = {
    "prepare": "Answers calls that an earlier run left open; loads memory and skills if any.",
    "model": "Asks the chat model.",
    "router": "Plans which calls run now, and which backend serves them.",
    "review": "Asks a person about calls before they run.",
    "evict": "Moves messages that are too large for the context to files.",
    "summarize": "Replaces older turns by a summary when the conversation is too long.",
    "tools": "Runs the tools that were added to the agent.",
    "respond": "Asks the model for the structured response.",
}
_CHANGING = frozenset({"evict", "summarize", "tools"})
"""Other nodes that may change files, or something outside the state."""
_COLOUR = "fill:#ffdfb8,stroke:#e0902a"
"""Of nodes that change something."""
_MARK = {"effect": "changing"}
_DRAWN_MARK = "<hr/><small><em>effect = changing</em></small>)"
"""How LangChain draws the mark. It has no way to give a node a class."""


def node_metadata(name: str) -> dict[str, Any]:
    """Return the purpose of a node that is not an operation, and whether it is read-only."""
    return _metadata(_PURPOSES[name], name in _CHANGING)


def operation_metadata(operation: Operation) -> dict[str, Any]:
    """Return the purpose of an operation, and whether it is read-only."""
    return _metadata(operation.purpose, operation.changes)


def subagent_metadata(description: str) -> dict[str, Any]:
    """Return the purpose of a subagent."""
    return _metadata(description, changes=True)


def dispatch_labels(
    operations: Sequence[str], tools: Sequence[str], settings: Settings, *, may_ask: bool = False
) -> dict[str, str]:
    """Return the nodes behind the router, or behind `review`, with the labels of their edges.

    An edge has a label where the node can't work in every mount.
    """
    labels = dict.fromkeys([*operations, *(["tools"] if tools else [])], "")
    shells = sorted(mount.prefix for mount in settings.mounts.shells)
    if "execute" in labels and len(shells) < len(settings.mounts.all):
        labels["execute"] = f"in {', '.join(shells)}"
    asks = {"review": "needs a person"} if may_ask else {}
    return {**asks, **labels, "evict": "nothing left to run"}


def add_labelled_edges(
    builder: StateGraph[Any, Any, Any, Any], source: str, edge: Edge, labels: Mapping[str, str]
) -> None:
    """Add the conditional edge behind a node, with a label for each node that it may go to.

    An edge with an empty label is drawn without one.
    """
    # LangGraph draws what the edge returns as the label, unless it is the name of the node.
    returned = {target: label or target for target, label in labels.items()}

    def choose(state: Any) -> Any:
        target = edge.invoke(state)
        return returned[target] if isinstance(target, str) else target  # a `Send` names its node

    ends: dict[Hashable, str] = {label: target for target, label in returned.items()}
    builder.add_conditional_edges(source, Edge(edge.name or source, choose), ends)


def draw_mermaid(drawn: Graph) -> str:
    """Return a drawing for documents, made from `graph.get_graph()`.

    Metadata would fill the boxes with text. Here nodes that change something have a colour instead,
    and come behind those that only read.
    """
    changing = {n for n, node in drawn.nodes.items() if _effect(node.metadata) == "changing"}
    names = sorted(drawn.nodes, key=lambda name: name in changing)
    nodes = {n: drawn.nodes[n]._replace(metadata=_MARK if n in changing else None) for n in names}
    place = {name: number for number, name in enumerate(names)}
    edges = sorted(drawn.edges, key=lambda edge: (place[edge.source], place[edge.target]))
    text = Graph(nodes=nodes, edges=edges).draw_mermaid()
    return f"{text.replace(_DRAWN_MARK, '):::changing')}\tclassDef changing {_COLOUR}\n"


def _effect(metadata: Mapping[str, Any] | None) -> str:
    return str((metadata or {}).get("effect", ""))


def _metadata(purpose: str, changes: bool) -> dict[str, Any]:
    return {"purpose": purpose, "effect": "changing" if changes else "read-only"}
