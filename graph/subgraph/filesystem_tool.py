"""`filesystem_tool`: an agent with a filesystem as a tool for other agents."""

from collections.abc import Mapping
from typing import Annotated, Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from pydantic import Field

from langgraph_filesystem.state.langgraph_internals import command_writes
from langgraph_filesystem.subgraph.filesystem_node import filesystem_node
from langgraph_filesystem.subgraph.visit import Parent

__all__ = ("filesystem_tool",)

Task = Annotated[
    str,
    Field(description="What to do. It is all that the agent knows of this conversation."),
]
CallId = Annotated[str, InjectedToolCallId]


def filesystem_tool(
    agent: CompiledStateGraph[Any, Any, Any, Any], *, name: str, description: str
) -> BaseTool:
    """Return an agent as a tool that takes a `task` and returns the agent's last message.

    The agent begins a conversation of its own with each call. Where the state of the caller has
    the key `files`, it works on these files, and what it changed is handed back with the answer:
    edits as edits, `None` for what it deleted. Declare the key with the reducer `merge_files`, or
    extend `FilesystemState`. Without it, the agent begins with no files and they end with the call.

    ```python
    notes = filesystem_tool(agent, name="keep_notes", description="Keeps notes in files.")
    caller = create_agent(model, [notes], state_schema=StateWithFiles)
    ```

    Args:
        agent: What `filesystem_node` takes.
        name: The name of the tool.
        description: What the calling model is told about it.
    """
    node = filesystem_node(agent)

    def run(task: Task, tool_call_id: CallId, config: RunnableConfig) -> Any:
        parent = Parent(config)
        update = node.invoke(_given(task, tool_call_id, parent), config)
        return _answer(update, name, tool_call_id, parent)

    async def arun(task: Task, tool_call_id: CallId, config: RunnableConfig) -> Any:
        parent = Parent(config)
        update = await node.ainvoke(_given(task, tool_call_id, parent), config)
        return _answer(update, name, tool_call_id, parent)

    return StructuredTool.from_function(run, arun, name=name, description=description)


def _given(task: str, call: str, parent: Parent) -> dict[str, Any]:
    # The id is the same when an interrupted call is resumed. The agent has read nothing yet,
    # whatever its caller has read.
    given: dict[str, Any] = {"messages": [HumanMessage(task, id=f"{call}:task")], "seen": {}}
    return given if parent.has("files") else {**given, "files": {}}


def _answer(update: Any, name: str, call: str, parent: Parent) -> Any:
    writes: Mapping[str, Any] = (
        dict(command_writes(update)) if isinstance(update, Command) else update
    )
    text = writes["messages"][-1].text
    changed = {key: writes[key] for key in ("files", "overlay") if writes.get(key)}
    if not changed or not parent.has("files"):
        return text
    answer = ToolMessage(text, tool_call_id=call, name=name)
    return Command(update={**changed, "messages": [answer]})
