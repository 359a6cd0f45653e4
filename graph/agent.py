"""`create_filesystem_agent`: the whole graph from one call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NotRequired, get_type_hints

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langgraph.cache.base import BaseCache
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import All, Checkpointer

from langgraph_filesystem.builder import (
    add_nodes,
    as_tools,
    check_schema,
    checked_descriptions,
    explained_keywords,
    working_operations,
)
from langgraph_filesystem.guard import guarded
from langgraph_filesystem.labels import add_labelled_edges, node_metadata
from langgraph_filesystem.nodes.model import (
    Models,
    Requests,
    after_model,
    load_model,
    model_node,
)
from langgraph_filesystem.nodes.prepare import prepare_node
from langgraph_filesystem.nodes.registry import WRITE_TODOS
from langgraph_filesystem.nodes.respond import respond_node, response_type
from langgraph_filesystem.nodes.settings import Settings, TokenCounter
from langgraph_filesystem.nodes.summarize import (
    Summarize,
    Summarizer,
    as_summarize,
    summarize_node,
)
from langgraph_filesystem.state.schema import (
    Conversation,
    FilesystemState,
    Todos,
    extended_schema,
    public_schema,
)
from langgraph_filesystem.state.workspace.mounts import Mountable, Mounts
from langgraph_filesystem.state.workspace.permissions import FilesystemPermission, Permissions

__all__ = ("create_filesystem_agent",)


@explained_keywords
def create_filesystem_agent(
    model: str | BaseChatModel,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    *,
    mounts: Mountable | None = None,
    operations: Iterable[str] | None = None,
    evict_over: int | None = 20_000,
    token_counter: TokenCounter | None = None,
    permissions: Iterable[FilesystemPermission] = (),
    summarize: Summarize | int | float | bool | None = None,
    todos: bool = False,
    system_prompt: str | SystemMessage | None = None,
    tool_descriptions: Mapping[str, str] | None = None,
    max_execute_timeout: int = 3_600,
    read_before_edit: bool = True,
    response_format: Any = None,
    state_schema: type[Any] = FilesystemState,
    context_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    interrupt_before: All | list[str] | None = None,
    interrupt_after: All | list[str] | None = None,
    cache: BaseCache[Any] | None = None,
    debug: bool = False,
    name: str | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return an agent with a filesystem, as a compiled graph whose nodes are the file operations.

    Args:
        model: A chat model, or its name such as `openai:gpt-5` (needs the extra `models`).
        tools: Tools of your own, run in the node `tools`.
        mounts: Path prefixes and the backends behind them, or a `CompositeBackend`; by default all
            files are in the state.
        operations: Names of the operations to offer; by default every one that can work.
        evict_over: Tokens over which a message is moved to a file; `None` turns that off.
        token_counter: Counts the tokens of messages; by default four characters are one.
        permissions: Rules about which operations may work on which paths; the first that covers a
            path decides, and what no rule covers is allowed.
        summarize: When older turns are replaced by a summary: `True`, a number of tokens, a share
            of the model's window, or a `Summarize`.
        todos: Let the model keep a list of its steps, in the channel `todos`.
        system_prompt: Your instructions; what there is to know about files is put behind them.
        tool_descriptions: Descriptions of your own for operations, by name.
        max_execute_timeout: The longest timeout, in seconds, that a command may ask for.
        read_before_edit: Refuse to change a file whose content the agent does not know.
        response_format: A schema, or a pair of prompt and schema, for `structured_response`.
        state_schema: `FilesystemState`, or a schema of yours that extends it.
        context_schema: The schema of what is passed as `context` to a run. With `Choices`, or a
            schema that extends it, runs choose model, prompt, operations and eviction limit.
        checkpointer: Where threads are kept, such as from `open_sqlite`.
        store: What lasts across threads.
        interrupt_before: Nodes to stop before.
        interrupt_after: Nodes to stop after.
        cache: A cache for nodes that ask for one.
        debug: Print what happens.
        name: The name of the graph, for parents and traces.
    """
    settings = Settings(
        mounts=Mounts(mounts),
        evict_over=evict_over,
        token_counter=token_counter,
        read_before_edit=read_before_edit,
        max_execute_timeout=max_execute_timeout,
        permissions=Permissions(permissions),
    )
    check_schema(state_schema)
    if system_prompt is not None and not isinstance(system_prompt, str | SystemMessage):
        raise ValueError(f"`system_prompt` must be text or a SystemMessage, not {system_prompt!r}.")
    models, own_tools = Models(load_model(model)), as_tools(tools or ())
    chosen = working_operations(operations, settings)
    if todos:
        chosen["write_todos"] = WRITE_TODOS
    descriptions = checked_descriptions(tool_descriptions, chosen)
    requests = Requests(
        models,
        chosen,
        own_tools,
        settings,
        system_prompt=system_prompt,
        descriptions=descriptions,
    )
    summarizer = None
    if (summary := as_summarize(summarize)) is not None:
        summarizer = Summarizer(summary, requests, chosen, settings)
    end = "respond" if response_format is not None else END
    builder = _builder(state_schema, context_schema, response_format, todos)
    builder.add_node(
        "prepare",
        prepare_node(models, chosen),
        input_schema=Conversation,
        metadata=node_metadata("prepare"),
    )
    then = "model" if summarizer is None else "summarize"
    add_nodes(builder, chosen, own_tools, settings, then=then, end=end)
    if summarizer is not None:
        builder.add_node(
            "summarize",
            summarize_node(summarizer, requests),
            input_schema=Conversation,
            metadata=node_metadata("summarize"),
        )
        builder.add_edge("summarize", "model")
    builder.add_node(
        "model",
        model_node(requests, partial(summarizer.compact, is_refused=True) if summarizer else None),
        input_schema=Conversation,
        metadata=node_metadata("model"),
    )
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", "evict")
    add_labelled_edges(
        builder, "model", after_model(end), {"router": "tool calls", end: "no tool calls"}
    )
    if end != END:
        builder.add_node(
            "respond",
            respond_node(models, response_format),
            input_schema=Conversation,
            metadata=node_metadata("respond"),
        )
        builder.add_edge("respond", END)
    compiled = builder.compile(
        checkpointer=checkpointer,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        cache=cache,
        debug=debug,
        name=name,
    )
    return guarded(compiled)


def _builder(
    state_schema: type[Any], context_schema: type[Any] | None, response_format: Any, todos: bool
) -> StateGraph[Any, Any, Any, Any]:
    """Return a builder whose input and output leave out what the graph keeps for itself."""
    if not isinstance(todos, bool):
        raise ValueError(f"`todos` must be True or False, not {todos!r}.")
    if todos:
        if "todos" in get_type_hints(state_schema):
            raise ValueError(
                f"The state schema {state_schema.__name__} has a key `todos` of its own. With "
                "`todos=True` the graph adds that key: leave it out of the schema."
            )
        state_schema = extended_schema(state_schema, todos=Todos)
    given, more = public_schema(state_schema, "Input"), {}
    if response_format is not None:
        more = {"structured_response": NotRequired[response_type(response_format)]}
    return StateGraph(
        extended_schema(state_schema, **more) if more else state_schema,
        context_schema=context_schema,
        input_schema=given,
        output_schema=public_schema(state_schema, "Output", **more),
    )
