"""Many things at once: in order, not too many, and none of them half done."""

import asyncio
import threading
import time
from contextvars import ContextVar

import pytest

from langgraph_filesystem.state.backends.many import aside, each
from langgraph_filesystem.state.io import Awaiting, Blocking, Io, finished

told: ContextVar[str] = ContextVar("told", default="nothing")


@pytest.fixture(params=["blocking", "awaiting"])
def io(request: pytest.FixtureRequest) -> Io:
    return Blocking() if request.param == "blocking" else Awaiting()


async def _wait(io: Io, seconds: float) -> None:
    if isinstance(io, Blocking):
        time.sleep(seconds)
    else:
        await asyncio.sleep(seconds)


async def test_results_come_in_the_order_of_the_items(io: Io) -> None:
    async def work(number: int) -> tuple[int, str]:
        await _wait(io, 0.01 * (5 - number))
        return number, told.get()

    told.set("something")
    assert await each(io, work, range(5)) == [(number, "something") for number in range(5)]
    assert await each(io, work, []) == []


async def test_no_more_than_some_are_under_way(io: Io) -> None:
    inside, most = 0, 0
    guard = threading.Lock()

    async def work(_: int) -> None:
        nonlocal inside, most
        with guard:
            inside += 1
            most = max(most, inside)
        await _wait(io, 0.005)
        with guard:
            inside -= 1

    await each(io, work, range(100))
    assert 1 < most <= 16


async def test_an_error_is_raised_when_all_are_done(io: Io) -> None:
    done: list[int] = []

    async def work(number: int) -> None:
        if number == 0:
            raise KeyError("first")
        await _wait(io, 0.01)
        done.append(number)

    with pytest.raises(KeyError, match="first"):
        await each(io, work, range(6))
    assert sorted(done) == [1, 2, 3, 4, 5]


def test_what_blocks_needs_no_event_loop() -> None:
    async def work(number: int) -> int:
        return number * 2

    assert finished(each(Blocking(), work, range(3)), "it") == [0, 2, 4]


async def test_what_was_set_aside_is_done_before_its_caller_goes_away() -> None:
    done = threading.Event()

    def slow() -> None:
        time.sleep(0.05)
        done.set()

    running = asyncio.create_task(aside(slow))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert done.is_set()


async def test_what_is_set_aside_gets_a_thread_when_those_of_the_loop_are_taken() -> None:
    free = threading.Event()
    taken = [asyncio.create_task(asyncio.to_thread(free.wait, 10)) for _ in range(64)]
    await asyncio.sleep(0)
    await asyncio.wait_for(aside(free.set), 5)
    assert await asyncio.gather(*taken) == [True] * 64
