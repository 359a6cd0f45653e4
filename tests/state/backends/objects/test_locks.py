"""Locks by path: threads and tasks take turns, and nobody who leaves blocks the others."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from langgraph_filesystem.state.backends.objects.locks import hold
from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.io import is_sync, run_sync


class Tally:
    """Counts how many are inside at the same time."""

    def __init__(self) -> None:
        self.inside = self.most = self.done = 0

    async def hold(self, *paths: str) -> None:
        async with hold("place", *paths):
            self.inside += 1
            self.most = max(self.most, self.inside)
            if is_sync():
                time.sleep(0.001)
            else:
                await asyncio.sleep(0.001)
            self.inside -= 1
            self.done += 1


async def test_threads_and_tasks_take_turns() -> None:
    tally = Tally()
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(run_sync, tally.hold("/a")) for _ in range(50)]
        await asyncio.gather(*(tally.hold("/a") for _ in range(50)))
        await asyncio.gather(*map(asyncio.wrap_future, runs))
    assert (tally.most, tally.done) == (1, 100)


async def test_other_paths_and_other_places_do_not_wait() -> None:
    async with hold("place", "/a"), hold("place", "/b", "/b"), hold("elsewhere", "/a"):
        pass


def test_two_that_want_the_same_paths_in_another_order_do_not_wait_for_ever() -> None:
    tally = Tally()
    with ThreadPoolExecutor(4) as pool:
        for paths in ("abc", "cba", "ba", "ca") * 25:
            pool.submit(run_sync, tally.hold(*paths))
    assert (tally.most, tally.done) == (1, 100)


async def test_a_waiter_that_is_cancelled_leaves_the_queue() -> None:
    tally = Tally()
    async with hold("place", "/a"):
        waiting = [asyncio.create_task(tally.hold("/a")) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[1].cancel()
        await asyncio.sleep(0)
    await waiting[2]
    assert tally.done == 1


async def test_a_waiter_that_is_cancelled_when_its_turn_comes_passes_the_lock_on() -> None:
    tally = Tally()
    async with hold("place", "/a"):
        first = asyncio.create_task(tally.hold("/a"))
        second = asyncio.create_task(tally.hold("/a"))
        await asyncio.sleep(0)
    first.cancel()  # the lock is its own already, but it has not run since
    await second
    with pytest.raises(asyncio.CancelledError):
        await first
    assert tally.done == 1


async def test_nobody_waits_for_ever() -> None:
    async def late() -> None:
        with pytest.raises(BackendFailed, match=r"/b: others have been changing it"):
            async with hold("place", "/a", "/b", seconds=0.01):
                pass

    async with hold("place", "/b"):
        await late()
        await asyncio.to_thread(run_sync, late())
    async with hold("place", "/a", "/b"):  # all are free again
        pass
