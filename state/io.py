"""Slow work in sync and async runs, with the logic above it written once.

Everything that reads or changes files is an `async` function. It does slow work only through
`in_thread` and `call_either`. In a sync run (`run_sync`) these block, so the function never
suspends; in an async run they leave the event loop to others. A context variable tells which of the
two it is, so no function has to pass it on.
"""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from langgraph.errors import GraphBubbleUp

from langgraph_filesystem.state.errors import BackendFailed, FilesystemError

__all__ = (
    "attempt",
    "awaiting",
    "call_either",
    "change_in_thread",
    "describe",
    "gather_limited",
    "in_own_thread",
    "in_thread",
    "is_sync",
    "run_sync",
)

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_is_sync: ContextVar[bool] = ContextVar("langgraph_filesystem_is_sync", default=False)
_MAX_REQUESTS = 16
"""Requests in parallel: a bucket answers each in some 30 ms and allows many more."""
_CANCEL_TIMEOUT = 30.0
"""Seconds that a cancelled run waits for a change that has begun in a thread."""


def run_sync(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine to its end in this thread, without an event loop."""
    token = _is_sync.set(True)
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: R = done.value
        return value
    finally:
        _is_sync.reset(token)
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} awaited something in a sync run.")


@contextlib.contextmanager
def awaiting() -> Iterator[None]:
    """Mark the code inside as async, because it may have been called from a sync run."""
    token = _is_sync.set(False)
    try:
        yield
    finally:
        # A coroutine that is thrown away with its event loop is closed in another context.
        with contextlib.suppress(ValueError):
            _is_sync.reset(token)


def is_sync() -> bool:
    """Say whether the running code must block instead of await."""
    return _is_sync.get()


async def call_either(
    blocking: Callable[P, R], awaited: Callable[P, Awaitable[R]], *args: P.args, **options: P.kwargs
) -> R:
    """Call the sync or the async form of a function, as the run needs it."""
    if _is_sync.get():
        return blocking(*args, **options)
    return await awaited(*args, **options)


async def in_thread(function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Call a function that reads: here in a sync run, else in a worker thread."""
    if _is_sync.get():
        return function(*args, **options)
    return await asyncio.to_thread(_convert_exceptions, partial(function, *args, **options))


async def change_in_thread(
    function: Callable[P, R],
    *args: P.args,
    **options: P.kwargs,
) -> R:
    """Call a function that changes something: here in a sync run, else in a worker thread.

    A thread can't be stopped. If the run is cancelled it ends after the thread has, or the next run
    would find half a change. A call that is still waiting for a thread then is dropped.
    """
    if _is_sync.get():
        return function(*args, **options)
    is_dropped, has_begun, gate = threading.Event(), threading.Event(), threading.Lock()

    def begin() -> R:
        with gate:
            if is_dropped.is_set():
                raise RuntimeError("cancelled before it began")
            has_begun.set()
        return _convert_exceptions(partial(function, *args, **options))

    # Not a task: all tasks are cancelled at once when a loop is closed.
    running = asyncio.get_running_loop().run_in_executor(None, copy_context().run, begin)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        with gate:
            is_dropped.set()
        if has_begun.is_set():
            await asyncio.wait([running], timeout=_CANCEL_TIMEOUT)
        running.add_done_callback(_retrieve_exception)
        raise


async def in_own_thread(function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Call a function that may take hours, outside of the shared pool of threads."""
    if _is_sync.get():
        return function(*args, **options)
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        work = partial(_convert_exceptions, partial(function, *args, **options))
        return await asyncio.get_running_loop().run_in_executor(pool, copy_context().run, work)
    finally:
        pool.shutdown(wait=False)


async def gather_limited(
    work: Callable[[T], Coroutine[Any, Any, R]], items: Sequence[T]
) -> list[R]:
    """Do the work for all items, some at a time, and return the results in their order.

    An error is raised after all have ended, so that none is left half done.
    """
    if len(items) <= 1:
        return [await work(item) for item in items]
    if _is_sync.get():
        with ThreadPoolExecutor(min(_MAX_REQUESTS, len(items))) as pool:
            runs = [pool.submit(copy_context().run, _run, work, item) for item in items]
        return [run.result() for run in runs]
    free = asyncio.Semaphore(_MAX_REQUESTS)

    async def one(item: T) -> R:
        async with free:
            return await work(item)

    results = await asyncio.gather(*map(one, items), return_exceptions=True)
    return [_unwrapped(result) for result in results]


async def attempt(work: Awaitable[T], *what: str) -> T | FilesystemError:
    """Return the result of some work, or the error; `what` names the work in the message.

    The one place that catches whatever a backend or a tool raises. Only exceptions of the graph
    itself, such as an interrupt, pass through.
    """
    try:
        return await work
    except FilesystemError as error:
        return error
    except GraphBubbleUp:
        raise
    except Exception as error:
        return BackendFailed(*what, f" failed: {describe(error)}")


def describe(error: Exception) -> str:
    """Return the type of an error and its message, without paths of the host."""
    kind = type(error).__name__
    try:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    except Exception:  # `__str__` of an error may fail itself
        text = ""
    return f"{kind}: {text}" if text else kind


def _convert_exceptions(work: Callable[[], R]) -> R:
    try:
        return work()
    except (StopIteration, CancelledError) as stopped:
        # A future can't hold a StopIteration, and would treat CancelledError as a cancelled run.
        raise RuntimeError(f"{type(stopped).__name__}: {stopped}") from None


def _retrieve_exception(ended: "asyncio.Future[Any]") -> None:
    """Retrieve the exception of a future that nobody awaits, or the loop would log it."""
    if not ended.cancelled():
        ended.exception()


def _run(work: Callable[[T], Coroutine[Any, Any, R]], item: T) -> R:
    return run_sync(work(item))


def _unwrapped(result: R | BaseException) -> R:
    if isinstance(result, BaseException):
        raise result
    return result
