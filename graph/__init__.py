"""A filesystem for agents, as a LangGraph graph that you can see.

What you name is loaded when you name it: importing the package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_filesystem.agent import create_filesystem_agent
    from langgraph_filesystem.builder import (
        add_filesystem,
        filesystem_condition,
        filesystem_tools,
    )
    from langgraph_filesystem.command_model import CommandModel
    from langgraph_filesystem.guard import guarded
    from langgraph_filesystem.nodes.choices import Choices
    from langgraph_filesystem.postgres import aopen_postgres, open_postgres
    from langgraph_filesystem.sqlite import aopen_sqlite, open_sqlite
    from langgraph_filesystem.state.backends.composite import CompositeBackend
    from langgraph_filesystem.state.backends.execution.sandbox import (
        SandboxBackend,
        SandboxUnavailable,
    )
    from langgraph_filesystem.state.backends.execution.shell import LocalShellBackend
    from langgraph_filesystem.state.backends.filesystem import FilesystemBackend
    from langgraph_filesystem.state.backends.remote import RemoteBackend
    from langgraph_filesystem.state.backends.state import StateBackend
    from langgraph_filesystem.state.backends.store import StoreBackend
    from langgraph_filesystem.state.errors import FilesystemError
    from langgraph_filesystem.state.files import FileData, FileEdit, merge_files
    from langgraph_filesystem.state.schema import FilesystemState
    from langgraph_filesystem.subgraph import filesystem_node

__all__ = (
    "Choices",
    "CommandModel",
    "CompositeBackend",
    "FileData",
    "FileEdit",
    "FilesystemBackend",
    "FilesystemError",
    "FilesystemState",
    "LocalShellBackend",
    "RemoteBackend",
    "SandboxBackend",
    "SandboxUnavailable",
    "StateBackend",
    "StoreBackend",
    "add_filesystem",
    "aopen_postgres",
    "aopen_sqlite",
    "create_filesystem_agent",
    "filesystem_condition",
    "filesystem_node",
    "filesystem_tools",
    "guarded",
    "merge_files",
    "open_postgres",
    "open_sqlite",
)

_HOMES = {
    "Choices": "nodes.choices",
    "CommandModel": "command_model",
    "CompositeBackend": "state.backends.composite",
    "FileData": "state.files",
    "FileEdit": "state.files",
    "FilesystemBackend": "state.backends.filesystem",
    "FilesystemError": "state.errors",
    "FilesystemState": "state.schema",
    "LocalShellBackend": "state.backends.execution.shell",
    "RemoteBackend": "state.backends.remote",
    "SandboxBackend": "state.backends.execution.sandbox",
    "SandboxUnavailable": "state.backends.execution.sandbox",
    "StateBackend": "state.backends.state",
    "StoreBackend": "state.backends.store",
    "add_filesystem": "builder",
    "aopen_postgres": "postgres",
    "aopen_sqlite": "sqlite",
    "create_filesystem_agent": "agent",
    "filesystem_condition": "builder",
    "filesystem_node": "subgraph",
    "filesystem_tools": "builder",
    "guarded": "guard",
    "merge_files": "state.files",
    "open_postgres": "postgres",
    "open_sqlite": "sqlite",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
