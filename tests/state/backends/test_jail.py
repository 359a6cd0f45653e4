"""The jail: a path becomes a handle beneath the root, or an error that says why not."""

import errno
import gc
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.jail import RESERVED, TEMPORARY, Jail, Unconfined
from langgraph_filesystem.state.backends.refusals import LeadsOutside, SpecialFile
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
    PermissionDenied,
)
from tests.state.backends.disk.places import RESOLVERS, Place, open_handles, unprivileged


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    (place.root / "dir/sub").mkdir(parents=True)
    (place.root / "dir/file").write_text("inside")
    (place.root / "link").symlink_to("dir/file")
    (place.root / "to-dir").symlink_to("dir")
    (place.root / "dir/back").symlink_to("../link")
    (place.root / "out").symlink_to("../the-outside/secret.txt")
    (place.root / "out-dir").symlink_to(place.outside)
    (place.root / "dangling").symlink_to("nothing")
    (place.root / "loop").symlink_to("loop")
    return place


@pytest.fixture(params=RESOLVERS)
def jail(place: Place, request: pytest.FixtureRequest) -> Iterator[Jail]:
    jail = Jail(place.root, resolver=request.param)
    yield jail
    jail.close()


def read(jail: Jail, path: str) -> str:
    handle = jail.open(path, os.O_RDONLY)
    try:
        return os.pread(handle, 100, 0).decode()
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    "path", ["/dir/file", "dir/file", "/dir//./file", "/link", "/to-dir/file", "/dir/back"]
)
def test_what_is_inside_is_opened(jail: Jail, path: str) -> None:
    assert read(jail, path) == "inside"
    assert jail.stat(path).st_size == 6


ERRORS: list[tuple[str, type[FilesystemError], str]] = [
    ("/nothing", FileNotFound, "`ls`"),
    ("/dir/nothing/x", FileNotFound, "`ls`"),
    ("/dir/file/x", NotDirectory, "/dir/file is a file"),
    ("/dir/file/x/y/z", NotDirectory, "/dir/file is a file"),
    ("/out", LeadsOutside, "out of the directory"),
    ("/out-dir/secret.txt", LeadsOutside, "out of the directory"),
    ("/dangling", FileNotFound, "/dangling is a symbolic link"),
    ("/dangling/x", FileNotFound, "/dangling is a symbolic link"),
    ("/loop", FilesystemError, "in a circle"),
    ("/loop/x", FilesystemError, "in a circle"),
    ("/dir/../../etc/passwd", PathRefused, r"`\.\.` part"),
    ("/a\0b", PathRefused, "NUL"),
    ("", PathRefused, "empty"),
    ("/" + "x" * 256, PathRefused, "longer than 255 bytes"),
    (f"/{RESERVED}/x", PathRefused, "kept for the filesystem"),
    (f"/{RESERVED.upper()}", PathRefused, "kept for the filesystem"),
    (f"/dir/{TEMPORARY}1", PathRefused, "kept for the filesystem"),
    (f"/{TEMPORARY}dir/x", PathRefused, "kept for the filesystem"),
]


@pytest.mark.parametrize(("path", "kind", "reason"), ERRORS)
def test_what_can_not_be_opened_says_why(
    jail: Jail, place: Place, path: str, kind: type[FilesystemError], reason: str
) -> None:
    before = open_handles()
    ways: list[Any] = [lambda: jail.open(path, os.O_RDONLY), lambda: jail.stat(path)]
    for way in ways:
        with pytest.raises(kind, match=reason) as raised:
            way()
        assert type(raised.value) is kind
        assert str(place.root.parent) not in str(raised.value)
    assert open_handles() <= before


def test_our_names_may_lie_deeper_in_the_tree(jail: Jail, place: Place) -> None:
    (place.root / "dir" / RESERVED).mkdir()
    (place.root / "dir" / RESERVED / "file").write_text("a checkout of somebody else")
    assert read(jail, f"/dir/{RESERVED}/file") == "a checkout of somebody else"
    assert jail.hides("/", RESERVED)
    assert not jail.hides("/dir", RESERVED)
    assert jail.hides("/dir", TEMPORARY + "x")


