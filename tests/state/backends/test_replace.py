"""Whole writes: the old content or the new one, one writer at a time, nothing left behind."""

import errno
import fcntl
import os
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends import replace as module
from langgraph_filesystem.state.backends.contents import read_whole
from langgraph_filesystem.state.backends.replace import Busy, locked, replace, temporary_name
from tests.state.backends.disk.places import NOBODY, largest_file, open_handles, unprivileged


@pytest.fixture
def here(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_text("old")
    handle = os.open(tmp_path, os.O_RDONLY)
    before = open_handles()
    yield handle
    assert open_handles() <= before
    os.close(handle)


def put(here: int, text: str, name: str = "file") -> None:
    replace(here, name, lambda _: text.encode())


def append(here: int, text: str, name: str = "file") -> None:
    def plan(old: int | None) -> bytes:
        return (b"" if old is None else read_whole(old, 0)) + text.encode()

    replace(here, name, plan)


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def test_a_file_is_replaced_or_made(tmp_path: Path, here: int) -> None:
    append(here, " and new")
    append(here, "made", "other")
    assert (tmp_path / "file").read_text() == "old and new"
    assert (tmp_path / "other").read_text() == "made"
    assert names(tmp_path) == ["file", "other"]


def test_flushed_content_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, here: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    for name in ("fsync", "rename"):
        real = getattr(os, name)

        def noting(*args: Any, name: str = name, real: Any = real, **kwargs: Any) -> Any:
            events.append(name)
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, noting)
    replace(here, "file", lambda _: b"new", flush=True)
    replace(here, "file", lambda _: b"newer")
    assert events == ["fsync", "rename", "rename"]


def test_the_temporary_name_is_short_for_the_longest_of_names(tmp_path: Path, here: int) -> None:
    name = "ä" * 127 + "x"
    put(here, "long", name)
    assert (tmp_path / name).read_text() == "long"
    assert len(temporary_name(name)) < 40


