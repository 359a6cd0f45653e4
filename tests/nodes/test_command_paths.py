"""What a model is told of the paths that commands know."""

from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import LocalShellBackend as TheirShell

from langgraph_filesystem import (
    CompositeBackend,
    LocalShellBackend,
    SandboxBackend,
    StateBackend,
    create_filesystem_agent,
    filesystem_tools,
)
from langgraph_filesystem.nodes.command_paths import where_commands_run
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Shell
from tests.scripted import ScriptedModel, answers, call, run

RELATIVE = (
    "Commands start in what the other operations call `/project`, and know it by another path: for "
    "them `/project/src/a.py` is `src/a.py`, or `$FILES_ROOT/src/a.py` from anywhere. "
)
OTHERS = "They don't see your other files."
SAME = "Commands find files at the same paths as the other operations."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve()
    (root / "src").mkdir()
    (root / "src/a.py").write_text("x = 1\n")
    return root


def told(mounts: Any) -> str:
    return where_commands_run(Mounts(mounts).all)


def test_of_a_shell_it_says_what_commands_call_the_files(root: Path) -> None:
    shell = LocalShellBackend(root)
    assert told({"/project": shell}) == RELATIVE + OTHERS
    assert told({"/project": shell, "/memories": StateBackend()}) == RELATIVE + OTHERS
    docs = "They don't see your other files, nor `/project/docs/`."
    assert told({"/project": shell, "/project/docs": StateBackend()}) == RELATIVE + docs
    at_top = RELATIVE.replace("/project/", "/").replace("/project", "/")
    assert told({"/": shell}) == at_top.rstrip()
    assert told({"/": SandboxBackend(root)}) == at_top.rstrip()
    assert told({"/": shell, "/memories": StateBackend()}).endswith("They don't see `/memories/`.")


def test_the_path_on_the_host_is_not_told(root: Path) -> None:
    for prefix in ("/", "/project"):
        for backend in (LocalShellBackend(root), SandboxBackend(root), TheirShell(root_dir=root)):
            assert str(root) not in told({prefix: backend})


def test_where_paths_are_the_same_it_says_so(root: Path) -> None:
    assert told({"/": LocalShellBackend(root, virtual_mode=False)}) == SAME
    same = "Commands start in `{}` and find what is below it at the same paths. " + OTHERS
    assert told({"/project": SandboxBackend(root)}) == same.format("/project")
    assert told({str(root): LocalShellBackend(root)}) == same.format(root)


def test_of_two_shells_it_names_the_one_that_runs_them(root: Path) -> None:
    mounts = {"/b/c": SandboxBackend(root), "/a": SandboxBackend(root)}
    assert told(mounts).startswith("Commands start in `/a` and")
    state = run(call("execute", command="pwd; ls /b"), mounts=mounts)
    assert answers(state)[0].text.startswith("/a\n")


def test_what_is_not_known_is_not_told(root: Path) -> None:
    assert told({}) == ""
    assert told({"/": Shell()}) == ""
    assert told({"/project": lambda runtime: LocalShellBackend(root)}) == ""
    assert told({"/m": Shell()}) == (
        "Commands see the files of `/m/`, but don't know that path. " + OTHERS
    )
    assert told({"/host": LocalShellBackend(root, virtual_mode=False)}).startswith(
        "Commands don't know the path `/host`: for them `/host/src/a.py` is `/src/a.py`."
    )
    assert told({"/m": TheirShell(root_dir=root, virtual_mode=True)}).endswith(
        "for them `/m/src/a.py` is `src/a.py`. " + OTHERS
    )


def test_a_model_is_told_by_an_agent_and_by_the_tools_alone(root: Path) -> None:
    mounts: Any = {"/project": LocalShellBackend(root)}
    model = ScriptedModel()
    create_filesystem_agent(model, mounts=mounts).invoke({"messages": ["go"]})
    assert RELATIVE + OTHERS in model.asked[0][0].text
    [tool] = [t for t in filesystem_tools(mounts=mounts) if t.name == "execute"]
    assert tool.description.endswith(RELATIVE + OTHERS)
    own = filesystem_tools(["execute"], mounts=mounts, tool_descriptions={"execute": "Run."})
    assert own[0].description == "Run."


def executed(command: str, mounts: Any) -> str:
    return answers(run(call("execute", command=command), mounts=mounts))[0].text


HINT = "\n[commands don't know the path {}: call it `{}`, or `$FILES_ROOT/{}` from anywhere]"


