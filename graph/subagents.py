"""Subagents: how they are described, what they inherit, and the agents that are built from them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph

from langgraph_filesystem.nodes.registry import OPERATIONS, Operation
from langgraph_filesystem.nodes.settings import Choices, Settings
from langgraph_filesystem.state.langgraph_internals import input_keys
from langgraph_filesystem.state.schema import own_keys
from langgraph_filesystem.state.workspace.mounts import Mountable
from langgraph_filesystem.state.workspace.permissions import FilesystemPermission
from langgraph_filesystem.subgraph.task_node import STATE_KEYS, subagent_node, task_of

__all__ = ("Subagent", "build_task", "read_subagents")


@dataclass(frozen=True, kw_only=True)
class Subagent:
    """An agent that the main agent can give work to. A field that is `None` is inherited, unless
    its own text says otherwise."""

    name: str
    """How the main agent calls it; also the name of its node."""
    description: str
    """What it is good for: the main agent chooses by it."""
    system_prompt: str | SystemMessage | None = None
    """Its instructions; those of the main agent are not inherited."""
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] | None = None
    model: str | BaseChatModel | None = None
    operations: Iterable[str] | None = None
    mounts: Mountable | None = None
    permissions: Iterable[FilesystemPermission] | None = None
    interrupt_on: Mapping[str, Any] | None = None
    skills: Sequence[str] | None = None
    """Only the general-purpose subagent inherits these."""
    response_format: Any = None
    """A schema for its answer, which the main agent reads as JSON; never inherited."""
    runnable: Runnable[Any, Any] | None = None
    """A compiled graph with `messages`, instead of every field but `name` and `description`."""


GENERAL_PURPOSE = Subagent(
    name="general-purpose",
    description="Has the same operations and tools as you, and can take on any task with many "
    "steps: searching through many files, changing several of them, trying something out.",
    system_prompt="You carry out one task for another agent, which can't answer questions. Work "
    "until it is done. Your last message is all that the other agent reads: give the results "
    "there, with the paths of files that you changed, and say what you could not do.",
)

_NAME = re.compile(r"[^\W_][\w .-]{0,63}")
_KEYS = tuple(field.name for field in fields(Subagent))
_REMOTE = (
    "Subagents that run in the background on other servers are not supported. To wait for the "
    "answer of a remote graph, pass a `RemoteGraph` as `runnable`."
)
_REFUSED = {
    "middleware": "There is no middleware: use `tools` and `operations`, or pass a graph of your "
    "own as `runnable`.",
    "mode": "A subagent begins a conversation of its own and can't continue that of its caller: "
    "the description of a task says what it needs.",
    "graph_id": _REMOTE,
    "url": _REMOTE,
    "headers": _REMOTE,
    "prompt": "Use `system_prompt`.",
    "graph": "Use `runnable`.",
}
"""Keys that specifications for other libraries have, and what to do here."""


def read_subagents(
    given: Iterable[Subagent | Mapping[str, Any]], *, general_purpose: bool
) -> list[Subagent]:
    """Return the subagents, or raise for the first one that is invalid."""
    if isinstance(given, str | Mapping | Subagent):
        raise ValueError(f"`subagents` must be a list of subagents, not {given!r}.")
    found = [_checked(one) for one in given]
    names = [one.name for one in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"Two subagents have the same name: {', '.join(sorted(twice))}.")
    if found and general_purpose and GENERAL_PURPOSE.name not in names:
        found.append(GENERAL_PURPOSE)
    return found


def build_task(
    subagents: Sequence[Subagent],
    inherited: Mapping[str, Any],
    create: Callable[..., CompiledStateGraph[Any, Any, Any, Any]],
    settings: Settings,
) -> Operation:
    """Return the operation `task`; `create` builds an agent from the keywords of the main one."""
    members: dict[str, tuple[str, Any]] = {}
    for one in subagents:
        try:
            members[one.name] = one.description, _node(one, inherited, create)
        except ValueError as error:
            raise ValueError(f"The subagent {one.name!r}: {error}") from error
    return task_of(members, settings, own_keys(inherited["state_schema"]))


def _node(one: Subagent, inherited: Mapping[str, Any], create: Callable[..., Any]) -> Any:
    if one.runnable is not None:
        return subagent_node(one.runnable)
    own = {key: value for key in _KEYS if (value := getattr(one, key)) is not None}
    own.pop("description")
    if one is not GENERAL_PURPOSE:
        inherited = {key: value for key, value in inherited.items() if key != "skills"}
    options = {**inherited, **own}
    if reviewed := options.get("interrupt_on") if "interrupt_on" not in own else None:
        known = {*OPERATIONS, *map(_tool_name, options["tools"])}
        known |= {"write_todos"} if options["todos"] else set()
        options["interrupt_on"] = {k: v for k, v in reviewed.items() if k in known}
    # A run chooses the prompt of the main agent. What it asks to review is reviewed everywhere.
    chosen = [k for k in Choices.model_fields if k != "system_prompt" and k not in own]
    return subagent_node(create(**options), frozenset([*chosen, "interrupt_on"]))


def _checked(given: Any) -> Subagent:
    one = _from_mapping(given) if isinstance(given, Mapping) else given
    if not isinstance(one, Subagent):
        raise ValueError(f"A subagent is a `Subagent` or a dict with its keys, not {given!r}.")
    if not _NAME.fullmatch(str(one.name)) or one.name in STATE_KEYS:
        raise ValueError(
            f"A subagent can't be called {one.name!r}. A name begins with a letter or a digit, has "
            "up to 64 letters, digits, spaces, `.`, `-` and `_`, and is none of "
            f"{', '.join(STATE_KEYS)}."
        )
    if not str(one.description or "").strip():
        raise ValueError(f"The subagent {one.name!r} has no description: say what it is for.")
    if one.runnable is not None:
        _check_runnable(one, one.runnable)
    return one


def _from_mapping(given: Mapping[str, Any]) -> Subagent:
    if given.get("mode") == "isolated":
        given = {key: value for key, value in given.items() if key != "mode"}
    for key in given:
        if key in _REFUSED:
            raise ValueError(f"A subagent can't have `{key}`. {_REFUSED[key]}")
        if key not in _KEYS:
            raise ValueError(f"A subagent has no key {key!r}. There are: {', '.join(_KEYS)}.")
    for key in ("name", "description"):
        if key not in given:
            raise ValueError(f"The subagent {dict(given)!r} has no `{key}`.")
    return Subagent(**given)


def _check_runnable(given: Subagent, graph: Any) -> None:
    mixed = [key for key in _KEYS[2:-1] if getattr(given, key) is not None]
    problem = ""
    if mixed:
        problem = f"A `runnable` is complete, so {', '.join(mixed)} would be ignored: leave it out."
    elif hasattr(graph, "compile"):
        problem = "`runnable` must be a compiled graph: call `.compile()`."
    elif not isinstance(graph, Runnable):
        problem = f"`runnable` must be a compiled graph, not {type(graph).__name__}."
    elif isinstance(graph, CompiledStateGraph) and "messages" not in input_keys(graph):
        problem = "The graph takes no `messages`: add this key to its input."
    elif isinstance(graph, CompiledStateGraph) and graph.checkpointer is True:
        problem = "Compile the graph without `checkpointer=True`: each task begins anew."
    if problem:
        raise ValueError(f"The subagent {given.name!r}: {problem}")


def _tool_name(tool: Any) -> str:
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", ""))
