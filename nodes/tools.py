"""The `tools` node: the user's own tools, through LangGraph's `ToolNode`."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import Command

from langgraph_filesystem.nodes.answers import error_reply, valid
from langgraph_filesystem.nodes.calls import Call, answer_id
from langgraph_filesystem.nodes.failures import attempted
from langgraph_filesystem.nodes.node import Io, Node
from langgraph_filesystem.nodes.operation import calls_of_task
from langgraph_filesystem.nodes.running import read_channels

__all__ = ("tools_node",)


def tools_node(tools: Sequence[BaseTool]) -> Node:
    """Return the node that runs one call of a user's tool."""
    runner = ToolNode(tools, handle_tool_errors=_explained)

    async def act(task: Any, config: RunnableConfig, runtime: Runtime[Any], io: Io) -> Any:
        messages = read_channels(config, "messages")["messages"]
        outputs: list[Any] = []
        for call in calls_of_task(task, messages):
            outputs += await _run(runner, call, config, io)
        return outputs

    return Node("tools", act)


async def _run(runner: ToolNode, call: Call, config: RunnableConfig, io: Io) -> list[Any]:
    tool_call = {"name": call.name, "args": call.args, "id": call.id, "type": "tool_call"}
    work = io.invoke(runner, [tool_call], config)
    output, problem = await attempted(work, f"The tool {call.name}")
    if problem is not None:  # what `ToolNode` itself refuses, such as a malformed `Command`
        return [{"messages": [error_reply(call, problem)]}]
    parts = output if isinstance(output, list) else [output]
    return [_named(part, call) for part in parts]


def _named(part: Any, call: Call) -> Any:
    """Give the answer the id by which the graph knows that this call is answered."""
    if isinstance(part, Command):
        update = part.update
        if isinstance(update, dict) and "messages" in update:
            for message in update["messages"]:
                _stamp(message, call)
        return part
    messages = part["messages"] if isinstance(part, dict) else [part]
    for message in messages:
        _stamp(message, call)
    return {"messages": messages}


def _stamp(message: Any, call: Call) -> None:
    if isinstance(message, ToolMessage) and message.tool_call_id == call.id:
        message.id = answer_id(call.message, call.position)
        if isinstance(message.content, str):
            message.content = valid(message.content)


def _explained(error: Exception) -> str:
    return (
        f"The tool failed: {type(error).__name__}: {error}. Mend the arguments or go another way."
    )
