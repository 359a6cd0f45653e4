"""Running a graph that is invoked, and one that is awaited, with the same test."""

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult

from langgraph_filesystem import create_filesystem_agent
from tests.databases import aopen_database, open_database
from tests.scripted import ScriptedModel, says

THREAD: Any = {"configurable": {"thread_id": "1"}}
_numbers = itertools.count(1)


class Speaker(ScriptedModel):
    """A scripted model in a conversation of many: it counts only what it said itself."""

    speaker: str

    def __init__(self, script: Sequence[AIMessage] = (), **fields: Any) -> None:
        super().__init__(script, **fields)

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        own = [m for m in messages if isinstance(m, HumanMessage) or m.name == self.speaker]
        result = super()._generate(own, *args, **options)
        said = result.generations[0].message
        assert isinstance(said, AIMessage)
        said.name = self.speaker
        return result


def agent(*turns: Any, **options: Any) -> Any:
    """Return an agent that makes these calls, each a turn or a list of them in one message."""
    script = [says(*(turn if isinstance(turn, list) else [turn])) for turn in turns]
    speaker = f"speaker-{next(_numbers)}"
    return create_filesystem_agent(Speaker(script, speaker=speaker), **options)


class Runs:
    """Calls the methods of a graph: as they are, or their twins that are awaited."""

    def __init__(self, checkpointer: Any, awaited: bool) -> None:
        self.checkpointer = checkpointer
        self.awaited = awaited

    async def call(self, graph: Any, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of a graph in the thread of the test."""
        if not self.awaited:
            return getattr(graph, method)(*args, **options)
        return await getattr(graph, f"a{method}")(*args, **options)

    async def invoke(self, graph: Any, given: Any, config: Any = THREAD, **options: Any) -> Any:
        """Invoke a graph."""
        return await self.call(graph, "invoke", given, config, **options)

    async def state(self, graph: Any, config: Any = THREAD, **options: Any) -> Any:
        """Return the state of a graph."""
        return await self.call(graph, "get_state", config, **options)

    async def history(self, graph: Any, config: Any = THREAD) -> list[Any]:
        """Return the states of a graph, the newest first."""
        if not self.awaited:
            return list(graph.get_state_history(config))
        return [state async for state in graph.aget_state_history(config)]

    async def stream(self, graph: Any, given: Any, **options: Any) -> list[Any]:
        """Return what a graph streams."""
        if not self.awaited:
            return list(graph.stream(given, THREAD, **options))
        return [chunk async for chunk in graph.astream(given, THREAD, **options)]


@asynccontextmanager
async def opened_runs(path: Path, awaited: bool) -> AsyncIterator[Runs]:
    """Open a database for runs of one kind."""
    if awaited:
        async with aopen_database(path) as (checkpointer, _):
            yield Runs(checkpointer, awaited)
    else:
        with open_database(path) as (checkpointer, _):
            yield Runs(checkpointer, awaited)


def contents(state: Any) -> dict[str, str]:
    """Return the text of each file of a state."""
    return {path: file["content"] for path, file in state["files"].items()}
