"""Calls that block and calls that are awaited, by the same words."""

import asyncio
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest

from langgraph_filesystem.state.io import Awaiting, Blocking, finished, takes

NAME: ContextVar[str] = ContextVar("NAME", default="none")


class Target:
    """Methods that say how and where they were called."""

    instant = frozenset({"quick"})

    def plain(self, *args: Any) -> Any:
        return threading.get_ident(), args

    def named(self) -> str:
        return NAME.get()

    def execute(self) -> Any:
        return threading.current_thread().name, NAME.get()

    def keywords(self, first: int, *, known: int = 0) -> Any:
        return first, known

    def any_keywords(self, **options: int) -> Any:
        return options

    def twin(self) -> str:
        return "blocking"

    async def atwin(self) -> str:
        return "awaited"

    def quick(self) -> int:
        return threading.get_ident()

    def stops(self, kind: type[Exception]) -> None:
        raise kind("stopped")


def now(method: str, *args: Any, **optional: Any) -> Any:
    return finished(Blocking().call(Target(), method, *args, **optional), method)


async def awaited(method: str, *args: Any, **optional: Any) -> Any:
    return await Awaiting().call(Target(), method, *args, **optional)


async def test_only_keywords_that_a_method_takes_are_given() -> None:
    assert now("keywords", 1, known=2, unknown=3) == (1, 2)
    assert await awaited("keywords", 1, known=2, unknown=3) == (1, 2)
    assert now("keywords", 1, unknown=3) == await awaited("keywords", 1, unknown=3) == (1, 0)
    assert now("any_keywords", a=1, b=2) == {"a": 1, "b": 2}
    assert await awaited("any_keywords", a=1, b=2) == {"a": 1, "b": 2}


async def test_a_twin_is_awaited_and_all_else_runs_in_a_thread() -> None:
    here = threading.get_ident()
    assert await awaited("twin") == "awaited"
    assert now("twin") == "blocking"
    assert (await awaited("plain", 1))[0] != here
    assert now("plain", 1) == (here, (1,))


async def test_what_takes_no_time_stays_in_the_event_loop() -> None:
    assert await awaited("quick") == threading.get_ident()


async def test_a_thread_knows_the_context_of_its_call() -> None:
    NAME.set("here")
    assert await awaited("named") == "here"
    assert (await awaited("execute"))[1] == "here"


async def test_commands_do_not_use_up_the_threads_of_others() -> None:
    gate = threading.Event()

    class Shell:
        def execute(self) -> str:
            gate.wait(20)
            return "done"

    waiting = [asyncio.create_task(Awaiting().call(Shell(), "execute")) for _ in range(40)]
    await asyncio.sleep(0.05)
    assert (await awaited("plain", 1))[1] == (1,)
    gate.set()
    assert await asyncio.gather(*waiting) == ["done"] * 40


@pytest.mark.parametrize("kind", [StopIteration, CancelledError])
async def test_what_a_future_can_not_carry_comes_as_an_error(kind: type[Exception]) -> None:
    with pytest.raises(RuntimeError, match=f"{kind.__name__}: stopped"):
        await awaited("stops", kind)


def test_what_waits_can_not_be_finished_at_once() -> None:
    async def waits() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="This awaited something in a sync run"):
        finished(waits(), "This")


def test_what_is_raised_comes_through() -> None:
    with pytest.raises(LookupError, match="stopped"):
        now("stops", LookupError)


def test_keywords_are_known_of_any_callable() -> None:
    assert takes(Target().keywords, "known")
    assert not takes(Target().keywords, "unknown")
    assert takes(Target().any_keywords, "whatever")
    assert not takes(len, "whatever")


class Slow:
    """Methods that go on until they may end."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.is_done = threading.Event(), threading.Event(), False

    def delete(self) -> None:
        self.begun.set()
        self.go_on.wait(30)
        self.is_done = True
        raise OSError("nobody hears of it")

    def receive(self, *, stopped: threading.Event) -> None:
        self.begun.set()
        self.is_done = stopped.wait(30)

    ls = delete


async def cancelled(slow: Slow, method: str, **options: Any) -> "asyncio.Task[Any]":
    running = asyncio.create_task(Awaiting().call(slow, method, **options))
    assert await asyncio.to_thread(slow.begun.wait, 30)
    running.cancel()
    await asyncio.wait([running], timeout=0.05)
    return running


async def test_a_cancelled_change_is_over_when_its_thread_is() -> None:
    slow = Slow()
    running = await cancelled(slow, "delete")
    assert not running.done()
    slow.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert slow.is_done


async def test_who_cancels_twice_does_not_wait() -> None:
    slow = Slow()
    running = await cancelled(slow, "delete")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not slow.is_done
    slow.go_on.set()


async def test_what_changes_nothing_is_not_waited_for() -> None:
    slow = Slow()
    assert (await cancelled(slow, "ls")).cancelled()
    slow.go_on.set()


async def test_a_change_that_can_be_stopped_is() -> None:
    slow = Slow()
    running = await cancelled(slow, "receive", stopped=threading.Event())
    with pytest.raises(asyncio.CancelledError):
        await running
    assert slow.is_done


async def test_a_change_that_has_no_thread_yet_is_not_begun_any_more() -> None:
    loop, slow, first = asyncio.get_running_loop(), Slow(), threading.Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        loop.set_default_executor(pool)
        busy = loop.run_in_executor(None, first.wait, 30)
        running = asyncio.create_task(Awaiting().call(slow, "delete"))
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        first.set()
        await busy
        slow.go_on.set()
    assert not slow.begun.is_set()
