"""Commands: run under a supervisor, awaited without a thread, and never left behind.

`run` returns when the command has ended, or its time is up, and all that it started is gone. If it
is cancelled it ends all of it first. `run_blocking` does the same for those who can't await.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from langgraph_filesystem.state.backends.launcher import Ends, launch
from langgraph_filesystem.state.backends.output import ERR, OUT, Output, Progress
from langgraph_filesystem.state.errors import BackendFailed

__all__ = ("Ending", "Job", "OnOutput", "run", "run_blocking")

OnOutput = Callable[[str], None]
T = TypeVar("T")

_CHUNK = 65_536
"""What a pipe holds."""
_BETWEEN_REPORTS = 0.1
_DRAIN = 0.5
"""Seconds for what is still in the pipes, should somebody hold them who could not be ended."""
_PATIENCE = 15.0
"""Seconds until a supervisor that was told to end counts as lost; it takes 5 at most itself."""


@dataclass(frozen=True)
class Job:
    """What a supervisor is told to run."""

    argv: Sequence[str]
    env: Mapping[str, str]
    inputs: Mapping[int, str] = field(default_factory=dict)
    """For a sandbox: texts that the program finds as open files."""
    limits: Mapping[str, int] | None = None
    """For a sandbox: bytes of `memory`, number of `processes`, seconds of `cpu`."""
    entries: Sequence[str] = ()
    """For a sandbox: what in the directory is to be shown right below `/` too."""

    def line(self) -> bytes:
        """Return it as it is sent."""
        return json.dumps(vars(self)).encode() + b"\n"


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int | None
    """The exit status; negative for a signal."""
    timed_out: bool
    exceeded: str | None
    """Which limit of a sandbox was reached."""
    left: int
    """How many processes could not be ended."""
    notes: str
    """What was said by what started the command, not by the command."""


async def run(
    job: Job,
    directory: int,
    output: Output,
    *,
    timeout: float,
    on_output: OnOutput | None = None,
) -> Ending:
    """Run a job in an open directory, and return how it ended when nothing of it is left."""
    running = _Running(await launch(directory), output, on_output)
    try:
        return await running.ended(job, timeout)
    finally:
        running.close()


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


class _Running:
    """One command that runs, as the event loop sees it."""

    def __init__(self, ends: Ends, output: Output, on_output: OnOutput | None) -> None:
        self._socket = ends.control
        self._output = output
        self._on_output = on_output
        self._progress = Progress() if on_output else None
        self._fresh = asyncio.Event()
        self._said = bytearray()
        self._supervisor = _Reader(ends.control.fileno(), self._said.extend)
        self._streams = [_Reader(ends.out, self._take(OUT)), _Reader(ends.err, self._take(ERR))]

    async def ended(self, job: Job, timeout: float) -> Ending:
        """Wait for the end, or bring it about."""
        reports = asyncio.ensure_future(self._report())
        try:
            timed_out = await self._outlasts(job, timeout, reports)
        except GeneratorExit:
            raise  # nothing can be awaited any more; closing the socket ends the command
        except BaseException:
            await self._stop(reports)
            raise
        await self._stop(reports)
        self._send_report(final=True)
        return self._ending(timed_out)

    def close(self) -> None:
        """Let go of everything; what runs, if anything does, ends with it."""
        for reader in (self._supervisor, *self._streams):
            reader.stop()
        self._socket.close()
        for reader in self._streams:
            os.close(reader.handle)

    async def _outlasts(self, job: Job, timeout: float, reports: "asyncio.Future[None]") -> bool:
        """Say whether the command still runs when its time is up."""
        try:
            async with asyncio.timeout(timeout) as limit:
                with contextlib.suppress(ConnectionError):  # then it is over, which is seen below
                    loop = asyncio.get_running_loop()
                    await loop.sock_sendall(self._socket, job.line())
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
            self._socket.shutdown(socket.SHUT_WR)
        await asyncio.wait({self._supervisor.ended, reports}, timeout=_PATIENCE)
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
        said: dict[str, Any] = {}
        for line in self._said.splitlines():
            said |= json.loads(line)
        if "code" not in said:
            self._end_lost(said.get("main"))
            raise BackendFailed(
                "What watches over the command was ended, and the command with it. It may have "
                "done a part of its work: look before you run it again."
            )
        del said["main"]
        return Ending(**said, timed_out=timed_out)

    def _end_lost(self, main: int | None) -> None:
        if main:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(main, signal.SIGKILL)


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
