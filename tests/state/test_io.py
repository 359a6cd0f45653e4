"""Slow work: in this thread in a sync run, and off the event loop in an async one."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt

from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import (
    attempt,
    awaiting,
    call_either,
    change_in_thread,
    gather_limited,
    in_own_thread,
    in_thread,
    is_sync,
    run_sync,
)
from langgraph_filesystem.state.text import PathPart

NAME: ContextVar[str] = ContextVar("NAME", default="none")
THREADED: list[Callable[..., Awaitable[Any]]] = [in_thread, change_in_thread, in_own_thread]


async def where(run: Callable[..., Awaitable[Any]]) -> Any:
    return await run(lambda *args, **options: (threading.get_ident(), args, options), 1, two=2)


@pytest.mark.parametrize("run", THREADED)
async def test_work_is_done_here_in_a_sync_run_and_else_in_a_thread(run: Any) -> None:
    here = threading.get_ident()
    assert run_sync(where(run)) == (here, (1,), {"two": 2})
    thread, *given = await where(run)
    assert thread != here
    assert given == [(1,), {"two": 2}]


async def test_of_two_functions_one_is_called_or_the_other_awaited() -> None:
    async def awaited(value: int) -> str:
        return f"awaited {value}"

    def blocking(value: int) -> str:
        return f"blocking {value}"

    assert run_sync(call_either(blocking, awaited, 1)) == "blocking 1"
    assert await call_either(blocking, awaited, 2) == "awaited 2"


async def test_a_sync_run_ends_with_the_coroutine_and_can_hold_others() -> None:
    async def outer() -> list[bool]:
        seen = [is_sync(), run_sync(inner()), is_sync()]
        with awaiting():
            seen.append(is_sync())
        return seen

    async def inner() -> bool:
        return is_sync()

    assert run_sync(outer()) == [True, True, True, False]
    assert not is_sync()


def test_a_coroutine_that_waits_is_an_error_in_a_sync_run() -> None:
    async def waits() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match=r"waits .*awaited something in a sync run"):
        run_sync(waits())
    assert not is_sync()


@pytest.mark.parametrize("run", THREADED)
async def test_a_thread_has_the_context_of_its_call(run: Any) -> None:
    NAME.set("here")
    assert await run(NAME.get) == "here"


@pytest.mark.parametrize("run", THREADED)
async def test_exceptions_come_through(run: Any) -> None:
    def fail(error: Exception) -> None:
        raise error

    with pytest.raises(LookupError, match="stopped"):
        await run(fail, LookupError("stopped"))
    for kind in (StopIteration, CancelledError):  # which a future can't carry
        with pytest.raises(RuntimeError, match=f"{kind.__name__}: stopped"):
            await run(fail, kind("stopped"))


async def test_long_work_does_not_use_up_the_threads_of_others() -> None:
    gate = threading.Event()
    waiting = [asyncio.create_task(in_own_thread(gate.wait, 60)) for _ in range(40)]
    await asyncio.sleep(0.05)
    assert await in_thread(lambda: "done") == "done"
    gate.set()
    assert await asyncio.gather(*waiting) == [True] * 40


class Slow:
    """Work that goes on until it may end."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.is_done = threading.Event(), threading.Event(), False

    def work(self) -> None:
        self.begun.set()
        self.go_on.wait(60)
        self.is_done = True
        raise OSError("nobody hears of it")


async def cancelled(slow: Slow, run: Callable[..., Any]) -> "asyncio.Task[Any]":
    running = asyncio.create_task(run(slow.work))
    assert await asyncio.to_thread(slow.begun.wait, 60)
    running.cancel()
    await asyncio.wait([running], timeout=0.05)
    return running


async def test_a_cancelled_change_ends_when_its_thread_does() -> None:
    slow = Slow()
    running = await cancelled(slow, change_in_thread)
    assert not running.done()
    slow.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert slow.is_done


async def test_a_change_that_is_cancelled_twice_is_not_waited_for() -> None:
    slow = Slow()
    running = await cancelled(slow, change_in_thread)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not slow.is_done
    slow.go_on.set()


async def test_a_read_that_is_cancelled_is_not_waited_for() -> None:
    slow = Slow()
    assert (await cancelled(slow, in_thread)).cancelled()
    slow.go_on.set()


async def test_a_change_that_waits_for_a_thread_is_dropped_when_cancelled() -> None:
    loop, slow, first = asyncio.get_running_loop(), Slow(), threading.Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        loop.set_default_executor(pool)
        busy = loop.run_in_executor(None, first.wait, 60)
        running = asyncio.create_task(change_in_thread(slow.work))
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        first.set()
        await busy
        slow.go_on.set()
    assert not slow.begun.is_set()


# Whatever a backend or a tool raises


class _Silent(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FilesystemError("/a: is odd."), "/a: is odd."),
        (ValueError("one\ntwo"), "read /a failed: ValueError: one\ntwo"),
        (KeyError("key"), "read /a failed: KeyError: 'key'"),
        (RecursionError("deep"), "read /a failed: RecursionError: deep"),
        (MemoryError(), "read /a failed: MemoryError"),
        (_Silent(), "read /a failed: _Silent"),
        (
            FileNotFoundError(2, "No such file", "/host/secret"),
            "read /a failed: FileNotFoundError: No such file",
        ),
    ],
)
async def test_an_attempt_returns_what_was_raised_as_an_error(
    error: Exception, message: str
) -> None:
    async def fail() -> None:
        raise error

    found = await attempt(fail(), "read ", PathPart("/a"))
    assert isinstance(found, FilesystemError)
    assert str(found) == message


@pytest.mark.parametrize(
    "error", [GraphInterrupt(()), asyncio.CancelledError(), KeyboardInterrupt()], ids=type
)
async def test_an_attempt_lets_pass_what_belongs_to_the_graph(error: BaseException) -> None:
    async def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        await attempt(fail(), "read")


async def test_an_attempt_returns_a_result_as_it_is() -> None:
    async def work() -> int:
        return 5

    assert await attempt(work(), "add") == 5


# Many requests at once


async def test_results_come_in_order_and_errors_after_all_have_ended() -> None:
    done: list[int] = []

    async def work(number: int) -> int:
        await asyncio.sleep(0.001 * (20 - number))
        if number == 0:
            raise KeyError("first")
        done.append(number)
        return number

    with pytest.raises(KeyError, match="first"):
        await gather_limited(work, range(20))
    assert sorted(done) == list(range(1, 20))
    assert await gather_limited(work, range(1, 20)) == list(range(1, 20))


def test_a_sync_run_gathers_in_threads() -> None:
    async def work(number: int) -> int:
        return number * 2

    assert run_sync(gather_limited(work, range(40))) == [number * 2 for number in range(40)]
