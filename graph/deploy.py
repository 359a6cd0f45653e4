"""The graph that is deployed: compiled without checkpointer and store, which the server brings.

The environment variable `LANGGRAPH_FILESYSTEM_MODEL` names the model, such as `openai:gpt-5`.
Without it the graph runs on `CommandModel`: everything can be tried with no key and no network.
"""

import os

from langchain_core.language_models import BaseChatModel

from langgraph_filesystem.agent import create_filesystem_agent
from langgraph_filesystem.command_model import CommandModel

__all__ = ("chosen_model", "graph")


def chosen_model() -> str | BaseChatModel:
    """Return the model that the environment names, or the one that needs no key."""
    return os.environ.get("LANGGRAPH_FILESYSTEM_MODEL") or CommandModel()


graph = create_filesystem_agent(chosen_model(), name="filesystem")
