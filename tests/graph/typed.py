"""Tools and a model that is bound to them: what a person types, and what comes of it."""

from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, ToolException, tool

from langgraph_filesystem.command_model import CommandModel


@tool
def ls(path: str) -> str:
    """List a directory.

    Only the first line belongs into the list of commands.
    """
    if path == "/gone":
        raise ToolException("No directory /gone.")
    return f"{path}: a.txt\nb.txt"


@tool
def write_file(file_path: str, content: str, overwrite: bool = False) -> str:
    """Write a file."""
    return f"Wrote {len(content)} characters to {file_path}."


@tool
def edit_file(file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> str:
    """Edit a file."""
    return f"Edited {file_path}."


@tool
def grep(
    pattern: str,
    path: str | None = None,
    output_mode: Literal["content", "count"] = "content",
    regex: bool = False,
    max_count: int | None = None,
) -> str:
    """Search files."""
    return "no match"


@tool
def odd(
    ratio: float = 1.0,
    tags: list[str] | None = None,
    data: dict[str, Any] | None = None,
    either: int | str = 0,
    count: int = 0,
) -> str:
    """Take every JSON type."""
    return "odd"


ls.handle_tool_error = True
TOOLS: list[BaseTool] = [ls, write_file, edit_file, grep, odd]
MODEL = CommandModel().bind_tools(TOOLS)


def calls_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    reply = MODEL.invoke([HumanMessage(text)])
    return [(call["name"], call["args"]) for call in reply.tool_calls]


def text_of(*messages: BaseMessage) -> str:
    reply = MODEL.invoke(list(messages))
    assert not reply.tool_calls
    return str(reply.content)
