"""All processes below this one, on Linux: found in `/proc`, and ended.

Nothing of ours is imported here: it is part of the supervisor, which starts without the package.
"""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial

__all__ = ("kill_descendants", "numbers", "stat_fields")

Born = dict[int, int]
"""Processes, and when they began: a number may be given to another process later."""


def kill_descendants(foreign: set[int], patience: float) -> bool:
    """Stop all processes below this one, then kill them; say whether there was one to kill.

    Stopped first, because what runs may fork faster than it can be killed one by one. What belongs
    to another user can't be signalled, and goes to `foreign`.
    """
    end = time.monotonic() + patience
    stopped: Born = {}
    while time.monotonic() < end and (fresh := _descendants(stopped)):
        for pid, born in fresh.items():
            if not _signal(pid, born, signal.SIGSTOP):
                foreign.add(pid)
        stopped |= fresh
    for pid, born in stopped.items():
        _signal(pid, born, signal.SIGKILL)
    return bool(stopped.keys() - foreign)


def numbers(directory: str | int) -> list[int]:
    """Return the processes that a `/proc` shows."""
    return [int(name) for name in os.listdir(directory) if name.isdigit()]


def stat_fields(path: str, directory: int | None = None) -> list[bytes]:
    """Return what `/proc/<pid>/stat` says behind the name, which may hold blanks and brackets."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        line = os.read(handle, 4096)
    finally:
        os.close(handle)
    return line[line.rindex(b")") + 2 :].split()


def _descendants(known: Collection[int]) -> Born:
    """Return the processes below this one that are neither known nor dead."""
    children: dict[int, Born] = {}
    for pid in numbers("/proc"):
        if pid not in known:
            with contextlib.suppress(OSError, ValueError):  # it may end while it is looked at
                fields = stat_fields(f"/proc/{pid}/stat")
                if fields[0] != b"Z":
                    children.setdefault(int(fields[1]), {})[pid] = int(fields[19])
    found: Born = {}
    above = [os.getpid(), *known]
    while above:
        below = children.get(above.pop(), {})
        above += below
        found |= below
    return found


def _signal(pid: int, born: int, number: signal.Signals) -> bool:
    """Send a signal to exactly this process; say whether that is allowed."""
    gone = ProcessLookupError, FileNotFoundError, ValueError
    with contextlib.suppress(*gone), _held(pid) as send:
        # Looked at once it is held: from here on the number can't be another process.
        if int(stat_fields(f"/proc/{pid}/stat")[19]) == born:
            try:
                send(number)
            except PermissionError:
                return False
    return True


@contextlib.contextmanager
def _held(pid: int) -> Iterator[Callable[[signal.Signals], None]]:
    """Hand out what sends signals to a process and to no other that gets its number later."""
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        yield partial(os.kill, pid)  # Linux before 5.3
        return
    try:
        yield partial(signal.pidfd_send_signal, handle)
    finally:
        os.close(handle)
