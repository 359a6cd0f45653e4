"""Changing files on disk: whole, only what was asked, and never elsewhere."""

import errno
import fcntl
import os
import stat
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.disk.delete import remove_tree
from langgraph_filesystem.state.backends.disk.errors import Busy
from langgraph_filesystem.state.backends.disk.replace import (
    link_new,
    locked,
    rename_new,
    replace,
    temporary_name,
)
from langgraph_filesystem.state.backends.protocol import Outcome
from tests.state.backends.disk.places import (
    NOBODY,
    Place,
    fast_place,
    largest_file,
    nested,
    open_handles,
    unprivileged,
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    (place.root / "file").write_text("one two\n")
    return place


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
        ("a" * 100, "a" * 100, "", ""),
    ],
)
def test_an_edit_leaves_every_other_byte(
    backend: FilesystemBackend, place: Place, before: str, old: str, new: str, after: str
) -> None:
    (place.root / "file").write_bytes(before.encode())
    assert backend.edit("/file", old, new).error is None
    assert text(place) == after


def test_a_write_makes_directories_and_overwrites_only_when_asked(
    backend: FilesystemBackend, place: Place
) -> None:
    assert backend.write("/a/b/new", "x\r\n").error is None
    assert text(place, "a/b/new") == "x\r\n"
    error = backend.write("/a/b/new", "y").error or ""
    assert error.startswith("/a/b/new: the file exists already")
    assert backend.write("/a/b/new", "y", overwrite=True).error is None
    assert text(place, "a/b/new") == "y"


def test_uploads_say_of_each_file_how_it_went(backend: FilesystemBackend, place: Place) -> None:
    (place.root / "dir").mkdir()
    (place.root / "out").symlink_to("../the-outside")
    paths = ["/file", "/a/new", "/dir", "/out/x", "/../x", "/file/x"]
    found = backend.upload_files([(path, b"\0\xff") for path in paths])
    errors = [None, None, "is_directory", "invalid_path", "invalid_path", "invalid_path"]
    assert [one.error for one in found] == errors
    assert (place.root / "file").read_bytes() == b"\0\xff"
    found = backend.upload_files([("/file", b"x"), ("/new/file", b"y")], overwrite=False)
    assert [one.error for one in found] == ["file_exists", None]
    assert text(place, "new/file") == "y"


