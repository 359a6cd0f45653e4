"""Moves from one directory on disk to another, by a rename or by a copy; and copies elsewhere."""

import contextlib
import errno
import os
import resource
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import DiskStore, FilesystemBackend
from langgraph_filesystem.state.backends.disk.replace import temporary_name
from langgraph_filesystem.state.backends.protocol import MoveResult, Outcome
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import digest_of
from langgraph_filesystem.state.io import run_sync
from tests.state.backends.disk.places import (
    NOBODY,
    RESOLVERS,
    largest_file,
    open_handles,
    other_device,
    store_of,
    unprivileged,
)

KEY = "scope.group.1"
DONE = Outcome(finished=True)


class Two:
    """Two roots, and the stores of both."""

    def __init__(self, one: Path, other: Path, resolver: Any = None) -> None:
        self.one, self.other = one, other
        self.source = store_of(one, resolver)
        self.target = store_of(other, resolver)

    def move(self, source: str, destination: str, once: str | None = None) -> MoveResult:
        name = {"name_source": lambda path: "/one" + path}
        moved = run_sync(self.target.receive(self.source, source, destination, once=once, **name))
        assert moved is not None
        return moved

    def error(self, source: str, destination: str, once: str | None = None) -> str:
        with pytest.raises(FilesystemError) as raised:
            self.move(source, destination, once)
        return str(raised.value.renamed(lambda path: "/other" + path))


def names(root: Path) -> list[str]:
    found = (str(path.relative_to(root)) for path in root.rglob("*"))
    return sorted(name for name in found if not name.startswith(".langgraph"))


@pytest.fixture(params=["renamed", "copied"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Two]:
    """Two roots on one device, or on two."""
    one = tmp_path / "one"
    one.mkdir()
    with contextlib.ExitStack() as stack:
        other = tmp_path / "other"
        if request.param == "copied":
            other = stack.enter_context(other_device(tmp_path))
        else:
            other.mkdir()
        two = Two(one, other, RESOLVERS[request.param == "copied"])
        before = open_handles()
        yield two
        assert open_handles() <= before
        assert [*one.rglob(".~lgfs-*"), *other.rglob(".~lgfs-*")] == []


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Two]:
    """Two roots on two devices."""
    (tmp_path / "one").mkdir()
    with other_device(tmp_path) as other:
        yield Two(tmp_path / "one", other)


