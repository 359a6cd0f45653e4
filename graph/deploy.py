"""The graph that is deployed: compiled without checkpointer and store, which the server brings.

- `/` is kept in the thread, `/memories/` in the store, for each user. The model is always told what
  `/memories/AGENTS.md` holds.
- `/workspace/` is there if `LANGGRAPH_FILESYSTEM_ROOTS` lists directories of the server, separated
  as in `PATH`: the one that the context of a run names, or else the thread.
- `LANGGRAPH_FILESYSTEM_MODEL` names the model, such as `openai:gpt-5`. Without it the graph runs on
  `CommandModel`: everything can be tried with no key and no network.

`AgentContext` is what assistants can choose, in Studio or by the API.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph_sdk.runtime import ServerRuntime
from pydantic import Field, ValidationError, field_validator

from langgraph_filesystem.agent import create_filesystem_agent
from langgraph_filesystem.command_model import CommandModel
from langgraph_filesystem.nodes.registry import OPERATIONS
from langgraph_filesystem.nodes.settings import Choices
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.objects.store import (
    Namespace,
    StoreBackend,
    default_namespace,
)
from langgraph_filesystem.state.backends.state import StateBackend

__all__ = (
    "AgentContext",
    "agent",
    "check_context",
    "chosen_model",
    "graph",
    "memories_of",
    "mounted",
    "permitted_roots",
)

_NOT_CONTEXT = frozenset({"thread_id", "run_id", "assistant_id", "graph_id"})
"""Keys that LangGraph itself puts where older clients put their context."""


class AgentContext(Choices):
    """The settings of an assistant, or of a single run, of the deployed graph."""

    root: str = Field(
        default="",
        title="Root directory",
        description="Directory of the server that is mounted at `/workspace/`, one of those that "
        "the deployment permits. Empty to keep `/workspace/` in the thread.",
        json_schema_extra={"langgraph_nodes": ["router"]},
    )
    user_id: str = Field(
        default="",
        title="User",
        description="Whose memories are mounted at `/memories/`. Where the server authenticates "
        "its users, it is the user who is signed in, whatever is given here.",
        max_length=200,
        json_schema_extra={"langgraph_nodes": ["router"]},
    )

    @field_validator("root")
    @classmethod
    def _permitted(cls, root: str) -> str:
        if root and root not in permitted_roots():
            raise ValueError(
                f"this deployment does not permit {root!r}; the roots that it permits are listed "
                "in the environment variable LANGGRAPH_FILESYSTEM_ROOTS"
            )
        return root


def permitted_roots() -> list[str]:
    """Return the directories that assistants may choose: listed as in `PATH`, none by default."""
    listed = os.environ.get("LANGGRAPH_FILESYSTEM_ROOTS", "").split(os.pathsep)
    return [root for root in listed if root]


def check_context(context: Mapping[str, Any] | None) -> None:
    """Raise for a field that is unknown or wrong, and say what is wrong.

    A server silently drops fields that are not in the schema: a misspelt name would have no effect.
    """
    given = {key: value for key, value in (context or {}).items() if not _is_langgraphs(key)}
    try:
        AgentContext.model_validate(given)
    except ValidationError as error:
        raise ValueError(_explained(error)) from None


def _is_langgraphs(key: str) -> bool:
    return key in _NOT_CONTEXT or key.startswith(("__", "langgraph_", "checkpoint"))


def _explained(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False, include_input=False):
        unknown = problem["type"] == "extra_forbidden"
        reason = "there is no such field" if unknown else problem["msg"]
        place = ".".join(map(str, problem["loc"]))
        problems.append(f"`{place}`: {reason.removeprefix('Value error, ')}")
    known = ", ".join(AgentContext.model_fields)
    return f"The context is wrong: {'; '.join(problems)}. It takes: {known}."


def chosen_model() -> str | BaseChatModel:
    """Return the model that the environment names, or the one that needs no key."""
    return os.environ.get("LANGGRAPH_FILESYSTEM_MODEL") or CommandModel()


def memories_of(runtime: Runtime[Any]) -> Namespace:
    """Return where memories are: one place for each user, whichever assistant is asked."""
    server = runtime.server_info
    if server is not None:
        runtime = runtime.override(server_info=replace(server, assistant_id=""))
    return default_namespace(runtime)


def mounted() -> dict[str, Any]:
    """Return what is mounted where."""
    mounts: dict[str, Any] = {"/": StateBackend(), "/memories": StoreBackend(memories_of)}
    if roots := permitted_roots():
        mounts["/workspace"] = _workspace(roots)
    return mounts


def _workspace(roots: list[str]) -> Callable[[Runtime[Any]], Any]:
    # Opened when the server starts: a root that is not there should be noticed then.
    disks = {root: FilesystemBackend(root) for root in roots}
    thread = StateBackend()

    def workspace(runtime: Runtime[Any]) -> Any:
        """Return the directory that the run chose, or else the thread."""
        root = runtime.context.root if isinstance(runtime.context, AgentContext) else ""
        return disks[root] if root else thread

    return workspace


graph = create_filesystem_agent(
    chosen_model(),
    mounts=mounted(),
    # No mount of these runs commands; of one that is made for a run the builder can't know.
    operations=[name for name in OPERATIONS if name != "execute"],
    memory=["/memories/AGENTS.md"],
    todos=True,
    context_schema=AgentContext,
    name="filesystem",
)


def agent(runtime: ServerRuntime[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph to the server, always the same one, if the context of the run is right."""
    if execution := runtime.execution_runtime:
        check_context(execution.context)
    return graph
