"""The supervisor of one command: it starts the command, and nothing of the command survives it.

`process.py` starts one for each command, in a Python without site-packages and without our package:
this file, `process_tree.py` and `limits.py` import only what starts fast. (`signal` and `json`
alone would double the 12 ms.) It consists of two processes:

- The supervisor waits. It ends everything when the command has ended, when the agent says so, when
  the agent dies, and when a limit is exceeded; then it reports how the command ended.
- Its child, the parent of the command, collects exit statuses. If a command kills its parent, the
  supervisor is still there.

On Linux both are "subreapers": a process that loses its parent becomes their child. So everything
that descends from the command is found, whatever it did to get away: background jobs, daemons,
`setsid`, double forks. Elsewhere (macOS) all that can be ended is the process group of the command,
which a process can leave.
"""

import ctypes
import fcntl
import marshal
import os
import select
import sys
import time

# Relative: the packages above are not loaded here.
from .limits import Limits, Watch, limit_process
from .process_tree import descendants, kill_tree

__all__ = ("DIRECTORY", "STDERR", "main")

STDERR, DIRECTORY = 3, 4
"""The handles of a sandbox's setup program for the command's stderr and for the directory. Its own
stderr is kept apart, as notes."""
_FREE = 100
"""From here on no handle has a meaning."""
_NOTES = 4_096
"""How much is kept of what the setup program says."""
_LINUX = sys.platform == "linux"
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_SIGKILL, _SIG_SETMASK = 9, 2 if _LINUX else 3
_PATIENCE = 5.0
"""Seconds to end processes that don't die: one may hang in a system call."""
_PAUSE = 0.005
_TICK, _SLOW_TICK, _FIRST_TICKS = 50, 250, 40
"""Milliseconds between two looks at what a sandbox uses; after two seconds less often."""

_libc = ctypes.CDLL(None)


def main() -> None:
    """Supervise one command. The arguments: the agent's process, a socket to it, a directory."""
    agent, control, directory = (int(word) for word in sys.argv[2:])
    os.set_inheritable(control, False)
    os.set_inheritable(directory, False)
    _reset_signals()
    try:
        Supervisor(agent, control, directory).run()
    finally:
        os._exit(0)  # without a word: our stderr is that of the command


