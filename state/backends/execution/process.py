"""Running one command: a supervisor is started for it, and awaited without holding a thread.

`run` returns when the command has ended, or its time is up, and nothing that it started is left.
If `run` is cancelled it ends everything first. `run_blocking` is for callers that can't await.
"""

import asyncio
import contextlib
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any, TypeVar

from langgraph_filesystem.state.backends.execution.output import ERR, OUT, Output, Progress
from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.io import change_in_thread

__all__ = ("Command", "Ending", "OnOutput", "run", "run_blocking", "signal_name")

OnOutput = Callable[[str], None]
T = TypeVar("T")
_Process = subprocess.Popen[bytes]

_BOOT = """
import sys
sys.path.append(sys.argv[1])
from execution.supervisor import main
main()
"""
"""Loads the supervisor without the packages above it, which would take half a second."""
_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What a Python may need to start at all. No more: a command can read its parent's variables."""
_CHUNK = 65_536
"""What a pipe holds."""
_BETWEEN_REPORTS = 0.1
_DRAIN = 0.5
"""Seconds for what is still in the pipes, should a process hold them that could not be ended."""
_PATIENCE = 15.0
"""Seconds until a supervisor that was told to end counts as lost; it takes 5 at most itself."""


@dataclass(frozen=True)
class Command:
    """What to run, and where."""

    argv: Sequence[str]
    env: Mapping[str, str]
    directory: int
    """A handle of the directory in which it starts."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """See `limits.Limits`."""
    inputs: Mapping[int, bytes] = field(default_factory=dict)
    """For a sandbox, whose setup program takes open files: their contents, by their handles."""
    handles: Mapping[int, str] = field(default_factory=dict)
    """For a sandbox: paths in the directory that are opened, no link followed, by their handles."""

    def request(self) -> bytes:
        """Return it as it is sent to the supervisor."""
        argv = [_encoded(word) for word in self.argv]
        env = {_encoded(name): _encoded(value) for name, value in self.env.items()}
        handles = {number: os.fsencode(path) for number, path in self.handles.items()}
        data = marshal.dumps((argv, env, dict(self.limits), dict(self.inputs), handles))
        return len(data).to_bytes(8, "big") + data


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int | None
    """The exit status; negative for a signal."""
    timed_out: bool
    exceeded: str | None
    """Which limit was exceeded."""
    left: int
    """How many processes could not be ended."""
    notes: str
    """What the program that set up the sandbox said, or why nothing could be run."""


async def run(
    command: Command, output: Output, *, timeout: float, on_output: OnOutput | None = None
) -> Ending:
    """Run a command, and return how it ended when nothing of it is left."""
    control, other = socket.socketpair()
    control.setblocking(False)
    started: list[_Process] = []
    with control, other:
        try:
            start = partial(_start, other.fileno(), command.directory)
            await change_in_thread(lambda: started.append(start()))
            other.close()
            return await _Running(started[0], control, output, on_output).ended(command, timeout)
        finally:
            control.close()
            for process in started:
                _close(process)


def run_blocking(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end from anywhere, also from within a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # A factory, or the thread would lose the loop that it may have.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(work())
    context = copy_context()
    with ThreadPoolExecutor(max_workers=1) as pool:
        result: T = pool.submit(context.run, partial(run_blocking, work)).result()
        return result


def signal_name(number: int) -> str:
    """Return what a signal is called: the later ones have no name of their own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


