"""Nothing of a command survives it, however it ends and whatever it did to get away."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem import LocalShellBackend
from langgraph_filesystem.state.backends.public import CommandMethods
from tests.scripted import answer, call
from tests.state.backends.execution.running import BACKENDS, alive, marker, wait_for_end

TREES = (
    "sleep {} &",
    "(sh -c 'sleep {}; :' &)",
    "nohup sleep {} >nohup.out 2>&1 &",
    "setsid sleep {} &",
    "setsid sh -c 'sh -c \"sleep {}; :\" & exit' </dev/null &",
    "for n in $(seq 50); do sleep {} & done",
    "sleep {} & kill -STOP $!",
    "sh -c 'trap \"\" TERM HUP INT QUIT; while :; do sleep {}; done' &",
    "(while :; do sleep 0.1; : {}; done) & sh -c 'sleep {}' &",
    "env -i setsid sleep {} >/dev/null 2>&1 &",
)
"""Background jobs, daemons that fork twice, many children, a process that is stopped, one that
ignores every signal, one that starts others for ever, one without any variable."""
MOST = 60
"""So many processes are there at least, once all have begun."""


@pytest.fixture(params=BACKENDS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> CommandMethods:
    backend: CommandMethods = request.param(tmp_path)
    return backend


def forest(mark: str, then: str) -> str:
    """Return a command that starts all of these trees, and says so once all have begun."""
    trees = "\n".join(TREES).replace("{}", mark)
    count = f"grep -las 'sleep.{mark}' /proc/[0-9]*/cmdline | wc -l"
    return f"{trees}\nuntil [ $({count}) -ge {MOST} ]; do sleep 0.1; done; echo ready; {then}"


class Watched:
    """What was alive when a command said that all had begun."""

    def __init__(self) -> None:
        self.mark = marker()
        self.begun: list[int] = []
        self.ready = asyncio.Event()

    def __call__(self, text: str) -> None:
        if "ready" in text and not self.begun:
            self.begun = alive(self.mark)
            self.ready.set()


async def test_nothing_survives_when_a_command_ends(shell: CommandMethods) -> None:
    watched = Watched()
    # A moment, so that what is alive can be counted before all of it ends.
    command = forest(watched.mark, "sleep 1; exit 7")
    response = await shell.aexecute(command, on_output=watched)
    assert (response.output, response.exit_code) == ("ready\n", 7)
    assert len(watched.begun) >= MOST
    assert alive(watched.mark) == []


async def test_nothing_survives_when_its_time_is_up(shell: CommandMethods) -> None:
    watched = Watched()
    tree = f"setsid sleep {watched.mark} & (sleep {watched.mark} &)"
    command = f"{tree}; echo ready; sleep {watched.mark}"
    response = await shell.aexecute(command, timeout=4, on_output=watched)
    assert (response.output, response.timeout) == ("ready\n", 4)
    assert (response.timed_out, response.exit_code, response.signal) == (True, None, "SIGKILL")
    assert watched.begun
    assert alive(watched.mark) == []


@pytest.mark.parametrize("times", [1, 2])
async def test_nothing_survives_when_it_is_cancelled(shell: CommandMethods, times: int) -> None:
    watched = Watched()
    command = forest(watched.mark, f"sleep {watched.mark}")
    running = asyncio.create_task(shell.aexecute(command, on_output=watched))
    await watched.ready.wait()
    for _ in range(times):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(watched.begun) >= MOST
    # Whoever cancels twice does not want to wait.
    left = (
        alive(watched.mark) if times == 1 else await asyncio.to_thread(wait_for_end, watched.mark)
    )
    assert left == []


async def test_nothing_survives_an_error_of_who_listens(shell: CommandMethods) -> None:
    mark = marker()

    def listen(text: str) -> None:
        raise LookupError("nobody listens")

    with pytest.raises(LookupError, match="nobody listens"):
        await shell.aexecute(f"setsid sleep {mark} & echo x; sleep {mark}", on_output=listen)
    assert alive(mark) == []


def test_nothing_survives_when_the_event_loop_is_closed_under_it(shell: CommandMethods) -> None:
    mark = marker()
    loop = asyncio.new_event_loop()
    running = shell.aexecute(f"setsid sleep {mark} & sleep {mark}")
    task = loop.create_task(running)
    while len(alive(mark)) < 3:
        loop.run_until_complete(asyncio.sleep(0.05))
    # As a careless program does: the task is dropped, and with it the coroutine.
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    del task
    running.close()
    assert wait_for_end(mark) == []
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


_AGENT = """
import os, sys, threading
import langgraph_filesystem
shell = getattr(langgraph_filesystem, sys.argv[1])(sys.argv[2])
command = "setsid sleep " + sys.argv[3] + " & sleep " + sys.argv[3]
if sys.argv[4] == "alone":
    shell.execute(command)
