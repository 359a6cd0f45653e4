"""Locks by key: threads and tasks take turns, and nobody who leaves blocks the others."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from langgraph_filesystem.state.backends import key_locks
from langgraph_filesystem.state.backends.key_locks import hold
from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.io import Awaiting, Blocking, finished


class Tally:
    """Counts how many are inside at the same time."""

    def __init__(self) -> None:
        self.inside = self.most = self.done = 0

    def enter(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)

    def leave(self) -> None:
        self.inside -= 1
        self.done += 1


async def _blocking(tally: Tally, *keys: str) -> None:
    async with hold(Blocking(), "place", *keys):
        tally.enter()
        time.sleep(0.001)
        tally.leave()


async def _awaiting(tally: Tally, *keys: str) -> None:
    async with hold(Awaiting(), "place", *keys):
        tally.enter()
        await asyncio.sleep(0.001)
        tally.leave()


@pytest.fixture(autouse=True)
def _nothing_is_left() -> None:
    assert not key_locks._queues


async def test_threads_and_tasks_take_turns() -> None:
    tally = Tally()
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(finished, _blocking(tally, "a"), "it") for _ in range(50)]
        await asyncio.gather(*(_awaiting(tally, "a") for _ in range(50)))
        await asyncio.gather(*map(asyncio.wrap_future, runs))
    assert (tally.most, tally.done) == (1, 100)
    assert not key_locks._queues


async def test_other_keys_and_other_places_do_not_wait() -> None:
    io = Awaiting()
    async with hold(io, "place", "a"), hold(io, "place", "b"), hold(io, "elsewhere", "a"):
        assert len(key_locks._queues) == 3


def test_two_that_want_the_same_keys_in_another_order_do_not_wait_for_ever() -> None:
    tally = Tally()
    with ThreadPoolExecutor(4) as pool:
        for keys in ("abc", "cba", "ba", "ca") * 25:
            pool.submit(finished, _blocking(tally, *keys), "it")
    assert (tally.most, tally.done) == (1, 100)


async def test_one_that_is_cancelled_leaves_the_line() -> None:
    tally = Tally()
    async with hold(Awaiting(), "place", "a"):
        waiting = [asyncio.create_task(_awaiting(tally, "a")) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[1].cancel()
        await asyncio.sleep(0)
    await waiting[2]
    assert tally.done == 1
    assert not key_locks._queues


async def test_one_that_is_cancelled_when_its_turn_comes_hands_it_on() -> None:
    tally = Tally()
    async with hold(Awaiting(), "place", "a"):
        first = asyncio.create_task(_awaiting(tally, "a"))
        second = asyncio.create_task(_awaiting(tally, "a"))
        await asyncio.sleep(0)
    first.cancel()  # the key is its own already, but it has not run since
    await asyncio.wait_for(second, 5)
    with pytest.raises(asyncio.CancelledError):
        await first
    assert tally.done == 1
    assert not key_locks._queues


async def test_nobody_waits_for_ever() -> None:
    async with hold(Awaiting(), "place", "/a"):
        with pytest.raises(BackendFailed, match=r"/a: others have been changing it"):
            async with hold(Awaiting(), "place", "/a", seconds=0.01):
                pass
        late = threading.Event()

        async def blocked() -> None:
            with pytest.raises(BackendFailed):
                async with hold(Blocking(), "place", "/a", seconds=0.01):
                    pass
            late.set()

        await asyncio.to_thread(finished, blocked(), "it")
        assert late.is_set()
    assert not key_locks._queues
