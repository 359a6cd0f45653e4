"""Running a command: from any thread and loop, without blocking, in little memory."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from langgraph_filesystem.state.backends.commands import DiskWithCommands
from tests.state.backends.commanded import BACKENDS, alive, marker


@pytest.fixture(params=BACKENDS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> DiskWithCommands:
    backend: DiskWithCommands = request.param(tmp_path)
    return backend


def test_a_command_runs_from_any_thread_and_within_a_loop(shell: DiskWithCommands) -> None:
    found: list[str] = []

    async def within() -> None:
        found.append(shell.execute("echo loop").output)

    def thread() -> None:
        found.append(shell.execute("echo thread").output)
        asyncio.run(within())

    running = threading.Thread(target=thread)
    running.start()
    running.join()
    asyncio.run(within())
    assert found == ["thread\n", "loop\n", "loop\n"]


def test_a_loop_of_the_thread_stays_its_loop(shell: DiskWithCommands) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        shell.execute("true")
        assert asyncio.get_event_loop_policy().get_event_loop() is loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def test_nothing_blocks_the_event_loop(shell: DiskWithCommands) -> None:
    with blockbuster_ctx():
        flood = shell.aexecute("yes | head -c 1000000", on_output=lambda _: None, once="t.m.0")
        assert (await flood).truncated


async def test_many_commands_leave_nothing_open(shell: DiskWithCommands) -> None:
    async def count() -> int:
        await asyncio.gather(*(shell.aexecute(f"echo {n}", timeout=60) for n in range(20)))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(shell.aexecute("sleep 60"), 0.2)
        return len(os.listdir("/dev/fd"))

    first = await count()
    assert await count() <= first
    children = Path("/proc/self/task", str(threading.get_native_id()), "children").read_text()
    states = [Path("/proc", pid, "stat").read_text().split(") ")[1][0] for pid in children.split()]
    assert "Z" not in states


async def test_an_error_of_who_listens_ends_the_command(shell: DiskWithCommands) -> None:
    mark = marker()

    def listen(text: str) -> None:
        raise LookupError("nobody listens")

    with pytest.raises(LookupError, match="nobody listens"):
        await shell.aexecute(f"echo x; sleep {mark}", on_output=listen)
    assert alive(mark) == []


async def test_progress_comes_early_and_not_too_often(shell: DiskWithCommands) -> None:
    reports: list[tuple[float, str]] = []
    began = time.monotonic()
    response = await shell.aexecute(
        "echo first; sleep 1; yes | head -c 30000000; echo; echo last",
        on_output=lambda text: reports.append((time.monotonic() - began, text)),
    )
    took = time.monotonic() - began
    assert response.truncated
    assert reports[0][0] < took - 0.9
    assert reports[0][1] == "first\n"
    assert reports[-1][1].endswith("last\n")
    assert len(reports) <= 3 + took / 0.1
    assert all(len(text) < 5_000 for _, text in reports)


_FLOOD = """
import resource, sys
from langgraph_filesystem.state.backends.{module} import {name}
shell = {name}(sys.argv[1])
shell.execute("echo warm", on_output=len)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
response = shell.execute("yes", timeout=3, on_output=len)
assert response.timed_out and response.truncated, response
assert 90_000 < len(response.output) < 110_000, len(response.output)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_flood_of_three_seconds_adds_little_memory(kind: type, tmp_path: Path) -> None:
    script = _FLOOD.format(module=kind.__module__.rpartition(".")[2], name=kind.__name__)
    argv = [sys.executable, "-c", script, str(tmp_path)]
    added = subprocess.run(argv, check=True, capture_output=True, timeout=60).stdout
    assert int(added) < 16 * 1024
