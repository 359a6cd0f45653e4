"""What the tests of commands share: both backends, and a look at what is still alive."""

import itertools
import os
import time
from pathlib import Path
from typing import Any

from langgraph_filesystem import LocalShellBackend, SandboxBackend
from langgraph_filesystem.state.backends.file_store import MountContext

BACKENDS = (LocalShellBackend, SandboxBackend)
_numbers = itertools.count(1)


def mounted(directory: Path, prefix: str, **options: Any) -> SandboxBackend:
    """Return a sandbox whose public methods work as if it were mounted at a prefix."""
    box = SandboxBackend(directory, **options)
    return box.bound_to(box.open(MountContext(prefix)))


def marker() -> str:
    """Return a number of seconds that no other process sleeps for."""
    return f"{3_000 + next(_numbers)}.{os.getpid():07}{time.time_ns() % 10**9:09}"


def alive(mark: str) -> list[int]:
    """Return the processes that have a word in their command line, in every sandbox too."""
    found = []
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        try:
            words = Path("/proc", pid, "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in words and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def wait_for_end(mark: str, seconds: float = 60) -> list[int]:
    """Return what is alive of it after so long, or nothing as soon as nothing is."""
    end = time.monotonic() + seconds
    while (left := alive(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    return left
