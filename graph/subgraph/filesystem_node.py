"""`filesystem_node`: an agent with a filesystem as a node of another graph.

A compiled graph that is added to a parent as it is hands back all that it holds: every file is
stored in the parent again, and those that it deleted come back. This one hands back what changed.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.errors import ParentCommand
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot, StateUpdate
from typing_extensions import TypedDict

from langgraph_filesystem.state.channels import FilesChannel
from langgraph_filesystem.state.files import merge_files
from langgraph_filesystem.state.io import awaiting, run_sync
from langgraph_filesystem.state.langgraph_internals import (
    constructor_arguments,
    input_keys,
    reducer_of,
    saver_of,
)
from langgraph_filesystem.subgraph.seeds import (
    RecordedChannel,
    VisitorsSeen,
    can_be_seeded,
    marked,
    seeded,
    stored_seeds,
)
from langgraph_filesystem.subgraph.visit import Parent, Visit

__all__ = ("FilesystemNode", "filesystem_node")

Graph = CompiledStateGraph[Any, Any, Any, Any]


class Given(TypedDict):
    """What the node is given as its input: files are not repeated in it."""

    messages: list[AnyMessage]
    filesystem_seen: NotRequired[Annotated[dict[str, str], VisitorsSeen()]]
    """What the visits before it knew, where the parent has no `seen` of its own."""


def filesystem_node(agent: Graph) -> "FilesystemNode":
    """Return an agent as a node for a graph of yours, which must have `messages` and `files`.

    The agent begins with the parent's messages and files and hands back what it changed: new
    messages, files as edits, new files, and `None` for what it deleted. It can be drawn with
    `xray`, streamed with `subgraphs`, interrupted and resumed like any subgraph, and its
    checkpoints hold only what it wrote itself.

    Args:
        agent: From `create_filesystem_agent`, or any compiled graph whose state has the channel
            `files` of `FilesystemState` or the reducer `merge_files`.
    """
    if isinstance(agent, FilesystemNode):
        return agent
    if not isinstance(agent, CompiledStateGraph):
        raise ValueError(f"filesystem_node takes a compiled graph, not {type(agent).__name__}.")
    files = agent.channels.get("files")
    is_reduced = can_be_seeded(files) and reducer_of(files) is merge_files
    if not isinstance(files, FilesChannel) and not is_reduced:
        raise ValueError(
            "The graph has no channel `files` with the reducer `merge_files`: extend "
            "FilesystemState, or make it with create_filesystem_agent."
        )
    if agent.checkpointer is True:
        raise ValueError(
            "A graph that is compiled with `checkpointer=True` keeps its state from visit to "
            "visit, but a node has the files of its parent. Compile it without a checkpointer."
        )
    return FilesystemNode(kind=type(agent), **_attributes(agent))


class FilesystemNode(Graph):
    """A graph as a node of another: it begins with what the parent holds, and returns changes."""

    def __init__(self, *, kind: type[Graph], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.kind = kind
        """The class of the graph when it is no node."""

    def __call__(self, state: Given) -> Any:
        """Do as `invoke`. LangGraph learns here what the node wants as its input."""
        return self.invoke(state)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Run the graph on what its parent holds, and return what it changed.

        That is a mapping, or a `Command` where a key has more than one change.
        """
        config = _current() if config is None else config
        visit = self._visit(input, config)
        running = self._seeded(visit.seeds, visit.live)
        try:
            for values in running.stream(visit.input, marked(config), **self._modes(), **options):
                visit.values |= values
        except ParentCommand as left:
            left.args = (visit.followed_by(left.args[0]),)
            raise
        return visit.update()

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> Any:
        """Do as `invoke`, awaited."""
        config = _current() if config is None else config
        visit = self._visit(input, config)
        running = self._seeded(visit.seeds, visit.live)
        try:
            stream = running.astream(visit.input, marked(config), **self._modes(), **options)
            async for values in stream:
                visit.values |= values
        except ParentCommand as left:
            left.args = (visit.followed_by(left.args[0]),)
            raise
        return visit.update()

    def stream(self, input: Any, *args: Any, **options: Any) -> Iterator[Any]:
        """Yield the changes: what happens inside is in the stream of the parent."""
        yield self.invoke(input, *args, **options)

    async def astream(self, input: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """Yield the changes: what happens inside is in the stream of the parent."""
        yield await self.ainvoke(input, *args, **options)

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of a visit, with what it began with."""
        return self._stored(config).get_state(config, subgraphs=subgraphs)

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of a visit, with what it began with."""
        return await (await self._astored(config)).aget_state(config, subgraphs=subgraphs)

    def get_state_history(self, config: RunnableConfig, **options: Any) -> Iterator[StateSnapshot]:
        """Yield the states of a visit."""
        yield from self._stored(config).get_state_history(config, **options)

    async def aget_state_history(
        self, config: RunnableConfig, **options: Any
    ) -> AsyncIterator[StateSnapshot]:
        """Yield the states of a visit."""
        async for state in (await self._astored(config)).aget_state_history(config, **options):
            yield state

    def bulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Edit the state of a visit."""
        return self._stored(config).bulk_update_state(config, supersteps)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Edit the state of a visit."""
        return await (await self._astored(config)).abulk_update_state(config, supersteps)

    def _visit(self, given: Any, config: RunnableConfig) -> Visit:
        if not isinstance(given, Mapping):
            raise ValueError(f"The node takes a mapping with `messages`, not {given!r}.")
        return Visit(Parent(config), given, seeded=self._seedable(), inputs=input_keys(self))

    def _modes(self) -> dict[str, Any]:
        # A streamed update has these keys and no others; `routes` is what the router writes.
        keys = {*self.output_channels, *self._seedable(), *({"routes"} & self.channels.keys())}
        return {"stream_mode": "values", "output_keys": sorted(keys)}

    def _seedable(self) -> list[str]:
        public = {*input_keys(self), *self.output_channels, "seen"}
        return [k for k, v in self.channels.items() if k in public and can_be_seeded(v)]

    def _seeded(
        self, seeds: Mapping[str, Any], live: dict[str, RecordedChannel] | None = None
    ) -> Graph:
        """Return the graph itself, whose channels begin with these values."""
        channels = dict(self.channels)
        for key in self._seedable():
            seed = {"seed": seeds[key]} if key in seeds else {}
            channels[key] = seeded(key, channels[key], live=live, **seed)
        return self.kind(**{**_attributes(self), "channels": channels})

    def _stored(self, config: RunnableConfig) -> Graph:
        saver = saver_of(config)
        return self._seeded(run_sync(stored_seeds(saver, config)) if saver else {})

    async def _astored(self, config: RunnableConfig) -> Graph:
        saver = saver_of(config)
        with awaiting():
            return self._seeded(await stored_seeds(saver, config) if saver else {})


def _attributes(graph: Graph) -> dict[str, Any]:
    """Return what a copy of a graph is made of, as LangGraph makes its own copies."""
    return {k: v for k, v in constructor_arguments(graph).items() if k != "kind"}


def _current() -> RunnableConfig:
    """Return the configuration of the node that calls, if one does."""
    try:
        return get_config()
    except RuntimeError:
        return {}
