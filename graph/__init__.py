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
    from langgraph_filesystem.sqlite import aopen_sqlite, open_sqlite
    from langgraph_filesystem.state.backends.state import StateBackend
    from langgraph_filesystem.state.errors import FilesystemError
    from langgraph_filesystem.state.files import FileData, FileEdit, merge_files
    from langgraph_filesystem.state.schema import FilesystemState

__all__ = (
    "CommandModel",
    "FileData",
    "FileEdit",
    "FilesystemError",
    "FilesystemState",
    "StateBackend",
    "add_filesystem",
    "aopen_sqlite",
    "create_filesystem_agent",
    "filesystem_condition",
    "filesystem_tools",
    "guarded",
    "merge_files",
    "open_sqlite",
)

_HOMES = {
    "CommandModel": "command_model",
    "FileData": "state.files",
    "FileEdit": "state.files",
    "FilesystemError": "state.errors",
    "FilesystemState": "state.schema",
    "StateBackend": "state.backends.state",
    "add_filesystem": "builder",
    "aopen_sqlite": "sqlite",
    "create_filesystem_agent": "agent",
    "filesystem_condition": "builder",
    "filesystem_tools": "builder",
    "guarded": "guard",
    "merge_files": "state.files",
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