class _Running:
    """One command that runs, as the event loop sees it."""

    def __init__(
        self,
        process: _Process,
        control: socket.socket,
        output: Output,
        on_output: OnOutput | None,
    ) -> None:
        self._process = process
        self._control = control
        self._output = output
        self._on_output = on_output
        self._progress = Progress() if on_output else None
        self._fresh = asyncio.Event()
        self._said = bytearray()
        self._supervisor = _Reader(control.fileno(), self._said.extend)
        self._streams = [
            _Reader(pipe.fileno(), self._take(stream)) for stream, pipe in _pipes(process)
        ]

    async def ended(self, command: Command, timeout: float) -> Ending:
        """Wait for the end, or bring it about."""
        reports = asyncio.ensure_future(self._report())
        try:
            timed_out = await self._outlasts(command, timeout, reports)
        except GeneratorExit:
            raise  # nothing can be awaited any more; closing the socket ends the command
        except BaseException:
            await self._stop(reports)
            raise
        else:
            await self._stop(reports)
        finally:
            with contextlib.suppress(RuntimeError):  # the loop may be closed by now
                reports.cancel()
                for reader in (self._supervisor, *self._streams):
                    reader.stop()
        self._send_report(final=True)
        return self._ending(timed_out)

    async def _outlasts(
        self, command: Command, timeout: float, reports: "asyncio.Future[None]"
    ) -> bool:
        """Return whether the command still runs when its time is up."""
        try:
            async with asyncio.timeout(timeout) as limit:
                with contextlib.suppress(ConnectionError):  # then it is over, which is seen below
                    loop = asyncio.get_running_loop()
                    await loop.sock_sendall(self._control, command.request())
                first = {self._supervisor.ended, reports}
                await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
                if reports.done():
                    reports.result()
        except TimeoutError:
            if not limit.expired():
                raise
        return limit.expired()

    async def _stop(self, reports: "asyncio.Future[None]") -> None:
        """End what still runs, and take what it had printed."""
        reports.cancel()
        with contextlib.suppress(OSError):  # it may have ended
            self._control.shutdown(socket.SHUT_WR)
            self._process.send_signal(signal.SIGCONT)  # a command may have stopped it
        await asyncio.wait({self._supervisor.ended, reports}, timeout=_PATIENCE)
        if self._supervisor.ended.done():
            self._process.wait()  # it has closed its handles, so it is about to exit
        else:
            self._process.kill()
        await asyncio.wait({stream.ended for stream in self._streams}, timeout=_DRAIN)

    def _take(self, stream: int) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            self._output.feed(stream, data)
            if self._progress:
                self._progress.feed(stream, data)
                self._fresh.set()

        return take

    async def _report(self) -> None:
        """Report what is printed, at once and then not too often."""
        while True:
            await self._fresh.wait()
            self._fresh.clear()
            self._send_report()
            await asyncio.sleep(_BETWEEN_REPORTS)

    def _send_report(self, *, final: bool = False) -> None:
        if self._progress and self._on_output and (text := self._progress.take(final=final)):
            self._on_output(text)

    def _ending(self, timed_out: bool) -> Ending:
        """Return what the supervisor said: the process of the command, then how it ended."""
        said = self._said.decode(errors="replace")
        started, _, report = said.partition("\n")
        ended, _, notes = report.partition("\n")
        code, exceeded, left = ended.split() if ended else ("-", "-", "0")
        if not started:
            raise BackendFailed("The command was not run: its supervisor did not start.")
        if not ended:
            _end_group(int(started))
        if code == exceeded == "-" and not timed_out:
            raise BackendFailed(
                "The supervisor of the command was killed, and the command with it. It may have "
                "done a part of its work: check that before you run it again."
            )
        return Ending(
            code=None if code == "-" else int(code),
            timed_out=timed_out,
            exceeded=None if exceeded == "-" else exceeded,
            left=int(left),
            notes=notes,
        )


class _Reader:
    """Reads a handle as something comes, until it ends."""

    def __init__(self, handle: int, take: Callable[[bytes], object]) -> None:
        self.handle = handle
        self._take = take
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()
        self._loop.add_reader(handle, self._read)

    def stop(self) -> None:
        """Read no more."""
        self._loop.remove_reader(self.handle)
        if not self.ended.done():
            self.ended.set_result(None)

    def _read(self) -> None:
        try:
            data = os.read(self.handle, _CHUNK)
        except BlockingIOError:
            return
        except ConnectionError:  # the other end went without reading all
            data = b""
        if data:
            self._take(data)
        else:
            self.stop()


def _start(control: int, directory: int) -> _Process:
    """Start a supervisor, which waits for what to run."""
    if not sys.executable:
        raise BackendFailed("No command can be run: `sys.executable` names no Python.")
    handles = (control, directory)
    numbers = (str(number) for number in (os.getpid(), *handles))
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _BOOT, _PACKAGES, *numbers],
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
        pass_fds=handles,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,  # or Ctrl-C in a terminal would end it before it can end others
    )
    for _, pipe in _pipes(process):
        os.set_blocking(pipe.fileno(), False)
    return process


def _pipes(process: _Process) -> Iterator[tuple[int, IO[bytes]]]:
    for stream, pipe in ((OUT, process.stdout), (ERR, process.stderr)):
        assert pipe is not None
        yield stream, pipe


def _close(process: _Process) -> None:
    for _, pipe in _pipes(process):
        pipe.close()
    # If it has not ended yet, it soon will, and a caller who was cancelled can't await it.
    if process.poll() is None:
        threading.Thread(target=process.wait, daemon=True).start()


def _end_group(leader: int) -> None:
    """End what is left of a command whose supervisor was killed together with its child."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
