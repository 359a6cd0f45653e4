"""Writers and moves that are killed, and writers that meet: nothing is lost, nothing is left."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.io import run_sync
from tests.laws.nursery import content
from tests.state.backends.disk.places import (
    RESOLVERS,
    Place,
    fast_place,
    other_device,
    store_of,
    write,
)

EDIT = """
import os, sys
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend

def edit(name):
    backend = FilesystemBackend(sys.argv[1], resolver=sys.argv[2])
    for number in range(50):
        answer = backend.edit("/file", f"{name}: {number}\\n", f"{name}: {number + 1}\\n")
        assert answer.error is None, answer.error

print("ready", flush=True)
sys.stdin.readline()
for name in sys.argv[3:]:  # a Python of its own for each of them takes seconds to start
    if os.fork() == 0:
        edit(name)
        os._exit(0)
for _ in sys.argv[3:]:
    assert os.wait()[1] == 0
"""


def kill_writers(place: Place, kills: int, size: int, longest: float) -> int:
    """Kill a writer so often at random moments; return how often it left a temporary file."""
    command = [sys.executable, "-m", "tests.laws.nursery", str(place.root), str(size)]
    backend = FilesystemBackend(place.root, max_file_size_mb=100)
    left = 0
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for _ in range(kills):
            nursery.stdin.write("\n")
            nursery.stdin.flush()
            child = int(nursery.stdout.readline())
            time.sleep(random.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            left += bool(place.litter())
            check_is_whole(place.root / "file", size)
            # It may take a moment to die: this waits for its lock.
            assert backend.write("/file", content(0, size), overwrite=True).error is None
            assert place.litter() == []
            assert (place.root / "file").read_bytes() == content(0, size).encode()
        nursery.stdin.close()
    backend.close()
    return left


def check_is_whole(path: Path, size: int) -> None:
    text = path.read_text()
    assert text == text[:10] * (size // 10)


def test_a_killed_writer_leaves_the_old_or_the_new_content(tmp_path: Path) -> None:
    place, size = Place(tmp_path), 2_000_000
    (place.root / "file").write_text(content(1, size))
    assert kill_writers(place, 20, size, 0.1) > 2


@pytest.mark.soak
def test_a_killed_writer_of_fifty_megabytes_leaves_the_old_or_the_new_content(
    tmp_path: Path,
) -> None:
    place, size = Place(tmp_path), 50_000_000
    (place.root / "file").write_text(content(1, size))
    assert kill_writers(place, 200, size, 2.0) > 20


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_every_edit_of_many_threads_and_processes_lands(resolver: Any) -> None:
    with fast_place() as place:
        found, wanted = edit_together(place, resolver)
        assert found == wanted
        assert place.litter() == []


@pytest.mark.soak
@pytest.mark.parametrize("resolver", RESOLVERS)
def test_every_edit_of_many_threads_and_processes_lands_on_a_disk(
    tmp_path: Path, resolver: Any
) -> None:
    place = Place(tmp_path)
    found, wanted = edit_together(place, resolver)
    assert found == wanted
    assert place.litter() == []


def edit_together(place: Place, resolver: Any) -> tuple[str, str]:
    """Let 8 threads and 4 processes make 50 edits each of one file.

    Returns what it holds, and what it should hold.
    """
    threads = [f"thread {number}" for number in range(8)]
    processes = [f"process {number}" for number in range(4)]
    (place.root / "file").write_text("".join(f"{name}: 0\n" for name in threads + processes))
    backend = FilesystemBackend(place.root, resolver=resolver)
    errors: list[str | None] = []

    def work(name: str) -> None:
        for number in range(50):
            old, new = f"{name}: {number}\n", f"{name}: {number + 1}\n"
            errors.append(backend.edit("/file", old, new).error)

    command = [sys.executable, "-c", EDIT, str(place.root), resolver, *processes]
    workers = [threading.Thread(target=work, args=(name,)) for name in threads]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as others:
        assert others.stdout is not None
        assert others.stdout.readline() == b"ready\n"
        for worker in workers:
            worker.start()
        others.communicate(b"\n")
        assert others.returncode == 0
        for worker in workers:
            worker.join()
    assert set(errors) == {None}
    wanted = "".join(f"{name}: 50\n" for name in threads + processes)
    backend.close()
    return (place.root / "file").read_text(), wanted


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_of_many_that_create_a_file_one_does(tmp_path: Path, resolver: Any) -> None:
    place = Place(tmp_path)
    backend = FilesystemBackend(place.root, resolver=resolver)
    for turn in range(20):
        start = threading.Barrier(6)
        made: list[str] = []

        def work(name: str, turn: int = turn, start: Any = start, made: Any = made) -> None:
            start.wait()
            if backend.write(f"/dir{turn}/deep/file", name).error is None:
                made.append(name)

        workers = [threading.Thread(target=work, args=(str(number),)) for number in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        [name] = made
        assert (place.root / f"dir{turn}/deep/file").read_text() == name
    assert place.litter() == []
    backend.close()


MOVE = """
import os, sys
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.file_store import MountContext
from langgraph_filesystem.state.io import run_sync

stores = [FilesystemBackend(path).open(MountContext()) for path in sys.argv[1:3]]
for line in sys.stdin:
    number = int(line)
    source, target = stores[number % 2], stores[1 - number % 2]
    child = os.fork()
    if child == 0:
        run_sync(target.receive(source, "/d", "/d", once=f"scope.{number}.0"))
        os._exit(0)
    print(child, flush=True)
    sys.stdin.readline()
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


def test_a_killed_move_leaves_every_file_at_one_end_or_at_both(tmp_path: Path) -> None:
    """To another device and back: killed at a random moment, then the same call again."""
    wanted = {f"sub{n % 4}/file{n}": os.urandom(30_000) for n in range(60)}
    write(tmp_path / "d", wanted)
    with other_device(tmp_path) as other:
        roots = tmp_path, other
        stores = [store_of(root) for root in roots]
        interrupted = 0
        command = [sys.executable, "-c", MOVE, *map(str, roots)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as nursery:
            assert nursery.stdin is not None
            assert nursery.stdout is not None
            for number in range(24):
                source, target = stores[number % 2], stores[1 - number % 2]
                print(number, file=nursery.stdin, flush=True)
                child = int(nursery.stdout.readline())
                time.sleep(random.uniform(0, 0.06))
                os.kill(child, signal.SIGKILL)
                print(file=nursery.stdin, flush=True)
                assert nursery.stdout.readline() == "ended\n"
                ends = [contents(root) for root in roots]
                for name, content in wanted.items():
                    assert content in [end.get(name) for end in ends]
                interrupted += any(list(root.rglob(".~lgfs-*")) for root in roots)
                key = f"scope.{number}.0"
                if run_sync(target.recall(key)) is None:
                    moved = run_sync(target.receive(source, "/d", "/d", once=key))
                    assert moved is not None
                    assert (moved.files, moved.note) == (len(wanted), None)
                assert run_sync(target.recall(key)) == Outcome(finished=True)
                assert [contents(root) for root in roots[:: 1 - number % 2 * 2]] == [{}, wanted]
                assert not any(list(root.rglob(".~lgfs-*")) for root in roots)
            nursery.stdin.close()
        assert interrupted > 3


def contents(root: Path) -> dict[str, bytes]:
    """Return the files of a moved tree, those among them that were about to be deleted."""
    found = {}
    for path in (root / "d").rglob("*"):
        name = str(path.relative_to(root / "d")).replace(".~lgfs-held/", "")
        if path.is_file() and ".~lgfs" not in name:
            found[name] = path.read_bytes()
    return found
