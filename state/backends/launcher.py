"""The supervisor of this process, started when it is first needed, and how it is given a command.

A Python that starts takes 15 to 30 ms, a fork of one that waits takes 2: so each agent has one. It
ends by itself when this process does, however that comes about.
"""

import asyncio
import atexit
import contextlib
import os
import signal
import socket
import sys
import threading
from dataclasses import dataclass

__all__ = ("Ends", "launch")

_BOOT = """
import sys, types
name = ""
for part in "langgraph_filesystem", ".state", ".backends":
    name += part
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [sys.argv[1]]
from langgraph_filesystem.state.backends.supervisor import main
main()
"""
"""Makes the modules of the supervisor importable, without running those of the package above."""
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What a Python may need to start at all. No more: a command can read its parent's variables."""
_PAUSE = 0.01
"""Seconds until a supervisor that has too much to do is asked again."""


@dataclass
class Ends:
    """This side of a command."""

    control: socket.socket
    """Where the supervisor reads what to do, and says how it went."""
    out: int
    err: int


async def launch(directory: int) -> Ends:
    """Give the supervisor a command that has yet to be told, and return this side of it."""
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as on_failure:
        control, other = socket.socketpair()
        theirs.enter_context(other)
        on_failure.enter_context(control)
        handles = [other.fileno()]
        ours = []
        for _ in range(2):
            read, write = os.pipe()
            on_failure.callback(os.close, read)
            theirs.callback(os.close, write)
            os.set_blocking(read, False)
            handles.append(write)
            ours.append(read)
        control.setblocking(False)
        while not _launcher.send([*handles, directory]):
            await asyncio.sleep(_PAUSE)
        on_failure.pop_all()
        return Ends(control, *ours)


class _Launcher:
    """The socket to the supervisor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: socket.socket | None = None
        self._pid = 0

    def send(self, handles: list[int]) -> bool:
        """Hand over the other side of a command; say whether there was room for it."""
        with self._lock:
            try:
                self._send(handles)
            except (BrokenPipeError, ConnectionResetError):  # somebody ended it
                self.close()
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(self._pid, 0)
                self._send(handles)
            except BlockingIOError:
                return False
            return True

    def _send(self, handles: list[int]) -> None:
        if self._calls is None:
            self._calls = self._started()
        socket.send_fds(self._calls, [b"1"], handles)

    def _started(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as on_failure:
            on_failure.enter_context(ours)
            ours.setblocking(False)
            self._pid = _spawn(theirs.fileno())
            on_failure.pop_all()
        return ours

    def close(self) -> None:
        """Let the supervisor go: it ends when nobody is there any more."""
        if self._calls is not None:
            self._calls.close()
            self._calls = None


def _spawn(calls: int) -> int:
    """Start a supervisor that reads from a socket. It shares nothing else with this process."""
    python = sys.executable
    if not python:
        raise RuntimeError("No Python is known (`sys.executable`) that could run commands.")
    here = os.path.dirname(__file__)
    return os.posix_spawn(
        python,
        [python, "-I", "-S", "-c", _BOOT, here],
        {name: os.environ[name] for name in _KEPT if name in os.environ},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, calls, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
        setsigmask=[],
        setsigdef=[*(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})],
    )


_launcher = _Launcher()


def _begin_anew() -> None:
    """A process that was forked has a supervisor of its own: the other is that of its parent."""
    global _launcher
    _launcher.close()
    _launcher = _Launcher()


os.register_at_fork(after_in_child=_begin_anew)
atexit.register(lambda: _launcher.close())
