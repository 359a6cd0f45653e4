"""A node that works in sync and async graphs, with its logic written once (see `state/io.py`)."""

from collections.abc import Callable, Coroutine
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime

from langgraph_filesystem.state.io import awaiting, call_either, run_sync
from langgraph_filesystem.state.workspace.mounts import Mounts

__all__ = ("Edge", "Node", "invoke")

Act = Callable[[Any, RunnableConfig, Runtime[Any]], Coroutine[Any, Any, Any]]


class Node(Runnable[Any, Any]):
    """An `async` function of state, config and runtime, as a node of any graph."""

    def __init__(self, name: str, act: Act, *, mounts: Mounts | None = None) -> None:
        self.name = name
        self.mounts = mounts
        """The mounts of the graph, kept in one node for whoever has the compiled graph only."""
        self._act = act

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Run the function to its end in this thread."""
        return run_sync(self._act(input, config or {}, get_runtime()))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Await the function."""
        with awaiting():
            return await self._act(input, config or {}, get_runtime())


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


async def invoke(runnable: Runnable[Any, Any], value: Any, config: RunnableConfig) -> Any:
    """Invoke a model or a tool."""
    return await call_either(runnable.invoke, runnable.ainvoke, value, config)
