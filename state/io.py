"""Calling what may be slow: blocking the thread, or awaited, with the logic above written once.

The logic is an `async` function that does every slow thing through `Io`. With `Blocking` it never
waits, so that `finished` can run it to its end in one step; with `Awaiting` it leaves the event
loop to others.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache, partial
from typing import Any, Protocol, TypeVar

__all__ = ("Awaiting", "Blocking", "Io", "finished", "takes")

R = TypeVar("R")


class Io(Protocol):
    """How slow things are done: blocking the thread, or awaited."""

    async def call(self, target: object, method: str, *args: Any, **optional: Any) -> Any:
        """Call a method of a backend with the optional keywords that it takes."""


class Blocking:
    """In this thread, at once."""

    async def call(self, target: object, method: str, *args: Any, **optional: Any) -> Any:
        """Call the method."""
        function = getattr(target, method)
        return function(*args, **_taken(function, optional))


class Awaiting:
    """By the method's twin where there is one (`aread` of `read`), else in another thread."""

    async def call(self, target: object, method: str, *args: Any, **optional: Any) -> Any:
        """Await the method."""
        if twin := getattr(target, f"a{method}", None):
            return await twin(*args, **_taken(twin, optional))
        function = getattr(target, method)
        if method in getattr(target, "instant", ()):
            return function(*args, **_taken(function, optional))
        work = partial(_called, function, args, _taken(function, optional))
        if method == "execute":
            return await _in_a_thread_of_its_own(work)
        return await asyncio.to_thread(work)


def finished(running: Coroutine[Any, Any, R], name: str) -> R:
    """Run a coroutine that never waits to its end, in this thread, and return what it returns."""
    try:
        running.send(None)
    except StopIteration as done:
        value: R = done.value
        return value
    running.close()
    raise RuntimeError(f"{name} awaited something in a sync run.")


def takes(function: Callable[..., Any], keyword: str) -> bool:
    """Say whether a method takes a keyword."""
    return bool(_taken(function, {keyword: None}))


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
