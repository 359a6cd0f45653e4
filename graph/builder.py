"""Putting the nodes into a graph: yours, or the one that `create_filesystem_agent` makes.

Every edge is declared, so that a drawing of the graph shows every way that a run can take.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, ParamSpec, TypeVar, get_type_hints

from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.graph import END, StateGraph

from langgraph_filesystem.labels import (
    add_labelled_edges,
    dispatch_labels,
    node_metadata,
    operation_metadata,
)
from langgraph_filesystem.nodes.calls import calls_something
from langgraph_filesystem.nodes.evict import after_evict, evict_node
from langgraph_filesystem.nodes.operation import operation_node
from langgraph_filesystem.nodes.prompt import where_commands_run
from langgraph_filesystem.nodes.registry import (
    OPERATIONS,
    Operation,
    chosen_operations,
    tool_schemas,
)
from langgraph_filesystem.nodes.review import review_node
from langgraph_filesystem.nodes.router import (
    OverlaidInput,
    ReviewedInput,
    RouterInput,
    dispatch_edge,
    router_node,
)
from langgraph_filesystem.nodes.settings import InterruptOn, Settings, TokenCounter, reviews_of
from langgraph_filesystem.nodes.tools import describes_function, tools_node
from langgraph_filesystem.state.schema import Conversation, missing_channels
from langgraph_filesystem.state.workspace.access import check_commands
from langgraph_filesystem.state.workspace.mounts import Mountable, Mounts
from langgraph_filesystem.state.workspace.permissions import FilesystemPermission, Permissions

__all__ = ("add_filesystem", "filesystem_condition", "filesystem_tools")

P = ParamSpec("P")
T = TypeVar("T")

Tool = BaseTool | Callable[..., Any] | dict[str, Any]
"""What `tools` takes: a tool, a function, or a tool of the model's provider as a dict."""

_REPLACED = {
    "backend": 'Use `mounts={"/": backend}`, with a prefix for each backend.',
    "root_dir": 'Use `mounts={"/": FilesystemBackend(root_dir)}`.',
    "middleware": "There is no middleware: every step is a node. Use `tools`, or put the nodes "
    "into a graph of yours with `add_filesystem`.",
    "pre_model_hook": "Write a model node of your own and use `add_filesystem`.",
    "post_model_hook": "Write a model node of your own and use `add_filesystem`.",
    "prompt": "Use `system_prompt` of `create_filesystem_agent`.",
    "instructions": "Use `system_prompt` of `create_filesystem_agent`.",
    "config_schema": "Use `context_schema`, of `create_filesystem_agent` or of your `StateGraph`.",
    "tool_token_limit_before_evict": "Use `evict_over`.",
    "human_message_token_limit_before_evict": "Use `evict_over`: one limit for every message.",
    "grep_max_count": "An answer of `grep` is limited anyway, and a call may pass `max_count`.",
    "offload_binary_content": "Media that were read some turns ago are not sent again.",
    "custom_tool_descriptions": "Use `tool_descriptions`, of `create_filesystem_agent` or of "
    "`filesystem_tools`.",
}
"""Keywords that other factories of agents have, and what to use here."""


def explained_keywords(factory: Callable[P, T]) -> Callable[P, T]:
    """Make a factory explain what replaces a keyword of other libraries."""

    @functools.wraps(factory)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        for name in options:
            if name in _REPLACED:
                raise TypeError(f"{factory.__name__} has no `{name}`. {_REPLACED[name]}")
        return factory(*args, **options)

    return checked


