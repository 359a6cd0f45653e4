"""The least that LangGraph needs for an agent that edits files: a model node and a tool node."""

from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition
from langgraph.types import Checkpointer, Command
from typing_extensions import TypedDict

__all__ = ("create_bare_loop",)


def _merged(left: dict[str, Any] | None, right: dict[str, Any]) -> dict[str, Any]:
    return {**(left or {}), **right}


class _State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, Any], _merged]


@tool
def read_file(file_path: str, files: Annotated[dict[str, Any], InjectedState("files")]) -> str:
    """Read a file."""
    return str(files[file_path]["content"])


@tool
def edit_file(
    file_path: str,
    old_string: str,
    new_string: str,
    files: Annotated[dict[str, Any], InjectedState("files")],
    tool_call_id: Annotated[str, InjectedToolCallId],
) -> Command[Any]:
    """Replace text in a file."""
    content = files[file_path]["content"].replace(old_string, new_string)
    answer = ToolMessage(f"Edited {file_path}.", tool_call_id=tool_call_id)
    return Command(update={"files": {file_path: {"content": content}}, "messages": [answer]})


def create_bare_loop(
    model: BaseChatModel, checkpointer: Checkpointer
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the loop."""
    tools = [read_file, edit_file]
    bound = model.bind_tools(tools)

    def ask(state: _State) -> dict[str, Any]:
        return {"messages": [bound.invoke(state["messages"])]}

    builder = StateGraph(_State)
    builder.add_node("model", ask)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=checkpointer)
