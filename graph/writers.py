"""Nodes whose writes are looked at before LangGraph stores them.

LangGraph stores what a node returns before it hands it to the reducers, as it does with an input.
What a reducer refuses then would be refused again at each read: the thread could not be read any
more. Here the node fails instead, with the same error, and the thread stays where it was.
"""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import START

from langgraph_filesystem.nodes.node import Node

__all__ = ("checked_nodes",)

Check = Callable[[Any], None]


class CheckedWrite(Runnable[Any, Any]):
    """Stands before what writes the output of a node to the channels."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Return the output, or raise for what a channel would refuse."""
        self._check(input)
        return input

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Return the output, or raise for what a channel would refuse."""
        return self.invoke(input)


def checked_nodes(nodes: Mapping[str, Any], check: Check) -> dict[str, Any]:
    """Return copies of a graph's nodes that look at what they write."""
    return {
        # Ours write nothing bad, and an input is looked at before it comes to the first node.
        name: node
        if name == START or isinstance(node.bound, Node)
        else node.copy({"writers": [CheckedWrite(check), *node.writers]})
        for name, node in nodes.items()
    }
