"""What a node reads of the running graph: its channels, its saver, how durable it is.

An operation node is started by a `Send` that carries ids only, so it reads the files and messages
that it needs from the graph. This is the one place that touches internals of LangGraph, the same
way as LangGraph's own `ToolNode` does.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph._internal._constants import (
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_DURABILITY,
    CONFIG_KEY_READ,
)

__all__ = ("durability_of", "read_channels", "running_channels", "saver_of")


def read_channels(config: RunnableConfig, *channels: str) -> dict[str, Any]:
    """Return the values of channels as they were when the current step began."""
    values: dict[str, Any] = config["configurable"][CONFIG_KEY_READ](list(channels), False)
    return values


def running_channels(config: RunnableConfig) -> Mapping[str, Any] | None:
    """Return the channels of the running graph by their names, or `None` outside of a graph."""
    read = (config.get("configurable") or {}).get(CONFIG_KEY_READ)
    if read is None:
        return None
    # LangGraph binds them to the function that reads them, before the managed values.
    channels: Mapping[str, Any] = next(part for part in read.args if isinstance(part, Mapping))
    return channels


def saver_of(config: RunnableConfig) -> Any:
    """Return the checkpointer of the running graph, if it has one."""
    return (config.get("configurable") or {}).get(CONFIG_KEY_CHECKPOINTER)


def durability_of(config: RunnableConfig) -> str:
    """Return when checkpoints are stored: `async` unless the caller chose otherwise."""
    chosen: str = (config.get("configurable") or {}).get(CONFIG_KEY_DURABILITY) or "async"
    return chosen
