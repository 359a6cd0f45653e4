"""A node that works in sync and async graphs, with its logic written once.

The logic is an `async` function that does every slow thing through `Io`. In a sync run `Io` blocks,
so that the function runs to its end at the first step; in an async run it awaits.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache, partial
from typing import Any, Protocol

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime

__all__ = ("Act", "Edge", "Io", "Node", "takes")


class Io(Protocol):
    """How slow things are done: blocking the thread, or awaited."""

    async def call(self, target: object, method: str, *args: Any, **optional: Any) -> Any:
        """Call a method of a backend with the optional keywords that it takes."""

    async def invoke(self, runnable: Runnable[Any, Any], value: Any, config: RunnableConfig) -> Any:
        """Invoke a model or a tool."""


class _Blocking:
    async def call(self, target: object, method: str, *args: Any, **optional: Any) -> Any:
        function = getattr(target, method)
        return function(*args, **_taken(function, optional))

    async def invoke(self, runnable: Runnable[Any, Any], value: Any, config: RunnableConfig) -> Any:
        return runnable.invoke(value, config)


class _Awaiting:
    async def call(self, target: object, method: str, *args: Any, **optional: Any) -> Any:
        if twin := getattr(target, f"a{method}", None):
            return await twin(*args, **_taken(twin, optional))
        function = getattr(target, method)
        if method in getattr(target, "instant", ()):
            return function(*args, **_taken(function, optional))
        work = partial(_called, function, args, _taken(function, optional))
        if method == "execute":
            return await _in_a_thread_of_its_own(work)
        return await asyncio.to_thread(work)

    async def invoke(self, runnable: Runnable[Any, Any], value: Any, config: RunnableConfig) -> Any:
        return await runnable.ainvoke(value, config)


Act = Callable[[Any, RunnableConfig, Runtime[Any], Io], Coroutine[Any, Any, Any]]


class Node(Runnable[Any, Any]):
    """An `async` function of state, config, runtime and `Io`, as a node of any graph."""

    def __init__(self, name: str, act: Act) -> None:
        self.name = name
        self._act = act

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Run the function to its end in this thread."""
        running = self._act(input, config or {}, get_runtime(), _Blocking())
        try:
            running.send(None)
        except StopIteration as done:
            return done.value
        running.close()
        raise RuntimeError(f"The node {self.name!r} awaited something in a sync run.")

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


async def _in_a_thread_of_its_own(work: Callable[[], Any]) -> Any:
    """A command may take an hour: in the shared pool it would keep others from listing files."""
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        run = copy_context().run
        return await asyncio.get_running_loop().run_in_executor(pool, run, work)
    finally:
        pool.shutdown(wait=False)


def _called(function: Callable[..., Any], args: Sequence[Any], optional: dict[str, Any]) -> Any:
    try:
        return function(*args, **optional)
    except (StopIteration, CancelledError) as stopped:
        # A future can't carry the one, and takes the other for a cancelled run.
        raise RuntimeError(f"{type(stopped).__name__}: {stopped}") from None


def takes(function: Callable[..., Any], keyword: str) -> bool:
    """Say whether a method takes a keyword."""
    return bool(_taken(function, {keyword: None}))


def _taken(function: Callable[..., Any], optional: dict[str, Any]) -> dict[str, Any]:
    """Keep the keywords that a method takes: a backend made by others may know fewer."""
    if not optional:
        return optional
    names = _parameters(getattr(function, "__func__", function))
    return optional if names is None else {k: v for k, v in optional.items() if k in names}


@lru_cache(maxsize=256)
def _parameters(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names of the parameters, or `None` if any keyword is taken."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)
