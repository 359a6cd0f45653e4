"""All processes below one, on Linux: found in `/proc`, and killed.

Part of the supervisor (see `supervisor.py` for why so little is imported).
"""

import errno
import os
import time

__all__ = ("descendants", "kill_tree")

_Fields = list[bytes]
"""What `/proc/<pid>/stat` says behind the name of the process."""
_STATE, _PARENT, _THREADS, _START_TIME = 0, 1, 17, 19


def descendants(root: int, known: dict[int, _Fields] | None = None) -> dict[int, _Fields]:
    """Return the living processes below `root`, without those that are known already."""
    known = known or {}
    children: dict[int, dict[int, _Fields]] = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        fields = _stat(pid) if pid not in known else None
        if fields and not _is_dead(fields):
            children.setdefault(int(fields[_PARENT]), {})[pid] = fields
    found: dict[int, _Fields] = {}
    above = [root, *known]
    while above:
        below = children.get(above.pop(), {})
        above += below
        found |= below
    return found


def kill_tree(root: int, first: int | None, seconds: float) -> bool:
    """Kill all processes below `root`; return `False` if those that are left can't be killed.

    `first` goes before the others: with a sandbox's own process the kernel ends the whole sandbox.
    All others are stopped before they are killed, because a process may fork faster than its
    children can be killed one by one. A process of another user can't be signalled.
    """
    import signal  # here, because it takes 8 ms to import and most commands leave nothing to kill

    end = time.monotonic() + seconds
    found = descendants(root)
    if first in found:
        _signal(first, found[first], signal.SIGKILL)
    stopped: dict[int, _Fields] = {}
    while found and time.monotonic() < end:
        for pid, fields in found.items():
            _signal(pid, fields, signal.SIGSTOP)
        stopped |= found
        found = descendants(root, stopped)
    killed = [_signal(pid, fields, signal.SIGKILL) for pid, fields in stopped.items()]
    return any(killed) or not stopped


def _stat(pid: int) -> _Fields | None:
    try:
        handle = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it has ended
        return None
    try:
        line = os.read(handle, 4096)
    except OSError:
        return None
    finally:
        os.close(handle)
    # The name stands in brackets and may itself hold blanks and brackets.
    return line[line.rindex(b")") + 2 :].split()


def _is_dead(fields: _Fields) -> bool:
    """A process whose first thread has ended looks dead, while its other threads go on."""
    return fields[_STATE] == b"Z" and int(fields[_THREADS]) <= 1


def _signal(pid: int, fields: _Fields, number: int) -> bool:
    """Send a signal to exactly this process; return whether that is permitted."""
    import signal

    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        if error.errno == errno.ENOSYS:  # Linux before 5.3
            return _kill(pid, number)
        return True  # it has ended
    try:
        # Compared once the process is held: from here on its number can't become another's.
        now = _stat(pid)
        if now and now[_START_TIME] == fields[_START_TIME]:
            signal.pidfd_send_signal(handle, number)
    except PermissionError:
        return False
    except ProcessLookupError:
        return True
    finally:
        os.close(handle)
    return True


def _kill(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except PermissionError:
        return False
    except ProcessLookupError:
        return True
    return True
