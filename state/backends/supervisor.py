"""The program that stands above every command: it starts it, and lets nothing of it live on.

It runs in a Python of its own, without site-packages and without our package: `launcher` starts one
per agent, which waits on a socket, its standard input. For each command it is handed the socket of
that command, the ends of two pipes and a directory, and forks. The fork reads the job, starts the
command in a session of its own, and ends it when it is told to, which is also when the agent dies
and the socket closes. On Linux the fork adopts what loses its parent below it, so that it finds all
of it: background jobs, daemons, what called `setsid`. Elsewhere it ends the process group.

A job is `argv` and `env`; for a sandbox also `inputs`, which the program finds as open files,
`limits` for all of its processes together, and `entries` of the directory to show below `/`.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import select
import signal
import socket
import sys
import time
from typing import Any

from langgraph_filesystem.state.backends.descendants import kill_descendants
from langgraph_filesystem.state.backends.entries import open_entries
from langgraph_filesystem.state.backends.limits import Watch, limit_children, limit_process

__all__ = ("BLOCK", "DIRECTORY", "ENTRIES", "FAILED", "INFO", "STDERR", "main")

STDERR, DIRECTORY, INFO, BLOCK, ENTRIES = 3, 4, 5, 6, 7
"""As which handles bubblewrap finds what it is given. Its standard error is for its own words."""
FAILED = "exec: "
"""How a note begins when there was nothing to run."""
_UNUSED = 100
"""From here on no handle has a meaning."""
_NOTES = 4_096
"""How much is kept of what bubblewrap says itself."""
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_KEYCTL, _JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
_PATIENCE = 5.0
"""Seconds against what does not die: a process may hang in a system call."""
_MOMENT = 0.02
_TICK, _SLOW_TICK, _FIRST_TICKS = 50, 200, 40
"""Milliseconds between two looks at what a sandbox uses; later on it is looked at less often."""
_LINUX = sys.platform == "linux"
_ENDING = (signal.SIGTERM, signal.SIGINT)
_UNUSUAL = (*_ENDING, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that mean something else here, the last two in every Python."""


def main() -> None:
    """Fork for every command, until the agent is gone."""
    _close_others()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the forks are nobody's to wait for
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C may end a run and not the agent
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # if it ends the agent, that will be seen
    calls = socket.socket(fileno=0)
    while handles := socket.recv_fds(calls, 1, 4)[1]:
        if os.fork() == 0:
            try:
                calls.close()
                Supervisor(*handles).run()
            finally:
                os._exit(0)  # nothing that is raised here may get to the loop of the parent
        for handle in handles:
            os.close(handle)