@pytest.mark.parametrize(
    ("command", "path", "relative"),
    [
        ("cat /repo-of-mine/src/a.py", "/repo-of-mine/src/a.py", "src/a.py"),
        ("cd /repo-of-mine && ls", "/repo-of-mine", "."),
        ("cat '/repo-of-mine/src/a.py'", "/repo-of-mine/src/a.py", "src/a.py"),
        ("cat /etc/no-such; cat </repo-of-mine/x", "/repo-of-mine/x", "x"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "composite", "factory"])
def test_a_command_that_fails_by_a_path_gets_a_hint(
    kind: str, command: str, path: str, relative: str, root: Path
) -> None:
    shell = LocalShellBackend(root)
    mounts: Any = {
        "plain": {"/repo-of-mine": shell},
        "composite": CompositeBackend(StateBackend(), {"/repo-of-mine": shell}),
        "factory": {"/repo-of-mine": lambda runtime: LocalShellBackend(root)},
    }[kind]
    said = executed(command, mounts)
    assert said.endswith(HINT.format(path, relative, relative))
    assert str(root) not in said


@pytest.mark.parametrize(
    "command",
    [
        *("ls src", "false", "cat /repo-of-minex/a; false", "cat src/repo-of-mine; false"),
        *("curl http://repo-of-mine; false", "ls x/repo-of-mine/a", "true # /repo-of-mine"),
        "sed /repo-of-mine/d missing",
    ],
)
def test_another_command_gets_none(command: str, root: Path) -> None:
    assert "commands don't" not in executed(command, {"/repo-of-mine": LocalShellBackend(root)})


def test_at_the_root_the_hint_is_for_files_that_are_there(root: Path) -> None:
    mounts = {"/": LocalShellBackend(root)}
    said = executed("cat /src/a.py", mounts)
    assert said.endswith(HINT.format("/src/a.py", "src/a.py", "src/a.py"))
    assert "commands don't" not in executed("cat /src/b.py /usr/bin/no", mounts)
    assert "commands don't" not in executed(f"cat {root}/src/b.py", mounts)


def test_the_hint_works(root: Path) -> None:
    mounts = {"/repo-of-mine": LocalShellBackend(root)}
    said = executed("cat src/a.py; cd /; cat $FILES_ROOT/src/a.py", mounts)
    assert said.startswith("x = 1\nx = 1\n")


def test_others_get_a_hint_without_what_is_not_known() -> None:
    missing = "cat: /m/a: No such file or directory\n"
    said = executed("cat /m/a", {"/m": Shell(missing, 1)})
    assert said.endswith("\n[commands don't know the path /m: leave it out of /m/a]")
    assert "commands don't" not in executed("cat /m/a", {"/m": Shell(missing, 0)})
    assert "commands don't" not in executed("cat /m/a", {"/": Shell(missing, 1)})


@pytest.mark.parametrize("prefix", ["/", "/repo", "/deep/er/repo"])
@pytest.mark.parametrize("other", [None, "/memories", "/deep"])
def test_in_a_sandbox_a_path_is_the_same_for_both(
    prefix: str, other: str | None, root: Path
) -> None:
    mounts: Any = {prefix: SandboxBackend(root), **({other: StateBackend()} if other else {})}
    path = f"{prefix.rstrip('/')}/src/a.py"
    made = f"{prefix.rstrip('/')}/src/b.py"
    state = run(
        call("execute", command=f"cat {path} && cp {path} {made}; echo $FILES_ROOT/"),
        call("read_file", file_path=made),
        mounts=mounts,
    )
    said = [reply.text for reply in answers(state)]
    assert said[0].startswith("x = 1\n")
    assert said[1].startswith("     1\tx = 1\n")


@pytest.mark.parametrize("kind", [LocalShellBackend, SandboxBackend])
@pytest.mark.parametrize(
    ("prefix", "path", "where"),
    [
        ("/repo", "/notes/plan.md", "in /repo"),
        ("/repo", "/repo/docs/plan.md", "outside of /repo/docs"),
        ("/", "/repo/docs/plan.md", "outside of /repo/docs"),
    ],
)
def test_a_file_of_another_mount_is_said_to_be_elsewhere(
    kind: Any, prefix: str, path: str, where: str, root: Path
) -> None:
    mounts: Any = {prefix: kind(root), "/repo/docs": StateBackend()}
    command = call("execute", command=f"cat {path} /usr/bin/no-such")
    [reply] = answers(run(command, mounts=mounts, files={path: "x"}))
    assert reply.text.endswith(
        f"\n[commands don't see {path} of the file operations: what they need must be {where}]"
    )


def test_a_file_that_is_nowhere_gets_no_hint(root: Path) -> None:
    mounts = {"/repo": SandboxBackend(root)}
    assert "commands don't" not in executed("cat /notes.md /etc/none; ls src/none", mounts)
