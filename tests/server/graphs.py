"""Graphs of the tests, for the server to load by their module."""

import asyncio
import os

from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from langgraph_filesystem import (
    CommandModel,
    FilesystemState,
    Subagent,
    create_filesystem_agent,
    guarded,
)
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.execution.shell import LocalShellBackend
from langgraph_filesystem.subgraph.filesystem_node import filesystem_node
from tests.summarizing import Worker

__all__ = (
    "disk",
    "parent",
    "reviewed",
    "reviewed_parent",
    "shell",
    "stopping_parent",
    "summarizing",
    "team",
)


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"waited {seconds}"


@tool
def ask(question: str) -> str:
    """Ask a person."""
    return str(interrupt(question))


_directory = os.environ["TEST_DISK"]

disk = create_filesystem_agent(
    CommandModel(),
    [wait],
    mounts={"/disk": FilesystemBackend(_directory)},
    skills=["/disk/skills/"],
    name="disk",
)
shell = create_filesystem_agent(
    CommandModel(), mounts={"/disk": LocalShellBackend(_directory)}, name="shell"
)
summarizing = create_filesystem_agent(
    Worker(steps=30, profile={"max_input_tokens": 6_000}), summarize=True, name="summarizing"
)
_worker = create_filesystem_agent(CommandModel(), name="worker")
_builder = StateGraph(FilesystemState)
_builder.add_node("worker", filesystem_node(_worker))
_builder.add_edge(START, "worker")
parent = _builder.compile(name="parent")

reviewed = create_filesystem_agent(
    CommandModel(), [wait], interrupt_on={"write_file": True, "delete": True}, name="reviewed"
)
_reviewing = StateGraph(FilesystemState)
_reviewing.add_node("worker", filesystem_node(reviewed))
_reviewing.add_edge(START, "worker")
reviewed_parent = _reviewing.compile(name="reviewed_parent")

_stopping = StateGraph(FilesystemState)
_stopping.add_node(
    "agent",
    filesystem_node(create_filesystem_agent(CommandModel(), interrupt_before=["write_file"])),
)
_stopping.add_edge(START, "agent")
stopping_parent = guarded(_stopping.compile(name="stopping_parent"))
team = create_filesystem_agent(
    CommandModel(), [ask], subagents=[Subagent(name="scribe", description="Writes.")], name="team"
)