def test_a_fifo_a_device_and_a_socket_are_refused_at_once(jail: Jail, place: Place) -> None:
    os.mkfifo(place.root / "fifo")
    names = ["/fifo"]
    here = os.getcwd()
    server = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(place.root)  # the path of a socket has to be short
        server.bind("socket")
    finally:
        os.chdir(here)
    names.append("/socket")
    if os.geteuid() == 0:
        os.mknod(place.root / "device", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
        names.append("/device")
    (place.root / "to-fifo").symlink_to("fifo")
    for name in [*names, "/to-fifo"]:
        for flags in (os.O_RDONLY, os.O_WRONLY):
            with pytest.raises(SpecialFile, match="not a file"):
                jail.open(name, flags)
        assert not stat.S_ISREG(jail.stat(name).st_mode)
    server.close()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/dir/file", "file"),
        ("/link", "file"),
        ("/dir/back", "file"),
        ("/dir/new", "new"),
        ("/to-dir/new", "new"),
    ],
)
def test_the_directory_that_really_holds_a_file_is_found(
    jail: Jail, place: Place, path: str, name: str
) -> None:
    parent, found = jail.open_parent(path)
    assert found == name
    assert os.path.samestat(os.fstat(parent), (place.root / "dir").stat())
    os.close(parent)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/out", LeadsOutside),
        ("/out-dir/new", LeadsOutside),
        ("/out-dir", LeadsOutside),
        ("/dangling", FileNotFound),
        ("/dangling/new", FileNotFound),
        ("/loop", FilesystemError),
        ("/dir/file/new", NotDirectory),
        ("/", IsDirectory),
    ],
)
def test_no_file_can_be_written_through_what_leads_elsewhere(
    jail: Jail, place: Place, path: str, kind: type[FilesystemError]
) -> None:
    before = open_handles()
    for create in (False, True):
        with pytest.raises(kind) as raised:
            jail.open_parent(path, create=create)
        assert type(raised.value) is kind
    assert open_handles() <= before
    assert place.is_untouched_outside()


def test_missing_directories_are_made_and_named(jail: Jail, place: Place) -> None:
    assert jail.make_parents("/to-dir/x/y/file") == ["/to-dir/x", "/to-dir/x/y"]
    assert (place.root / "dir/x/y").is_dir()
    assert jail.make_parents("/to-dir/x/y/file") == []
    assert jail.make_parents("/file") == []
    parent, name = jail.open_parent("/p/q/file", create=True)
    os.close(parent)
    assert name == "file"
    assert (place.root / "p/q").is_dir()


def test_an_entry_is_the_link_and_not_what_it_points_to(jail: Jail) -> None:
    parent, name = jail.open_entry("/out")
    assert stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    os.close(parent)
    assert stat.S_ISLNK(jail.lstat("/out").st_mode)
    assert stat.S_ISREG(jail.lstat("/dir/file").st_mode)
    assert stat.S_ISDIR(jail.lstat("/").st_mode)
    with pytest.raises(FileNotFound):
        jail.lstat("/nothing")


def test_entries_can_be_asked_while_a_directory_is_gone_through(jail: Jail) -> None:
    before = open_handles()
    with jail.scandir("/dir") as entries:
        sizes = {entry.name: entry.stat(follow_symlinks=False).st_size for entry in entries}
    assert sizes["file"] == 6
    assert sizes.keys() == {"file", "sub", "back"}
    with pytest.raises(NotDirectory), jail.scandir("/dir/file"):
        pass
    with pytest.raises(LeadsOutside), jail.scandir("/out-dir"):
        pass
    assert open_handles() <= before


def test_what_is_not_allowed_says_so(jail: Jail, place: Place) -> None:
    (place.root / "dir/file").chmod(0)
    (place.root / "dir/sub").chmod(0)
    with unprivileged(*place.root.rglob("*"), place.root):
        with pytest.raises(PermissionDenied, match="/dir/file: permission denied"):
            jail.open("/dir/file", os.O_RDONLY)
        with pytest.raises(PermissionDenied):
            jail.open("/dir/sub/x", os.O_RDONLY)
        assert jail.stat("/dir/file").st_size == 6