class Supervisor:
    """One command, from its start until nothing of it is left."""

    def __init__(self, agent: int, control: int, directory: int) -> None:
        self._agent = _open_process(agent)
        self._control = control
        self._directory = directory
        self._notes, self._note = os.pipe()
        self._events, self._event = os.pipe()
        self._said = b""
        """What came as events: the process of the command, then its exit status."""
        self._argv: list[bytes] = []
        self._env: dict[bytes, bytes] = {}
        self._limits: Limits = {}
        self._inputs: dict[int, bytes] = {}
        self._handles: dict[int, bytes] = {}

    def run(self) -> None:
        """Start the command, wait for its end, end what is left, and report."""
        if not self._read_request():
            return  # the agent died before it had said what to do
        _become_subreaper()
        self._start()
        exceeded = self._wait()
        left = self._end_all()
        self._report(exceeded, left)

    def _read_request(self) -> bool:
        """Read what to run. The size comes first: the socket stays open for as long as we live."""
        data = b""
        while len(data) < 8 or len(data) < 8 + int.from_bytes(data[:8], "big"):
            piece = os.read(self._control, 65_536)
            if not piece:
                return False
            data += piece
        request = marshal.loads(data[8:])
        self._argv, self._env, self._limits, self._inputs, self._handles = request
        return True

    def _start(self) -> None:
        supervisor = os.getpid()
        if os.fork() == 0:
            try:
                _die_with(supervisor)
                _become_subreaper()
                self._be_parent()
            finally:
                os._exit(1)
        # What we hold open here would keep the agent from seeing the end of the output.
        for handle in (1, 2, self._directory, self._note, self._event):
            os.close(handle)

    def _be_parent(self) -> None:
        """Start the command, collect whatever ends, and pass on how the command ended."""
        parent = os.getpid()
        command = os.fork()
        if command == 0:
            try:
                _die_with(parent)
                self._be_command()
            except OSError as error:
                os.write(self._note, f"exec: {error.strerror}".encode())
            finally:
                os._exit(127)
        for handle in (1, 2, self._directory, self._note, self._control):
            os.close(handle)
        while True:
            pid, status = os.wait()
            if pid == command:
                os.write(self._event, b"%d\n" % os.waitstatus_to_exitcode(status))
                os._exit(0)

    def _be_command(self) -> None:
        os.setsid()
        # Said before the command begins: should it kill both of us at once, the agent knows which
        # processes to end.
        for handle in (self._control, self._event):
            os.write(handle, b"%d\n" % os.getpid())
        os.fchdir(self._directory)
        limit_process(self._limits)
        if self._inputs:
            files = {2: self._note, STDERR: 2, DIRECTORY: self._directory}
            _put_in_place(files | {n: _memory_file(data) for n, data in self._inputs.items()})
        for number, path in self._handles.items():
            _open_beneath(DIRECTORY, path, number)
        os.execve(self._argv[0], self._argv, self._env)

    def _wait(self) -> str | None:
        """Wait until the command has ended or is to end; return the limit that it exceeded."""
        poll = select.poll()
        for handle in (self._control, self._events, self._agent):
            if handle is not None:
                poll.register(handle, select.POLLIN)
        watch: Watch | None = None
        ticks = 0
        while True:
            tick = _TICK if ticks < _FIRST_TICKS else _SLOW_TICK
            for handle, _ in poll.poll(tick if watch else None):
                if handle != self._events:
                    return None  # the agent says so, or is gone
                data = os.read(self._events, 4096)
                if not data:
                    return None  # the parent of the command has ended
                self._said += data
            if watch is None and "processes" in self._limits and (command := self._command()):
                watch = Watch(command, self._limits)
            ticks += 1
            if watch and (exceeded := watch.exceeded()):
                return exceeded

    def _command(self) -> int | None:
        """Return the process of the command, once it has said so."""
        return int(self._said.split()[0]) if self._said else None

    def _end_all(self) -> int:
        """End all processes below this one; return how many would not end."""
        end = time.monotonic() + _PATIENCE
        while _has_children() and (left := end - time.monotonic()) > 0:
            if not self._kill(left):
                break
            time.sleep(_PAUSE)
        if not _has_children():
            return 0
        return max(1, len(descendants(os.getpid()))) if _LINUX else 1

    def _kill(self, seconds: float) -> bool:
        command = self._command()
        if _LINUX:
            return kill_tree(os.getpid(), command, seconds)
        if command is not None:
            try:
                os.killpg(command, _SIGKILL)
            except OSError:
                return False
        return True

    def _report(self, exceeded: str | None, left: int) -> None:
        words = self._said.split()
        code = words[1].decode() if len(words) > 1 else "-"
        line = f"{code} {exceeded or '-'} {left}\n".encode()
        try:
            os.write(self._control, line + self._noted())
        except OSError:  # nobody is there to hear it
            return

    def _noted(self) -> bytes:
        os.set_blocking(self._notes, False)
        try:
            return os.read(self._notes, _NOTES)
        except BlockingIOError:  # something that could not be ended holds the other end
            return b""


def _open_process(agent: int) -> int | None:
    """Return a handle that can be read when the agent has ended.

    The socket alone does not tell it where another child of the agent has a copy of its end.
    """
    try:
        handle = os.pidfd_open(agent)
    except (AttributeError, OSError):  # macOS, Linux before 5.3
        return None
    if os.getppid() != agent:
        os._exit(0)  # it ended before
    return handle


def _become_subreaper() -> None:
    if _LINUX:
        _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies."""
    if _LINUX:
        _libc.prctl(_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(127)  # it died before


def _reset_signals() -> None:
    """Take signals as usual, whatever Python or the agent has set: a command inherits it."""
    for number in range(1, 65):
        _libc.signal(number, None)
    _libc.sigprocmask(_SIG_SETMASK, bytes(128), None)


def _has_children() -> bool:
    """Collect the children that have ended; return whether others live."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _memory_file(data: bytes) -> int:
    handle = os.memfd_create("input")
    os.write(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _open_beneath(directory: int, path: bytes, number: int) -> None:
    """Open a path name by name, without following a link, and give the handle its number."""
    handle = os.dup(directory)
    for name in path.split(b"/"):
        opened = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=handle)
        os.close(handle)
        handle = opened
    os.dup2(handle, number)
    os.close(handle)


def _put_in_place(files: dict[int, int]) -> None:
    """Give handles their numbers. First out of the way: one may have the number of another."""
    moved = {n: fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, _FREE) for n, handle in files.items()}
    for number, handle in moved.items():
        os.dup2(handle, number)
