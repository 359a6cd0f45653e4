"""Commands of both backends: how they end, what is remembered, and what they cost the agent."""

import asyncio
import contextlib
import os
import resource
import threading
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from langgraph_filesystem import LocalShellBackend, SandboxBackend
from langgraph_filesystem.state.backends.disk.jail import RESERVED
from langgraph_filesystem.state.backends.file_store import MountContext
from langgraph_filesystem.state.backends.protocol import ExecuteResponse, Outcome
from langgraph_filesystem.state.backends.public import CommandMethods
from tests import forked
from tests.scripted import answers, arun, call
from tests.state.backends.execution.running import BACKENDS


@pytest.fixture(params=BACKENDS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> CommandMethods:
    backend: CommandMethods = request.param(tmp_path)
    return backend


def test_a_status_and_a_signal_are_told_apart(shell: CommandMethods) -> None:
    cases = {
        "exit 0": (0, None),
        "exit 3": (3, None),
        "exit 137": (137, None),
        "no-such-command-there": (127, None),
        "-c": (127, None),
        "--version; exit 4": (4, None),
        "kill -KILL $$": (None, "SIGKILL"),
        "kill -SEGV $$": (None, "SIGSEGV"),
        # The shell goes on, and says of its child what shells say.
        "sh -c 'kill -KILL $$'; exit $?": (137, None),
    }
    for command, ending in cases.items():
        response = shell.execute(command)
        assert (response.exit_code, response.signal) == ending, command
        assert not response.timed_out


def test_commands_are_told_where_the_directory_is(shell: CommandMethods) -> None:
    assert shell.write("/sub/a b.txt", "text\n").error is None
    for prefix in ("/", "/repo"):
        mounted = shell.bound_to(shell.open(MountContext(prefix)))
        assert mounted.execute('cd / && cat "$FILES_ROOT/sub/a b.txt"').output == "text\n"


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_variable_of_that_name_can_be_given(kind: Any, tmp_path: Path) -> None:
    shell = kind(tmp_path, env={"FILES_ROOT": "mine"})
    assert shell.execute("echo $FILES_ROOT").output == "mine\n"


@pytest.mark.parametrize("make", ["ln -s /etc {}", "echo x > {}", "mkfifo {}"])
def test_what_a_command_puts_in_the_place_of_our_journal_leads_nowhere(
    shell: CommandMethods, make: str, tmp_path: Path
) -> None:
    assert shell.execute(make.format(RESERVED)).exit_code == 0
    assert shell.execute("echo on").output == "on\n"
    refused = shell.write("/a", "x", once="scope.group.1").error or ""
    assert "the journal could not be written" in refused
    assert not (tmp_path / "a").exists()
    assert shell.execute(f"rm {RESERVED}").exit_code == 0
    assert shell.write("/a", "x", once="scope.group.1").error is None
    assert (tmp_path / RESERVED / "scope").is_dir()


@pytest.mark.parametrize(
    ("command", "timeout", "said"),
    [
        ("  \n", None, "The command is empty"),
        ("a\0b", None, "NUL character"),
        ("echo \ud800", None, "not valid Unicode"),
        (f"echo {'x' * 140_000}", None, "too long: 140,005 bytes"),
        ("echo run", 0, "The timeout must be more than 0 s, not 0."),
        ("echo run", "5", "The timeout must be more than 0 s, not '5'."),
    ],
)
def test_a_command_that_can_not_be_run_is_an_answer_that_says_why(
    tmp_path: Path, command: str, timeout: Any, said: str
) -> None:
    response = LocalShellBackend(tmp_path).execute(command, timeout=timeout)
    assert response.exit_code == 126
    assert said in response.output


def test_the_longest_command_is_run(shell: CommandMethods) -> None:
    response = shell.execute(f"echo {'x' * 130_987} | wc -c")
    assert response.output == "130988\n"


@pytest.mark.parametrize("kind", BACKENDS)
def test_the_timeout_of_the_backend_holds_where_none_is_given(kind: Any, tmp_path: Path) -> None:
    shell = kind(tmp_path, timeout=0.5)
    ended = shell.execute("sleep 600")
    assert (ended.timed_out, ended.timeout) == (True, 0.5)
    assert not shell.execute("sleep 1", timeout=600).timed_out


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_file_that_a_command_writes_can_be_limited(kind: Any, tmp_path: Path) -> None:
    shell = kind(tmp_path, max_written_file_mb=0.5)
    assert shell.execute("head -c 500K /dev/zero > fits").exit_code == 0
    response = shell.execute("exec head -c 2M /dev/zero > large")
    assert response.signal == "SIGXFSZ"
    assert response.output.endswith("[a file grew over the limit of 0.5 MB]\n")
    assert (tmp_path / "large").stat().st_size <= 512 * 1024
    assert kind(tmp_path).execute("head -c 2M /dev/zero > large").exit_code == 0


async def test_a_command_that_ended_is_remembered_with_what_it_printed(
    shell: CommandMethods,
) -> None:
    assert shell.recall("thread.message.0") is None
    response = await shell.aexecute("echo once >> log; cat log; exit 4", once="thread.message.0")
    assert response == ExecuteResponse("once\n", 4)
    assert shell.recall("thread.message.0") == Outcome(True, response=response)
    assert shell.recall("thread.message.1") is None
    # A change of a file is remembered beside it.
    shell.write("/a.txt", "text", once="thread.message.1")
    assert shell.recall("thread.message.1") == Outcome(finished=True)
    # The next message of the thread: the notes of the last one go.
    await shell.aexecute("true", once="thread.later.0")
    assert shell.recall("thread.message.0") is None


async def test_a_command_that_was_cut_short_is_known_to_have_begun(shell: CommandMethods) -> None:
    running = asyncio.create_task(shell.aexecute("touch begun; sleep 600", once="t.m.0"))
    while not (await asyncio.to_thread(shell.ls, "/")).entries:
        await asyncio.sleep(0.05)
    assert shell.recall("t.m.0") == Outcome(finished=False)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert shell.recall("t.m.0") == Outcome(finished=False)


def test_a_command_that_can_not_be_noted_is_not_run(shell: CommandMethods, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="can't be a part of the key"):
        shell.execute("touch made", once="../../etc.x.0")
    assert not (tmp_path / "made").exists()


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
        ({"max_written_file_mb": 0}, "`max_written_file_mb` must be more than 0 MB"),
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
def test_a_directory_that_is_missing_is_a_mistake(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="can't be used as a directory"):
        kind(tmp_path / "missing")


def test_a_command_runs_from_any_thread_and_within_a_loop(shell: CommandMethods) -> None:
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


def test_a_loop_of_the_thread_stays_its_loop(tmp_path: Path) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        LocalShellBackend(tmp_path).execute("true")
        assert asyncio.get_event_loop_policy().get_event_loop() is loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def test_nothing_blocks_the_event_loop(shell: CommandMethods) -> None:
    with blockbuster_ctx():
        flood = shell.aexecute("yes | head -c 1000000", on_output=lambda _: None, once="t.m.0")
        assert (await flood).truncated


@pytest.mark.parametrize("kind", BACKENDS)
async def test_a_mount_at_the_root_does_not_block_the_event_loop(kind: Any, tmp_path: Path) -> None:
    shell = kind(tmp_path)
    root = shell.open(MountContext()).capabilities.command_root
    with blockbuster_ctx():
        state = await arun(
            call("execute", command="echo text > a.txt; realpath a.txt"),
            call("read_file", file_path=f"{root}/a.txt"),
            mounts={"/": shell},
        )
    printed, read = (reply.text for reply in answers(state))
    assert printed == f"{root}/a.txt\n[exit status 0]"
    assert "text" in read


async def test_many_commands_leave_nothing_open(shell: CommandMethods) -> None:
    async def count() -> int:
        await asyncio.gather(*(shell.aexecute(f"echo {n}", timeout=600) for n in range(20)))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(shell.aexecute("sleep 600"), 0.2)
        return len(os.listdir("/dev/fd"))

    first = await count()
    assert await count() <= first
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            assert Path("/proc", pid, "stat").read_text().split(") ")[1][0] != "Z"


async def test_output_is_reported_while_the_command_runs(shell: CommandMethods) -> None:
    reports: list[str] = []
    # It goes on when its first line was reported: were that not so, it would never end.
    command = "echo first; until [ -e go ]; do sleep 0.05; done; yes | head -c 3000000; echo last"

    def listen(text: str) -> None:
        reports.append(text)
        if len(reports) == 1:
            asyncio.get_running_loop().run_in_executor(None, shell.write, "/go", "")

    response = await shell.aexecute(command, on_output=listen, timeout=600)
    assert response.truncated
    assert reports[0] == "first\n"
    assert reports[-1].endswith("last\n")
    assert all(len(text) < 5_000 for text in reports)


def memory_of_a_flood(kind: Any, directory: Path) -> int:
    """Return how many kilobytes a command adds that prints a lot."""
    shell = kind(directory)
    shell.execute("yes | head -c 1000000", on_output=len)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    response = shell.execute("yes | head -c 200000000", on_output=len, timeout=600)
    assert response.truncated, response
    assert 90_000 < len(response.output) < 110_000, len(response.output)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_flood_of_output_adds_little_memory(kind: type, tmp_path: Path) -> None:
    assert forked.call(memory_of_a_flood, kind, tmp_path) < 16 * 1024
