"""Programs in processes of their own, forked from a process that has imported the package.

A new Python takes more than a second of processor time to import it.
"""

import fcntl
import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
import termios
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from typing import Any, TypeVar

T = TypeVar("T")
CONTEXT = multiprocessing.get_context("forkserver")
_ROOMS = ("command_line.doctor", "command_line.run", "command_line.threads", "persistence.postgres")
CONTEXT.set_forkserver_preload(
    ["psycopg_pool", "rich.live", *(f"langgraph_filesystem.{room}" for room in _ROOMS)]
)


def start(
    module: str, *args: str, streams: tuple[int, int, int], cwd: Any, env: Mapping[str, str]
) -> ForkServerProcess:
    """Run a module as `python -m` does, as the leader of a session."""
    given = [DupFd(stream) for stream in streams]
    process = CONTEXT.Process(target=_run, args=(module, args, given, str(cwd), dict(env)))
    process.start()
    return process


def output_of(module: str, *args: object, code: int = 0) -> str:
    """Run a module, check its exit code, and return what it prints."""
    with tempfile.TemporaryFile("w+") as printed, open(os.devnull) as nothing:
        streams = (nothing.fileno(), printed.fileno(), 2)
        process = start(module, *map(str, args), streams=streams, cwd=os.getcwd(), env=os.environ)
        process.join()
        assert process.exitcode == code
        printed.seek(0)
        return printed.read()


def call(function: Callable[..., T], *args: Any) -> T:
    """Call a function in a process of its own, and return its result."""
    with CONTEXT.Pool(1) as pool:
        result: T = pool.apply(_called, (dict(os.environ), function, args))
    return result


def _called(env: dict[str, str], function: Callable[..., T], args: tuple[Any, ...]) -> T:
    os.environ.clear()
    os.environ.update(env)
    return function(*args)


def run_at_once(function: Callable[..., None], *arguments: Sequence[Any]) -> None:
    """Call a function in several processes, each with arguments of its own."""
    processes = [CONTEXT.Process(target=function, args=given) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)


def _run(
    module: str, args: tuple[str, ...], streams: list[Any], cwd: str, env: dict[str, str]
) -> None:
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, stream in enumerate(streams):
        os.dup2(stream.detach(), number)
    # Tests that were started in the background ignore Ctrl-C, and so would their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.isatty(0):
        # Ctrl-C becomes a signal only where the terminal is the controlling one.
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = [module, *args]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
