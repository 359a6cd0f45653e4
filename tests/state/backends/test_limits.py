"""What a sandbox uses, seen from outside, and what a single process may."""

import os
import resource
import subprocess
import sys

import pytest

from langgraph_filesystem.state.backends.limits import Watch

PLENTY = {"memory": 10**12, "processes": 10**6, "cpu": 10**9}


def watch(**limits: int) -> Watch:
    """Watch the processes that this one sees, as if they were those of a sandbox."""
    found = Watch(1, {**PLENTY, **limits})
    found._root = "/proc"
    found._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    return found


@pytest.mark.parametrize(
    ("limits", "exceeded"),
    [({}, None), ({"processes": 1}, "processes"), ({"memory": 1}, "memory"), ({"cpu": 0}, "cpu")],
)
def test_the_limit_that_is_reached_is_named(limits: dict[str, int], exceeded: str | None) -> None:
    found = watch(**limits)
    assert found.exceeded() == exceeded
    os.close(found._proc)


def test_files_that_are_only_in_memory_count() -> None:
    found = watch()
    before = found._in_files([os.getpid()])
    handle = os.memfd_create("large")
    os.write(handle, b"x" * 5_000_000)
    assert found._in_files([os.getpid()]) - before >= 5_000_000
    os.close(handle)
    os.close(found._proc)


def test_the_processes_of_the_host_are_never_taken_for_those_of_a_sandbox() -> None:
    # This process is in no sandbox: the `/proc` that it sees is not that of its own first process.
    with subprocess.Popen(["sleep", "30"]) as child:
        found = Watch(child.pid, {**PLENTY, "processes": 1})
        init = os.readlink("/proc/1/ns/pid") if os.access("/proc/1/ns/pid", os.R_OK) else ""
        expected = "processes" if init == os.readlink(f"/proc/{child.pid}/ns/pid") else None
        assert found.exceeded() == expected
        child.kill()


def test_what_has_ended_uses_nothing() -> None:
    assert Watch(4194305, {**PLENTY, "processes": 0}).exceeded() is None


_LIMITED = """
import resource
from langgraph_filesystem.state.backends.limits import limit_process
limit_process({"memory": 200_000_000, "cpu": 7, "processes": 5})
print(resource.getrlimit(resource.RLIMIT_DATA), resource.getrlimit(resource.RLIMIT_CPU),
      resource.getrlimit(resource.RLIMIT_CORE))
limit_process({"memory": 900_000_000, "cpu": 70, "processes": 5})
print(resource.getrlimit(resource.RLIMIT_DATA), resource.getrlimit(resource.RLIMIT_CPU))
"""


def test_limits_of_a_process_only_get_lower() -> None:
    argv = [sys.executable, "-c", _LIMITED]
    first, second = subprocess.run(
        argv, capture_output=True, check=True, timeout=60, text=True
    ).stdout.splitlines()
    assert first == "(200000000, 200000000) (7, 12) (0, 0)"
    assert second == "(200000000, 200000000) (12, 12)"
    assert resource.getrlimit(resource.RLIMIT_CPU)[1] == resource.RLIM_INFINITY
