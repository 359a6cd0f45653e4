"""Locks by path, for threads and event loops: changes of one file wait for each other.

They work within one process. Waiting in an event loop takes no thread, and a cancelled waiter
leaves the queue. Waiting has a time limit, because the holder of a lock may need one of the
threads that wait for it.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Hashable
from concurrent.futures import Future
from contextlib import asynccontextmanager

from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.io import is_sync
from langgraph_filesystem.state.text import PathPart

__all__ = ("hold",)

_guard = threading.Lock()
_queues: dict[Hashable, deque["Future[None]"]] = {}
"""The waiters for each lock that is held, in order."""


@asynccontextmanager
async def hold(place: Hashable, *paths: str, seconds: float = 30.0) -> AsyncIterator[None]:
    """Hold the locks of some paths of a place."""
    held: list[Hashable] = []
    try:
        # Always in the same order, to avoid deadlocks.
        for path in sorted(set(paths)):
            await _acquire((place, path), path, seconds)
            held.append((place, path))
        yield
    finally:
        for key in held:
            _release(key)


async def _acquire(key: Hashable, path: str, seconds: float) -> None:
    with _guard:
        queue = _queues.get(key)
        if queue is None:
            _queues[key] = deque()
            return
        turn: Future[None] = Future()
        queue.append(turn)
    try:
        if is_sync():
            turn.result(seconds)
        else:
            async with asyncio.timeout(seconds):
                await asyncio.wrap_future(turn)
    except BaseException as error:  # timed out, cancelled or interrupted: leave the queue
        if not turn.cancel():
            _release(key)  # the lock was handed over in the same moment
        if not isinstance(error, TimeoutError):
            raise
        raise BackendFailed(
            PathPart(path), f": others have been changing it for {seconds:.0f} s. Try again later."
        ) from None


def _release(key: Hashable) -> None:
    with _guard:
        queue = _queues[key]
        while queue:
            turn = queue.popleft()
            if turn.set_running_or_notify_cancel():
                turn.set_result(None)
                return
        del _queues[key]
