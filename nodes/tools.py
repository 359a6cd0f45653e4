"""The `tools` node: the user's own tools, through LangGraph's `ToolNode`."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.constants import END
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from langgraph_filesystem.nodes.answers import error_reply, noted, valid
from langgraph_filesystem.nodes.calls import Call, answer_id
from langgraph_filesystem.nodes.node import Node, invoke
from langgraph_filesystem.nodes.operation import calls_of_task
from langgraph_filesystem.state.channels import check_write
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import attempt, describe, is_sync
from langgraph_filesystem.state.langgraph_internals import read_channels

__all__ = ("describes_function", "tools_node")

_FUNCTION_TYPES = frozenset({"function", "custom"})
_FUNCTION_KEYS = frozenset(
    {"function", "function_declarations", "input_schema", "parameters", "properties", "toolSpec"}
)
"""Keys of a dict that describes a function, in the forms of several providers."""

_NOT_SYNC = (
    "The tool {} was not run: it is async only, and this is a sync run. The program must "
    "use `ainvoke` or `astream`. Go on without the tool."
)


def tools_node(tools: Sequence[BaseTool], inner: Collection[str] | None = None) -> Node:
    """Return the node that runs one call of a user's tool.

    `inner` are the nodes that a command of a tool may not go to; `None` for all nodes.
    """
    runner = ToolNode(tools, handle_tool_errors=_error_text)
    only_async = {tool.name for tool in tools if _has_no_sync_form(tool)}

    async def act(task: Any, config: RunnableConfig, runtime: Runtime[Any]) -> Any:
        messages = read_channels(config, "messages")["messages"]
        outputs: list[Any] = []
        for call in calls_of_task(task, messages, config):
            if call.name in only_async and is_sync():
                outputs.append({"messages": [error_reply(call, _NOT_SYNC.format(call.name))]})
            else:
                outputs += await _run(runner, call, config, inner)
        if any(isinstance(output, Command) for output in outputs):
            return outputs
        return {"messages": [message for output in outputs for message in output["messages"]]}

    return Node("tools", act)


def describes_function(tool: Mapping[str, Any]) -> bool:
    """Say whether a dict describes a function of yours, and not a tool that a provider runs."""
    return tool.get("type") in _FUNCTION_TYPES or bool(_FUNCTION_KEYS & tool.keys())


def _has_no_sync_form(tool: BaseTool) -> bool:
    """Say whether a tool can only be awaited, such as those of MCP servers."""
    return isinstance(tool, StructuredTool) and tool.func is None


async def _run(
    runner: ToolNode, call: Call, config: RunnableConfig, inner: Collection[str] | None
) -> list[Any]:
    tool_call = {"name": call.name, "args": call.args, "id": call.id, "type": "tool_call"}
    output = await attempt(invoke(runner, [tool_call], config), f"The tool {call.name}")
    if isinstance(output, FilesystemError):  # such as for a malformed `Command`
        return [{"messages": [error_reply(call, output)]}]
    parts = output if isinstance(output, list) else [output]
    parts = [part if isinstance(part, dict | Command) else {"messages": [part]} for part in parts]
    problem = await attempt(_checked(parts, inner), f"Storing what the tool {call.name} wrote")
    if problem is not None:
        return [{"messages": [error_reply(call, problem)]}]
    stamped = [_stamp(message, call) for part in parts for message in _messages(part)]
    if not any(stamped):
        # Without an answer the call would stay open, and the tool would run again and again.
        text = f"The tool {call.name} ran, but its answer was for another call."
        parts.append({"messages": [error_reply(call, text)]})
    return parts


async def _checked(parts: list[Any], inner: Collection[str] | None) -> None:
    """Raise what the reducers would raise: there it would end the run and break the thread."""
    for part in parts:
        for target in _targets(part):
            if target != END and (inner is None or target in inner):
                raise FilesystemError(
                    f"The command of the tool goes to the node `{target}`, which only the graph "
                    "itself starts. Nothing that the tool returned was stored. Its author should "
                    "leave the `goto` out: the model gets the answer of a tool in any case."
                )
        update = part.update if isinstance(part, Command) else part
        for channel, write in update.items() if isinstance(update, dict) else ():
            check_write(channel, write)


def _targets(part: Any) -> list[str]:
    """Return the nodes of this graph that a command goes to."""
    if not isinstance(part, Command) or part.graph is not None:
        return []
    goto = part.goto if isinstance(part.goto, list | tuple) else [part.goto]
    return [target.node if isinstance(target, Send) else str(target) for target in goto]


def _messages(part: Any) -> list[Any]:
    update = part.update if isinstance(part, Command) else part
    messages = update.get("messages", []) if isinstance(update, dict) else []
    return messages if isinstance(messages, list) else [messages]


def _stamp(message: Any, call: Call) -> bool:
    """Give the answer the id that marks this call as answered; `False` if it is not its answer."""
    if not isinstance(message, ToolMessage) or message.tool_call_id != call.id:
        return False
    message.id = answer_id(call.message, call.position)
    if isinstance(message.content, str):
        message.content = valid(message.content)
    message.content = noted(call, message.content)
    return True


def _error_text(error: Exception) -> str:
    reason = describe(error).rstrip(".")
    return f"Error: The tool failed: {reason}. Fix the arguments or try another way."
