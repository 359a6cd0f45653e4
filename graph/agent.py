"""`create_filesystem_agent`: the whole graph from one call."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NotRequired, get_type_hints

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langgraph.cache.base import BaseCache
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import All, Checkpointer

from langgraph_filesystem.builder import (
    Tool,
    add_nodes,
    check_schema,
    checked_descriptions,
    explained_keywords,
    split_tools,
    working_operations,
)
from langgraph_filesystem.guard import guarded
from langgraph_filesystem.labels import add_labelled_edges, node_metadata
from langgraph_filesystem.nodes.memory import Memory
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
from langgraph_filesystem.nodes.settings import InterruptOn, Settings, TokenCounter, reviews_of
from langgraph_filesystem.nodes.skills import Skills
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
from langgraph_filesystem.subagents import Subagent, build_task, read_subagents

__all__ = ("create_filesystem_agent",)


@explained_keywords
def create_filesystem_agent(
    model: str | BaseChatModel,
    tools: Sequence[Tool] | None = None,
    *,
    mounts: Mountable | None = None,
    operations: Iterable[str] | None = None,
    evict_over: int | None = 20_000,
    token_counter: TokenCounter | None = None,
    permissions: Iterable[FilesystemPermission] = (),
    interrupt_on: InterruptOn | None = None,
    subagents: Iterable[Subagent | Mapping[str, Any]] = (),
    general_purpose: bool = True,
    memory: Sequence[str] = (),
    skills: Sequence[str] = (),
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
        tools: Tools of your own, run in the node `tools`. A dict, as in `[{"type": "web_search"}]`,
            is a tool that the provider of the model runs.
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
        subagents: Agents that this one can give work to with `task`: a `Subagent` each, or a dict
            with its keys.
        general_purpose: Add a subagent for tasks of any kind, if there are any subagents.
        memory: Files whose text is always in the system message, such as
            `/memories/AGENTS.md`; the model keeps there what it learns.
        skills: Directories with skills, such as `/skills/`: the model is told what each is for, and
            reads it when a task fits. Of two with one name, the later one counts.
        summarize: When older turns are replaced by a summary: `True`, a number of tokens, a share
            of the model's window, or a `Summarize`.
        todos: Let the model keep a list of its steps, in the channel `todos`.
        system_prompt: Your instructions; a section about the files follows them.
        tool_descriptions: Descriptions of your own for operations, by name.
        max_execute_timeout: The longest timeout, in seconds, that a command may ask for.
        read_before_edit: Refuse to edit or overwrite a file that the agent has not read, or
            that has changed since.
        response_format: The form of `structured_response`: a schema, a strategy of `langchain`, or
            a pair of a prompt and one of these.
        state_schema: `FilesystemState`, or a schema of yours that extends it.
        context_schema: The schema of what is passed as `context` to a run. With `Choices`, or a
            schema that extends it, runs choose model, prompt, operations, eviction limit and
            what a person reviews.
        checkpointer: Where threads are kept, such as from `open_sqlite`.
        store: The LangGraph store, in which a `StoreBackend` keeps its files.
        interrupt_before: Nodes to stop before.
        interrupt_after: Nodes to stop after.
        cache: A cache for nodes that ask for one.
        debug: Print what happens.
        name: The name of the graph, for parents and traces.
    """
    if operations is not None and not isinstance(operations, str):
        operations = tuple(operations)
    rules = Permissions(permissions)
    settings = Settings(
        mounts=Mounts(mounts),
        evict_over=evict_over,
        token_counter=token_counter,
        read_before_edit=read_before_edit,
        max_execute_timeout=max_execute_timeout,
        permissions=rules,
        review=reviews_of(interrupt_on, rules, context_schema),
    )
    check_schema(state_schema)
    if system_prompt is not None and not isinstance(system_prompt, str | SystemMessage):
        raise ValueError(f"`system_prompt` must be text or a SystemMessage, not {system_prompt!r}.")
    models, (own_tools, provided) = Models(load_model(model)), split_tools(tools or ())
    chosen = working_operations(operations, settings)
    if todos:
        chosen["write_todos"] = WRITE_TODOS
    if members := read_subagents(subagents, general_purpose=general_purpose):
        own_descriptions = {k: v for k, v in (tool_descriptions or {}).items() if k != "task"}
        inherited = {
            "model": models.default,
            "tools": [*own_tools, *provided],
            "mounts": mounts,
            "operations": operations,
            "evict_over": evict_over,
            "token_counter": token_counter,
            "permissions": rules.rules,
            "interrupt_on": interrupt_on,
            "tool_descriptions": own_descriptions,
            "max_execute_timeout": max_execute_timeout,
            "read_before_edit": read_before_edit,
            "state_schema": state_schema,
            "context_schema": context_schema,
            "skills": skills,
            "summarize": summarize,
            "todos": todos,
        }
        chosen["task"] = build_task(members, inherited, create_filesystem_agent, settings)
    descriptions = checked_descriptions(tool_descriptions, chosen)
    parts = Skills(skills, settings, chosen), Memory(memory, settings)
    loaded = [part for part in parts if part.paths]
    requests = Requests(
        models,
        chosen,
        [*own_tools, *provided],
        settings,
        system_prompt=system_prompt,
        descriptions=descriptions,
        loaded=loaded,
    )
    summarizer = None
    if (summary := as_summarize(summarize)) is not None:
        summarizer = Summarizer(summary, requests, chosen, settings)
    end = "respond" if response_format is not None else END
    private = {part.channel: part.hint for part in loaded}
    builder = _builder(state_schema, context_schema, response_format, todos, private)
    builder.add_node(
        "prepare",
        prepare_node(models, chosen, [item.name for item in own_tools], loaded),
        input_schema=Conversation,
        metadata=node_metadata("prepare"),
    )
    then = "model" if summarizer is None else "summarize"
    add_nodes(builder, chosen, own_tools, settings, then=then, end=end, is_whole=True)
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
    state_schema: type[Any],
    context_schema: type[Any] | None,
    response_format: Any,
    todos: bool,
    private: Mapping[str, Any],
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
    if taken := private.keys() & get_type_hints(state_schema).keys():
        raise ValueError(
            f"The state schema {state_schema.__name__} has a key {', '.join(sorted(taken))}, which "
            "the agent needs for itself. Rename it in your schema."
        )
    given, more = public_schema(state_schema, "Input"), {}
    if response_format is not None:
        more = {"structured_response": NotRequired[response_type(response_format)]}
    return StateGraph(
        extended_schema(state_schema, **more, **private) if more or private else state_schema,
        context_schema=context_schema,
        input_schema=given,
        output_schema=public_schema(state_schema, "Output", **more),
    )
