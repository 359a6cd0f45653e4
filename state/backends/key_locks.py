"""Locks by key, for threads and event loops alike: one waits while another changes the same file.

They hold within one process. A waiter of an event loop holds no thread, and one that is cancelled
leaves the queue. Nobody waits for ever: threads that wait may be the very ones that who holds the
key needs to go on.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Hashable
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager

from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.io import Blocking, Io

__all__ = ("hold",)

_SECONDS = 30.0
_guard = threading.Lock()
_queues: dict[Hashable, deque["Future[None]"]] = {}
"""For each key that is held: who waits for it, in their order."""


@asynccontextmanager
async def hold(
    io: Io, place: Hashable, *keys: str, seconds: float = _SECONDS
) -> AsyncIterator[None]:
    """Hold keys of a place; always in the same order, so that two never wait for each other."""
    async with AsyncExitStack() as stack:
        for key in sorted(set(keys)):
            try:
                await stack.enter_async_context(_held(io, (place, key), seconds))
            except TimeoutError:
                raise BackendFailed(
                    f"{key}: others have been changing it for {seconds:.0f} s. Try again later."
                ) from None
        yield


@asynccontextmanager
async def _held(io: Io, key: Hashable, seconds: float) -> AsyncIterator[None]:
    turn = _queued(key)
    if turn is not None:
        await _wait(io, key, turn, seconds)
    try:
        yield
    finally:
        _release(key)


def _queued(key: Hashable) -> "Future[None] | None":
    """Take a key that is free, or get in line for it."""
    with _guard:
        queue = _queues.get(key)
        if queue is None:
            _queues[key] = deque()
            return None
        turn: Future[None] = Future()
        queue.append(turn)
        return turn


async def _wait(io: Io, key: Hashable, turn: "Future[None]", seconds: float) -> None:
    try:
        if isinstance(io, Blocking):
            turn.result(seconds)
        else:
            async with asyncio.timeout(seconds):
                await asyncio.wrap_future(turn)
    except BaseException:  # too late, cancelled, or the keyboard: leave the line, whatever it was
        if not turn.cancel():
            # The key was handed over in the same moment.
            _release(key)
        raise


def _release(key: Hashable) -> None:
    with _guard:
        queue = _queues[key]
        while queue:
            turn = queue.popleft()
            if turn.set_running_or_notify_cancel():
                turn.set_result(None)
                return
        del _queues[key]
