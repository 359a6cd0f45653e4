"""A compiled graph that looks at files and messages before LangGraph stores them.

LangGraph stores an input, or an update of the state, before it hands it to the reducers. A reducer
that refuses comes too late then: what it refused lies in the database, and is refused again at each
read.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateUpdate

from langgraph_filesystem.lean import alean, lean, reports_checkpoints
from langgraph_filesystem.state.channels import check_write
from langgraph_filesystem.writers import checked_nodes

__all__ = ("GuardedGraph", "guarded")


class GuardedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """Refuses at the door what the reducers would refuse, and does not repeat files in events."""

    def stream(self, input: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Check the input, then stream; `invoke` comes through here too."""
        _check(input)
        events = super().stream(input, *args, **kwargs)
        modes = kwargs.get("stream_mode") or self.stream_mode
        return lean(events, modes) if reports_checkpoints(modes) else events

    def astream(self, input: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Check the input, then stream; `ainvoke` comes through here too."""
        _check(input)
        events = super().astream(input, *args, **kwargs)
        modes = kwargs.get("stream_mode") or self.stream_mode
        return alean(events, modes) if reports_checkpoints(modes) else events

    def bulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Check the updates, then store them; `update_state` comes through here too."""
        _check_supersteps(supersteps)
        return super().bulk_update_state(config, supersteps)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Check the updates, then store them; `aupdate_state` comes through here too."""
        _check_supersteps(supersteps)
        return await super().abulk_update_state(config, supersteps)


def guarded(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> GuardedGraph:
    """Return the same graph with a guard at its door, made as LangGraph makes its own copies.

    What its nodes write is looked at too: one that writes what is no file fails, and the thread can
    still be read.
    """
    if isinstance(compiled, GuardedGraph):
        return compiled
    nodes = checked_nodes(compiled.nodes, _check)
    return GuardedGraph(**{**vars(compiled), "nodes": nodes})


def _check_supersteps(supersteps: Sequence[Sequence[StateUpdate]]) -> None:
    for superstep in supersteps:
        for update in superstep:
            _check(update[0])


def _check(value: Any) -> None:
    if isinstance(value, Command):
        value = value.update
    if isinstance(value, dict):
        for channel, write in value.items():
            check_write(channel, write)
    elif isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, StateUpdate):
                _check(item.values)
            elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
                check_write(*item)
            elif isinstance(item, Command | dict):
                # What a node may return.
                _check(item)
    elif hasattr(value, "files"):
        # A state that is a model or a dataclass.
        check_write("files", value.files)
