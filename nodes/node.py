"""A node that works in sync and async graphs, with its logic written once.

The logic is an `async` function that does every slow thing through `Io`. In a sync run `Io` blocks,
so that the function runs to its end at the first step; in an async run it awaits.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime

from langgraph_filesystem.state import io

__all__ = ("Act", "Edge", "Io", "Node")


class Io(io.Io, Protocol):
    """How slow things are done: blocking the thread, or awaited."""

    async def invoke(self, runnable: Runnable[Any, Any], value: Any, config: RunnableConfig) -> Any:
        """Invoke a model or a tool."""


class _Blocking(io.Blocking):
    async def invoke(self, runnable: Runnable[Any, Any], value: Any, config: RunnableConfig) -> Any:
        return runnable.invoke(value, config)


class _Awaiting(io.Awaiting):
    async def invoke(self, runnable: Runnable[Any, Any], value: Any, config: RunnableConfig) -> Any:
        return await runnable.ainvoke(value, config)


Act = Callable[[Any, RunnableConfig, Runtime[Any], Io], Coroutine[Any, Any, Any]]


class Node(Runnable[Any, Any]):
    """An `async` function of state, config, runtime and `Io`, as a node of any graph."""

    def __init__(self, name: str, act: Act, *, reaches_outside: bool = False) -> None:
        self.name = name
        self.reaches_outside = reaches_outside
        """Whether it may change something outside the state."""
        self._act = act

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Run the function to its end in this thread."""
        running = self._act(input, config or {}, get_runtime(), _Blocking())
        return io.finished(running, f"The node {self.name!r}")

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Await the function."""
        return await self._act(input, config or {}, get_runtime(), _Awaiting())


class Edge(Runnable[Any, Any]):
    """A pure function of the state as a conditional edge, without a thread in async graphs."""

    def __init__(self, name: str, choose: Callable[[Any], Any]) -> None:
        self.name = name
        self._choose = choose

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Return where to go."""
        return self._choose(input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Return where to go."""
        return self._choose(input)
