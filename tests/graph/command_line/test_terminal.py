"""The command line in a real pseudo-terminal: colours, questions, a spinner, Ctrl-C."""

import os
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests import forked
from tests.graph.command_line.project import TASK, Project
from tests.graph.command_line.terminal import Terminal

Start = Callable[..., Terminal]

SLEEP = f"sleep {60_000 + os.getpid()}"
"""No other test sleeps as long, so the process can be told from others."""
SLOW = f"execute 'echo started; {SLEEP}'"
GREEN, RED = "\x1b[32m", "\x1b[31m"


@pytest.fixture
def start(project: Project, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Return a function that starts a command in the project."""
    monkeypatch.setenv("LANGGRAPH_FILESYSTEM_DB", str(project.database))
    monkeypatch.delenv("NO_COLOR", raising=False)

    def begin(*args: str, columns: int = 100, **env: str) -> Terminal:
        return Terminal(*args, cwd=project.root, env={"PAGER": "cat", **env}, columns=columns)

    return begin


def test_a_newcomer_runs_looks_undoes_and_applies(start: Start, project: Project) -> None:
    ran = start("run", TASK).expect("edit_file").expect("3 changed files")
    assert ran.exit_code() == 0
    assert f"{GREEN}+    return 42" in (shown := start("diff")).expect("+    return 42").raw
    assert f"{RED}-    return 41" in shown.raw
    assert shown.exit_code() == 0
    for command, said in (
        (["status"], "M src/answer.py  +1 -1"),
        (["log"], "write_file A notes.txt  +2"),
        (["tree"], "notes.txt"),
        (["cat", "src/answer.py"], "return 42"),
        (["stats"], "turns: 1"),
        (["draw"], "router"),
        (["export", "../copy"], "Written to ../copy"),
        (["undo"], "undone  src/answer.py"),
        (["discard", "notes.txt"], "discarded  notes.txt"),
        (["apply"], "applied   README.md"),
        (["threads"], "read_file /README.md"),
        (["fork"], "begins where"),
        (["fork"], "begins where"),
        (["doctor"], "commands in a sandbox"),
        (["--help"], "Write the changes to disk"),
    ):
        terminal = start(*command).expect(said)
        assert terminal.exit_code() == 0
    first, second, *_ = (row["thread"] for row in project.rows("threads"))
    assert start("compare", first, second).expect("the same files").exit_code() == 0
    assert project.files()["README.md"] == "# A project\n\nIt has the code.\n"
    assert "notes.txt" not in project.files()


def test_approvals_are_asked_in_place_with_the_diff(start: Start, project: Project) -> None:
    chat = start("chat", "--approve", "writes", EDITOR="sed -i s/third/edited/")
    chat.expect("> ").type("write_file /a.txt first\n")
    chat.expect("`write_file` creates /a.txt").expect("+first").expect("Run this?").type("n\n")
    chat.expect("Why?").type("not that one\n").expect("They say: not that one").expect("> ")
    chat.type("write_file /b.txt second\n").expect("Run this?").type("?\n")
    chat.expect("Run this?").type("y\n").expect("Wrote /b.txt").expect("> ")
    chat.type("write_file /c.txt third\n").expect("Run this?").type("e\n")
    chat.expect("A person changed this call").expect("> ")
    chat.type("write_file /d.txt fourth\n").expect("Run this?").type("a\n")
    chat.expect("Wrote /d.txt").expect("> ").type("write_file /e.txt fifth\n")
    chat.expect("as you said for all").expect("Wrote /e.txt").expect("> ").type("\x04")
    assert chat.exit_code() == 0
    paths = [row["path"] for row in project.rows("status")]
    assert paths == ["b.txt", "c.txt", "d.txt", "e.txt"]
    project("apply")
    assert project.files()["c.txt"] == "edited"


def test_an_approval_can_wait(start: Start, project: Project) -> None:
    run = start("run", "--approve", "writes", "write_file /a.txt hi").expect("Run this?")
    assert run.type("s\n").exit_code() == 4
    assert "Calls wait for your approval" in project("status")
    chat = start("chat").expect("+hi").expect("Run this?").type("y\n").expect("Wrote /a.txt")
    assert chat.expect("> ").type("/quit\n").exit_code() == 0
    assert [row["path"] for row in project.rows("status")] == ["a.txt"]


def test_ctrl_c_stops_a_step_and_the_thread_goes_on(start: Start, project: Project) -> None:
    chat = start("chat", "--direct", "--approve", "none").expect("> ")
    chat.type("write_file /a.txt hi\n").expect("Wrote /a.txt").expect("> ")
    chat.type(f"{SLOW}\n").expect("  started").type("\x03").expect("Stopped.").expect("> ")
    assert not _is_running(SLEEP)
    chat.type("\x03").expect("Ctrl-D or /quit ends").expect("> ")
    chat.type("read_file /a.txt\n").expect("answers calls").expect("[end of file").expect("> ")
    assert chat.type("/quit\n").exit_code() == 0
    run = start("run", "--direct", "--approve", "none", SLOW).expect("  started").type("\x03")
    assert run.exit_code() == 130
    assert "The thread keeps what was done" in run.text


def _is_running(command: str) -> bool:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return any(line.strip() == command for line in listed.stdout.splitlines())


def test_a_chat_has_the_commands_of_the_shell(start: Start, project: Project) -> None:
    chat = start("chat").expect("> ").type("write_file /a.txt <<END\\\nhi\\\nEND\n")
    chat.expect("Wrote /a.txt").expect("> ").type("/status\n").expect("A a.txt").expect("> ")
    chat.type("/diff\n").expect("+hi").expect("> ").type("/help\n").expect("/apply").expect("> ")
    chat.type("/undo\n").expect("undone  a.txt").expect("> ")
    chat.type("/undo\n").expect("undone  a.txt").expect("> ")
    chat.type("/discard\n").expect("discarded  a.txt").expect("> ")
    chat.type("/apply\n").expect("Nothing to apply").expect("> ")
    chat.type("/undo\n").expect("undone  a.txt").expect("> ")
    chat.type("/log\n").expect("A a.txt").expect("> ")
    chat.type("/apply\n").expect("applied   a.txt").expect("> ")
    chat.type("/discard\n").expect("Nothing to discard").expect("> ")
    assert chat.type("/quit\n").exit_code() == 0
    assert project.files()["a.txt"] == "hi\n"


def test_a_long_diff_comes_in_a_pager(start: Start, project: Project) -> None:
    project("run", "execute 'seq 1 20000 > many.txt'")
    shown = start("diff", PAGER="head -n 7", NO_COLOR="1").expect("+1").expect("+2")
    assert shown.exit_code() == 0
    assert "+100" not in shown.text
    assert "+20000\n" in project("diff")


def test_what_is_too_long_to_approve_at_a_glance_can_be_viewed(start: Start) -> None:
    task = "write_file /a.txt <<END\n" + "".join(f"line {n}\n" for n in range(300)) + "END"
    run = start("run", "--approve", "writes", task).expect("more lines]").expect("v = view all")
    assert "+line 299" not in run.text
    run.type("v\n").expect("+line 299").expect("Run this?").type("y\n").expect("Wrote /a.txt")
    assert run.exit_code() == 0


def test_a_long_step_shows_how_long_it_takes(start: Start) -> None:
    run = start("run", "--direct", "--approve", "none", "execute 'sleep 3'")
    assert run.expect("execute 0:00:01").exit_code() == 0


def test_a_narrow_terminal_and_one_without_colours_are_readable(start: Start) -> None:
    run = start("run", TASK, columns=20).expect("edit_file Edited").expect("M README.md")
    assert run.exit_code() == 0
    for name in ("status", "diff", "log", "threads", "doctor"):
        assert start(name, columns=20).exit_code() == 0
    plain = start("diff", NO_COLOR="1").expect("+    return 42")
    assert plain.exit_code() == 0
    assert not re.search(r"\x1b\[3\d", plain.raw)


def test_a_pipe_gets_plain_text(project: Project) -> None:
    for command in (["run", TASK], ["status"], ["diff"]):
        said = forked.output_of("langgraph_filesystem", *command, "--db", project.database)
        assert "\x1b" not in said
        assert "README.md" in said


def test_a_run_that_is_killed_keeps_its_changes(start: Start, project: Project) -> None:
    task = f"write_file /a.txt hi\n\n{SLOW}"
    run = start("run", "--direct", "--approve", "none", task).expect("  started")
    assert "write_file /a.txt" in project("threads")
    run.kill()
    chat = start("chat").expect("> ").type("read_file /a.txt\n").expect("[end of file").expect("> ")
    assert chat.type("/quit\n").exit_code() == 0


def test_serve_starts_a_server_for_the_directory(start: Start, project: Project) -> None:
    server = start("serve").expect("Studio: ").expect("Application started up")
    found = re.search(r"server: (http://127.0.0.1:\d+)", server.text)
    assert found is not None
    typed = "ls /\n\nwrite_file /a.txt hi\n\nexecute 'cat a.txt README.md > b.txt; cat b.txt'"
    task: Any = {"messages": [{"role": "user", "content": typed}]}
    with get_sync_client(url=found[1]) as client:
        for _ in range(2):  # the graph is built once, and each thread has its own files
            thread = client.threads.create()["thread_id"]
            result: Any = client.runs.wait(thread, "lgfs", input=task)
            assert "hi# A project" in str(result["messages"])
            assert sorted(result["files"]) == ["/a.txt", "/b.txt"]
    assert project.files().keys() == {"README.md", "src/answer.py"}
    server.type("\x03").exit_code()
