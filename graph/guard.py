"""The guard of a compiled graph: what LangGraph's own entry points leave to the caller.

- Invalid `files` and messages are rejected before they are stored. LangGraph stores an input, an
  update or the output of a node before it calls the reducers. What a reducer rejects then is
  rejected again at every read, and nobody can read the thread any more.
- A `recursion_limit` allows as many turns as it does in other agents, whose turns take two
  supersteps: the model, then its tools.
- A run that brings no reply to an interrupt is marked as such: in a graph inside another one
  LangGraph would take an earlier reply for one to the next interrupt.
- Where a mount reaches outside the state, a checkpoint is stored before the next node runs: one
  that is stored later can be lost after the node has changed something.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateUpdate

from langgraph_filesystem.nodes.node import Node
from langgraph_filesystem.nodes.once import NO_REPLY, UNSAVED
from langgraph_filesystem.state.channels import check_write
from langgraph_filesystem.state.langgraph_internals import (
    constructor_arguments,
    runnable_of,
    with_first_writer,
)
from langgraph_filesystem.state.workspace.mounts import Mounts

__all__ = ("GuardedGraph", "all_mounts", "guarded")

_SUPERSTEPS_PER_TURN = 4
"""Of this graph: `model`, `router`, an operation, `evict`."""
_MORE_SUPERSTEPS = frozenset({"summarize"})
"""Nodes that each turn passes too, where the graph has them."""
_SUPERSTEPS_ELSEWHERE = 2
"""Of other agents, for which callers choose their limits."""
_DEFAULT_LIMIT = 9_999
"""What LangChain's `create_agent` allows where the caller gives no limit."""


class Supersteps(int):
    """A limit that the guard has raised already: graphs inside take it as it is."""


class GuardedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph that checks what comes in, and counts turns as other agents do."""

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> Iterator[Any]:
        """Check the input, then stream; `invoke` calls this too."""
        _check(input)
        return super().stream(input, self._config_of(config, input), **self._options_of(options))

    def astream(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Check the input, then stream; `ainvoke` calls this too."""
        _check(input)
        return super().astream(input, self._config_of(config, input), **self._options_of(options))

    def bulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Check the updates, then store them; `update_state` calls this too."""
        _check_supersteps(supersteps)
        return super().bulk_update_state(config, supersteps)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Check the updates, then store them; `aupdate_state` calls this too."""
        _check_supersteps(supersteps)
        return await super().abulk_update_state(config, supersteps)

    def _config_of(self, given: RunnableConfig | None, input: Any) -> RunnableConfig:
        """Return the config of a run, with a limit that counts supersteps."""
        config: RunnableConfig = {**given} if given else {}
        limit = config.get("recursion_limit")
        if limit is None:
            limit = (self.config or {}).get("recursion_limit", _DEFAULT_LIMIT)
        if not isinstance(limit, Supersteps):
            steps = _SUPERSTEPS_PER_TURN + len(_MORE_SUPERSTEPS & self.nodes.keys())
            limit = Supersteps(limit * steps // _SUPERSTEPS_ELSEWHERE)
        config["recursion_limit"] = limit
        if self.checkpointer is False:
            config["configurable"] = {**config.get("configurable", {}), UNSAVED: True}
        if not _is_inside():
            # Always set: a config that the stream of an earlier run gave has the mark of that run.
            has_no_reply = not isinstance(input, Command)
            config["configurable"] = {**config.get("configurable", {}), NO_REPLY: has_no_reply}
        return config

    def _options_of(self, given: dict[str, Any]) -> dict[str, Any]:
        return given


class DurableGraph(GuardedGraph):
    """A guarded graph whose mounts reach outside the state: it stores, then goes on."""

    def _options_of(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the options of a run, with `sync` in the place of `async` durability."""
        is_async = given.get("durability") in (None, "async")
        # A graph inside another one has the durability of that one, and `once` waits for both.
        has_saver = isinstance(self.checkpointer, BaseCheckpointSaver)
        if is_async and has_saver and given.get("checkpoint_during") is None:
            return {**given, "durability": "sync"}
        return given


def guarded(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> GuardedGraph:
    """Return the same graph with a guard: use it for every graph that has a filesystem.

    `create_filesystem_agent` does it for you. After `add_filesystem` write
    `graph = guarded(builder.compile(...))`.

    Invalid `files` and messages are then rejected, whether they come from an input, an update of
    the state or a node of yours, and the thread can still be read. A `recursion_limit` allows as
    many turns as it does in `create_agent`. Where a mount reaches outside the state, `sync`
    durability takes the place of the default `async`.
    """
    if isinstance(compiled, GuardedGraph):
        return compiled
    guard = DurableGraph if _reaches_outside(compiled) else GuardedGraph
    attributes = constructor_arguments(compiled)
    return guard(**{**attributes, "nodes": _checked_nodes(compiled.nodes)})


class CheckedWrite(Runnable[Any, Any]):
    """Stands before what writes the output of a node to the channels."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Return the output, or raise for what a channel would reject."""
        _check(input)
        return input

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Return the output, or raise for what a channel would reject."""
        return self.invoke(input)


def _checked_nodes(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes of a graph, those of other people with a check of what they write."""
    return {
        # An input is checked before it reaches the first node.
        name: node
        if name == START or isinstance(runnable_of(node), Node)
        else with_first_writer(node, CheckedWrite())
        for name, node in nodes.items()
    }


def _reaches_outside(graph: CompiledStateGraph[Any, Any, Any, Any]) -> bool:
    """Say whether a node of the graph, or of a graph inside it, has a mount outside the state."""
    return any(mounts.reach_outside for mounts in all_mounts(graph))


def all_mounts(graph: CompiledStateGraph[Any, Any, Any, Any]) -> Iterator[Mounts]:
    """Yield the mounts of a graph and of the graphs inside it."""
    graphs = [graph, *(inside for _, inside in graph.get_subgraphs(recurse=True))]
    for one in graphs:
        for node in getattr(one, "nodes", {}).values():
            bound = runnable_of(node)
            if isinstance(bound, Node) and bound.mounts is not None:
                yield bound.mounts


def _is_inside() -> bool:
    """Say whether a node of another graph is running: replies come with the run of that graph."""
    try:
        get_config()
    except RuntimeError:
        return False
    return True


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
