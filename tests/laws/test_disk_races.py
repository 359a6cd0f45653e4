"""Directories are swapped for links to the outside or moved: nothing ever happens there."""

import contextlib
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import DiskStore, FilesystemBackend
from langgraph_filesystem.state.backends.disk.delete import remove_tree
from langgraph_filesystem.state.backends.disk.jail import Jail
from tests.state.backends.disk.places import RESOLVERS, Place, fast_place, open_handles

SWAP = """
import ctypes, os, sys
os.chdir(sys.argv[1])
exchange = ctypes.CDLL(None).renameat2
print("swapping", flush=True)
while os.getppid() == int(sys.argv[2]):
    for _ in range(1_000):
        exchange(-100, b"door", -100, b"trap", 2)
        exchange(-100, b"inner/door", -100, b"inner/trap", 2)
"""

Try = Callable[[FilesystemBackend, str], Any]

TRIES: dict[str, Try] = {
    "read": lambda b, door: b.read(f"{door}/file"),
    "read deep": lambda b, door: b.read(f"{door}/sub/file"),
    "ls": lambda b, door: b.ls(door),
    "ls deep": lambda b, door: b.ls(f"{door}/sub"),
    "write": lambda b, door: b.write(f"{door}/file", "changed", overwrite=True),
    "create": lambda b, door: b.write(f"{door}/new/deep/file", "changed"),
    "edit": lambda b, door: b.edit(f"{door}/sub/file", "e", "changed", replace_all=True),
    "upload": lambda b, door: b.upload_files([(f"{door}/sub/file", b"changed")])[0],
    "download": lambda b, door: b.download_files([f"{door}/sub/file"])[0],
    "digest": lambda b, door: b.digest(f"{door}/file"),
    "move in": lambda b, door: b.move("/bait", f"{door}/bait"),
    "move out": lambda b, door: b.move(f"{door}/sub", "/sub"),
    "move back": lambda b, door: b.move("/sub", f"{door}/sub"),
    "move bait": lambda b, door: b.move(f"{door}/bait", "/bait"),
    "delete file": lambda b, door: b.delete(f"{door}/file"),
    "delete tree": lambda b, door: b.delete(f"{door}/new"),
    "delete sub": lambda b, door: b.delete(f"{door}/sub"),
    "once": lambda b, door: b.write(f"{door}/file", "changed", overwrite=True, once="s.g.0"),
    "recall": lambda b, door: b.recall("s.g.0"),
}
SLOW: dict[str, Try] = {
    "glob": lambda b, door: b.glob("**/*", door),
    "grep": lambda b, door: b.grep("e", door),
    "grep one": lambda b, door: b.grep("e", f"{door}/sub/file"),
}


def build(place: Place) -> None:
    for directory in (place.root / "door", place.root / "inner/door", place.outside):
        (directory / "sub").mkdir(parents=True)
        content = "secret" if directory == place.outside else "here"
        (directory / "file").write_text(content)
        (directory / "sub/file").write_text(content)
    (place.outside / "only-outside").write_text("secret")
    (place.outside / "new/deep").mkdir(parents=True)
    (place.outside / "new/deep/kept").write_text("secret")
    (place.outside / "bait").write_text("secret")
    (place.root / "bait").write_text("here")
    (place.root / "trap").symlink_to("../the-outside")
    (place.root / "inner/trap").symlink_to("../../the-outside")


def snapshot(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(directory)): (
            path.lstat().st_ino,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in directory.rglob("*")
    }


@contextlib.contextmanager
def swapping(place: Place) -> Iterator[None]:
    command = [sys.executable, "-I", "-S", "-c", SWAP, str(place.root), str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as swapper:
        try:
            assert swapper.stdout is not None
            assert swapper.stdout.readline() == "swapping\n"
            yield
            assert swapper.poll() is None
        finally:
            swapper.kill()


def race(backend: FilesystemBackend, place: Place, rounds: int) -> dict[str, int]:
    """Try everything so often, and return how often each was carried out."""
    before = snapshot(place.outside)
    carried_out = dict.fromkeys([*TRIES, *SLOW], 0)
    with swapping(place):
        for number in range(rounds):
            tries = TRIES | SLOW if number % 200 == 0 else TRIES
            door = "/inner/door" if number % 2 else "/door"
            for name, attempt in tries.items():
                answer = attempt(backend, door)
                told = repr(answer)
                assert "secret" not in told
                assert "only-outside" not in told
                carried_out[name] += getattr(answer, "error", None) is None
            backend.write(f"{door}/sub/file", "here")  # what was deleted, if the door is open
            if number % 500 == 0:
                assert snapshot(place.outside) == before
    assert snapshot(place.outside) == before
    return carried_out


def run(resolver: Any, tries: int) -> dict[str, int]:
    """Race, and return what was carried out how often; what escapes is an assertion."""
    with fast_place() as place:
        build(place)
        backend = FilesystemBackend(place.root, resolver=resolver)
        handles = open_handles()
        carried_out = race(backend, place, tries // len(TRIES))
        assert open_handles() <= handles
        backend.close()
        return carried_out


def seldom(carried_out: dict[str, int]) -> set[str]:
    """Return what was tried and hardly ever carried out: the door was not open for it."""
    return {name for name in TRIES if carried_out[name] < 5}


class CheckingJail(Jail):
    """Checks a path first and opens it later, as one should not."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._path = root
        self._open = self._check_then_open

    def _check_then_open(self, root: int, path: str, flags: int, mode: int) -> int:
        if not (self._path / path).resolve().is_relative_to(self._path):
            raise OSError(errno.EXDEV, "outside")
        return os.open(path, flags, mode, dir_fd=root)


def test_the_race_would_show_a_path_that_is_checked_first_and_opened_later() -> None:
    with fast_place() as place:
        build(place)
        store = DiskStore(CheckingJail(place.root), 10 << 20)
        backend = FilesystemBackend(place.root).bound_to(store)
        with pytest.raises(AssertionError):
            race(backend, place, 2_000)
        backend.close()


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_nothing_escapes(resolver: str) -> None:
    assert seldom(run(resolver, 12_000)) == set()


@pytest.mark.soak
@pytest.mark.parametrize("resolver", RESOLVERS)
def test_nothing_escapes_in_a_million_tries(resolver: str) -> None:
    assert seldom(run(resolver, 1_000_000)) == set()


def test_deleting_does_not_go_up_from_a_directory_that_was_moved_away() -> None:
    """The directory that is being emptied is moved beside `b`: its `..` then leads there."""
    with fast_place() as place:
        busy, b = place.root / "a/busy", place.outside / "b"
        busy.mkdir(parents=True)
        b.mkdir()
        for number in range(5_000):
            os.mknod(busy / str(number))
        parent = os.open(place.root, os.O_RDONLY)
        failures: list[int | None] = []

        def work() -> None:
            try:
                remove_tree(parent, "a")
            except OSError as error:
                failures.append(error.errno)

        worker = threading.Thread(target=work)
        worker.start()
        while len(os.listdir(busy)) == 5_000:
            time.sleep(0.0001)
        os.rename(busy, place.outside / "busy")
        worker.join()
        os.close(parent)
        assert failures == [errno.ESTALE]
        assert sorted(os.listdir(place.outside)) == ["b", "busy", "secret.txt"]
