"""The graph that the server loads. The server brings the checkpointer and the store.

`keep` stores every message of the user as a file before the agent sees it. So the agent has all of
them, even if the conversation is shortened.
"""

import os
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph import START, StateGraph, add_messages
from typing_extensions import TypedDict

from langgraph_filesystem import (
    CommandModel,
    FileData,
    create_filesystem_agent,
    filesystem_node,
    guarded,
    merge_files,
)


class State(TypedDict):
    """The state of a thread."""

    messages: Annotated[list[AnyMessage], add_messages]
    files: NotRequired[Annotated[dict[str, FileData], merge_files]]


def keep(state: State) -> dict[str, Any]:
    """Store the last message as a file with the next number."""
    inbox = [path for path in state.get("files", {}) if path.startswith("/inbox/")]
    return {"files": {f"/inbox/{len(inbox) + 1:04}.md": state["messages"][-1].text}}


agent = create_filesystem_agent(
    os.environ.get("INBOX_MODEL") or CommandModel(),
    system_prompt="Every message of the user is kept in /inbox. Keep notes in /notes.",
    name="agent",
)

builder = StateGraph(State)
builder.add_node("keep", keep)
builder.add_node("agent", filesystem_node(agent))
builder.add_edge(START, "keep")
builder.add_edge("keep", "agent")
graph = guarded(builder.compile(name="inbox"))