def test_names_that_no_path_can_hold_are_told_apart(jail: Jail) -> None:
    assert jail.can_name("/dir/file")
    assert jail.can_name("/dir/new\nline\x01")
    assert not jail.can_name("/dir/back\\slash")
    assert not jail.can_name("/C:file")
    assert not jail.can_name(os.fsdecode(b"/dir/\xff"))


def test_a_root_that_is_a_link_is_what_it_points_to(place: Place) -> None:
    alias = place.root.parent / "alias"
    alias.symlink_to(place.root)
    assert read(Jail(alias), "/dir/file") == "inside"


@pytest.mark.parametrize("kind", [Jail, Unconfined])
@pytest.mark.parametrize("missing", ["nothing", "dir/file"])
def test_a_root_that_is_no_directory_is_a_mistake_of_the_programmer(
    place: Place, kind: type[Jail], missing: str
) -> None:
    with pytest.raises(ValueError, match="no directory to work in"):
        kind(place.root / missing)


def test_nothing_can_be_opened_once_it_is_closed(jail: Jail) -> None:
    before = open_handles()
    jail.close()
    assert open_handles() == before - 1
    with pytest.raises(FilesystemError):
        jail.open("/dir/file", os.O_RDONLY)
    jail.close()


def test_a_jail_that_nobody_uses_holds_no_handle(place: Place) -> None:
    gc.collect()
    before = open_handles()
    jails = [Jail(place.root) for _ in range(10)]
    assert open_handles() == before + 10
    del jails
    gc.collect()
    assert open_handles() <= before


class TestUnconfined:
    """Without the jail: the host's own paths."""

    def test_an_absolute_path_is_the_hosts(self, place: Place) -> None:
        free = Unconfined(place.root)
        assert read(free, str(place.outside / "secret.txt")) == "secret"
        assert free.normal("//etc/./passwd/") == "/etc/passwd"

    def test_a_relative_path_is_below_the_root(self, place: Place) -> None:
        free = Unconfined(place.root)
        assert read(free, "dir/file") == "inside"
        assert read(free, "../the-outside/secret.txt") == "secret"
        assert free.normal("dir") == f"{place.root}/dir"

    def test_every_link_is_followed(self, place: Place) -> None:
        free = Unconfined(place.root)
        assert read(free, "out") == read(free, "out-dir/secret.txt") == "secret"
        parent, name = free.open_parent("out-dir/new")
        assert os.path.samestat(os.fstat(parent), place.outside.stat())
        assert name == "new"
        os.close(parent)
        (place.root / "absolute").symlink_to(place.outside / "secret.txt")
        parent, name = free.open_parent("absolute")
        assert name == "secret.txt"
        os.close(parent)

    def test_a_backslash_is_a_part_of_a_name(self, place: Place) -> None:
        (place.root / "a\\b").write_text("odd")
        assert read(Unconfined(place.root), "a\\b") == "odd"

    def test_a_fifo_is_refused_all_the_same(self, place: Place) -> None:
        os.mkfifo(place.root / "fifo")
        with pytest.raises(SpecialFile):
            Unconfined(place.root).open("fifo", os.O_RDONLY)

    @pytest.mark.parametrize("path", ["", "a\0b", "\ud800", 7, f"{RESERVED}/x"])
    def test_what_is_no_path_is_refused(self, place: Place, path: Any) -> None:
        with pytest.raises(PathRefused):
            Unconfined(place.root).open(path, os.O_RDONLY)


def test_any_error_of_the_system_is_told_without_the_hosts_path(jail: Jail, place: Place) -> None:
    for number in errno.errorcode:
        told = str(jail.explain("/dir/file", OSError(number, "x", str(place.root))))
        assert "/dir/file" in told
        assert str(place.root) not in told
