"""The supervisor above every command: nothing of a command lives on, however it ends."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.commands import DiskWithCommands
from tests.state.backends.commanded import BACKENDS, alive, marker, wait_for_end


@pytest.fixture(params=BACKENDS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> DiskWithCommands:
    backend: DiskWithCommands = request.param(tmp_path)
    return backend


TREES = {
    "in the background": "sleep {} &",
    "a grandchild that holds the pipe": "(sh -c 'sleep {}; :' &)",
    "nohup": "nohup sleep {} >nohup.out 2>&1 &",
    "setsid": "setsid sleep {} &",
    "a daemon that forks twice": "setsid sh -c 'sh -c \"sleep {}; :\" & exit' </dev/null &",
    "200 children": "for n in $(seq 200); do sleep {} & done",
    "stopped": "sleep {} & kill -STOP $!",
    "ignores every signal": "sh -c 'trap \"\" TERM HUP INT QUIT; while :; do sleep {}; done' &",
    "a subshell that goes on": "(while :; do sleep 0.1; : {}; done) & sh -c 'sleep {}' &",
}


class Watched:
    """What was alive when a command said that all had begun."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.begun: list[int] = []
        self.said = ""
        self.ready = asyncio.Event()

    def __call__(self, text: str) -> None:
        self.said += text
        if "ready" in self.said and not self.begun:
            self.begun = alive(self.mark)
            self.ready.set()


def told(tree: str, mark: str, then: str) -> str:
    # The background may need a moment before it is what it is going to be.
    return f"{TREES[tree].replace('{}', mark)}\nsleep 0.1; echo ready; {then}"


@pytest.mark.parametrize("tree", TREES)
async def test_nothing_lives_on_when_a_command_ends(shell: DiskWithCommands, tree: str) -> None:
    watched = Watched(marker())
    began = time.monotonic()
    response = await shell.aexecute(
        told(tree, watched.mark, "sleep 0.2; exit 7"), on_output=watched
    )
    assert (response.output, response.exit_code) == ("ready\n", 7)
    assert watched.begun
    assert alive(watched.mark) == []
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("tree", TREES)
async def test_nothing_lives_on_when_its_time_is_up(shell: DiskWithCommands, tree: str) -> None:
    watched = Watched(marker())
    command = told(tree, watched.mark, f"sleep {watched.mark}")
    response = await shell.aexecute(command, timeout=1.5, on_output=watched)
    assert response.output == "ready\n"
    assert (response.timed_out, response.exit_code, response.signal) == (True, None, "SIGKILL")
    assert watched.begun
    assert alive(watched.mark) == []


@pytest.mark.parametrize("tree", TREES)
async def test_nothing_lives_on_when_it_is_cancelled(shell: DiskWithCommands, tree: str) -> None:
    watched = Watched(marker())
    command = told(tree, watched.mark, f"sleep {watched.mark}")
    running = asyncio.create_task(shell.aexecute(command, on_output=watched))
    await asyncio.wait_for(watched.ready.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert watched.begun
    assert alive(watched.mark) == []


async def test_nothing_lives_on_when_it_is_cancelled_twice(shell: DiskWithCommands) -> None:
    watched = Watched(marker())
    command = told("setsid", watched.mark, f"sleep {watched.mark}")
    running = asyncio.create_task(shell.aexecute(command, on_output=watched))
    await asyncio.wait_for(watched.ready.wait(), 30)
    for _ in range(2):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(wait_for_end, watched.mark) == []


def test_nothing_lives_on_when_the_event_loop_is_closed_under_it(shell: DiskWithCommands) -> None:
    mark = marker()
    loop = asyncio.new_event_loop()
    running = shell.aexecute(f"setsid sleep {mark} & sleep {mark}")
    task = loop.create_task(running)
    until = time.monotonic() + 30
    while len(alive(mark)) < 2 and time.monotonic() < until:
        loop.run_until_complete(asyncio.sleep(0.05))
    assert len(alive(mark)) >= 2
    # As a careless program does: the task is dropped, and with it the coroutine.
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    del task
    running.close()
    assert wait_for_end(mark) == []
    loop.close()


_AGENT = """
import sys
from langgraph_filesystem.state.backends.{module} import {name}
{name}(sys.argv[1]).execute("setsid sleep " + sys.argv[2] + " & sleep " + sys.argv[2])
"""


@contextlib.contextmanager
def agent(kind: type, directory: Path, mark: str) -> Any:
    """Run an agent that waits for a command, in a process of its own."""
    script = _AGENT.format(module=kind.__module__.rpartition(".")[2], name=kind.__name__)
    argv = [sys.executable, "-c", script, str(directory), mark]
    # Whoever started the tests in the background may have told them to ignore interrupts.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        started = subprocess.Popen(argv, start_new_session=True, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, usual)
    with started as process:
        try:
            until = time.monotonic() + 60
            # The agent has the mark in its own command line, twice it is in the command's.
            while len(alive(mark)) < 4 and time.monotonic() < until:
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("kind", BACKENDS)
def test_nothing_lives_on_when_the_agent_is_killed(kind: type, tmp_path: Path) -> None:
    mark = marker()
    with agent(kind, tmp_path, mark) as process:
        assert len(alive(mark)) >= 4
        process.kill()
        process.wait()
        assert wait_for_end(mark) == []


@pytest.mark.parametrize("to_group", [True, False])
@pytest.mark.parametrize("kind", BACKENDS)
def test_a_keyboard_interrupt_ends_a_command(kind: type, to_group: bool, tmp_path: Path) -> None:
    mark = marker()
    with agent(kind, tmp_path, mark) as process:
        # A terminal interrupts the whole group, a supervisor of processes only the one.
        send = os.killpg if to_group else os.kill
        send(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode != 0
        assert b"KeyboardInterrupt" in said
        assert alive(mark) == []