class TestMove:
    """Whichever way it takes, the result is the same."""

    def test_a_tree_arrives_as_it_was(self, two: Two) -> None:
        top = two.one / "d"
        (top / "sub" / "empty").mkdir(parents=True)
        (top / "sub" / "run.sh").write_bytes(b"#!/bin/sh\r\n\xff\x00")
        (top / "sub" / "run.sh").chmod(0o750)
        (top / "closed").mkdir(0o700)
        (top / "closed" / "f").write_text("text")
        (top / "closed").chmod(0o500)
        (top / "again").symlink_to("sub/run.sh")
        (top / "sub" / "up").symlink_to("../closed")
        (top / "gone").symlink_to("nothing")
        (top / "sub" / "hard").hardlink_to(top / "closed" / "f")
        Path(os.fsdecode(bytes(top) + b"/\xff")).write_text("not UTF-8")
        os.setxattr(top / "closed" / "f", "user.origin", b"somewhere")
        os.utime(top / "sub" / "run.sh", ns=(1, 1_234_567_891))
        os.utime(top / "sub", ns=(1, 2_000_000_002))
        before = names(top)
        result = two.move("/d", "/deep/e")
        assert (result.path, result.files, result.note) == ("/deep/e", 7, None)
        arrived = two.other / "deep" / "e"
        assert names(arrived) == before
        assert (arrived / "sub" / "run.sh").read_bytes() == b"#!/bin/sh\r\n\xff\x00"
        status = (arrived / "sub" / "run.sh").stat()
        assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o750, 1_234_567_891)
        assert (arrived / "sub").stat().st_mtime_ns == 2_000_000_002
        assert stat.S_IMODE((arrived / "closed").stat().st_mode) == 0o500
        assert os.getxattr(arrived / "closed" / "f", "user.origin") == b"somewhere"
        assert os.readlink(arrived / "sub" / "up") == "../closed"
        assert os.readlink(arrived / "gone") == "nothing"
        assert names(two.one) == []

    def test_a_file_and_an_empty_directory_arrive(self, two: Two) -> None:
        (two.one / "f").write_text("text")
        (two.one / "e").mkdir()
        assert two.move("/f", "/f").files == 1
        assert two.move("/e", "/e").files == 0
        assert (two.other / "f").read_text() == "text"
        assert (two.other / "e").is_dir()
        assert names(two.one) == []

    def test_a_link_becomes_the_file_that_it_leads_to(self, two: Two) -> None:
        (two.one / "shared").write_text("shared")
        (two.one / "link").symlink_to("shared")
        note = two.move("/link", "/link").note
        assert note == "The symbolic link is replaced by a copy of its target."
        assert (two.other / "link").read_text() == "shared"
        assert not (two.other / "link").is_symlink()
        assert names(two.one) == ["shared"]

    def test_links_in_a_tree_that_lead_out_of_it_are_told(self, two: Two) -> None:
        (two.one / "d").mkdir()
        targets = {"out": "../shared", "self": "../d/out", "absolute": "/etc/passwd", "in": "out"}
        for name, target in targets.items():
            (two.one / "d" / name).symlink_to(target)
        note = two.move("/d", "/d").note or ""
        assert note.startswith("3 symbolic links in it may lead elsewhere now")
        assert {name: os.readlink(two.other / "d" / name) for name in targets} == targets
        assert names(two.one) == []

    @pytest.mark.parametrize("name", ["taken", "empty", "fifo", "dangling"])
    def test_what_is_at_the_destination_stays(self, two: Two, name: str) -> None:
        (two.one / "f").write_text("text")
        (two.other / "taken").write_text("other")
        (two.other / "empty").mkdir()
        os.mkfifo(two.other / "fifo")
        (two.other / "dangling").symlink_to("nothing")
        assert two.error("/f", f"/{name}").startswith(f"/other/{name}: ")
        assert (two.one / "f").read_text() == "text"
        assert names(two.other) == ["dangling", "empty", "fifo", "taken"]

    def test_errors_name_the_root_that_they_are_about(self, two: Two) -> None:
        (two.one / "f").write_text("text")
        (two.other / "f").write_text("other")
        assert two.error("/no", "/x/y").startswith("/one/no: no such file")
        assert two.error("/", "/x").startswith("/one/: is the root")
        assert two.error("/f", "/").startswith("/other/: is the root")
        assert two.error("/f", "/f/x").startswith("/other/f/x: /other/f is a file")
        assert names(two.other) == ["f"]

    def test_missing_rights_are_told_and_nothing_changes(self, two: Two) -> None:
        (two.one / "d").mkdir()
        (two.one / "d" / "f").write_text("text")
        owned = [two.one, *two.one.rglob("*"), two.other]
        two.other.chmod(0o500)
        with unprivileged(*owned):
            assert two.error("/d", "/d").startswith("/other/d: permission denied")
        two.other.chmod(0o700)
        (two.one / "d").chmod(0o500)
        is_root = os.geteuid() == 0
        with unprivileged(*owned):
            if is_root:
                os.seteuid(NOBODY)
            try:
                error = two.error("/d/f", "/f")
            finally:
                if is_root:
                    os.seteuid(0)
        assert error.startswith("/one/d/f: permission denied")
        assert (names(two.one), names(two.other)) == (["d", "d/f"], [])

    def test_a_move_is_known_by_its_key(self, two: Two) -> None:
        (two.one / "d").mkdir()
        (two.one / "d" / "f").write_text("text")
        assert run_sync(two.target.recall(KEY)) is None
        two.move("/d", "/e", KEY)
        assert run_sync(two.target.recall(KEY)) == DONE
        (two.one / "d").mkdir()  # a later call may have made it again
        (two.one / "d" / "f").write_text("text")
        assert two.move("/d", "/e", KEY).files == 1  # as if the answer had been lost
        assert names(two.one) == ["d", "d/f"]
        (two.other / "e").rename(two.other / "away")
        assert run_sync(two.target.recall(KEY)) is None
        (two.other / "e").write_text("of others")
        assert run_sync(two.target.recall(KEY)) == Outcome(finished=False)