@explained_keywords
def add_filesystem(
    builder: StateGraph[Any, Any, Any, Any],
    *,
    then: str,
    end: str = END,
    tools: Sequence[BaseTool | Callable[..., Any]] = (),
    mounts: Mountable | None = None,
    operations: Iterable[str] | None = None,
    evict_over: int | None = 20_000,
    token_counter: TokenCounter | None = None,
    permissions: Iterable[FilesystemPermission] = (),
    interrupt_on: InterruptOn | None = None,
    read_before_edit: bool = True,
    max_execute_timeout: int = 3_600,
) -> StateGraph[Any, Any, Any, Any]:
    """Add `router`, the operations and `evict` to a builder with a model node of its own.

    Draw an edge from your model node to `router` (`filesystem_condition` says when), bind
    `filesystem_tools()` to your model, and name the node to go to when all calls are answered.

    Args:
        builder: A builder whose state has the channels of `FilesystemState`.
        then: The node that gets the answers: your model node.
        end: Where to go after a tool with `return_direct`.
        tools: Tools of your own, run in the node `tools`.
        mounts: Path prefixes and the backends behind them, or a `CompositeBackend`; by default all
            files are in the state.
        operations: Names of the operations to offer; by default all, without
            `execute` if no mount can run commands.
        evict_over: Tokens over which a message is moved to a file; `None` turns that off.
        token_counter: Counts the tokens of messages; by default four characters count as one.
        permissions: Rules about which operations may work on which paths; the first that covers a
            path decides, and what no rule covers is allowed.
        interrupt_on: Names of operations and tools that a person reviews before they run, in the
            node `review`: `True`, or a mapping as LangChain's `InterruptOnConfig`.
        read_before_edit: Refuse to edit or overwrite a file that the agent has not read, or
            that has changed since.
        max_execute_timeout: The longest timeout, in seconds, that a command may ask for.

    Returns:
        The same builder. Compile it with `guarded(builder.compile(...))`: the guard rejects invalid
        files before they are stored, and makes sure that effects outside the state happen once.
    """
    rules = Permissions(permissions)
    settings = Settings(
        mounts=Mounts(mounts),
        evict_over=evict_over,
        token_counter=token_counter,
        read_before_edit=read_before_edit,
        max_execute_timeout=max_execute_timeout,
        permissions=rules,
        review=reviews_of(interrupt_on, rules, builder.context_schema),
    )
    return add_nodes(
        builder, working_operations(operations, settings), as_tools(tools), settings, then, end
    )


def filesystem_tools(
    operations: Iterable[str] | None = None,
    *,
    mounts: Mountable | None = None,
    tool_descriptions: Mapping[str, str] | None = None,
) -> list[BaseTool]:
    """Return the operations as tools, for `bind_tools` of your own model.

    They tell a model what it can call. The nodes of `add_filesystem` answer the calls: a tool that
    is run by itself raises an error. Pass the same `operations` and `mounts` as to
    `add_filesystem`.
    """
    settings = Settings(Mounts(mounts))
    chosen = working_operations(operations, settings)
    own = checked_descriptions(tool_descriptions, chosen)
    place = where_commands_run(settings.mounts)
    schemas = tool_schemas(chosen, own, where_commands_run=place)
    return [_tool_to_bind(**schema["function"]) for schema in schemas]


def _tool_to_bind(name: str, description: str, parameters: dict[str, Any]) -> BaseTool:
    def run(**_: Any) -> NoReturn:
        raise RuntimeError(
            f"`{name}` of filesystem_tools() only tells a model what it can call, it can't be run. "
            "Use create_filesystem_agent for an agent with a filesystem, add_filesystem for your "
            "own graph, or filesystem_tool to give an agent with a filesystem to another agent."
        )

    return StructuredTool(name=name, description=description, args_schema=parameters, func=run)


def filesystem_condition(state: Any) -> str:
    """Return `"router"` if the last AI message calls anything, else `END`: for your own edge."""
    return "router" if calls_something(state["messages"]) else END


def check_schema(schema: Any) -> None:
    """Raise for a state schema that is not a class, or lacks the channels."""
    if not isinstance(schema, type):
        raise ValueError(f"`state_schema` must be a class, not {schema!r}.")
    if missing := missing_channels(schema):
        raise ValueError(
            f"The state schema {schema.__name__} lacks the channels {', '.join(missing)}. Extend "
            f"FilesystemState, which has them: `class {schema.__name__}(FilesystemState): ...`."
        )


def working_operations(names: Iterable[str] | None, settings: Settings) -> dict[str, Operation]:
    """Return the chosen operations, without `execute` where no mount can run commands."""
    chosen = chosen_operations(names)
    if not settings.mounts.shells:
        chosen.pop("execute", None)
    return chosen


def as_tools(tools: Sequence[BaseTool | Callable[..., Any]]) -> list[BaseTool]:
    """Return the user's tools as tools, functions included."""
    given: list[object] = list(tools)
    if not all(isinstance(item, BaseTool) or callable(item) for item in given):
        raise ValueError(f"`tools` must be a list of tools or functions, not {tools!r}.")
    made = [item if isinstance(item, BaseTool) else tool(item) for item in tools]
    names = [item.name for item in made]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"Two tools have the same name: {', '.join(sorted(twice))}.")
    return made