class TestLinks:
    @pytest.mark.parametrize("link", ["link", "chain", "through/file"])
    def test_a_link_inside_is_written_through(
        self, backend: FilesystemBackend, place: Place, link: str
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

    def test_a_link_to_a_name_that_is_not_utf_8_is_written_through(self, place: Place) -> None:
        backend = FilesystemBackend(place.root)
        odd = os.fsdecode(b"\xff")
        (place.root / odd).write_text("one")
        (place.root / "link").symlink_to(odd)
        assert backend.edit("/link", "one", "two", once="s.g.0").error is None
        assert (place.root / odd).read_text() == "two"
        assert backend.recall("s.g.0") == Outcome(finished=True, occurrences=1)

    @pytest.mark.parametrize(
        "target", ["../the-outside/secret.txt", "../the-outside/new", "..", "nothing", "link"]
    )
    def test_a_link_that_leads_elsewhere_is_not_written_through(
        self, backend: FilesystemBackend, place: Place, target: str
    ) -> None:
        (place.root / "link").symlink_to(target)
        for path in ("/link", "/link/secret.txt", "/link/deep/new"):
            answers: list[Any] = [
                backend.write(path, "x", overwrite=True),
                backend.edit(path, "secret", "x"),
                backend.upload_files([(path, b"x")])[0],
                backend.move("/file", f"{path}/x"),
            ]
            for answer in answers:
                assert answer.error is not None
                assert str(place.root.parent) not in answer.error
        assert os.readlink(place.root / "link") == target
        assert sorted(os.listdir(place.root)) == ["file", "link"]

    def test_a_link_itself_is_deleted_and_moved(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        (place.root / "dir").mkdir()
        targets = ["file", "dir", "../the-outside", "nothing", "link4", str(place.outside)]
        for number, target in enumerate(targets):
            (place.root / f"link{number}").symlink_to(target)
            assert backend.move(f"/link{number}", "/dir/moved").error is None
            assert os.readlink(place.root / "dir/moved") == target
            assert backend.delete("/dir/moved").error is None
        assert sorted(os.listdir(place.root)) == ["dir", "file"]

    def test_a_mount_in_the_tree_is_no_way_out(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        (place.root / "mounted").mkdir()
        (place.root / "mounted/up").symlink_to("../..")
        for path in ("/mounted/up/the-outside/secret.txt", "/mounted/up"):
            assert "out of the mounted directory" in (backend.read(path).error or "")
        source = place.root.parent / "elsewhere"
        source.mkdir()
        (source / "up").symlink_to("..")
        (source / "far").symlink_to("../../the-outside/secret.txt")
        mount = ["mount", "--bind", str(source), str(place.root / "mounted")]
        if subprocess.run(mount, capture_output=True).returncode:
            return  # only root can do that
        try:
            assert backend.write("/mounted/new", "x").error is None
            assert (source / "new").read_text() == "x"
            assert backend.read("/mounted/up/file").error is None
            assert "out of the mounted" in (backend.read("/mounted/far").error or "")
            assert backend.move("/mounted/new", "/new").error is None  # copied, then deleted
            assert (text(place, "new"), (source / "new").exists()) == ("x", False)
        finally:
            subprocess.run(["umount", place.root / "mounted"], check=True)


class TestDeleteAndMove:
    def test_a_file_or_a_whole_tree(self, backend: FilesystemBackend, place: Place) -> None:
        backend.write("/a/b/c", "x")
        backend.write("/a/d", "x")
        (place.root / "a/out").symlink_to("../../the-outside")
        os.mkfifo(place.root / "a/fifo")
        moved = backend.move("/a", "/x/y")
        assert (moved.error, moved.files, moved.note) == (None, 4, None)
        assert text(place, "x/y/b/c") == "x"
        assert backend.move("/file", "/x/file").files == 1
        assert sorted(os.listdir(place.root)) == ["x"]
        assert backend.delete("/x").error is None
        assert os.listdir(place.root) == []
        assert "no such file" in (backend.delete("/x").error or "")
        assert "is the root" in (backend.delete("/").error or "")

    @pytest.mark.parametrize(
        ("source", "destination", "reason"),
        [
            ("/nothing", "/new/place", "/nothing: no such file"),
            ("/file", "/taken", "/taken: the file exists already"),
            ("/file", "/dir", "/dir: is a directory"),
            ("/dir", "/taken", "/taken: the file exists already"),
            (
                "/dir",
                "/dir/sub/new",
                "/dir: can't be moved to /dir/sub/new, which is the same path",
            ),
            (
                "/dir",
                "/alias/sub/new",
                "/dir: can't be moved to /alias/sub/new, which is the same path",
            ),
            ("/file", "/taken/new", "/taken is a file"),
            ("/file", "/", "is the root"),
            ("/", "/new", "is the root"),
            ("/file", "/.~lgfs-x", "reserved for the filesystem"),
        ],
    )
    def test_a_move_that_is_not_possible_changes_nothing(
        self, backend: FilesystemBackend, place: Place, source: str, destination: str, reason: str
    ) -> None:
        (place.root / "dir/sub").mkdir(parents=True)
        (place.root / "taken").write_text("taken")
        (place.root / "alias").symlink_to("dir")
        before = sorted(place.root.rglob("*"))
        assert reason in (backend.move(source, destination).error or "")
        assert sorted(place.root.rglob("*")) == before
        assert text(place, "taken") == "taken"

    def test_the_longest_names(self, backend: FilesystemBackend, place: Place) -> None:
        name = "/" + "x" * 255
        assert backend.write(name * 3, "x").error is None
        assert backend.edit(name * 3, "x", "y").error is None
        assert backend.move(name, "/short").error is None
        assert backend.delete("/short").error is None


class TestFailure:
    """A change that can't be made leaves everything as it was, and says why."""

    def check(self, place: Place) -> None:
        assert text(place) == "one two\n"
        assert os.listdir(place.root) == ["file"]

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

    def test_a_disk_that_is_really_full(self, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True).returncode:
            return  # only root can do that
        try:
            backend = FilesystemBackend(disk)
            assert backend.write("/file", "old").error is None
            error = backend.write("/file", "x" * 2_000_000, overwrite=True, once="s.g.0").error
            assert "no space is left" in (error or "")
            assert (disk / "file").read_text() == "old"
            backend.close()
        finally:
            subprocess.run(["umount", str(disk)], check=True)

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

    def test_a_read_only_directory(self, backend: FilesystemBackend, place: Place) -> None:
        place.root.chmod(0o555)
        with unprivileged(place.root, place.root / "file"):
            answers: list[Any] = [
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

    @pytest.mark.parametrize("mode", [0o000, 0o444])
    def test_a_read_only_file(self, backend: FilesystemBackend, place: Place, mode: int) -> None:
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

    def test_what_is_not_a_file(self, backend: FilesystemBackend, place: Place) -> None:
        (place.root / "dir").mkdir()
        os.mkfifo(place.root / "fifo")
        for path, reason in {"/dir": "is a directory", "/fifo": "FIFO", "/": "directory"}.items():
            assert reason in (backend.write(path, "x", overwrite=True).error or "")
            assert reason in (backend.edit(path, "x", "y").error or "")
        error = backend.write("/file/a/b", "x").error or ""
        assert error.startswith("/file/a/b: /file is a file, not a directory")
        assert backend.delete("/dir").error is backend.delete("/fifo").error is None
        self.check(place)

    def test_a_file_that_is_too_large(self, backend: FilesystemBackend, place: Place) -> None:
        (place.root / "large").write_text("x" * 3_000_000)
        error = backend.edit("/large", "x", "y").error or ""
        assert "3,000,000 bytes" in error
        assert "`max_file_size_mb`" in error
        backend.delete("/large")
        self.check(place)


class TestWhatAFileKeeps:
    """A file that is replaced keeps everything but its content."""

    @pytest.mark.parametrize("mode", [0o600, 0o755, 0o640, 0o4755, 0o2711])
    def test_the_mode(self, place: Place, mode: int) -> None:
        (place.root / "file").chmod(mode)
        backend = FilesystemBackend(place.root, flush=True)
        assert backend.edit("/file", "one", "three").error is None
        assert stat.S_IMODE((place.root / "file").stat().st_mode) == mode
        assert backend.write("/new", "x").error is None
        (place.root / "usual").touch()
        assert (place.root / "new").stat().st_mode == (place.root / "usual").stat().st_mode

    def test_the_owner(self, place: Place) -> None:
        if os.geteuid() == 0:
            os.chown(place.root / "file", NOBODY, NOBODY)
        before = (place.root / "file").stat()
        assert FilesystemBackend(place.root).edit("/file", "one", "three").error is None
        after = (place.root / "file").stat()
        assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)

    def test_extended_attributes(self, place: Place) -> None:
        os.setxattr(place.root / "file", "user.origin", b"\0somewhere")
        backend = FilesystemBackend(place.root)
        assert backend.edit("/file", "one", "three").error is None
        assert backend.write("/file", "x", overwrite=True).error is None
        assert os.getxattr(place.root / "file", "user.origin") == b"\0somewhere"

    def test_the_access_list_and_not_the_one_of_the_directory(self, place: Place) -> None:
        """The mode shows the mask as rights of the group: alone it would let the group in."""
        file = place.root / "file"
        os.setxattr(file, "system.posix_acl_access", access_list(group=0, named=6))
        assert stat.S_IMODE(file.stat().st_mode) == 0o660
        before = os.getxattr(file, "system.posix_acl_access")
        os.setxattr(place.root, "system.posix_acl_default", access_list(group=7, named=7))
        backend = FilesystemBackend(place.root)
        assert backend.edit("/file", "one", "three").error is None
        assert os.getxattr(file, "system.posix_acl_access") == before
        assert stat.S_IMODE(file.stat().st_mode) == 0o660
        os.removexattr(file, "system.posix_acl_access")
        file.chmod(0o600)
        assert backend.edit("/file", "three", "four").error is None
        assert "system.posix_acl_access" not in os.listxattr(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    def test_an_attribute_that_can_not_be_kept_is_an_error(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.setxattr(place.root / "file", "user.origin", b"somewhere")

        def refuse(*_: Any) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "setxattr", refuse)
        error = FilesystemBackend(place.root).edit("/file", "one", "three").error or ""
        assert error.startswith("/file: was not changed, because its extended attribute")
        assert "'user.origin' could not be kept" in error
        assert text(place) == "one two\n"
        assert place.litter() == []

    def test_another_hard_link_keeps_the_old_content(self, place: Place) -> None:
        os.link(place.root / "file", place.root / "other")
        assert FilesystemBackend(place.root).edit("/file", "one", "three").error is None
        assert text(place, "other") == "one two\n"


def access_list(*, group: int, named: int) -> bytes:
    """Return an access list: the owner may read and write, and one other user has rights."""
    none = 0xFFFFFFFF
    entries = [(1, 6, none), (2, named, 12345), (4, group, none), (16, 6, none), (32, 0, none)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.fixture
def here(place: Place) -> Iterator[int]:
    handle = os.open(place.root, os.O_RDONLY)
    before = open_handles()
    yield handle
    assert open_handles() <= before
    os.close(handle)


def append(here: int, added: str) -> None:
    def plan(old: int | None) -> bytes:
        return (b"" if old is None else os.pread(old, 1000, 0)) + added.encode()

    replace(here, "file", plan)


class TestOtherPrograms:
    """Programs that know nothing of the lock."""

    def test_a_change_meanwhile_is_not_lost(self, place: Place, here: int) -> None:
        contents: list[bytes] = []

        def plan(old: int | None) -> bytes:
            assert old is not None
            contents.append(os.pread(old, 1000, 0))
            if len(contents) == 1:
                (place.root / "file").write_text("theirs")
            return contents[-1] + b" and ours"

        replace(here, "file", plan)
        assert text(place) == "theirs and ours"
        assert contents == [b"one two\n", b"theirs"]

    def test_a_file_that_appears_meanwhile_is_not_overwritten(
        self, place: Place, here: int
    ) -> None:
        def plan(old: int | None) -> bytes:
            if old is not None:
                raise FileExistsError
            (place.root / "new").write_text("theirs")
            return b"ours"

        with pytest.raises(FileExistsError):
            replace(here, "new", plan)
        assert text(place, "new") == "theirs"

    def test_a_file_that_disappears_meanwhile_is_told_to_the_plan(
        self, place: Place, here: int
    ) -> None:
        seen: list[bool] = []

        def plan(old: int | None) -> bytes:
            seen.append(old is not None)
            (place.root / "file").unlink(missing_ok=True)
            return b"again"

        replace(here, "file", plan)
        assert seen == [True, False]
        assert text(place) == "again"

    def test_one_that_never_stops_is_an_error(self, place: Place, here: int) -> None:
        turns = iter(range(100))

        def plan(old: int | None) -> bytes:
            (place.root / "file").write_text(f"theirs {next(turns)}")
            return b"ours"

        with pytest.raises(Busy):
            replace(here, "file", plan)
        assert text(place).startswith("theirs")
        assert os.listdir(place.root) == ["file"]


class TestLock:
    """The temporary file is the lock."""

    @pytest.mark.parametrize("kind", ["killed writer", "link", "hard link", "fifo"])
    def test_what_is_in_its_place_is_removed(self, place: Place, here: int, kind: str) -> None:
        (place.root / "victim").write_text("precious")
        lock = place.root / temporary_name("file")
        if kind == "killed writer":
            lock.write_text("half of the n")
            lock.chmod(0o400)
        elif kind == "link":
            lock.symlink_to("victim")
        elif kind == "hard link":
            os.link(place.root / "victim", lock)
        else:
            os.mkfifo(lock)
        append(here, "three")
        assert text(place) == "one two\nthree"
        assert text(place, "victim") == "precious"
        assert sorted(os.listdir(place.root)) == ["file", "victim"]

    def test_one_waits_for_the_other(self, place: Place, here: int) -> None:
        order: list[str] = []

        def second() -> None:
            append(here, "second")
            order.append("second")

        with locked(here, "file"), locked(here, "other"):
            waiting = threading.Thread(target=second)
            waiting.start()
            waiting.join(0.05)
            order.append("first")
        waiting.join()
        assert order == ["first", "second"]
        assert os.listdir(place.root) == ["file"]

    def test_a_writer_who_makes_no_progress_is_given_up(self, place: Place, here: int) -> None:
        stuck = os.open(place.root / temporary_name("file"), os.O_RDWR | os.O_CREAT)
        fcntl.flock(stuck, fcntl.LOCK_EX)
        with pytest.raises(Busy):
            replace(here, "file", lambda _: b"new", patience=0.05)
        os.close(stuck)
        assert text(place) == "one two\n"


@pytest.mark.parametrize("rename", [rename_new, link_new], ids=["renameat2", "link"])
def test_a_rename_never_replaces_anything(
    place: Place, here: int, rename: Callable[[int, str, int, str], None]
) -> None:
    (place.root / "directory").mkdir()
    (place.root / "link").symlink_to("file")
    taken = sorted(os.listdir(place.root))
    for source in taken:
        for target in taken:
            if source != target:
                with pytest.raises(FileExistsError):
                    rename(here, source, here, target)
        before = os.lstat(place.root / source).st_ino
        rename(here, source, here, "new")
        assert os.lstat(place.root / "new").st_ino == before
        rename(here, "new", here, source)
    with pytest.raises(FileNotFoundError):
        rename(here, "nothing", here, "new")
    assert sorted(os.listdir(place.root)) == taken


class TestRemoveTree:
    def test_everything_below_is_deleted_and_no_link_is_followed(
        self, place: Place, here: int
    ) -> None:
        for name in ("a/b/c", "a/d"):
            (place.root / name).mkdir(parents=True)
            (place.root / name / "file").write_text("x")
        (place.root / "a/b/link").symlink_to(place.outside)
        (place.root / "a/link").symlink_to("../file")
        (place.root / os.fsdecode(b"a/\xff\n")).mkdir()
        remove_tree(here, "a")
        assert os.listdir(place.root) == ["file"]
        (place.root / "link").symlink_to(place.outside)
        with pytest.raises(NotADirectoryError):
            remove_tree(here, "link")
        assert place.is_untouched_outside()

    def test_deeper_and_wider_than_handles_and_paths(self) -> None:
        with fast_place() as place, nested(place.root, 3_000):
            (place.root / "d/wide").mkdir()
            for number in range(2_000):
                (place.root / f"d/wide/{number}").mkdir()
            here = os.open(place.root, os.O_RDONLY)
            remove_tree(here, "d")
            os.close(here)
            assert os.listdir(place.root) == []
