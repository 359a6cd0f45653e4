"""Programs that are listened to: what they print, and that none of them stays."""

import os
import time
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.child_output import CAN_BOUND_MEMORY, output_of
from tests.state.backends.disk.places import children, open_handles


def told(
    script: str, directory: int | None = None, seconds: float = 60
) -> tuple[bytes, bytes, int]:
    """Return what a shell prints, what it complains of, and its status."""
    errors: list[bytes] = []
    running = output_of(
        ["/bin/sh", "-c", script],
        directory,
        deadline=time.monotonic() + seconds,
        on_error=errors.append,
    )
    pieces = []
    try:
        while True:
            pieces.append(next(running))
    except StopIteration as end:
        return b"".join(pieces), b"".join(errors), end.value


def test_output_errors_and_status_are_told_apart() -> None:
    assert told("echo out; echo err >&2; exit 3") == (b"out\n", b"err\n", 3)
    assert told("exit 0") == (b"", b"", 0)
    assert told("kill -9 $$")[2] == -9


def test_much_output_is_not_lost() -> None:
    printed, complained, _ = told("seq 1 200000; seq 1 100000 >&2")
    assert printed.split() == [b"%d" % number for number in range(1, 200_001)]
    assert complained.split()[-1] == b"100000"


def test_it_works_in_the_directory_of_the_handle(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    handle = os.open(tmp_path / "a", os.O_RDONLY)
    os.rename(tmp_path / "a", tmp_path / "b")
    assert told("pwd -P", handle)[0] == f"{tmp_path / 'b'}\n".encode()
    os.close(handle)


def test_input_is_empty_and_the_environment_too() -> None:
    assert told("cat; printenv HOME") == (b"", b"", 1)


@pytest.mark.parametrize(
    "script", ["sleep 100", "yes", "exec >&- 2>&-; sleep 100", "trap '' TERM INT; sleep 100"]
)
def test_when_the_time_is_up_it_is_ended(script: str) -> None:
    before, start = (open_handles(), children()), time.monotonic()
    with pytest.raises(TimeoutError):
        told(script, seconds=0.3)
    assert time.monotonic() - start < 30
    assert (open_handles(), children()) == before


def test_a_program_gets_no_more_memory_than_it_is_given() -> None:
    assert CAN_BOUND_MEMORY
    script = "sleep 0.2; dd if=/dev/zero of=/dev/null bs=64M count=1 2>&1; ulimit -d; ulimit -c"

    def run(memory: int | None) -> list[bytes]:
        command, until = ["/bin/sh", "-c", script], time.monotonic() + 60
        given = output_of(command, deadline=until, on_error=print, memory=memory)
        return b"".join(given).splitlines()

    assert b"exhausted" in run(32 << 20)[0]
    assert run(32 << 20)[-2:] == [b"32768", b"0"]  # and leaves no dump behind
    assert b"exhausted" not in b"".join(run(None))


def test_a_program_that_is_not_there_does_not_start() -> None:
    with pytest.raises(FileNotFoundError):
        next(output_of(["/no/such"], deadline=time.monotonic() + 9, on_error=print))