else:
    # Another process gets a copy of all handles while the command runs, and lives on.
    threading.Thread(target=shell.execute, args=[command]).start()
    sys.stdin.readline()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        sys.stdin.readline()
        os._exit(0)
"""


@contextlib.contextmanager
def agent(
    kind: type, directory: Path, mark: str, how: str = "alone"
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run an agent that waits for a command, in a process of its own."""
    argv = [sys.executable, "-W", "ignore", "-c", _AGENT, kind.__name__, str(directory), mark, how]
    # Whoever started the tests in the background may have told them to ignore interrupts.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe = subprocess.PIPE
    try:
        started = subprocess.Popen(
            argv, start_new_session=True, stdin=pipe, stdout=pipe, stderr=pipe
        )
    finally:
        signal.signal(signal.SIGINT, usual)
    with started as process:
        try:
            # The agent has the mark in its own command line too, as has the shell.
            while len(alive(mark)) < 4 and process.poll() is None:
                time.sleep(0.05)
            assert process.poll() is None
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("kind", BACKENDS)
def test_nothing_survives_when_the_agent_is_killed(kind: type, tmp_path: Path) -> None:
    mark = marker()
    with agent(kind, tmp_path, mark) as process:
        process.kill()
        process.wait()
        assert wait_for_end(mark) == []


@pytest.mark.parametrize("kind", BACKENDS)
def test_nothing_survives_a_killed_agent_whose_handles_another_process_has(
    kind: type, tmp_path: Path
) -> None:
    mark = marker()
    with agent(kind, tmp_path, mark, "with a child") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"go on\n")
        process.stdin.flush()
        other = int(process.stdout.readline())
        process.kill()
        process.wait()
        while left := [pid for pid in alive(mark) if pid != other]:
            time.sleep(0.05)
        assert left == []
        process.stdin.write(b"end\n")
        process.stdin.close()
        assert wait_for_end(mark) == []


@pytest.mark.parametrize("to_group", [True, False])
@pytest.mark.parametrize("kind", BACKENDS)
def test_a_keyboard_interrupt_ends_a_command(kind: type, to_group: bool, tmp_path: Path) -> None:
    mark = marker()
    with agent(kind, tmp_path, mark) as process:
        # A terminal interrupts the whole group, other programs only the one.
        send = os.killpg if to_group else os.kill
        send(process.pid, signal.SIGINT)
        _, said = process.communicate()
        assert process.returncode != 0
        assert b"KeyboardInterrupt" in said
        assert wait_for_end(mark) == []


_GRANDPARENT = "$(cut -d' ' -f4 /proc/$PPID/stat)"
_PYTHON = f"{sys.executable} -I -S -c"
_HEADLESS = (
    "import ctypes, sys, threading, time; threading.Thread(target=lambda: "
    "time.sleep(float(sys.argv[1]))).start(); ctypes.CDLL(None).syscall(60, 0)"
)


@pytest.mark.parametrize(
    "attack",
    [
        "setsid sleep {} & kill -KILL $PPID",
        "setsid sleep {} & kill -TERM $PPID",
        "sleep {} & kill -KILL " + _GRANDPARENT,
        "sleep {} & kill -KILL $PPID " + _GRANDPARENT,
    ],
)
def test_a_command_that_kills_its_supervisor_ends_and_the_model_is_told(
    tmp_path: Path, attack: str
) -> None:
    mark = marker()
    command = f"{attack.replace('{}', mark)}; sleep {mark}; touch made"
    reply = answer(call("execute", command=command), mounts={"/": LocalShellBackend(tmp_path)})
    assert wait_for_end(mark) == []
    assert not (tmp_path / "made").exists()
    assert reply.status == "error"
    assert "check that before you run it again" in reply.text


@pytest.mark.parametrize("process", ["$PPID", _GRANDPARENT])
def test_a_command_that_stops_its_supervisor_still_times_out(tmp_path: Path, process: str) -> None:
    mark = marker()
    command = f"setsid sleep {mark} & kill -STOP {process}; sleep {mark}"
    assert LocalShellBackend(tmp_path).execute(command, timeout=3).timed_out
    assert alive(mark) == []


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="has the number of a system call")
def test_a_process_whose_first_thread_has_ended_does_not_survive(tmp_path: Path) -> None:
    start = f"setsid {_PYTHON} '{_HEADLESS}' {marker()} & echo $!"
    command = f"{start}; until grep -q '^State:.Z' /proc/$!/status; do sleep 0.1; done"
    response = LocalShellBackend(tmp_path).execute(command)
    assert response.exit_code == 0
    assert not Path("/proc", str(int(response.output))).exists()
