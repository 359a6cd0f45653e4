"""`LocalShellBackend`: commands on the host, with what they are given of it."""

import os
from pathlib import Path

import pytest

from langgraph_filesystem import LocalShellBackend
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.scripted import answer, answers, call, run


def variables(shell: LocalShellBackend) -> dict[str, str]:
    lines = shell.execute("env").output.splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("HOME", "/home/of/mine")


def test_variables_are_an_allow_list(tmp_path: Path) -> None:
    found = variables(LocalShellBackend(tmp_path))
    assert {"PATH", "HOME", "LC_TIME"} <= found.keys()
    assert found["HOME"] == "/home/of/mine"
    assert "SOME_API_KEY" not in found
    allowed = {"COLORTERM", "HOME", "LANG", "LANGUAGE", "LC_TIME", "LOGNAME", "PATH", "SHELL"}
    allowed |= {"TERM", "TMPDIR", "TZ", "USER", "XDG_RUNTIME_DIR", "FILES_ROOT"}
    # What the shell itself sets.
    assert found.keys() - {"PWD", "OLDPWD", "SHLVL", "_"} <= allowed | {"LC_ALL", "LC_CTYPE"}


def test_no_parent_of_a_command_holds_a_secret(tmp_path: Path) -> None:
    shell = LocalShellBackend(tmp_path, env={"VISIBLE": "yes"})
    command = "pid=$PPID; tr '\\0' '\\n' < /proc/$pid/environ; echo; echo read"
    assert shell.execute(command).output.split() == ["read"]


def test_variables_are_given_or_all_inherited(tmp_path: Path) -> None:
    given = variables(LocalShellBackend(tmp_path, env={"SOME_API_KEY": "another", "HOME": "/x"}))
    assert (given["SOME_API_KEY"], given["HOME"]) == ("another", "/x")
    shell = LocalShellBackend(tmp_path, inherit_env=True, env={"HOME": "/x"})
    inherited = variables(shell)
    assert (inherited["SOME_API_KEY"], inherited["HOME"]) == ("very-secret", "/x")


def test_a_machine_without_a_path_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert LocalShellBackend(tmp_path).execute("ls /bin/sh").output == "/bin/sh\n"


def test_a_value_that_is_no_utf_8_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environb, b"LC_ODD", b"\xff\xfe")
    response = LocalShellBackend(tmp_path).execute('printf %s "$LC_ODD"')
    assert response.output == "\\xff\\xfe"


def test_a_command_has_standard_files_and_no_others(tmp_path: Path) -> None:
    # An open file of the agent that a careless library lets children have.
    handle = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        response = LocalShellBackend(tmp_path).execute("ls /proc/self/fd")
    finally:
        os.close(handle)
    assert response.output.split() == ["0", "1", "2", "3"]  # the last is the listing itself


def test_a_command_has_a_session_of_its_own_and_usual_signals(tmp_path: Path) -> None:
    shell = LocalShellBackend(tmp_path)
    pid, group, session = shell.execute("ps -o pid=,pgid=,sid= -p $$").output.split()
    assert pid == group == session
    # Python ignores SIGPIPE; `yes` must not, or a closed pipe would be an error message.
    assert shell.execute("yes | head -1").output == "y\n"
    found = shell.execute("grep -E 'Sig(Ign|Blk)' /proc/self/status").output.split()
    assert [found[0], found[2]] == ["SigBlk:", "SigIgn:"]
    internal = 0b11 << 31  # 32 and 33 are the C library's own, and no program can change them
    assert [int(mask, 16) & ~internal for mask in (found[1], found[3])] == [0, 0]


def test_a_relative_path_and_one_that_a_command_prints_are_the_same_for_both(
    tmp_path: Path,
) -> None:
    path = f"{tmp_path.resolve()}/sub/a.txt"
    state = run(
        call("write_file", file_path="/sub/a.txt", content="text\n"),
        call("execute", command="cat sub/a.txt; realpath sub/a.txt"),
        call("read_file", file_path=path),
        mounts={"/": LocalShellBackend(tmp_path)},
    )
    _, printed, read = (reply.text for reply in answers(state))
    assert printed == f"text\n{path}\n[exit status 0]"
    assert "text" in read


def test_mounted_at_its_own_path_all_paths_are_the_same(tmp_path: Path) -> None:
    path = str(tmp_path.resolve())
    mounts = {path: LocalShellBackend(tmp_path)}
    wrote = call("write_file", file_path=f"{path}/a.txt", content="text\n")
    assert answer(wrote, mounts=mounts).status == "success"
    ran = answer(call("execute", command=f"cat {path}/a.txt; pwd"), mounts=mounts)
    assert ran.text == f"text\n{path}\n[exit status 0]"


def test_below_another_prefix_no_path_has_two_meanings(tmp_path: Path) -> None:
    shell = LocalShellBackend(tmp_path)
    mounted = Mounts({"/repo": shell}).locate("/repo/x").backend
    path = f"{tmp_path.resolve()}/a.txt"
    assert mounted.write(path, "x").error is None
    assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / path[1:]).read_text() == "x"


def test_without_virtual_mode_paths_are_those_of_the_host(tmp_path: Path) -> None:
    shell = LocalShellBackend(tmp_path, virtual_mode=False)
    path = shell.execute("echo text > a.txt; realpath a.txt").output.strip()
    read = shell.read(path)
    assert read.file_data is not None
    assert read.file_data["content"] == "text\n"
    assert Mounts({"/": shell}).locate("/").backend.execute("pwd").output == f"{tmp_path}\n"


def test_without_a_directory_it_is_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert LocalShellBackend().execute("pwd -P").output == f"{tmp_path.resolve()}\n"


def test_the_directory_may_be_moved_meanwhile(tmp_path: Path) -> None:
    directory = tmp_path / "before"
    directory.mkdir()
    shell = LocalShellBackend(directory)
    directory.rename(tmp_path / "after")
    assert shell.execute("echo x > made; pwd -P").output == f"{tmp_path.resolve()}/after\n"
    assert (tmp_path / "after/made").exists()
