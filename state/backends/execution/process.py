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
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from langgraph_filesystem.state.backends.execution.output import ERR, OUT, Output, Progress
from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.io import change_in_thread

__all__ = ("Command", "Ending", "OnOutput", "run", "run_blocking", "signal_name")

OnOutput = Callable[[str], None]
T = TypeVar("T")

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
    is_sandbox: bool = False
    """Whether `argv` sets up a sandbox first, and takes stderr and the directory as handles."""
    inputs: Mapping[int, bytes] = field(default_factory=dict)
    """For a sandbox: contents of more open files, by their handles."""

    def request(self) -> bytes:
        """Return it as it is sent to the supervisor."""
        data = marshal.dumps(
            {
                "argv": [_encoded(word) for word in self.argv],
                "env": {_encoded(name): _encoded(value) for name, value in self.env.items()},
                "limits": dict(self.limits),
                "is_sandbox": self.is_sandbox,
                "inputs": dict(self.inputs),
            }
        )
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
    started: list[_Ends] = []
    try:
        await change_in_thread(lambda: started.append(_start(command.directory)))
        return await _Running(started[0], output, on_output).ended(command, timeout)
    finally:
        for ends in started:
            ends.close()


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

    def __init__(self, ends: "_Ends", output: Output, on_output: OnOutput | None) -> None:
        self._output = output
        self._on_output = on_output
        self._progress = Progress() if on_output else None
        self._fresh = asyncio.Event()
        self._said = bytearray()
        self._ends = ends
        self._supervisor = _Reader(ends.control.fileno(), self._said.extend)
        self._streams = [_Reader(ends.out, self._take(OUT)), _Reader(ends.err, self._take(ERR))]

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
                    await loop.sock_sendall(self._ends.control, command.request())
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
            self._ends.control.shutdown(socket.SHUT_WR)
            self._ends.process.send_signal(signal.SIGCONT)  # a command may have stopped it
        await asyncio.wait({self._supervisor.ended, reports}, timeout=_PATIENCE)
        if self._supervisor.ended.done():
            self._ends.process.wait()  # it has closed its handles, so it is about to exit
        else:
            self._ends.process.kill()
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


@dataclass(frozen=True)
class _Ends:
    """Our side of a supervisor."""

    process: "subprocess.Popen[bytes]"
    control: socket.socket
    """What to run goes there, and how it ended comes back. Closed, it ends the command."""
    out: int
    err: int

    def close(self) -> None:
        """Let go of everything; if something still runs, it ends."""
        self.control.close()
        os.close(self.out)
        os.close(self.err)
        # It ends in a moment, if it has not. Nobody can await that who was cancelled meanwhile.
        if self.process.poll() is None:
            threading.Thread(target=self.process.wait, daemon=True).start()


def _start(directory: int) -> _Ends:
    """Start a supervisor that waits for a command."""
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as on_failure:
        control, other = socket.socketpair()
        on_failure.enter_context(control)
        theirs.enter_context(other)
        ours, handles = [], [other.fileno()]
        for _ in (OUT, ERR):
            read, write = os.pipe()
            on_failure.callback(os.close, read)
            theirs.callback(os.close, write)
            os.set_blocking(read, False)
            ours.append(read)
            handles.append(write)
        control.setblocking(False)
        process = _spawn([*handles, directory])
        on_failure.pop_all()
        return _Ends(process, control, *ours)


def _spawn(handles: Sequence[int]) -> "subprocess.Popen[bytes]":
    if not sys.executable:
        raise BackendFailed("No command can be run: `sys.executable` names no Python.")
    numbers = [str(number) for number in (os.getpid(), *handles)]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _BOOT, _PACKAGES, *numbers],
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
        pass_fds=handles,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # or Ctrl-C in a terminal would end it before it can end others
    )


def _end_group(leader: int) -> None:
    """End what is left of a command whose supervisor was killed together with its child."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
