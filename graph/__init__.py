"""A filesystem for LangGraph agents, in which every file operation is a node that you can see.

Each name is loaded when it is first used, so importing the package takes little time.
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
    from langgraph_filesystem.nodes.settings import Choices
    from langgraph_filesystem.nodes.summarize import Summarize
    from langgraph_filesystem.persistence.postgres import aopen_postgres, open_postgres
    from langgraph_filesystem.persistence.prune import aprune, prune
    from langgraph_filesystem.persistence.sqlite import aopen_sqlite, open_sqlite
    from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
    from langgraph_filesystem.state.backends.execution.layers import overlay_support
    from langgraph_filesystem.state.backends.execution.sandbox import (
        SandboxBackend,
        SandboxUnavailable,
    )
    from langgraph_filesystem.state.backends.execution.shell import LocalShellBackend
    from langgraph_filesystem.state.backends.objects.remote import RemoteBackend
    from langgraph_filesystem.state.backends.objects.store import StoreBackend
    from langgraph_filesystem.state.backends.state import StateBackend
    from langgraph_filesystem.state.errors import FilesystemError
    from langgraph_filesystem.state.files import FileData, FileEdit, merge_files
    from langgraph_filesystem.state.schema import FilesystemState
    from langgraph_filesystem.state.workspace.composite import CompositeBackend
    from langgraph_filesystem.state.workspace.overlay import OverlayBackend
    from langgraph_filesystem.state.workspace.permissions import FilesystemPermission, read_only
    from langgraph_filesystem.subagents import Subagent
    from langgraph_filesystem.subgraph.filesystem_node import filesystem_node
    from langgraph_filesystem.subgraph.filesystem_tool import filesystem_tool

__all__ = (
    "Choices",
    "CommandModel",
    "CompositeBackend",
    "FileData",
    "FileEdit",
    "FilesystemBackend",
    "FilesystemError",
    "FilesystemPermission",
    "FilesystemState",
    "LocalShellBackend",
    "OverlayBackend",
    "RemoteBackend",
    "SandboxBackend",
    "SandboxUnavailable",
    "StateBackend",
    "StoreBackend",
    "Subagent",
    "Summarize",
    "add_filesystem",
    "aopen_postgres",
    "aopen_sqlite",
    "aprune",
    "create_filesystem_agent",
    "filesystem_condition",
    "filesystem_node",
    "filesystem_tool",
    "filesystem_tools",
    "guarded",
    "merge_files",
    "open_postgres",
    "open_sqlite",
    "overlay_support",
    "prune",
    "read_only",
)

_HOMES = {
    "Choices": "nodes.settings",
    "CommandModel": "command_model",
    "CompositeBackend": "state.workspace.composite",
    "FileData": "state.files",
    "FileEdit": "state.files",
    "FilesystemBackend": "state.backends.disk.backend",
    "FilesystemError": "state.errors",
    "FilesystemPermission": "state.workspace.permissions",
    "FilesystemState": "state.schema",
    "LocalShellBackend": "state.backends.execution.shell",
    "OverlayBackend": "state.workspace.overlay",
    "RemoteBackend": "state.backends.objects.remote",
    "SandboxBackend": "state.backends.execution.sandbox",
    "SandboxUnavailable": "state.backends.execution.sandbox",
    "StateBackend": "state.backends.state",
    "StoreBackend": "state.backends.objects.store",
    "Subagent": "subagents",
    "Summarize": "nodes.summarize",
    "add_filesystem": "builder",
    "aopen_postgres": "persistence.postgres",
    "aopen_sqlite": "persistence.sqlite",
    "aprune": "persistence.prune",
    "create_filesystem_agent": "agent",
    "filesystem_condition": "builder",
    "filesystem_node": "subgraph.filesystem_node",
    "filesystem_tool": "subgraph.filesystem_tool",
    "filesystem_tools": "builder",
    "guarded": "guard",
    "merge_files": "state.files",
    "open_postgres": "persistence.postgres",
    "open_sqlite": "persistence.sqlite",
    "overlay_support": "state.backends.execution.layers",
    "prune": "persistence.prune",
    "read_only": "state.workspace.permissions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
