"""Many things at once, but not more than some at a time; and threads that are never all taken."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from langgraph_filesystem.state.io import Blocking, Io, finished

__all__ = ("aside", "each")

T = TypeVar("T")
R = TypeVar("R")

_AT_ONCE = 16
"""Requests under way: a bucket answers each in some 30 ms, and takes many more than these."""
_threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="langgraph-filesystem")


async def aside(function: Callable[..., R], *args: Any) -> R:
    """Await what blocks, in a thread of our own.

    In the threads of the event loop may be callers that wait for a key, which the one who holds it
    can't give back unless it gets a thread too.
    """
    run = copy_context().run
    running = asyncio.get_running_loop().run_in_executor(_threads, run, function, *args)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        # It can't be called back: who holds a key must not give it away before it is done.
        await asyncio.wait([running])
        raise


async def each(io: Io, work: Callable[[T], Coroutine[Any, Any, R]], items: Sequence[T]) -> list[R]:
    """Do the work for each of the items and return the results in their order."""
    if len(items) <= 1:
        return [await work(item) for item in items]
    if isinstance(io, Blocking):
        with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
            runs = [pool.submit(copy_context().run, _finished, work, item) for item in items]
        return [run.result() for run in runs]
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(item: T) -> R:
        async with free:
            return await work(item)

    results = await asyncio.gather(*map(one, items), return_exceptions=True)
    return [_value(result) for result in results]


def _finished(work: Callable[[T], Coroutine[Any, Any, R]], item: T) -> R:
    return finished(work(item), "One of many")


def _value(result: R | BaseException) -> R:
    """Return a result, or raise what was raised: when all are done, so that none is half done."""
    if isinstance(result, BaseException):
        raise result
    return result
