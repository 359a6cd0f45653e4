"""Reading the channels of the running graph.

An operation node is started by a `Send` that carries ids only, so it reads the files and messages
that it needs from the graph. This is the one place that touches an internal of LangGraph, the same
way as LangGraph's own `ToolNode` does.
"""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph._internal._constants import CONFIG_KEY_READ

__all__ = ("read_channels",)


def read_channels(config: RunnableConfig, *channels: str) -> dict[str, Any]:
    """Return the values of channels as they were when the current step began."""
    values: dict[str, Any] = config["configurable"][CONFIG_KEY_READ](list(channels), False)
    return values