def test_a_directory_is_not_moved_into_itself_through_another_root(tmp_path: Path) -> None:
    (tmp_path / "d" / "inner").mkdir(parents=True)
    (tmp_path / "d" / "f").write_text("text")
    for below in ("d", "d/inner"):
        two = Two(tmp_path, tmp_path / below)
        error = two.error("/d", "/new/e")
        assert error.startswith(
            "/one/d: can't be moved to /other/new/e, which is the same path or inside"
        )
    assert names(tmp_path) == ["d", "d/f", "d/inner"]


class TestCopy:
    """What only a move between two devices has to care for."""

    @pytest.mark.parametrize("kind", ["fifo", "socket", "dangling"])
    def test_what_another_disk_can_not_hold_is_named(self, apart: Two, kind: str) -> None:
        (apart.one / "d" / "sub").mkdir(parents=True)
        (apart.one / "d" / "f").write_text("text")
        odd = apart.one / "d" / "sub" / "odd"
        if kind == "fifo":
            os.mkfifo(odd)
        elif kind == "socket":
            here = os.getcwd()
            os.chdir(odd.parent)  # the path of a socket has to be short
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(odd.name)
            os.chdir(here)
        else:
            odd.symlink_to("../../no")
        before = names(apart.one)
        for source in ("/d", "/d/sub/odd")[kind == "dangling" :]:
            error = apart.error(source, "/deep/e")
            assert error.startswith("/one/d/sub/odd: is ")
            assert "Nothing was moved" in error
        assert (names(apart.one), names(apart.other)) == (before, [])

    def test_a_large_file_takes_memory_for_a_piece(self, apart: Two) -> None:
        with open(apart.one / "big", "wb") as file:
            file.truncate(200 << 20)
            file.seek(100 << 20)
            file.write(b"middle")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        apart.move("/big", "/big")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10
        assert (apart.other / "big").stat().st_size == 200 << 20
        with open(apart.other / "big", "rb") as copy:
            copy.seek(100 << 20)
            assert copy.read(6) == b"middle"

    def test_a_full_disk_leaves_everything_where_it_was(self, apart: Two) -> None:
        (apart.one / "d").mkdir()
        for number in range(8):
            (apart.one / "d" / f"f{number}").write_bytes(b"x" * (number << 10))
        with largest_file(5 << 10):
            error = apart.error("/d", "/new/d")
        assert error.startswith("/other/new/d: it would get larger than the host allows")
        assert (len(names(apart.one)), names(apart.other)) == (9, [])

    def test_a_file_that_can_not_be_read_is_named(self, apart: Two) -> None:
        (apart.one / "d").mkdir()
        (apart.one / "d" / "secret").touch(0)
        with unprivileged(apart.one, *apart.one.rglob("*"), apart.other):
            assert apart.error("/d", "/d").startswith("/one/d/secret: permission denied")
        assert names(apart.other) == []

    @pytest.mark.parametrize("is_new", [True, False])
    def test_what_changes_after_it_was_copied_stays(
        self, apart: Two, is_new: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (apart.one / "d" / "sub").mkdir(parents=True)
        for name in ("a", "sub/b", "sub/c"):
            (apart.one / "d" / name).write_text(name)
        utime, later = os.utime, apart.one / "d" / "sub" / ("new" if is_new else "b")

        def meanwhile(handle: int, **options: Any) -> None:
            utime(handle, **options)
            if stat.S_ISDIR(os.fstat(handle).st_mode):  # every file has been copied by then
                later.write_text("LATER")

        monkeypatch.setattr(os, "utime", meanwhile)
        note = apart.move("/d", "/d").note or ""
        assert note.startswith(
            "Changed or added during the move, and therefore still at the source"
        )
        assert f"/one/d/sub/{later.name}. Compare" in note
        assert names(apart.one) == ["d", "d/sub", f"d/sub/{later.name}"]
        assert later.read_text() == "LATER"
        assert names(apart.other) == ["d", "d/a", "d/sub", "d/sub/b", "d/sub/c"]

    def test_a_file_that_changes_while_it_is_copied_stays(
        self, apart: Two, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (apart.one / "f").write_text("text")
        utime = os.utime

        def meanwhile(handle: int, **options: Any) -> None:
            utime(handle, **options)
            (apart.one / "f").write_text("TEXT")

        monkeypatch.setattr(os, "utime", meanwhile)
        assert "still at the source: /one/f. Compare" in (apart.move("/f", "/f").note or "")
        assert (apart.one / "f").read_text() == "TEXT"
        assert (apart.other / "f").read_text() == "text"

    def test_the_same_move_made_again_goes_on(self, apart: Two) -> None:
        (apart.one / "d").mkdir()
        (apart.other / "e").mkdir()
        for name in "abc":
            (apart.other / "e" / name).write_text(name)
        # As after a kill while the source was being deleted, and without a key.
        (apart.one / "d" / "b").write_text("b")
        assert apart.move("/d", "/e").files == 3
        assert names(apart.one) == []
        # Something else is at the destination.
        (apart.one / "d").mkdir()
        (apart.one / "d" / "b").write_text("b")
        (apart.one / "d" / "c").write_text("changed")
        assert apart.error("/d", "/e").startswith("/other/e: is a directory")
        assert names(apart.one) == ["d", "d/b", "d/c"]
        assert (apart.other / "e" / "c").read_text() == "c"

    def test_the_copy_of_a_killed_move_is_hidden_and_removed_by_the_next(self, apart: Two) -> None:
        (apart.one / "d").mkdir()
        (apart.one / "d" / "f").write_text("text")
        left = apart.other / f"{temporary_name('d')}-tree"
        (left / "closed").mkdir(parents=True)
        (left / "closed" / "f").write_text("needle")
        (left / "closed").chmod(0o500)
        target = FilesystemBackend(apart.other)
        assert target.ls("/").entries == target.glob("**").matches == []
        assert target.grep("needle").matches == []
        with unprivileged(*apart.one.rglob("*"), *apart.other.rglob("*"), apart.one, apart.other):
            apart.move("/d", "/d")
        assert names(apart.other) == ["d", "d/f"]

    def test_a_move_that_goes_on_removes_the_lock_that_a_killed_one_left(
        self, apart: Two, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (apart.one / "f").write_text("text")

        def failing(call: Any) -> Any:
            def fail(name: str, *args: Any, **options: Any) -> Any:
                if name == "f":
                    raise OSError(errno.EIO, "")
                return call(name, *args, **options)

            return fail

        with monkeypatch.context() as broken:
            broken.setattr(os, "rename", failing(os.rename))
            broken.setattr(os, "unlink", failing(os.unlink))
            assert "source could not be deleted" in apart.error("/f", "/f", KEY)
        (apart.other / temporary_name("f")).touch()  # as a kill leaves it behind the copy
        apart.move("/f", "/f", KEY)
        assert (names(apart.one), names(apart.other)) == ([], ["f"])


class TestDeleteCopied:
    """The end of a move through memory: the source is deleted as far as it was copied."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> DiskStore:
        (tmp_path / "d" / "sub").mkdir(parents=True)
        for name in ("f", "d/a", "d/sub/b"):
            (tmp_path / name).write_text(name)
        (tmp_path / "d" / "link").symlink_to("a")
        return store_of(tmp_path)

    def digests(self, store: DiskStore, path: str) -> dict[str, str]:
        paths = [info["path"] for info in run_sync(store.inventory(path)).files]
        contents = run_sync(store.fetch(paths))
        return {
            path: digest_of(content)
            for path, content in zip(paths, contents, strict=True)
            if isinstance(content, bytes)
        }

    @pytest.mark.parametrize("path", ["/d", "/f"])
    def test_what_was_copied_goes(self, store: DiskStore, tmp_path: Path, path: str) -> None:
        digests = self.digests(store, path)
        assert run_sync(store.delete_copied(path, digests, once=KEY)) == []
        assert not (tmp_path / path[1:]).exists()
        assert run_sync(store.recall(KEY)) == DONE
        assert list(tmp_path.rglob(".~lgfs-*")) == []

    def test_what_is_new_or_has_changed_stays(self, store: DiskStore, tmp_path: Path) -> None:
        digests = self.digests(store, "/d")
        (tmp_path / "d" / "sub" / "b").write_text("changed")
        (tmp_path / "d" / "new").write_text("new")
        os.mkfifo(tmp_path / "d" / "fifo")
        stay = run_sync(store.delete_copied("/d", digests))
        assert sorted(stay) == ["/d/fifo", "/d/new", "/d/sub/b"]
        assert names(tmp_path / "d") == ["fifo", "new", "sub", "sub/b"]
        assert run_sync(store.delete_copied("/f", {"/f": "other"})) == ["/f"]
        assert names(tmp_path) == ["d", "d/fifo", "d/new", "d/sub", "d/sub/b", "f"]

    def test_leftovers_of_killed_writers_go_and_a_writer_at_work_stays(
        self, store: DiskStore, tmp_path: Path
    ) -> None:
        digests = self.digests(store, "/d")
        (tmp_path / "d" / temporary_name("x")).touch()
        assert run_sync(store.delete_copied("/d", digests)) == []
        assert names(tmp_path) == ["f"]

    def test_what_a_killed_one_held_is_put_back(self, store: DiskStore, tmp_path: Path) -> None:
        digests = self.digests(store, "/d")
        for file in (tmp_path / "f", tmp_path / "d" / "a"):
            (file.parent / ".~lgfs-held").mkdir()
            file.rename(file.parent / ".~lgfs-held" / file.name)
        (tmp_path / "d" / "a").write_text("written since")
        assert run_sync(store.kind("/f")) == "file"
        stay = run_sync(store.delete_copied("/d", digests))
        assert sorted(stay) == ["/d/a", "/d/a-1", "/d/link"]
        assert (tmp_path / "d" / "a-1").read_text() == "d/a"
        assert names(tmp_path) == ["d", "d/a", "d/a-1", "d/link", "f"]

    def test_an_edit_meanwhile_is_kept_or_refused(
        self, store: DiskStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        digests = self.digests(store, "/d")
        backend, rename = FilesystemBackend(tmp_path), os.rename

        def meanwhile(source: str, target: str, **options: Any) -> None:
            monkeypatch.setattr(os, "rename", rename)
            if source == "a":
                assert backend.edit("/d/a", "d/a", "edited").error is None
            rename(source, target, **options)
            assert backend.edit(f"/d/{source}", "d", "x").error is not None

        monkeypatch.setattr(os, "rename", meanwhile)
        assert run_sync(store.delete_copied("/d", digests)) == ["/d/a"]
        assert (tmp_path / "d" / "a").read_text() == "edited"


class TestInventory:
    def test_files_links_and_empty_directories(self, tmp_path: Path) -> None:
        (tmp_path / "d" / "empty" / "inner").mkdir(parents=True)
        (tmp_path / "d" / "a").write_text("12")
        (tmp_path / "d" / "link").symlink_to("a")
        found = run_sync(store_of(tmp_path).inventory("/d"))
        assert {it["path"]: it["size"] for it in found.files} == {"/d/a": 2, "/d/link": 2}
        assert (found.empty, found.links) == (1, 1)
        [alone] = run_sync(store_of(tmp_path).inventory("/d/a")).files
        assert alone == {"path": "/d/a", "size": 2}

    @pytest.mark.parametrize(
        ("target", "why"),
        [
            ("sub", "/d/odd: is a symbolic link that leads to a directory"),
            ("../../x", "/d/odd: is a symbolic link that leads out of its mount"),
            ("no", "/d/odd: is a symbolic link that leads to nothing"),
            ("", "/d/odd: is a FIFO"),
            (None, "/d: can't be moved, because an entry has a name that is not a valid path"),
        ],
    )
    def test_what_another_mount_can_not_hold_is_an_error(
        self, tmp_path: Path, target: str | None, why: str
    ) -> None:
        (tmp_path / "d" / "sub").mkdir(parents=True)
        if target is None:
            Path(os.fsdecode(bytes(tmp_path) + b"/d/\xff")).touch()
        elif target:
            (tmp_path / "d" / "odd").symlink_to(target)
        else:
            os.mkfifo(tmp_path / "d" / "odd")
        with pytest.raises(FilesystemError) as raised:
            run_sync(store_of(tmp_path).inventory("/d"))
        assert str(raised.value).startswith(why)