def test_the_mode_is_kept_and_a_new_file_has_the_usual_one(tmp_path: Path, here: int) -> None:
    for mode in (0o600, 0o755, 0o640, 0o4755, 0o2711):
        (tmp_path / "file").chmod(mode)
        put(here, str(mode))
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    put(here, "new", "other")
    (tmp_path / "usual").touch()
    assert (tmp_path / "other").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_what_is_private_is_so_while_it_is_written(tmp_path: Path, here: int) -> None:
    (tmp_path / "file").chmod(0o600)
    modes = []

    def begin(old: int | None, new: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(new).st_mode))

    replace(here, "file", lambda _: b"secret", begin)
    assert modes == [0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_owner_is_kept(tmp_path: Path, here: int) -> None:
    os.chown(tmp_path / "file", NOBODY, NOBODY)
    put(here, "new")
    status = (tmp_path / "file").stat()
    assert (status.st_uid, status.st_gid) == (NOBODY, NOBODY)


def test_another_hard_link_keeps_the_old_content(tmp_path: Path, here: int) -> None:
    os.link(tmp_path / "file", tmp_path / "other")
    put(here, "new")
    assert (tmp_path / "other").read_text() == "old"


@pytest.mark.parametrize("kind", ["directory", "fifo", "link"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, here: int, kind: str) -> None:
    if kind == "directory":
        (tmp_path / "odd").mkdir()
    elif kind == "fifo":
        os.mkfifo(tmp_path / "odd")
    else:
        (tmp_path / "odd").symlink_to("file")
    expected = {"directory": errno.EISDIR, "fifo": errno.ENXIO, "link": errno.ELOOP}
    with pytest.raises(OSError, match=os.strerror(expected[kind])):
        put(here, "new", "odd")
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file", "odd"]


class TestFailure:
    """Whatever fails: the old content stays, and nothing else."""

    def test_of_the_plan(self, tmp_path: Path, here: int) -> None:
        def plan(old: int | None) -> bytes:
            raise KeyError("no idea")

        with pytest.raises(KeyError):
            replace(here, "file", plan)
        self.check(tmp_path)

    def test_of_what_is_begun(self, tmp_path: Path, here: int) -> None:
        def begin(old: int | None, new: int) -> None:
            raise OSError(errno.EIO, "no journal")

        with pytest.raises(OSError, match="no journal"):
            replace(here, "file", lambda _: b"new", begin)
        self.check(tmp_path)

    def test_of_a_disk_that_is_full(self, tmp_path: Path, here: int) -> None:
        with largest_file(100_000), pytest.raises(OSError, match="too large"):
            put(here, "x" * 200_000)
        self.check(tmp_path)

    def test_of_the_rename(self, tmp_path: Path, here: int) -> None:
        def begin(old: int | None, new: int) -> None:
            os.rename(tmp_path / "file", tmp_path / "kept")
            (tmp_path / "file").mkdir()

        with pytest.raises(IsADirectoryError):
            replace(here, "file", lambda _: b"new", begin)
        assert (tmp_path / "kept").read_text() == "old"
        assert names(tmp_path) == ["file", "kept"]

    def test_of_a_directory_that_can_only_be_read(self, tmp_path: Path, here: int) -> None:
        tmp_path.chmod(0o555)
        with unprivileged(tmp_path, tmp_path / "file"), pytest.raises(PermissionError):
            put(here, "new")
        tmp_path.chmod(0o755)
        self.check(tmp_path)

    def test_of_a_file_that_can_only_be_read(self, tmp_path: Path, here: int) -> None:
        """A rename would do it: that is not what who took the right away has meant."""
        (tmp_path / "file").chmod(0o444)
        with unprivileged(tmp_path, tmp_path / "file"), pytest.raises(PermissionError):
            put(here, "new")
        self.check(tmp_path)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
    def test_of_a_disk_that_is_really_full(self, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("mounting is not allowed here")
        try:
            (disk / "file").write_text("old")
            handle = os.open(disk, os.O_RDONLY)
            with pytest.raises(OSError, match="No space left"):
                put(handle, "x" * 2_000_000)
            os.close(handle)
            self.check(disk)
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def check(self, directory: Path) -> None:
        assert (directory / "file").read_text() == "old"
        assert names(directory) == ["file"]


class TestOtherPrograms:
    """Programs that know nothing of the lock."""

    def test_a_change_meanwhile_is_not_lost(self, tmp_path: Path, here: int) -> None:
        contents: list[bytes] = []

        def plan(old: int | None) -> bytes:
            assert old is not None
            contents.append(read_whole(old, 0))
            if len(contents) == 1:
                (tmp_path / "file").write_text("theirs")
            return contents[-1] + b" and ours"

        replace(here, "file", plan)
        assert (tmp_path / "file").read_text() == "theirs and ours"
        assert contents == [b"old", b"theirs"]

    def test_a_file_that_comes_up_meanwhile_is_not_overwritten(
        self, tmp_path: Path, here: int
    ) -> None:
        def plan(old: int | None) -> bytes:
            if old is not None:
                raise FileExistsError
            (tmp_path / "new").write_text("theirs")
            return b"ours"

        with pytest.raises(FileExistsError):
            replace(here, "new", plan)
        assert (tmp_path / "new").read_text() == "theirs"
        assert names(tmp_path) == ["file", "new"]

    def test_a_file_that_goes_meanwhile_is_told_to_the_plan(
        self, tmp_path: Path, here: int
    ) -> None:
        seen: list[bool] = []

        def plan(old: int | None) -> bytes:
            seen.append(old is not None)
            (tmp_path / "file").unlink(missing_ok=True)
            return b"again"

        replace(here, "file", plan)
        assert seen == [True, False]
        assert (tmp_path / "file").read_text() == "again"

    def test_one_that_never_rests_is_an_error(self, tmp_path: Path, here: int) -> None:
        turns = iter(range(100))

        def plan(old: int | None) -> bytes:
            (tmp_path / "file").write_text(f"theirs {next(turns)}")
            return b"ours"

        with pytest.raises(Busy):
            replace(here, "file", plan)
        assert (tmp_path / "file").read_text().startswith("theirs")
        assert names(tmp_path) == ["file"]


class TestLock:
    """The temporary file is the lock."""

    def test_what_a_killed_writer_left_is_removed(self, tmp_path: Path, here: int) -> None:
        left = tmp_path / temporary_name("file")
        left.write_text("half of the n")
        left.chmod(0o400)
        append(here, " and new")
        assert (tmp_path / "file").read_text() == "old and new"
        assert names(tmp_path) == ["file"]

    def test_a_link_in_its_place_is_not_written_to(self, tmp_path: Path, here: int) -> None:
        (tmp_path / "victim").write_text("precious")
        (tmp_path / temporary_name("file")).symlink_to("victim")
        put(here, "new")
        assert (tmp_path / "victim").read_text() == "precious"
        assert names(tmp_path) == ["file", "victim"]

    def test_a_hard_link_in_its_place_is_not_written_to(self, tmp_path: Path, here: int) -> None:
        (tmp_path / "victim").write_text("precious")
        os.link(tmp_path / "victim", tmp_path / temporary_name("file"))
        put(here, "new")
        assert (tmp_path / "victim").read_text() == "precious"
        assert names(tmp_path) == ["file", "victim"]

    def test_a_fifo_in_its_place_holds_nobody_up(self, tmp_path: Path, here: int) -> None:
        os.mkfifo(tmp_path / temporary_name("file"))
        put(here, "new")
        assert names(tmp_path) == ["file"]

    def test_one_waits_for_the_other(self, tmp_path: Path, here: int) -> None:
        order: list[str] = []

        def second() -> None:
            put(here, "second")
            order.append("second")

        with locked(here, "file"):
            waiting = threading.Thread(target=second)
            waiting.start()
            time.sleep(0.05)
            order.append("first")
        waiting.join()
        assert order == ["first", "second"]
        assert (tmp_path / "file").read_text() == "second"
        assert names(tmp_path) == ["file"]

    def test_a_writer_who_does_not_get_on_is_given_up(
        self, tmp_path: Path, here: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_PATIENCE", 0.2)
        stuck = os.open(tmp_path / temporary_name("file"), os.O_RDWR | os.O_CREAT)
        fcntl.flock(stuck, fcntl.LOCK_EX)
        began = time.monotonic()
        with pytest.raises(Busy):
            put(here, "new")
        assert 0.2 <= time.monotonic() - began < 5
        os.close(stuck)
        assert (tmp_path / "file").read_text() == "old"

    def test_two_files_have_two_locks(self, tmp_path: Path, here: int) -> None:
        with locked(here, "file"), locked(here, "other"):
            held = {temporary_name("file"), temporary_name("other")}
            assert held <= set(names(tmp_path))
        assert held.isdisjoint(names(tmp_path))
