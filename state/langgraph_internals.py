"""Everything that this package knows about the inside of LangGraph.

LangGraph keeps these things private, or says nothing about them, so a release may change them.
Each is one function, and its docstring ends with a sentence that begins with "Breaks if". The
tests in `tests/state/test_langgraph_internals.py` fail with that sentence, so whoever raises the
version of LangGraph knows which function to look at. Nothing else imports private names.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.channels import BinaryOperatorAggregate, DeltaChannel
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

try:
    from langgraph._internal._constants import (
        CONFIG_KEY_CHECKPOINT_MAP,
        CONFIG_KEY_CHECKPOINTER,
        CONFIG_KEY_DURABILITY,
        CONFIG_KEY_READ,
        INTERRUPT,
        NS_SEP,
        NULL_TASK_ID,
        PREVIOUS,
    )
    from langgraph._internal._typing import MISSING
    from langgraph.channels.binop import _get_overwrite
except ImportError as missing:
    raise ImportError(
        f"This version of LangGraph lacks an internal that langgraph-filesystem uses ({missing}). "
        "Install a version that pyproject.toml allows, or a newer langgraph-filesystem."
    ) from missing

__all__ = (
    "MISSING",
    "bare_copy",
    "checkpoints_of",
    "command_writes",
    "constructor_arguments",
    "durability_of",
    "graph_namespace",
    "has_interrupt",
    "input_keys",
    "is_entrypoint",
    "is_external_write",
    "nesting_depth",
    "overwrite_of",
    "read_channels",
    "reducer_of",
    "runnable_of",
    "running_channels",
    "saver_of",
    "with_first_writer",
)

# `MISSING` is the value of a channel that holds nothing, and what `from_checkpoint` is given when
# the checkpoint has no value for the channel.

_Channel = TypeVar("_Channel", bound=DeltaChannel[Any])
_Graph = CompiledStateGraph[Any, Any, Any, Any]


# What a node can learn about the run that it is part of.


def read_channels(config: RunnableConfig, *channels: str) -> dict[str, Any]:
    """Return the values of channels as they were when the current superstep began.

    A node that a `Send` started gets nothing but its payload, so it reads files and messages here,
    as LangGraph's own `ToolNode` does.

    Breaks if the config of a task no longer holds a function that reads channels.
    """
    values: dict[str, Any] = config["configurable"][CONFIG_KEY_READ](list(channels), False)
    return values


def running_channels(config: RunnableConfig) -> Mapping[str, Any] | None:
    """Return the channel objects of the running graph by name, or `None` outside of a graph.

    Breaks if the function that reads channels is no longer a `partial` over the channels.
    """
    read = (config.get("configurable") or {}).get(CONFIG_KEY_READ)
    if read is None:
        return None
    # The managed values are bound to it too, after the channels.
    channels: Mapping[str, Any] = next(part for part in read.args if isinstance(part, Mapping))
    return channels


def saver_of(config: RunnableConfig) -> Any:
    """Return the checkpointer of the running graph, or `None`.

    Breaks if the config of a task no longer holds the checkpointer.
    """
    return (config.get("configurable") or {}).get(CONFIG_KEY_CHECKPOINTER)


def durability_of(config: RunnableConfig) -> str:
    """Return the durability mode of the run: `async` unless the caller chose another.

    Breaks if the config of a task no longer holds the durability mode.
    """
    chosen: str = (config.get("configurable") or {}).get(CONFIG_KEY_DURABILITY) or "async"
    return chosen


def checkpoints_of(config: RunnableConfig) -> Mapping[str, str]:
    """Return the ids of the checkpoints that a task runs from, by namespace.

    Breaks if the config of a task no longer maps namespaces to checkpoint ids.
    """
    found = (config.get("configurable") or {}).get(CONFIG_KEY_CHECKPOINT_MAP)
    return found or {}


def graph_namespace(config: RunnableConfig) -> str:
    """Return the checkpoint namespace of the graph that a task is part of: `""` for the root.

    Breaks if the namespace of a task is no longer that of its graph, `|` and the task's own part.
    """
    namespace = str((config.get("configurable") or {}).get("checkpoint_ns") or "")
    return namespace.rpartition(NS_SEP)[0]


def nesting_depth(namespace: str) -> int:
    """Return how deep the graph with this checkpoint namespace is nested: 1 for a subgraph.

    Breaks if namespaces of nested graphs are no longer joined by `|`.
    """
    return namespace.count(NS_SEP) + 1


def is_entrypoint(channels: Mapping[str, Any]) -> bool:
    """Return whether the running graph is an `@entrypoint` of the functional API.

    Breaks if an entrypoint no longer has the channel `__previous__`.
    """
    return PREVIOUS in channels


# What is written to channels.


def overwrite_of(value: Any) -> tuple[bool, Any]:
    """Return whether a write is an `Overwrite`, in any of its three forms, and the new value.

    Breaks if LangGraph spells an `Overwrite` another way, in Python or in JSON.
    """
    return _get_overwrite(value)


def command_writes(command: Command[Any]) -> Sequence[tuple[str, Any]]:
    """Return what a `Command` updates, as pairs of channel and value.

    Breaks if `Command` no longer turns its update into pairs.
    """
    return command._update_as_tuples()


def is_external_write(task_id: str) -> bool:
    """Return whether a pending write came from outside of any task, such as with `resume`.

    Breaks if such writes are no longer stored under the task id of zeros.
    """
    return task_id == NULL_TASK_ID


def has_interrupt(stored: CheckpointTuple) -> bool:
    """Return whether a task has interrupted at a stored checkpoint.

    Breaks if a task that interrupts no longer stores a write to the channel `__interrupt__`.
    """
    return any(channel == INTERRUPT for _, channel, _ in stored.pending_writes or ())


# Channels and compiled graphs as objects.


def reducer_of(channel: Any) -> Any:
    """Return the function by which a channel merges writes, or `None` if it has none.

    Breaks if the channels with a reducer no longer keep it as `reducer` or `operator`.
    """
    if isinstance(channel, DeltaChannel):
        return channel.reducer
    return channel.operator if isinstance(channel, BinaryOperatorAggregate) else None


def bare_copy(channel: _Channel) -> _Channel:
    """Return a copy of a delta channel that shares its value, made without calling `__init__`.

    LangGraph copies every channel for each conditional edge, and `__init__` examines the type each
    time. The snapshot frequency is left to the caller.

    Breaks if a delta channel has other attributes than `key`, `typ`, `reducer`, `value` and
    `snapshot_frequency`.
    """
    new = object.__new__(type(channel))
    new.key, new.typ = channel.key, channel.typ
    new.reducer, new.value = channel.reducer, channel.value
    return new


def constructor_arguments(graph: _Graph) -> dict[str, Any]:
    """Return the arguments that make an equal graph, as `Pregel.copy` collects them.

    Breaks if the attributes of a compiled graph are no longer the arguments of its constructor.
    """
    return {k: v for k, v in vars(graph).items() if k != "__orig_class__"}


def input_keys(graph: _Graph) -> list[str]:
    """Return the channels that a graph takes as input.

    Breaks if the builder of a compiled graph no longer lists the channels of its input schema.
    """
    return list(graph.builder.schemas[graph.builder.input_schema])


def runnable_of(node: Any) -> Any:
    """Return what a node of a compiled graph was made of.

    Breaks if a compiled node no longer keeps its runnable as `bound`.
    """
    return node.bound


def with_first_writer(node: Any, writer: Runnable[Any, Any]) -> Any:
    """Return a copy of a compiled node that passes its output through a runnable first.

    Breaks if a compiled node no longer passes its output through the runnables in `writers`.
    """
    return node.copy({"writers": [writer, *node.writers]})
