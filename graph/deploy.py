"""The graph that is deployed: compiled without checkpointer and store, which the server brings.

- `/` is kept in the thread, `/memories/` in the store, for each user.
- `/workspace/` is there if `LANGGRAPH_FILESYSTEM_ROOTS` lists directories of the server, separated
  as in `PATH`: the one that the context of a run names, or else the thread.
- `LANGGRAPH_FILESYSTEM_MODEL` names the model, such as `openai:gpt-5`. Without it the graph runs on
  `CommandModel`: everything can be tried with no key and no network.

`context.py` says what assistants can choose.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph_sdk.runtime import ServerRuntime

from langgraph_filesystem.agent import create_filesystem_agent
from langgraph_filesystem.command_model import CommandModel
from langgraph_filesystem.context import AgentContext, check_context, permitted_roots
from langgraph_filesystem.nodes.operations import OPERATIONS
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.objects.store import (
    Namespace,
    StoreBackend,
    default_namespace,
)
from langgraph_filesystem.state.backends.state import StateBackend

__all__ = ("agent", "chosen_model", "graph", "memories_of", "mounted")


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
    context_schema=AgentContext,
    name="filesystem",
)


def agent(runtime: ServerRuntime[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph to the server, always the same one, if the context of the run is right."""
    if execution := runtime.execution_runtime:
        check_context(execution.context)
    return graph
