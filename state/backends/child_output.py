"""What a program prints, until it ends, its time is up or nobody listens any more.

It is started where a directory handle says, or with handles of files to work on, in a process group
of its own, with next to no environment. None of it is alive afterwards, however it ended.
"""

import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any

__all__ = ("CAN_BOUND_MEMORY", "output_of")

CAN_BOUND_MEMORY = hasattr(resource, "prlimit")
"""Whether a program can be held to some memory."""

_PIECE = 1 << 16
_PAUSE = 0.001
"""Seconds between two looks. A program that prints little by little would slow both down if each
piece woke the reader."""


def output_of(
    command: Sequence[str],
    directory: int | None = None,
    handles: Sequence[int] = (),
    *,
    deadline: float,
    on_error: Callable[[bytes], None],
    memory: int | None = None,
) -> Generator[bytes, None, int]:
    """Yield what a program prints, and return its status; `on_error` gets what it complains of.

    It gets no more than `memory` bytes, if they are given: only where `CAN_BOUND_MEMORY`. Raises
    `TimeoutError` at the deadline, another `OSError` if the program does not start.
    """
    child = _started(command, directory, handles)
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        if memory is not None:
            # From outside: to set it between fork and exec would keep other threads waiting.
            resource.prlimit(child.pid, resource.RLIMIT_DATA, (memory, memory))
            # When it has no more, it aborts: nobody wants a dump of that in the directory.
            resource.prlimit(child.pid, resource.RLIMIT_CORE, (0, 0))
        yield from _pieces(child.stdout.fileno(), child.stderr.fileno(), deadline, on_error)
        return child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        child.stdout.close()
        child.stderr.close()


def _started(
    command: Sequence[str], directory: int | None, handles: Sequence[int]
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"LC_ALL": "C"},
        pass_fds=handles,
        process_group=0,
        **_working_directory(directory),
    )


def _working_directory(handle: int | None) -> dict[str, Any]:
    if handle is None:
        return {}
    if os.path.isdir("/proc/self/fd"):
        return {"cwd": f"/proc/self/fd/{handle}"}
    return {"preexec_fn": partial(os.fchdir, handle)}


def _pieces(
    output: int, errors: int, deadline: float, on_error: Callable[[bytes], None]
) -> Iterator[bytes]:
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        selector.register(errors, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            for key, _ in selector.select(left):
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    selector.unregister(key.fd)
                elif key.fd == output:
                    yield piece
                else:
                    on_error(piece)
            time.sleep(_PAUSE)
