"""The graph behind the node `task`: one node for each subagent, of which a call runs one.

So a drawing with `xray` shows the subagents, a stream names them, and the state of a subagent that
waits for a person can be read and edited. The graph is a visit in the agent's graph, and the
subagent is a visit in this one: each hands on what was changed in the files, and nothing else.
"""

from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, NotRequired

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.runtime import get_runtime
from typing_extensions import TypedDict

from langgraph_filesystem.labels import subagent_metadata
from langgraph_filesystem.nodes.answers import MAX_CHARACTERS, error_reply
from langgraph_filesystem.nodes.calls import answer_id
from langgraph_filesystem.nodes.node import Edge
from langgraph_filesystem.nodes.operation import calls_of_task
from langgraph_filesystem.nodes.registry import Operation
from langgraph_filesystem.nodes.settings import DEFAULTS, Choices, Settings
from langgraph_filesystem.nodes.task import (
    AT_LIMIT,
    Outcome,
    outcome_of,
    task_operation,
    task_reply,
)
from langgraph_filesystem.state.channels import FilesChannel, OverlayChannel
from langgraph_filesystem.state.entries import OverlayEntry
from langgraph_filesystem.state.errors import InvalidCall
from langgraph_filesystem.state.files import FileData, merge_files
from langgraph_filesystem.state.io import attempt, awaiting, call_either, run_sync
from langgraph_filesystem.state.langgraph_internals import input_keys, read_channels
from langgraph_filesystem.subgraph.changes import differences, replacements
from langgraph_filesystem.subgraph.filesystem_node import (
    FilesystemNode,
    filesystem_node,
    graph_attributes,
    shares_files,
)
from langgraph_filesystem.subgraph.visit import Parent, Visit

__all__ = ("STATE_KEYS", "subagent_node", "task_of")


class Assignment(TypedDict):
    """What a subagent is given."""

    id: str
    """The id of the answer, which no other call has."""
    subagent: str
    description: str
    state: dict[str, Any]
    """The values of the keys that the user has added to the state."""


class Assigned(TypedDict):
    """The input of the graph and of its nodes, without files, which would be stored again."""

    assignment: Assignment


class TaskState(Assigned):
    """The state of the graph."""

    files: Annotated[dict[str, FileData], FilesChannel()]
    outcome: Outcome


class OverlaidTaskState(TaskState):
    """The same for agents with an overlay mount."""

    overlay: NotRequired[Annotated[dict[str, OverlayEntry], OverlayChannel()]]


STATE_KEYS = ("assignment", "files", "outcome", "overlay")
"""No subagent can have one of these names: LangGraph has the same names for nodes and keys."""


def task_of(
    members: Mapping[str, tuple[str, Any]], settings: Settings, shared: Sequence[str]
) -> Operation:
    """Return the operation `task`, for subagents with these descriptions and nodes by name.

    They are given the values of the `shared` keys that they have too.
    """
    operation = task_operation({name: about for name, (about, _) in members.items()})
    overlaid = [name for name, (_, node) in members.items() if "overlay" in _channels(node)]
    if overlaid and not settings.mounts.overlays:
        raise ValueError(
            f"The subagent {overlaid[0]!r} has an overlay mount, and the agent has none to hand "
            "its changes to. Give the agent the same mount."
        )
    state = OverlaidTaskState if settings.mounts.overlays else TaskState
    builder = StateGraph(state, input_schema=Assigned)
    for name, (description, node) in members.items():
        metadata = subagent_metadata(description)
        builder.add_node(name, node, input_schema=Assigned, metadata=metadata)
        builder.add_edge(name, END)
    choose = Edge("choose", lambda state: state["assignment"]["subagent"])
    builder.add_conditional_edges(START, choose, list(members))
    compiled = builder.compile(name="task")
    attributes = graph_attributes(compiled)
    own: dict[str, Any] = {"operation": operation, "settings": settings, "shared": shared}
    node = TaskNode(kind=type(compiled), **own, **attributes)
    return replace(operation, node=node)


def _channels(node: Any) -> Collection[str]:
    return node.channels if isinstance(node, CompiledStateGraph) else ()


