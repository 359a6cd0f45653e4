"""Commands of both shells: how they end is told, and they are run once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.commands import DiskWithCommands
from langgraph_filesystem.state.backends.jail import RESERVED
from langgraph_filesystem.state.backends.protocol import ExecuteResponse, Outcome
from langgraph_filesystem.state.backends.sandbox import SandboxBackend
from langgraph_filesystem.state.backends.shell import LocalShellBackend
from tests.state.backends.commanded import BACKENDS


@pytest.fixture(params=BACKENDS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> DiskWithCommands:
    backend: DiskWithCommands = request.param(tmp_path)
    return backend


@pytest.mark.parametrize(
    ("command", "code", "name"),
    [
        ("exit 0", 0, None),
        ("exit 3", 3, None),
        ("exit 137", 137, None),
        ("exit 255", 255, None),
        ("no-such-command-there", 127, None),
        ("-c", 127, None),
        ("--version; exit 4", 4, None),
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


def test_commands_are_told_where_the_directory_is(shell: DiskWithCommands) -> None:
    assert shell.write("/sub/a b.txt", "text\n").error is None
    assert shell.execute('cd / && cat "$FILES_ROOT/sub/a b.txt"').output == "text\n"
    placed = shell.mounted_at("/repo")
    assert placed.execute('cd /; cat "$FILES_ROOT/sub/a b.txt"').output == "text\n"


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_variable_of_that_name_can_be_given(kind: Any, tmp_path: Path) -> None:
    shell = kind(tmp_path, env={"FILES_ROOT": "mine"})
    assert shell.execute("echo $FILES_ROOT").output == "mine\n"


@pytest.mark.parametrize("make", ["ln -s /etc {}", "echo x > {}", "mkfifo {}"])
def test_what_a_command_puts_in_the_place_of_our_notes_leads_nowhere(
    shell: DiskWithCommands, make: str, tmp_path: Path
) -> None:
    assert shell.execute(make.format(RESERVED)).exit_code == 0
    assert shell.execute("echo on").output == "on\n"
    assert shell.write("/a", "x", once="scope.group.1").error is None
    assert (tmp_path / "a").read_text() == "x"
    assert (tmp_path / RESERVED / "scope").is_dir()
    # It is not lost: it has a name that can be seen.
    assert shell.execute(f"rm {RESERVED[1:]}-1").exit_code == 0


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
