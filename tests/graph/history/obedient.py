"""An agent over an overlay that makes the calls which it is told to make."""

import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langgraph_filesystem import create_filesystem_agent
from tests.scripted import ScriptedModel, call


class Obedient(ScriptedModel):
    """A model that reads its calls from the last human message, as JSON."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        last = messages[-1]
        calls = json.loads(last.text) if isinstance(last, HumanMessage) else []
        answer = AIMessage("" if calls else "done", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def obedient(mounts: Any, saver: Any, **options: Any) -> Any:
    """Return the agent; it may change files without reading them."""
    options.setdefault("read_before_edit", False)
    return create_filesystem_agent(Obedient(), mounts=mounts, checkpointer=saver, **options)


def told(*calls: dict[str, Any]) -> dict[str, Any]:
    """Return the input that makes the agent do these calls, in one message."""
    return {"messages": [HumanMessage(json.dumps(calls))]}


def writes(path: str, content: str, overwrite: bool = True) -> dict[str, Any]:
    return call("write_file", file_path=path, content=content, overwrite=overwrite)


def edits(path: str, old: str, new: str) -> dict[str, Any]:
    return call("edit_file", file_path=path, old_string=old, new_string=new)


def deletes(path: str) -> dict[str, Any]:
    return call("delete", file_path=path)


def moves(source: str, destination: str) -> dict[str, Any]:
    return call("move", source=source, destination=destination)