class FreshNode(FilesystemNode):
    """A graph as a node that shares the files with its parent and nothing else."""

    def _seedable(self) -> list[str]:
        return [key for key in ("files", "overlay") if key in self.channels]

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Answer what came in."""
        return run_sync(self._act(input, config or {}, **options))

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> Any:
        """Do the same as `invoke`, in an async run."""
        with awaiting():
            return await self._act(input, config or {}, **options)

    async def _act(self, input: Any, config: RunnableConfig, **options: Any) -> Any:
        raise NotImplementedError


class TaskNode(FreshNode):
    """Answers one call of `task`."""

    own_attributes: ClassVar[tuple[str, ...]] = ("kind", "operation", "settings", "shared")

    def __init__(
        self,
        *,
        operation: Operation,
        settings: Settings,
        shared: Sequence[str],
        **attributes: Any,
    ) -> None:
        super().__init__(**attributes)
        self.operation = operation
        self.settings = settings
        self.shared = shared

    async def _act(self, input: Any, config: RunnableConfig, **options: Any) -> Any:
        state = read_channels(config, "messages", "files")
        calls = calls_of_task(input, state["messages"], config)
        if not calls:
            return {}
        [call] = calls
        try:
            args = self.operation.parse(call.args)
        except InvalidCall as error:  # somebody edited the call since the router has checked it
            return {"messages": [error_reply(call, error)]}
        id, name = answer_id(call.message, call.position), args.subagent_type
        given = read_channels(config, *self.shared)
        task = Assignment(id=id, subagent=name, description=args.description, state=given)
        visit = self._visit({"assignment": task}, config)
        await call_either(self._run, self._arun, visit, config, **options)
        # A subagent that left with a `Command` for its parent has no outcome.
        outcome = visit.values.get("outcome") or outcome_of({}, None)
        changes = visit.files()
        is_evicted = self.settings.of_run(get_runtime()).evict_over is not None
        limit = None if is_evicted else MAX_CHARACTERS
        answer = task_reply(call, name, outcome, list(changes), limit)
        files = replacements(changes, state.get("files") or {}, id)
        entries = visit.overlay()
        return {"messages": [answer], **_named("files", files), **_named("overlay", entries)}


class SubagentNode(FreshNode):
    """A graph with files as a subagent: a new conversation about the files of its caller."""

    own_attributes: ClassVar[tuple[str, ...]] = ("kind", "choices")

    def __init__(self, *, choices: frozenset[str], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.choices = choices
        """Names of the choices of a run that count for the subagent too."""

    async def _act(self, input: Any, config: RunnableConfig, **options: Any) -> Any:
        given = _given(input, input_keys(self))
        visit = Visit(Parent(config), given, seeded=self._seedable(), inputs=list(given))
        context = _context(self.choices, self.nodes)
        work = call_either(self._run, self._arun, visit, config, context=context, **options)
        stopped = await attempt(_limited(work), _name(input))
        outcome = outcome_of(visit.values, stopped)
        entries = _named("overlay", visit.overlay())
        return {"outcome": outcome, "files": visit.files(), **entries}


def _named(key: str, value: Any) -> dict[str, Any]:
    return {key: value} if value else {}


def subagent_node(graph: Any, choices: frozenset[str] = frozenset()) -> Any:
    """Return a subagent as a node; `choices` of a run that are not named are left out."""
    if isinstance(graph, CompiledStateGraph) and shares_files(graph):
        node = filesystem_node(graph)
        return SubagentNode(kind=node.kind, choices=choices, **graph_attributes(node))

    # LangGraph finds the graph in these functions, and draws it.
    def run(state: Assigned, config: RunnableConfig) -> Any:
        return run_sync(_conversation(graph, choices, state, config))

    async def arun(state: Assigned, config: RunnableConfig) -> Any:
        with awaiting():
            return await _conversation(graph, choices, state, config)

    return RunnableLambda(run, arun)


async def _conversation(
    graph: Any, choices: frozenset[str], state: Assigned, config: RunnableConfig
) -> Any:
    """Run a graph or runnable of other people: it returns whole files, if it knows files at all."""
    values: dict[str, Any] = {}
    changes: dict[str, Any] = {}

    async def work() -> None:
        keys = input_keys(graph) if isinstance(graph, CompiledStateGraph) else []
        given = _given(state, keys)
        files = read_channels(config, "files").get("files") or {}
        if "files" in keys:
            given["files"] = dict(files)
        await call_either(_stream, _astream, graph, given, config, choices, values)
        if "files" in given:
            changes.update(differences(files, merge_files({}, [values.get("files") or {}])))

    stopped = await attempt(_limited(work()), _name(state))
    return {"outcome": outcome_of(values, stopped), "files": changes}


def _stream(
    graph: Any, given: Any, config: RunnableConfig, choices: frozenset[str], values: dict[str, Any]
) -> None:
    if not isinstance(graph, Pregel):
        values.update(graph.invoke(given, config))
        return
    context = _context(choices, graph.nodes)
    for latest in graph.stream(given, config, stream_mode="values", context=context):
        values.update(latest)


async def _astream(
    graph: Any, given: Any, config: RunnableConfig, choices: frozenset[str], values: dict[str, Any]
) -> None:
    if not isinstance(graph, Pregel):
        values.update(await graph.ainvoke(given, config))
        return
    context = _context(choices, graph.nodes)
    async for latest in graph.astream(given, config, stream_mode="values", context=context):
        values.update(latest)


async def _limited(work: Awaitable[None]) -> str | None:
    """Return a sentence if the work was stopped by the recursion limit."""
    try:
        await work
    except GraphRecursionError:
        return AT_LIMIT
    return None


def _given(state: Assigned, keys: Collection[str]) -> dict[str, Any]:
    """Return the input of a subagent, without its files."""
    task = state["assignment"]
    shared = {key: value for key, value in task["state"].items() if key in keys}
    # The id is the same when the call is resumed.
    return {**shared, "messages": [HumanMessage(task["description"], id=f"{task['id']}:task")]}


def _name(state: Assigned) -> str:
    return f"The subagent {state['assignment']['subagent']}"


def _context(choices: frozenset[str], nodes: Collection[str]) -> Any:
    """Return the context of a run as it is for a subagent, or `None` to leave it as it is.

    The prompt that a run chooses is for the main agent. Of the operations that it chooses, those
    count that the subagent has.
    """
    context = get_runtime().context
    if not isinstance(context, Choices):
        return None
    changed = {k: getattr(DEFAULTS, k) for k in Choices.model_fields if k not in choices}
    if context.operations is not None:
        changed["operations"] = tuple(name for name in context.operations if name in nodes)
    return context.model_copy(update=changed)
