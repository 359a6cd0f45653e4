"""Listing a directory on disk: every entry that can be named, quickly."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from tests.state.backends.disk.places import RESOLVERS, Place, fast_place, nested, unprivileged


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=RESOLVERS)
def backend(place: Place, request: pytest.FixtureRequest) -> Iterator[FilesystemBackend]:
    backend = FilesystemBackend(place.root, resolver=request.param)
    yield backend
    backend.close()


def names(backend: FilesystemBackend, path: str = "/") -> dict[str, bool]:
    result = backend.ls(path)
    assert result.error is None
    return {info["path"]: info["is_dir"] for info in result.entries or ()}


def test_entries_say_what_they_are(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "dir").mkdir()
    (place.root / ".hidden").touch()
    os.mkfifo(place.root / "fifo")
    assert names(backend) == {"/dir": True, "/.hidden": False, "/fifo": False}
    assert names(backend, "/dir") == {}


def test_links_are_shown_under_their_own_names(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "dir").mkdir()
    (place.root / "dir/file").touch()
    targets = {"to-dir": "dir", "to-file": "dir/file", "dangling": "x", "loop": "loop"}
    targets |= {"out": "../the-outside", "out-absolute": str(place.outside)}
    for name, target in targets.items():
        (place.root / name).symlink_to(target)
    assert names(backend) == {
        "/dir": True,
        "/to-dir": True,
        "/to-file": False,
        "/dangling": False,
        "/loop": False,
        "/out": False,
        "/out-absolute": False,
    }
    assert names(backend, "/to-dir") == {"/to-dir/file": False}


def test_ours_are_not_shown(backend: FilesystemBackend, place: Place) -> None:
    backend.write("/file", "x", once="s.g.0")
    (place.root / ".~lgfs-left").touch()
    (place.root / "dir/.langgraph-filesystem").mkdir(parents=True)
    assert names(backend) == {"/file": False, "/dir": True}
    assert names(backend, "/dir") == {"/dir/.langgraph-filesystem": True}


def test_odd_names_are_listed_and_those_that_are_no_text_are_counted(
    backend: FilesystemBackend, place: Place
) -> None:
    odd = ["new\nline", "tab\t", "\x1b[31m", "ä" * 127, "x" * 255, " ", "ab:c", "\u202e", "~"]
    for name in [*odd, "back\\slash"]:
        (place.root / name).touch()
    for number in range(2):
        os.mknod(os.fsencode(place.root) + b"/\xff%d" % number)
    result = backend.ls("/")
    assert {info["path"] for info in result.entries or ()} == {f"/{name}" for name in odd}
    assert result.note is not None
    assert result.note.startswith("3 entries are left out: a name that is not valid UTF-8")
    for name in odd:
        assert backend.read(f"/{name}").error is None
        assert backend.write(f"/{name}", "x", overwrite=True).error is None
    assert place.litter() == []


def test_a_name_that_the_path_can_not_begin_with_is_left_out(
    backend: FilesystemBackend, place: Place
) -> None:
    (place.root / "C:drive").touch()
    (place.root / "dir").mkdir()
    (place.root / "dir/C:drive").touch()
    assert names(backend) == {"/dir": True}
    assert backend.ls("/").note is not None
    assert names(backend, "/dir") == {"/dir/C:drive": False}


def test_what_can_not_be_read_is_listed_and_a_directory_that_can_not_is_an_error(
    backend: FilesystemBackend, place: Place
) -> None:
    for name in ("closed", "dir"):
        (place.root / name).mkdir()
    (place.root / "dir/file").touch(0)
    (place.root / "closed").chmod(0)
    with unprivileged(place.root, *place.root.rglob("*")):
        assert names(backend) == {"/closed": True, "/dir": True}
        assert names(backend, "/dir") == {"/dir/file": False}
        error = backend.ls("/closed").error
    assert error is not None
    assert error.startswith("/closed: permission denied")


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/file", "is a file"), ("/nothing", "no such file"), ("/../x", "`..` part")],
)
def test_what_is_no_directory_says_so(
    backend: FilesystemBackend, place: Place, path: str, reason: str
) -> None:
    (place.root / "file").touch()
    result = backend.ls(path)
    assert result.entries is None
    assert result.error is not None
    assert reason in result.error


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_large_and_deep_directories_hold_nobody_up(resolver: str) -> None:
    with fast_place() as place:
        backend = FilesystemBackend(place.root, resolver=resolver)  # type: ignore[arg-type]
        (place.root / "many").mkdir()
        for number in range(30_000):
            os.mknod(place.root / f"many/{number}")
        began = time.monotonic()
        assert len(names(backend, "/many")) == 30_000
        assert time.monotonic() - began < 3
        with nested(place.root, 2_000) as last:
            os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=last))
            began = time.monotonic()
            deep = "/d" * 2_000
            assert names(backend, deep) == {f"{deep}/file": False}
            assert "no such file" in (backend.read(f"{deep}/nothing").error or "")
            assert "is a file" in (backend.read(f"{deep}/file/x").error or "")
            assert backend.write(f"{deep[:2_000]}{'/x' * 1_000}/new", "x").error is None
            assert backend.write(f"{deep}/new", "x").error is None
            assert backend.edit(f"{deep}/new", "x", "y").error is None
            assert backend.delete(f"{deep}/new").error is None
            assert backend.move("/d", "/e").error is None
            assert backend.delete("/e").error is None
            assert time.monotonic() - began < 5
            assert os.listdir(place.root) == ["many"]
        began = time.monotonic()
        assert backend.delete("/many").error is None
        assert time.monotonic() - began < 5
        backend.close()
