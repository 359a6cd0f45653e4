"""Commands of both shells: they end, nothing of them lives on, and they are run once."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from langgraph_filesystem.state.backends.commands import DiskWithCommands
from langgraph_filesystem.state.backends.protocol import ExecuteResponse, Outcome
from langgraph_filesystem.state.backends.sandbox import SandboxBackend
from langgraph_filesystem.state.backends.shell import LocalShellBackend
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
    with subprocess.Popen(argv, start_new_session=True, stderr=subprocess.PIPE) as process:
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


@pytest.mark.parametrize(
    ("command", "code", "name"),
    [
        ("exit 0", 0, None),
        ("exit 3", 3, None),
        ("exit 137", 137, None),
        ("exit 255", 255, None),
        ("no-such-command-there", 127, None),
        ("kill -KILL $$", None, "SIGKILL"),
        ("kill -SEGV $$", None, "SIGSEGV"),
        ("kill -ABRT $$", None, "SIGABRT"),
        # The shell goes on, and says of its child what shells say.
        ("sh -c 'kill -KILL $$'; exit $?", 137, None),
    ],
)
def test_a_status_and_a_signal_are_told_apart(
    shell: DiskWithCommands, command: str, code: int | None, name: str | None
) -> None:
    response = shell.execute(command)
    assert (response.exit_code, response.signal, response.timed_out) == (code, name, False)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "The command is empty"),
        ("  \n", "The command is empty"),
        ("a\0b", "NUL character"),
        ("echo \ud800", "not valid Unicode"),
        (f"echo {'x' * 140_000}", "too long: 140,005 bytes"),
    ],
)
def test_a_command_that_can_not_be_run_is_an_answer_that_says_why(
    shell: DiskWithCommands, command: str, said: str
) -> None:
    response = shell.execute(command)
    assert response.exit_code == 126
    assert said in response.output


def test_the_longest_command_is_run(shell: DiskWithCommands) -> None:
    response = shell.execute(f"echo {'x' * 130_987} | wc -c")
    assert response.output == "130988\n"


@pytest.mark.parametrize("timeout", [0, -1, "5"])
def test_a_timeout_that_is_none_is_an_answer(shell: DiskWithCommands, timeout: Any) -> None:
    response = shell.execute("echo run", timeout=timeout)
    assert (response.exit_code, response.output) == (
        126,
        f"The timeout must be more than 0 s, not {timeout!r}.\n",
    )


@pytest.mark.parametrize("kind", BACKENDS)
def test_the_timeout_of_the_backend_holds_where_none_is_given(
    kind: type[DiskWithCommands], tmp_path: Path
) -> None:
    shell: Any = kind(tmp_path, timeout=1)  # type: ignore[call-arg]
    assert shell.execute("echo early; sleep 60").timed_out
    assert not shell.execute("sleep 1.5", timeout=60).timed_out


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


async def test_a_command_that_ended_is_remembered_with_what_it_printed(
    shell: DiskWithCommands,
) -> None:
    assert shell.recall("thread.message.0") is None
    response = await shell.aexecute("echo once >> log; cat log; exit 4", once="thread.message.0")
    assert response == ExecuteResponse("once\n", 4)
    assert shell.recall("thread.message.0") == Outcome(True, response=response)
    assert shell.recall("thread.message.1") is None
    # The next message of the thread: what was noted of the last one goes.
    await shell.aexecute("true", once="thread.later.0")
    assert shell.recall("thread.message.0") is None


async def test_a_command_that_was_cut_short_is_known_to_have_begun(
    shell: DiskWithCommands,
) -> None:
    running = asyncio.create_task(shell.aexecute("touch begun; sleep 60", once="t.m.0"))
    while not (await asyncio.to_thread(shell.ls, "/")).entries:
        await asyncio.sleep(0.05)
    assert shell.recall("t.m.0") == Outcome(finished=False)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert shell.recall("t.m.0") == Outcome(finished=False)


def test_changes_of_files_are_remembered_beside_commands(shell: DiskWithCommands) -> None:
    shell.write("/a.txt", "text", once="t.m.0")
    shell.execute("true", once="t.m.1")
    assert shell.recall("t.m.0") == Outcome(finished=True)
    outcome = shell.recall("t.m.1")
    assert outcome is not None
    assert outcome.finished


def test_a_command_that_can_not_be_noted_is_not_run(shell: DiskWithCommands) -> None:
    with pytest.raises(ValueError, match="can't be a part of the key"):
        shell.execute("touch made", once="../../etc.x.0")
    assert all(entry["path"] != "/made" for entry in shell.ls("/").entries or ())


def test_the_id_is_that_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    for kind in BACKENDS:
        assert kind(tmp_path / "a").id == kind(tmp_path / "b").id != kind(tmp_path).id
    assert LocalShellBackend(tmp_path).id != SandboxBackend(tmp_path).id


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 0}, "`timeout` must be more than 0 s"),
        ({"max_output_bytes": 10}, "`max_output_bytes` must be at least 100"),
        ({"env": {"A=B": "x"}}, "can't be an environment variable"),
        ({"env": {"A": "x\0y"}}, "can't be an environment variable"),
    ],
)
@pytest.mark.parametrize("kind", BACKENDS)
def test_a_mistake_is_one_where_the_backend_is_made(
    kind: Any, options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=said):
        kind(tmp_path, **options)


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_directory_that_is_none_is_a_mistake(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no directory to work in"):
        kind(tmp_path / "missing")
