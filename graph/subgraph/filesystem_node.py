"""`filesystem_node`: an agent with a filesystem as a node of another graph.

If a compiled graph is added to a parent directly, it returns its whole state: every file is stored
in the parent again, and files that it deleted come back. This node returns only what changed.

One run of the agent as a node is called a visit.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NotRequired

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.errors import ParentCommand
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot, StateUpdate
from typing_extensions import TypedDict

from langgraph_filesystem.state.channels import FilesChannel, OverlayChannel
from langgraph_filesystem.state.entries import OverlayEntry
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

__all__ = ("FilesystemNode", "filesystem_node", "graph_attributes", "shares_files")

Graph = CompiledStateGraph[Any, Any, Any, Any]


class Given(TypedDict):
    """The input of the node. Files are left out, so that they are not stored again."""

    messages: list[AnyMessage]
    filesystem_seen: NotRequired[Annotated[dict[str, str], VisitorsSeen()]]
    """The `seen` of earlier visits, if the parent has no such channel itself."""


class GivenOverlaid(Given):
    """The same for an agent with an overlay mount, whose parent needs the channel too."""

    overlay: NotRequired[Annotated[dict[str, OverlayEntry], OverlayChannel()]]


def filesystem_node(agent: Graph) -> "FilesystemNode":
    """Return an agent as a node for your graph, which must have `messages` and `files`.

    The agent starts with the messages and files of the parent and returns what it changed: new
    messages, edits, new files, and `None` for deleted files. It can be drawn with `xray`, streamed
    with `subgraphs`, interrupted and resumed like any subgraph. Its checkpoints hold only what it
    wrote itself.

    Args:
        agent: From `create_filesystem_agent`, or any compiled graph whose state has the channel
            `files` of `FilesystemState` or the reducer `merge_files`.
    """
    if isinstance(agent, FilesystemNode):
        return agent
    if not isinstance(agent, CompiledStateGraph):
        raise ValueError(f"filesystem_node takes a compiled graph, not {type(agent).__name__}.")
    if not shares_files(agent):
        raise ValueError(
            "The graph has no channel `files` with the reducer `merge_files`: extend "
            "FilesystemState, or make it with create_filesystem_agent."
        )
    if agent.checkpointer is True:
        raise ValueError(
            "A graph that is compiled with `checkpointer=True` keeps its own state from call to "
            "call, but a node starts with the files of its parent. Compile it without a "
            "checkpointer."
        )
    node = OverlaidNode if "overlay" in agent.channels else FilesystemNode
    return node(kind=type(agent), **graph_attributes(agent))


def shares_files(graph: Graph) -> bool:
    """Say whether the channel `files` of a graph can start with files, and tell what changed."""
    files = graph.channels.get("files")
    is_reduced = can_be_seeded(files) and reducer_of(files) is merge_files
    return isinstance(files, FilesChannel) or is_reduced


class FilesystemNode(Graph):
    """A graph as a node of another: it starts with the parent's state, and returns changes."""

    own_attributes: ClassVar[tuple[str, ...]] = ("kind",)
    """Attributes that the original graph does not have."""

    def __init__(self, *, kind: type[Graph], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.kind = kind
        """The class of the original graph."""

    def __call__(self, state: Given) -> Any:
        """Do the same as `invoke`. LangGraph reads the input schema from this signature."""
        return self.invoke(state)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Run the graph on the state of its parent, and return what it changed.

        That is a mapping, or a `Command` if a key has more than one change.
        """
        config = _current_config() if config is None else config
        visit = self._visit(input, config)
        self._run(visit, config, **options)
        return visit.update()

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> Any:
        """Do the same as `invoke`, in an async run."""
        config = _current_config() if config is None else config
        visit = self._visit(input, config)
        await self._arun(visit, config, **options)
        return visit.update()

    def stream(self, input: Any, *args: Any, **options: Any) -> Iterator[Any]:
        """Yield the changes. Events from inside are in the stream of the parent."""
        yield self.invoke(input, *args, **options)

    async def astream(self, input: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """Yield the changes. Events from inside are in the stream of the parent."""
        yield await self.ainvoke(input, *args, **options)

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of a visit, including what it started with."""
        return self._stored(config).get_state(config, subgraphs=subgraphs)

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of a visit, including what it started with."""
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

    def _run(self, visit: Visit, config: RunnableConfig, **options: Any) -> None:
        """Run the graph to its end. If it raises, the visit has what there was until then."""
        running = self._seeded(visit.seeds, visit.live)
        try:
            for values in running.stream(visit.input, marked(config), **self._modes(), **options):
                visit.values |= values
        except ParentCommand as left:
            left.args = (visit.followed_by(left.args[0]),)
            raise

    async def _arun(self, visit: Visit, config: RunnableConfig, **options: Any) -> None:
        """Do the same as `_run`, in an async run."""
        running = self._seeded(visit.seeds, visit.live)
        try:
            stream = running.astream(visit.input, marked(config), **self._modes(), **options)
            async for values in stream:
                visit.values |= values
        except ParentCommand as left:
            left.args = (visit.followed_by(left.args[0]),)
            raise

    def _visit(self, given: Any, config: RunnableConfig) -> Visit:
        if not isinstance(given, Mapping):
            raise ValueError(f"The node takes a mapping with `messages`, not {given!r}.")
        return Visit(Parent(config), given, seeded=self._seedable(), inputs=input_keys(self))

    def _modes(self) -> dict[str, Any]:
        # A streamed update has these keys and no others; the last two are what `router` and
        # `review` write.
        plan = {"routes", "decisions"} & self.channels.keys()
        keys = {*self.output_channels, *self._seedable(), *plan}
        return {"stream_mode": "values", "output_keys": sorted(keys)}

    def _seedable(self) -> list[str]:
        public = {*input_keys(self), *self.output_channels, "seen", "overlay"}
        return [k for k, v in self.channels.items() if k in public and can_be_seeded(v)]

    def _seeded(
        self, seeds: Mapping[str, Any], live: dict[str, RecordedChannel] | None = None
    ) -> Graph:
        """Return the original graph with channels that start with these values."""
        channels = dict(self.channels)
        for key in self._seedable():
            seed = {"seed": seeds[key]} if key in seeds else {}
            channels[key] = seeded(key, channels[key], live=live, **seed)
        return self.kind(**{**graph_attributes(self), "channels": channels})

    def _stored(self, config: RunnableConfig) -> Graph:
        saver = saver_of(config)
        return self._seeded(run_sync(stored_seeds(saver, config)) if saver else {})

    async def _astored(self, config: RunnableConfig) -> Graph:
        saver = saver_of(config)
        with awaiting():
            return self._seeded(await stored_seeds(saver, config) if saver else {})


class OverlaidNode(FilesystemNode):
    """A graph with an overlay mount as a node of another."""

    def __call__(self, state: GivenOverlaid) -> Any:  # type: ignore[override]  # more keys
        """Do the same as `invoke`. LangGraph reads the input schema from this signature."""
        return self.invoke(state)


def graph_attributes(graph: Graph) -> dict[str, Any]:
    """Return the arguments for a copy of a graph, as it was before it became a node."""
    own = graph.own_attributes if isinstance(graph, FilesystemNode) else ()
    return {k: v for k, v in constructor_arguments(graph).items() if k not in own}


def _current_config() -> RunnableConfig:
    """Return the config of the node that is running, if there is one."""
    try:
        return get_config()
    except RuntimeError:
        return {}