class Supervisor:
    """One command, from its start until nothing of it is left."""

    def __init__(self, control: int, out: int, err: int, directory: int) -> None:
        null = os.open(os.devnull, os.O_RDWR)  # gets the number 0, and keeps it
        for handle in (control, out, err, directory):
            os.set_inheritable(handle, False)
        self._control = socket.socket(fileno=control)
        self._files = {0: null, 1: out, 2: err, DIRECTORY: directory}
        self._notes, self._note = os.pipe()
        self._main = 0
        self._status: int | None = None
        self._told = False
        self._box: _Box | None = None

    def run(self) -> None:
        """Start the command, wait for its end, end what is left, and say how it went."""
        if _LINUX:
            _prctl(_SET_CHILD_SUBREAPER, 1)
        self._listen()
        with self._control.makefile("rb") as lines:
            line = lines.readline()
        if not line.endswith(b"\n"):
            return  # the agent died before it had said what to do
        self._start(json.loads(line))
        exceeded = self._wait()
        left = self._end_all()
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        self._say(code=code, exceeded=exceeded, left=left, notes=self._noted())

    def _say(self, **values: Any) -> None:
        with contextlib.suppress(OSError):  # there may be nobody to hear it
            self._control.sendall(json.dumps(values).encode() + b"\n")

    def _noted(self) -> str:
        os.set_blocking(self._notes, False)
        with contextlib.suppress(BlockingIOError):  # something that could not be ended holds it
            return os.read(self._notes, _NOTES).decode(errors="replace")
        return ""

    def _listen(self) -> None:
        """Wake up at signals: a child has ended, or all is to end."""
        self._wake, wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _ENDING:
            signal.signal(number, self._end)

    def _end(self, *_: object) -> None:
        self._told = True

    def _start(self, job: dict[str, Any]) -> None:
        if job["limits"]:
            self._box = _Box(job["limits"])
            _hurry()
            self._files |= {STDERR: self._files[2], 2: self._note, **self._box.files}
            handles, arguments = open_entries(self._files[DIRECTORY], job["entries"])
            texts = {**job["inputs"], ENTRIES: "".join(f"{word}\0" for word in arguments)}
            self._files |= {**handles, **{int(n): _memory_file(text) for n, text in texts.items()}}
        self._main = os.fork()
        if self._main == 0:
            try:
                self._become(job)
            except OSError as error:
                os.write(self._note, f"{FAILED}{error.strerror}".encode())
            finally:
                os._exit(127)
        for handle in {self._note, *self._files.values()} - {0}:
            os.close(handle)

    def _become(self, job: dict[str, Any]) -> None:
        """Turn this fork into the command."""
        os.setsid()
        # Said before there is a command: one that kills who watches over it must be known by then.
        self._say(main=os.getpid())
        signal.set_wakeup_fd(-1)
        for number in _UNUSUAL:
            signal.signal(number, signal.SIG_DFL)
        if _LINUX:
            _prctl(_SET_PDEATHSIG, signal.SIGKILL)
        os.fchdir(self._files[DIRECTORY])
        if self._box:
            limit_process(self._box.limits)
            _leave_keyring()
        else:
            del self._files[DIRECTORY]
        # First out of the way, then into place: a handle may have the number that another gets.
        moved = {number: _copy(handle) for number, handle in self._files.items()}
        for place, handle in moved.items():
            os.dup2(handle, place)
        env = {_bytes(name): _bytes(value) for name, value in job["env"].items()}
        os.execve(job["argv"][0], [_bytes(word) for word in job["argv"]], env)

    def _wait(self) -> str | None:
        """Return when the command has ended or is to be ended; say what it had too much of."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        if self._box:
            poll.register(self._box.info, select.POLLIN)
        while self._status is None and not self._told:
            for handle, _ in poll.poll(self._box.tick() if self._box else None):
                if handle == self._control.fileno():
                    self._told = True
                elif handle == self._wake:
                    os.read(handle, 4096)
                    self._reap()
                elif self._box:
                    poll.unregister(handle)
                    self._box.release()
            if self._box and (exceeded := self._box.exceeded()):
                return exceeded
        return None

    def _reap(self) -> bool:
        """Take note of the children that have ended; say whether others live."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._main:
                    self._status = status
        return False

    def _end_all(self) -> int:
        """End all that descends from here; return how many processes would not end."""
        end = time.monotonic() + _PATIENCE
        foreign: set[int] = set()
        if self._box:
            self._box.end()
            self._rest()
        _hurry()
        while self._reap() and time.monotonic() < end:
            if not self._kill(foreign, end - time.monotonic()):
                break
            self._rest()
        return max(1, len(foreign)) if self._reap() else 0

    def _rest(self) -> None:
        """Wait a moment for a child to end."""
        if self._reap() and select.select([self._wake], [], [], _MOMENT)[0]:
            os.read(self._wake, 4096)

    def _kill(self, foreign: set[int], patience: float) -> bool:
        if _LINUX:
            return kill_descendants(foreign, patience)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._main, signal.SIGKILL)
        return True


class _Box:
    """What bubblewrap tells of itself, and waits for, before it starts the command."""

    def __init__(self, limits: dict[str, int]) -> None:
        self.limits = limits
        self.info, info = os.pipe()
        block, self._go = os.pipe()
        self.files = {INFO: info, BLOCK: block}
        self._init: int | None = None
        self._watch: Watch | None = None
        self._ticks = 0

    def release(self) -> None:
        """Let the command start: the first process of the sandbox is there, and can be limited."""
        found = re.search(rb'"child-pid": (\d+)', os.read(self.info, 4096))
        if found:  # else it ended before
            pid = int(found[1])
            limit_children(pid, self.limits)
            self._watch = Watch(pid, self.limits)
            with contextlib.suppress(OSError):  # Linux before 5.3 has no such handles
                self._init = os.pidfd_open(pid)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._go, b"1")
        os.close(self._go)

    def tick(self) -> int:
        """Return after how many milliseconds the sandbox is looked at."""
        self._ticks += 1
        return _TICK if self._ticks <= _FIRST_TICKS else _SLOW_TICK

    def exceeded(self) -> str | None:
        """Say of what the sandbox uses more than it may."""
        return self._watch.exceeded() if self._watch else None

    def end(self) -> None:
        """End the first process of the sandbox, and with it the kernel ends all others."""
        if self._init is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)


def _close_others() -> None:
    """Close what a library of the agent has left open: a command must not get it."""
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):  # the listing itself is among them
                os.close(int(name))


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _leave_keyring() -> None:
    """Take an empty keyring: the keys that the kernel holds for a session are none of its."""
    if number := _KEYCTL.get(os.uname().machine):
        ctypes.CDLL(None).syscall(number, _JOIN_SESSION_KEYRING, None)


def _hurry() -> None:
    """Run before others where that is allowed: for root nothing else stops a fork bomb in time."""
    if _LINUX:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _memory_file(text: str) -> int:
    handle = os.memfd_create("input")
    os.write(handle, _bytes(text))
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _copy(handle: int) -> int:
    return fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, _UNUSED)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
