"""`FilesystemBackend`: what holds for all of its operations together."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from tests.state.backends.disk.places import (
    RESOLVERS,
    Place,
    largest_file,
    open_handles,
    unprivileged,
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    (place.root / "dir/sub").mkdir(parents=True)
    (place.root / "file").write_text("one\n")
    (place.root / "dir/file").write_text("one\n")
    (place.root / "binary").write_bytes(b"\0")
    (place.root / "latin").write_bytes(b"\xff")
    (place.root / "large").write_text("x\n" * 1_000_000)
    (place.root / "huge-binary").write_bytes(b"\0" * 2_000_000)
    (place.root / "closed").mkdir()
    (place.root / "closed/file").write_text("x")
    (place.root / "secret").write_text("x")
    os.mkfifo(place.root / "fifo")
    (place.root / "dangling").symlink_to("nothing")
    (place.root / "loop").symlink_to("loop")
    (place.root / "out").symlink_to(place.outside)
    (place.root / "out-relative").symlink_to("../the-outside")
    (place.root / "out-file").symlink_to("../the-outside/secret.txt")
    (place.root / "closed").chmod(0)
    (place.root / "secret").chmod(0)
    return place


@pytest.fixture(params=RESOLVERS)
def backend(place: Place, request: pytest.FixtureRequest) -> Iterator[FilesystemBackend]:
    backend = FilesystemBackend(place.root, resolver=request.param, max_file_size_mb=1)
    before = open_handles()
    yield backend
    assert open_handles() <= before
    backend.close()


def answers(backend: FilesystemBackend, path: str) -> Iterator[Any]:
    """Do with a path all that can be done, what deletes it last."""
    yield backend.ls(path)
    yield backend.read(path)
    yield backend.read(path, 10**9, column=3)
    yield backend.grep("x", path)
    yield backend.grep("[", path, regex=True)
    yield backend.glob("*", path)
    yield backend.glob("../*", path)
    yield from backend.download_files([path])
    yield backend.edit(path, "missing", "x")
    yield backend.edit(path, "", "x")
    yield backend.write(path, "\ud800")
    yield backend.write(path, "x")
    yield from backend.upload_files([(f"{path}/x/y", b"x")])
    yield backend.move(path, "/file")
    yield backend.move(path, f"{path}/x")
    yield backend.move("/nothing", path)
    yield backend.delete(f"{path}/nothing")


PATHS = (
    *("/", "/dir", "/file", "/file/x", "/binary", "/latin", "/large", "/huge-binary", "/fifo"),
    *("/closed", "/closed/file", "/secret", "/nothing/x", "/dangling", "/dangling/x", "/loop"),
    *("/loop/x", "/out", "/out/secret.txt", "/out-relative/secret.txt", "/out-file", "/../x"),
    *("", "~", "~/x", "C:\\x", "\0", "/\ud800", "/" + "x" * 300, "/x" * 3_000, "/.~lgfs-x"),
    *("/.langgraph-filesystem", "/.langgraph-filesystem/x/y", "/new\nline"),
)


def test_no_answer_shows_where_the_root_is(backend: FilesystemBackend, place: Place) -> None:
    errors = 0
    with unprivileged(place.root, *place.root.rglob("*")):
        for path in PATHS:
            for answer in answers(backend, path):
                told = repr(answer)
                assert str(place.root.parent) not in told
                assert "the-outside" not in told
                errors += getattr(answer, "error", None) is not None
    assert errors > 250
    assert place.is_untouched_outside()


def test_nothing_is_left_behind_by_all_that(backend: FilesystemBackend, place: Place) -> None:
    before = {path: path.lstat().st_ino for path in place.root.rglob("*")}
    with unprivileged(place.root, *place.root.rglob("*")):
        for path in PATHS:
            for _ in answers(backend, path):
                pass
    after = {path: path.lstat().st_ino for path in place.root.rglob("*")}
    made = {str(path.relative_to(place.root)) for path in after.keys() - before.keys()}
    # What was asked for: `/nothing` was made, and deleted as `` + `/nothing`.
    assert made == {"new\nline", "dir/x", "dir/x/y", "x", "x/y"}


OPERATIONS: dict[str, Callable[[FilesystemBackend, str], Any]] = {
    "ls": lambda backend, path: backend.ls(path),
    "read": lambda backend, path: backend.read(path),
    "write": lambda backend, path: backend.write(path, "x", overwrite=True),
    "edit": lambda backend, path: backend.edit(path, "a", "b"),
    "upload": lambda backend, path: backend.upload_files([(path, b"x")])[0],
    "download": lambda backend, path: backend.download_files([path])[0],
    "glob": lambda backend, path: backend.glob("**", path),
    "grep": lambda backend, path: backend.grep("x", path),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_fifo_a_socket_and_a_loop_hold_nothing_up(
    backend: FilesystemBackend, place: Place, operation: str
) -> None:
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as server:
        try:
            os.chdir(place.root)
            server.bind("socket")
        finally:
            os.chdir(here)
        for path in ("/fifo", "/socket", "/loop", "/loop/x"):
            answer = OPERATIONS[operation](backend, path)
            assert answer.error is not None
    assert backend.glob("**").error is backend.grep("x").error is backend.ls("/").error is None


def test_the_old_content_is_there_after_every_kind_of_failure(
    backend: FilesystemBackend, place: Place
) -> None:
    for once in (None, "s.g.0"):
        with largest_file(2):
            assert backend.edit("/dir/file", "one", "three", once=once).error is not None
            assert backend.write("/dir/file", "three", overwrite=True, once=once).error is not None
            assert backend.write("/a/b/c", "three", once=once).error is not None
        assert (place.root / "dir/file").read_text() == "one\n"
        assert not (place.root / "a").exists()
        assert place.litter() == []


def test_without_virtual_mode_paths_are_the_hosts(place: Place) -> None:
    backend = FilesystemBackend(place.root, virtual_mode=False)
    secret = str(place.outside / "secret.txt")
    file = backend.read(secret).file_data
    assert file is not None
    assert file["content"] == "secret"
    assert backend.write("dir/new", "x").error is None
    assert (place.root / "dir/new").read_text() == "x"
    assert backend.edit(str(place.root / "dir/new"), "x", "y", once="s.g.0").error is None
    assert backend.recall("s.g.0") is not None
    assert (place.root / ".langgraph-filesystem").is_dir()
    entries = {info["path"] for info in backend.ls("dir").entries or ()}
    assert entries == {f"{place.root}/dir/{name}" for name in ("file", "new", "sub")}
    assert f"{place.root}/.langgraph-filesystem" not in {
        info["path"] for info in backend.ls(str(place.root)).entries or ()
    }
    assert backend.move("dir/new", str(place.outside / "moved")).error is None
    assert backend.delete(str(place.outside / "moved")).error is None
    assert "is the root" in (backend.delete(str(place.root)).error or "")
    found = backend.glob("file", "dir").matches or ()
    assert [info["path"] for info in found] == [f"{place.root}/dir/file"]
    assert backend.grep("one", "dir").counts == {f"{place.root}/dir/file": 1}
    assert place.is_untouched_outside()
    backend.close()


@pytest.mark.parametrize("root", ["nothing", "file"])
def test_a_root_that_is_no_directory_is_refused(place: Place, root: str) -> None:
    with pytest.raises(ValueError, match="is no directory to work in"):
        FilesystemBackend(place.root / root)


def test_a_root_that_is_moved_stays_the_root(backend: FilesystemBackend, place: Place) -> None:
    place.root.rename(place.root.parent / "moved")
    assert backend.write("/dir/new", "x").error is None
    assert (place.root.parent / "moved/dir/new").read_text() == "x"
    (place.root.parent / "moved").rename(place.root)
