"""The supervisor of a process: started once, and again when it is gone."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends import launcher
from langgraph_filesystem.state.backends.shell import LocalShellBackend


def supervisor() -> int:
    return launcher._launcher._pid


def test_one_supervisor_serves_all_commands(tmp_path: Path) -> None:
    shell = LocalShellBackend(tmp_path)
    shell.execute("true")
    first = supervisor()
    assert LocalShellBackend(tmp_path).execute("echo hi").output == "hi\n"
    assert supervisor() == first


def test_a_supervisor_that_was_killed_is_replaced_and_not_left_as_a_zombie(tmp_path: Path) -> None:
    shell = LocalShellBackend(tmp_path)
    shell.execute("true")
    first = supervisor()
    os.kill(first, signal.SIGKILL)
    while Path(f"/proc/{first}/stat").read_text().split(") ")[1][0] != "Z":
        time.sleep(0.01)
    assert shell.execute("echo again").output == "again\n"
    assert supervisor() != first
    assert not Path(f"/proc/{first}").exists()


def test_commands_that_run_outlive_the_supervisor_that_started_them(tmp_path: Path) -> None:
    shell = LocalShellBackend(tmp_path)

    async def go() -> str:
        running = asyncio.create_task(shell.aexecute("touch begun; sleep 1; echo whole"))
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.02)
        os.kill(supervisor(), signal.SIGKILL)
        return (await running).output

    assert asyncio.run(go()) == "whole\n"


_FORKED = """
import os, sys
from langgraph_filesystem.state.backends import launcher
from langgraph_filesystem.state.backends.shell import LocalShellBackend
shell = LocalShellBackend(sys.argv[1])
assert shell.execute("echo parent").output == "parent\\n"
mine = launcher._launcher._pid
if os.fork() == 0:
    assert launcher._launcher._pid == 0
    assert shell.execute("echo child").output == "child\\n"
    assert launcher._launcher._pid != mine
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
assert shell.execute("echo parent").output == "parent\\n"
assert launcher._launcher._pid == mine
print(mine)
"""


def test_a_process_that_is_forked_has_its_own_and_all_end_with_the_agent(tmp_path: Path) -> None:
    argv = [sys.executable, "-W", "error", "-c", _FORKED, str(tmp_path)]
    ran = subprocess.run(argv, capture_output=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, b"")
    until = time.monotonic() + 10
    while Path(f"/proc/{int(ran.stdout)}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(f"/proc/{int(ran.stdout)}").exists()


def test_it_starts_without_our_package_and_without_site_packages(tmp_path: Path) -> None:
    LocalShellBackend(tmp_path).execute("true")
    maps = Path(f"/proc/{supervisor()}/maps").read_text()
    assert "site-packages" not in maps
    words = Path(f"/proc/{supervisor()}/cmdline").read_bytes().split(b"\0")
    assert words[1:3] == [b"-I", b"-S"]
    assert Path(f"/proc/{supervisor()}/environ").read_bytes() in (
        b"",
        f"LD_LIBRARY_PATH={os.environ.get('LD_LIBRARY_PATH')}\0".encode(),
    )


def test_without_a_python_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = launcher._Launcher()
    monkeypatch.setattr(launcher, "_launcher", fresh)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "")
        with pytest.raises(RuntimeError, match="No Python is known"):
            LocalShellBackend(tmp_path).execute("true")
    assert LocalShellBackend(tmp_path).execute("echo now").output == "now\n"
    fresh.close()
    os.waitpid(fresh._pid, 0)


async def test_more_commands_than_a_socket_holds_wait_for_their_turn(tmp_path: Path) -> None:
    shell = LocalShellBackend(tmp_path)
    await shell.aexecute("true")
    os.kill(supervisor(), signal.SIGSTOP)
    try:
        running = [asyncio.create_task(shell.aexecute(f"echo {n}")) for n in range(300)]
        await asyncio.sleep(0.3)
    finally:
        os.kill(supervisor(), signal.SIGCONT)
    outputs = [response.output for response in await asyncio.gather(*running)]
    assert outputs == [f"{n}\n" for n in range(300)]
