"""Calling what may be slow: blocking the thread, or awaited, with the logic above written once.

The logic is an `async` function that does every slow thing through `Io`. With `Blocking` it never
waits, so that `finished` can run it to its end in one step; with `Awaiting` it leaves the event
loop to others.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache, partial
from typing import Any, Protocol, TypeVar

__all__ = ("CHANGING", "Awaiting", "Blocking", "Io", "finished", "in_thread", "takes")

CHANGING = frozenset(
    ("write", "edit", "delete", "move", "upload_files", "receive", "delete_copied", "recall")
)
"""Methods that change something; `recall` ends what was interrupted. A thread can't be stopped: a
run that is cancelled ends when it has, or the run that comes after it would find half a change, and
the other half coming."""
_PATIENCE = 30.0
"""Seconds that a cancelled run waits for that at most."""

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
        if method in CHANGING:
            return await in_thread(work, optional.get("stopped"))
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


async def in_thread(work: Callable[[], R], stopped: threading.Event | None = None) -> R | None:
    """Do something in another thread. If the run is cancelled it is over when the thread is.

    An event that the work looks at is set then, so that it ends soon.
    """
    given_up = threading.Event() if stopped is None else stopped
    is_begun, gate = threading.Event(), threading.Lock()

    def begin() -> R | None:
        with gate:
            if given_up.is_set():
                return None  # it had to wait for a thread, and nobody wants it any more
            is_begun.set()
        return work()

    run = copy_context().run
    # No task: those are all cancelled at once when a loop is closed.
    running = asyncio.get_running_loop().run_in_executor(None, run, begin)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        with gate:
            given_up.set()
        if is_begun.is_set():
            await asyncio.wait([running], timeout=_PATIENCE)
        running.add_done_callback(_ignored)
        raise


def _ignored(ended: "asyncio.Future[Any]") -> None:
    """Look at how something ended that nobody waits for: else the loop would tell of it."""
    if not ended.cancelled():
        ended.exception()


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
