"""The graph that is deployed: compiled without checkpointer and store, which the server brings.

The environment variable `LANGGRAPH_FILESYSTEM_MODEL` names the model, such as `openai:gpt-5`.
Without it the graph runs on `CommandModel`: everything can be tried with no key and no network.
"""

import os

from langchain_core.language_models import BaseChatModel

from langgraph_filesystem.agent import create_filesystem_agent
from langgraph_filesystem.command_model import CommandModel

__all__ = ("graph",)


def _model() -> str | BaseChatModel:
    return os.environ.get("LANGGRAPH_FILESYSTEM_MODEL") or CommandModel()


graph = create_filesystem_agent(_model(), name="filesystem")
