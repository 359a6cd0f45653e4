"""Something to save, and what a file holds then: an agent's loop, single checkpoints, rows."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, cast
from uuid import uuid4

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointMetadata, empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

CONFIG: RunnableConfig = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}


def append(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*state, *(item for write in writes for item in write)]


def merge(state: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {key: value for part in (state, *writes) for key, value in part.items()}


class State(TypedDict, total=False):
    messages: Annotated[list[Any], DeltaChannel(append, snapshot_frequency=10_000)]
    files: Annotated[dict[str, str], DeltaChannel(merge, snapshot_frequency=10_000)]
    routes: list[dict[str, str]]
    turns: int


def looped(saver: BaseCheckpointSaver[Any] | None) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return an agent's loop: a model, a router that sends, an operation, an eviction."""

    def model(state: State) -> State:
        call = {"name": "op", "args": {"file_path": "/a.txt"}, "id": f"call_{uuid4().hex}"}
        message = AIMessage("Some words of a model.", id=str(uuid4()), tool_calls=[call])
        return {"messages": [message], "turns": state["turns"] - 1}

    def router(state: State) -> State:
        return {"routes": [{"node": "op", "mount": "/"}]}

    def op(task: dict[str, Any]) -> State:
        answer = ToolMessage("Some words of a tool.", id=str(uuid4()), tool_call_id=task["calls"])
        return {"messages": [answer], "files": {f"/{uuid4().hex[:2]}": "words"}}

    def evict(state: State) -> State:
        return {}

    def dispatch(state: State) -> list[Send]:
        last = state["messages"][-1]
        return [Send("op", {"message": last.id, "calls": last.tool_calls[0]["id"]})]

    builder = StateGraph(State)
    builder.add_node("model", model)
    builder.add_node("router", router)
    builder.add_node("op", cast(Any, op))
    builder.add_node("evict", evict)
    builder.add_edge(START, "model")
    builder.add_edge("model", "router")
    builder.add_conditional_edges("router", dispatch, ["op"])
    builder.add_edge("op", "evict")
    builder.add_conditional_edges(
        "evict", lambda state: "model" if state["turns"] > 0 else END, ["model", END]
    )
    return cast(CompiledStateGraph[Any, Any, Any, Any], builder.compile(checkpointer=saver))


def run(saver: BaseCheckpointSaver[Any], turns: int = 1, thread: str = "thread") -> State:
    config: RunnableConfig = {
        "configurable": {"thread_id": thread},
        "recursion_limit": 4 * turns + 1,
    }
    return cast(State, looped(saver).invoke({"turns": turns}, config))


async def arun(saver: BaseCheckpointSaver[Any], turns: int = 1) -> State:
    return cast(State, await looped(saver).ainvoke({"turns": turns}, CONFIG))


def rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


def at(checkpoint_id: str | None) -> RunnableConfig:
    return {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": checkpoint_id}}


def put(
    saver: BaseCheckpointSaver[Any], name: str, parent: str | None, **metadata: Any
) -> RunnableConfig:
    checkpoint = {**empty_checkpoint(), "id": name, "channel_values": {"name": name}}
    return saver.put(at(parent), cast(Any, checkpoint), cast(CheckpointMetadata, metadata), {})
