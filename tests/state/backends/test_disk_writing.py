"""Changing files on disk: whole, only what was asked, and never elsewhere."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.protocol import Outcome
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
    (place.root / "file").write_text("one two\n")
    return place


@pytest.fixture(params=RESOLVERS)
def backend(place: Place, request: pytest.FixtureRequest) -> Iterator[FilesystemBackend]:
    backend = FilesystemBackend(place.root, resolver=request.param, max_file_size_mb=1)
    before = open_handles()
    yield backend
    assert open_handles() <= before
    assert place.litter() == []
    assert place.is_untouched_outside()
    backend.close()


def text(place: Place, name: str = "file") -> str:
    return (place.root / name).read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a\r\nb\r\nc", "b", "x", "a\r\nx\r\nc"),
        ("a\r\nb\r\nc", "a\nb", "x\ny", "x\r\ny\r\nc"),
        ("a\r\nb\nc\rd", "d", "x", "a\r\nb\nc\rx"),
        ("\ufeffa\nb", "b", "x", "\ufeffa\nx"),
        ("a\u2028b\x85c\x0b\x0cd\n", "d", "x", "a\u2028b\x85c\x0b\x0cx\n"),
        ("no newline", "no", "still no", "still no newline"),
        ("a" * 100, "a" * 100, "", ""),
    ],
)
def test_an_edit_leaves_every_other_byte(
    backend: FilesystemBackend, place: Place, before: str, old: str, new: str, after: str
) -> None:
    (place.root / "file").write_bytes(before.encode())
    (place.root / "file").chmod(0o751)
    assert backend.edit("/file", old, new).error is None
    assert text(place) == after
    assert stat.S_IMODE((place.root / "file").stat().st_mode) == 0o751


def test_a_write_makes_directories_and_does_not_overwrite_unasked(
    backend: FilesystemBackend, place: Place
) -> None:
    assert backend.write("/a/b/new", "x\r\n").error is None
    assert text(place, "a/b/new") == "x\r\n"
    error = backend.write("/a/b/new", "y").error or ""
    assert error.startswith("/a/b/new: the file exists already")
    assert backend.write("/a/b/new", "y", overwrite=True).error is None
    assert text(place, "a/b/new") == "y"


@pytest.mark.parametrize("link", ["link", "chain", "through/file"])
def test_a_link_inside_is_written_through(
    backend: FilesystemBackend, place: Place, link: str
) -> None:
    (place.root / "link").symlink_to("file")
    (place.root / "sub").mkdir()
    (place.root / "sub/up").symlink_to("../link")
    (place.root / "chain").symlink_to("sub/up")
    (place.root / "through").symlink_to(".")
    assert backend.edit(f"/{link}", "one", "three").error is None
    assert text(place) == "three two\n"
    assert "exists already" in (backend.write(f"/{link}", "x").error or "")
    assert backend.write(f"/{link}", "x", overwrite=True).error is None
    assert text(place) == "x"
    assert (place.root / "link").is_symlink()


def test_a_link_to_a_name_that_is_no_text_is_written_through(
    backend: FilesystemBackend, place: Place
) -> None:
    odd = os.fsdecode(b"\xff")
    (place.root / odd).write_text("one")
    (place.root / "link").symlink_to(odd)
    assert backend.edit("/link", "one", "two", once="s.g.0").error is None
    assert (place.root / odd).read_text() == "two"
    assert backend.recall("s.g.0") == Outcome(finished=True, occurrences=1)


@pytest.mark.parametrize(
    "target", ["../the-outside/secret.txt", "../the-outside/new", "..", "nothing", "link", "/etc"]
)
def test_no_link_that_leads_elsewhere_is_written_through(
    backend: FilesystemBackend, place: Place, target: str
) -> None:
    (place.root / "link").symlink_to(target)
    for path in ("/link", "/link/secret.txt", "/link/deep/new"):
        for answer in (
            backend.write(path, "x"),
            backend.write(path, "x", overwrite=True),
            backend.edit(path, "secret", "x"),
            backend.upload_files([(path, b"x")])[0],
            backend.move("/file", f"{path}/x"),
        ):
            assert answer.error is not None
            assert str(place.root.parent) not in answer.error
    assert os.readlink(place.root / "link") == target
    assert sorted(os.listdir(place.root)) == ["file", "link"]


def test_deleting_a_link_deletes_the_link(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "dir").mkdir()
    targets = ["file", "dir", "../the-outside", "../the-outside/secret.txt", "nothing", "link4"]
    for number, target in enumerate([*targets, str(place.outside)]):
        (place.root / f"link{number}").symlink_to(target)
        assert backend.delete(f"/link{number}").error is None
    assert sorted(os.listdir(place.root)) == ["dir", "file"]


def test_moving_a_link_moves_the_link(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "link").symlink_to("../the-outside")
    assert backend.move("/link", "/dir/link").error is None
    assert os.readlink(place.root / "dir/link") == "../the-outside"


def test_deleting_takes_a_file_or_a_whole_tree(backend: FilesystemBackend, place: Place) -> None:
    backend.write("/a/b/c", "x")
    backend.write("/a/d", "x")
    (place.root / "a/out").symlink_to("../../the-outside")
    os.mkfifo(place.root / "a/fifo")
    assert backend.delete("/a").error is None
    assert backend.delete("/file").error is None
    assert os.listdir(place.root) == []
    assert "no such file" in (backend.delete("/file").error or "")
    assert "is the root" in (backend.delete("/").error or "")


def test_moving_takes_a_file_or_a_whole_tree(backend: FilesystemBackend, place: Place) -> None:
    backend.write("/a/b/c", "x")
    assert backend.move("/a", "/x/y").error is None
    assert text(place, "x/y/b/c") == "x"
    assert backend.move("/file", "/x/file").error is None
    assert sorted(os.listdir(place.root)) == ["x"]


@pytest.mark.parametrize(
    ("source", "destination", "reason"),
    [
        ("/nothing", "/new/place", "/nothing: no such file"),
        ("/file", "/taken", "/taken: the file exists already"),
        ("/file", "/dir", "/dir: is a directory"),
        ("/dir", "/taken", "/taken: the file exists already"),
        ("/dir", "/dir/sub/new", "/dir: can't be moved to /dir/sub/new, which is itself"),
        ("/dir", "/alias/sub/new", "which is itself"),
        ("/file", "/taken/new", "/taken is a file"),
        ("/file", "/", "is the root"),
        ("/", "/new", "is the root"),
        ("/file", "/.~lgfs-x", "kept for the filesystem"),
    ],
)
def test_a_move_that_can_not_be_made_changes_nothing(
    backend: FilesystemBackend, place: Place, source: str, destination: str, reason: str
) -> None:
    (place.root / "dir/sub").mkdir(parents=True)
    (place.root / "taken").write_text("taken")
    (place.root / "alias").symlink_to("dir")
    before = sorted(place.root.rglob("*"))
    assert reason in (backend.move(source, destination).error or "")
    assert sorted(place.root.rglob("*")) == before
    assert text(place, "taken") == "taken"


def test_an_upload_replaces_and_says_of_each_file_how_it_went(
    backend: FilesystemBackend, place: Place
) -> None:
    (place.root / "dir").mkdir()
    (place.root / "out").symlink_to("../the-outside")
    found = backend.upload_files(
        [
            ("/file", b"\0\xff"),
            ("/a/new", b""),
            ("/dir", b"x"),
            ("/out/x", b"x"),
            ("/../x", b"x"),
            ("/file/x", b"x"),
        ]
    )
    errors = [None, None, "is_directory", "invalid_path", "invalid_path", "invalid_path"]
    assert [one.error for one in found] == errors
    assert (place.root / "file").read_bytes() == b"\0\xff"
    assert (place.root / "a/new").read_bytes() == b""


class TestFailure:
    """A change that can't be made leaves everything as it was, and says why."""

    def test_a_full_disk(self, backend: FilesystemBackend, place: Place) -> None:
        with largest_file(10_000):
            answers: list[Any] = [
                backend.write("/new/dir/file", "x" * 20_000),
                backend.write("/file", "x" * 20_000, overwrite=True),
                backend.edit("/file", "one", "x" * 20_000),
            ]
        for answer in answers:
            assert "The file is as it was" in (answer.error or "")
        self.check(place)

    def test_a_lone_surrogate(self, backend: FilesystemBackend, place: Place) -> None:
        answers: list[Any] = [
            backend.write("/new/dir/file", "\ud800"),
            backend.write("/file", "\ud800", overwrite=True),
            backend.edit("/file", "one", "\udfff"),
        ]
        for answer in answers:
            assert "lone surrogate" in (answer.error or "")
        assert backend.edit("/file", "\ud800", "x").error is not None
        self.check(place)

    def test_a_directory_that_can_only_be_read(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        place.root.chmod(0o555)
        with unprivileged(place.root, place.root / "file"):
            answers: list[Any] = [
                backend.write("/new", "x"),
                backend.write("/new/dir/file", "x"),
                backend.write("/file", "x", overwrite=True),
                backend.edit("/file", "one", "x"),
                backend.delete("/file"),
                backend.move("/file", "/other"),
            ]
            missing = backend.edit("/nothing", "a", "b").error or ""
            code = backend.upload_files([("/file", b"x")])[0].error
        place.root.chmod(0o755)
        for answer in answers:
            assert "permission denied" in (answer.error or "")
        assert missing.startswith("/nothing: no such file")
        assert code == "permission_denied"
        self.check(place)

    def test_a_file_that_can_not_be_read_or_written(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        for mode in (0o000, 0o444):
            (place.root / "file").chmod(mode)
            with unprivileged(place.root, place.root / "file"):
                answers: list[Any] = [
                    backend.edit("/file", "one", "x"),
                    backend.write("/file", "x", overwrite=True),
                ]
            for answer in answers:
                assert (answer.error or "").startswith("/file: permission denied")
        (place.root / "file").chmod(0o644)
        self.check(place)

    def test_what_is_no_file(self, backend: FilesystemBackend, place: Place) -> None:
        (place.root / "dir").mkdir()
        os.mkfifo(place.root / "fifo")
        for path, reason in {"/dir": "is a directory", "/fifo": "FIFO", "/": "directory"}.items():
            assert reason in (backend.write(path, "x", overwrite=True).error or "")
            assert reason in (backend.edit(path, "x", "y").error or "")
        assert backend.delete("/dir").error is backend.delete("/fifo").error is None
        self.check(place)

    def test_a_file_in_the_way(self, backend: FilesystemBackend, place: Place) -> None:
        error = backend.write("/file/a/b", "x").error or ""
        assert error.startswith("/file/a/b: /file is a file, not a directory")
        self.check(place)

    def test_a_file_that_is_too_large(self, backend: FilesystemBackend, place: Place) -> None:
        (place.root / "large").write_text("x" * 2_000_000)
        error = backend.edit("/large", "x", "y").error or ""
        assert "2,000,000 bytes" in error
        assert "`max_file_size_mb`" in error
        backend.delete("/large")
        self.check(place)

    def test_text_that_is_not_there(self, backend: FilesystemBackend, place: Place) -> None:
        for old in ("three", "o", ""):
            assert backend.edit("/file", old, "x").error is not None
        self.check(place)

    def check(self, place: Place) -> None:
        assert text(place) == "one two\n"
        assert os.listdir(place.root) == ["file"]


def test_a_flushed_write_is_whole_all_the_same(place: Place) -> None:
    backend = FilesystemBackend(place.root, flush=True)
    assert backend.edit("/file", "one", "three").error is None
    assert backend.write("/new", "x").error is None
    assert (text(place), text(place, "new")) == ("three two\n", "x")
    assert place.litter() == []
    backend.close()


def test_the_longest_names_can_be_written(backend: FilesystemBackend, place: Place) -> None:
    name = "/" + "x" * 255
    assert backend.write(name * 3, "x").error is None
    assert backend.edit(name * 3, "x", "y").error is None
    assert "longer than 255 bytes" in (backend.write("/" + "x" * 256, "x").error or "")
    assert backend.move(name, "/short").error is None
    assert backend.delete("/short").error is None


def test_a_mount_in_the_tree_is_a_part_of_it_and_no_way_out(
    place: Place, backend: FilesystemBackend
) -> None:
    """Only root can mount; the rest holds for everybody: `..` and links stop at the top."""
    (place.root / "mounted").mkdir()
    (place.root / "mounted/up").symlink_to("../..")
    for path in ("/mounted/up/the-outside/secret.txt", "/mounted/up"):
        assert "out of the directory" in (backend.read(path).error or "")
    if os.geteuid() == 0:
        from subprocess import run

        source = place.root.parent / "elsewhere"
        source.mkdir()
        (source / "up").symlink_to("..")
        (source / "far").symlink_to("../../the-outside/secret.txt")
        if run(["mount", "--bind", source, place.root / "mounted"], capture_output=True).returncode:
            return
        try:
            assert backend.write("/mounted/new", "x").error is None
            assert (source / "new").read_text() == "x"
            assert backend.read("/mounted/up/file").error is None
            assert "out of the directory" in (backend.read("/mounted/far").error or "")
            assert "another disk" in (backend.move("/mounted/new", "/new").error or "")
        finally:
            run(["umount", place.root / "mounted"], check=True)


def test_an_upload_may_be_only_for_where_nothing_is(
    backend: FilesystemBackend, place: Place
) -> None:
    found = backend.upload_files([("/file", b"x"), ("/new/file", b"y")], overwrite=False)
    assert [one.error for one in found] == ["file_exists", None]
    assert (text(place), text(place, "new/file")) == ("one two\n", "y")