def split_tools(tools: Sequence[Tool]) -> tuple[list[BaseTool], list[dict[str, Any]]]:
    """Return the tools that the graph runs, and those that the provider of the model runs.

    The latter are dicts in the form that the provider documents. They are only bound to the model.
    """
    own = [item for item in tools if not isinstance(item, dict)]
    provided = [item for item in tools if isinstance(item, dict)]
    for item in provided:
        if describes_function(item):
            raise ValueError(
                f"A dict in `tools` describes a function, and nobody would run it: {item!r}. Pass "
                "the function itself, or a tool. A dict is for a tool that the provider of the "
                'model runs, such as {"type": "web_search"}.'
            )
    return as_tools(own), provided


def checked_descriptions(
    descriptions: Mapping[str, str] | None, operations: Mapping[str, Operation]
) -> Mapping[str, str]:
    """Return the descriptions, or raise for one that no operation would ever show."""
    for name, text in (descriptions or {}).items():
        if name not in operations:
            chosen_operations([name])
        if not isinstance(text, str):
            raise ValueError(f"The description of {name!r} must be text, not {text!r}.")
    return {name: text for name, text in (descriptions or {}).items() if name in operations}


def add_nodes(
    builder: StateGraph[Any, Any, Any, Any],
    operations: Mapping[str, Operation],
    tools: Sequence[BaseTool],
    settings: Settings,
    then: str,
    end: str,
    *,
    is_whole: bool = False,
) -> StateGraph[Any, Any, Any, Any]:
    """Add the nodes and every edge between them; `is_whole` if no node is the user's own."""
    names = [item.name for item in tools]
    _check(builder, operations, names, settings)
    asks = settings.review is not None
    inner = ["router", "review", "evict", "tools", then, *operations]
    builder.add_node(
        "router",
        router_node(operations, names, settings),
        input_schema=ReviewedInput if asks else RouterInput,
        metadata=node_metadata("router"),
    )
    if asks:
        builder.add_node(
            "review",
            review_node(operations, names, settings),
            input_schema=ReviewedInput,
            metadata=node_metadata("review"),
        )
    builder.add_node(
        "evict",
        evict_node(settings, operations),
        input_schema=Conversation,
        metadata=node_metadata("evict"),
    )
    for name, operation in operations.items():
        builder.add_node(
            name,
            operation.node or operation_node(operation, settings),
            # A task gets nothing but what was sent to it; this declares the channel.
            input_schema=OverlaidInput if settings.mounts.overlays else RouterInput,
            metadata=operation_metadata(operation),
        )
    if tools:
        builder.add_node(
            "tools",
            tools_node(tools, None if is_whole else inner),
            input_schema=Conversation,
            metadata=node_metadata("tools"),
        )
    for worker in [*operations, *(["tools"] if tools else [])]:
        builder.add_edge(worker, "evict")
    for source in ("router", "review") if asks else ("router",):
        may_ask = asks and source == "router"
        routes = dispatch_labels(list(operations), names, settings, may_ask=may_ask)
        add_labelled_edges(builder, source, dispatch_edge(may_ask=may_ask), routes)
    direct = [item.name for item in tools if item.return_direct]
    onwards = {**({end: "answered directly"} if direct else {}), then: "all answered"}
    labels = {"router": "calls still unanswered", **onwards}
    add_labelled_edges(builder, "evict", after_evict(then, end, direct), labels)
    return builder


def _check(
    builder: StateGraph[Any, Any, Any, Any],
    operations: Mapping[str, Operation],
    tools: Sequence[str],
    settings: Settings,
) -> None:
    check_schema(builder.state_schema)
    schema: Any = builder.state_schema
    if settings.review is not None and "decisions" in get_type_hints(schema):
        raise ValueError(
            f"The state schema {schema.__name__} has a key `decisions`, which `review` needs for "
            "itself. Rename it in your schema."
        )
    if "execute" in operations:
        check_commands(settings.permissions, settings.mounts)
    if taken := [name for name in tools if name in operations]:
        raise ValueError(f"Tools have the names of operations: {', '.join(taken)}.")
    known = [*operations, *tools]
    # An operation that this graph does not have can't be called either.
    unknown = [n for n in settings.review or () if n not in known and n not in OPERATIONS]
    if unknown:
        raise ValueError(
            f"`interrupt_on` names {', '.join(map(repr, unknown))}, which this graph does not "
            f"have. It has: {', '.join(known)}."
        )
