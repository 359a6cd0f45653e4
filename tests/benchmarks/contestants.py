"""Who is measured: each makes an agent with files in its state from a model and a saver."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from langgraph_filesystem import create_filesystem_agent
from tests.benchmarks.bare_loop import create_bare_loop
from tests.benchmarks.savers import Opener, open_no_saver, open_saver

__all__ = ("BARE", "DEEP", "MIDDLEWARE", "OURS", "Agent", "Contestant", "peers", "with_savers")

Agent = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True)
class Contestant:
    """One way to make an agent."""

    name: str
    build: Callable[[BaseChatModel, Checkpointer], Agent]


def _ours(model: BaseChatModel, checkpointer: Checkpointer) -> Agent:
    return create_filesystem_agent(model, checkpointer=checkpointer)


def _middleware(model: BaseChatModel, checkpointer: Checkpointer) -> Agent:
    from deepagents import FilesystemMiddleware
    from langchain.agents import create_agent

    return create_agent(model, middleware=[FilesystemMiddleware()], checkpointer=checkpointer)


def _deep(model: BaseChatModel, checkpointer: Checkpointer) -> Agent:
    from deepagents import create_deep_agent

    agent: Agent = create_deep_agent(model, checkpointer=checkpointer)
    return agent


OURS = Contestant("create_filesystem_agent", _ours)
MIDDLEWARE = Contestant("create_agent + FilesystemMiddleware", _middleware)
DEEP = Contestant("create_deep_agent", _deep)
BARE = Contestant("bare two-node loop", create_bare_loop)


def peers() -> list[Contestant]:
    """Return the peers, if they are installed (the extra `bench`)."""
    return [MIDDLEWARE, DEEP] if find_spec("deepagents") else []


def with_savers() -> dict[str, Opener]:
    """Return what every contestant is measured on."""
    return {"no saver": open_no_saver, "SQLite": open_saver}
