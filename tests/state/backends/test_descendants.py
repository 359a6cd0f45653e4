"""All processes below one: found and ended."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.descendants import numbers, stat_fields
from tests.state.backends.commanded import marker, wait_for_end

_PARENT = """
import subprocess, sys, time
from langgraph_filesystem.state.backends.descendants import kill_descendants
children = [subprocess.Popen(["sh", "-c", f"sleep {sys.argv[1]} & sleep {sys.argv[1]}"])
            for _ in range(5)]
time.sleep(0.5)
foreign = set()
assert kill_descendants(foreign, 5)
assert [child.wait(10) for child in children] == [-9] * 5
assert not foreign
assert not kill_descendants(foreign, 5)
"""


def test_children_and_theirs_are_killed_and_nobody_else() -> None:
    mark = marker()
    with subprocess.Popen(["sleep", mark.replace("3", "4", 1)]) as bystander:
        script = [sys.executable, "-c", _PARENT, mark]
        subprocess.run(script, check=True, timeout=60)
        assert wait_for_end(mark) == []
        assert bystander.poll() is None
        bystander.kill()


def test_a_name_may_hold_blanks_and_brackets(tmp_path: Path) -> None:
    program = tmp_path / ") S 1 (x"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "30"]) as process:
        fields = stat_fields(f"/proc/{process.pid}/stat")
        process.kill()
    assert int(fields[1]) == os.getpid()
    assert fields[0] in (b"R", b"S", b"D")


def test_what_is_no_process_is_an_error() -> None:
    assert os.getpid() in numbers("/proc")
    with pytest.raises(FileNotFoundError):
        stat_fields("/proc/4194305/stat")
