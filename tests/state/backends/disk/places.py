"""What tests of files on disk share: a root with something to protect beside it."""

import contextlib
import ctypes
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from langgraph_filesystem.state.backends.disk.backend import DiskStore, FilesystemBackend
from langgraph_filesystem.state.backends.file_store import MountContext

RESOLVERS = ("openat2", "walk")
NOBODY = 65534


class Place:
    """A root directory, and a directory beside it that nobody may come to."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "the-root"
        self.outside = directory / "the-outside"
        self.root.mkdir()
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text("secret")

    def litter(self) -> list[str]:
        """Return the temporary files that were left anywhere."""
        return [str(path) for path in self.root.rglob(".~lgfs-*")]

    def is_untouched_outside(self) -> bool:
        """Say whether the directory beside the root is as it was."""
        return (
            os.listdir(self.outside) == ["secret.txt"]
            and (self.outside / "secret.txt").read_text() == "secret"
        )


@contextlib.contextmanager
def fast_place() -> Iterator[Place]:
    """Yield a place in memory, if there is one: there a thousand flushed writes take no time."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    directory = tempfile.mkdtemp(prefix="lgfs-", dir=memory)
    try:
        yield Place(Path(directory))
    finally:
        shutil.rmtree(directory)


@contextlib.contextmanager
def unprivileged(*owned: Path) -> Iterator[None]:
    """Have no more rights on files than their owner: root has to give some up for that.

    It holds for this thread only, which Linux allows and the C library does not hide.
    """
    if os.geteuid() != 0:
        yield
        return
    for path in owned:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    libc = ctypes.CDLL(None)
    libc.setfsgid(NOBODY)
    libc.setfsuid(NOBODY)
    try:
        yield
    finally:
        libc.setfsuid(0)
        libc.setfsgid(0)


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file get larger: a full disk that everybody can have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def nested(directory: Path, depth: int) -> Iterator[int]:
    """Nest directories called `d`; yields a handle of the last. Neither pytest nor `shutil` could
    delete them."""
    here = os.open(directory, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    try:
        yield here
    finally:
        os.close(here)
        subprocess.run(["rm", "-rf", str(directory / "d")], check=True)


def open_handles() -> int:
    """Return how many handles this process has open."""
    return len(os.listdir("/proc/self/fd"))


def children() -> set[int]:
    """Return the ids of the processes this one has started, dead ones that nobody awaited too."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            # The name, in brackets, may hold anything.
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                found.add(int(status.parent.name))
    return found


def write(root: Path, files: Mapping[str, bytes | str]) -> None:
    """Make files below a directory, with the directories that they are in."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode() if isinstance(content, str) else content)


def store_of(root: Path, resolver: Any = None) -> DiskStore:
    """Return the store of a directory."""
    store = FilesystemBackend(root, resolver=resolver).open(MountContext())
    assert isinstance(store, DiskStore)
    return store


@contextlib.contextmanager
def other_device(directory: Path) -> Iterator[Path]:
    """Yield a directory on another device than a directory."""
    for above in ("/dev/shm", tempfile.gettempdir(), os.curdir):
        if os.access(above, os.W_OK) and os.stat(above).st_dev != directory.stat().st_dev:
            made = tempfile.mkdtemp(prefix="lgfs-", dir=above)
            try:
                yield Path(made)
            finally:
                shutil.rmtree(made)
            return
    raise AssertionError("There is only one device here, so no move between two can be tested.")
