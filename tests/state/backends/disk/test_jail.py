"""The jail: a path becomes a handle beneath the root, or an error that says why not."""

import contextlib
import errno
import gc
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.disk.errors import LeadsOutside, SpecialFile, explaining
from langgraph_filesystem.state.backends.disk.jail import RESERVED, TEMPORARY, Jail, Unconfined
from langgraph_filesystem.state.backends.disk.openat import (
    O_PATH,
    Opener,
    choose_opener,
    openat2,
    walk,
)
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
    PermissionDenied,
)
from tests.state.backends.disk.places import (
    RESOLVERS,
    Place,
    nested,
    open_handles,
    unprivileged,
)

LINKS = {
    "to-file": "dir/file",
    "to-dir": "dir",
    "dir/back": "../to-file",
    "dir/sub/far": "../../dir/./sub/../file",
    "chain": "to-dir/back",
    "slash": "dir/",
    "here": ".",
    "out": "../the-outside/secret.txt",
    "out-dir": "../the-outside",
    "dir/out": "../../the-outside",
    "top": "..",
    "absolute": "/etc",
    "dangling": "nothing",
    "loop": "loop",
    "ping": "pong",
    "pong": "ping",
    "through-file": "dir/file/x",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    (place.root / "dir/sub").mkdir(parents=True)
    (place.root / "dir/file").write_text("inside")
    for name, target in LINKS.items():
        (place.root / name).symlink_to(target)
    return place


@pytest.fixture(params=RESOLVERS)
def jail(place: Place, request: pytest.FixtureRequest) -> Iterator[Jail]:
    jail = Jail(place.root, resolver=request.param)
    before = open_handles()
    yield jail
    assert open_handles() <= before
    jail.close()


def read(jail: Jail, path: str) -> str:
    handle = jail.open(path, os.O_RDONLY)
    try:
        return os.pread(handle, 100, 0).decode()
    finally:
        os.close(handle)


ERRORS: list[tuple[str, type[FilesystemError], str]] = [
    ("/nothing", FileNotFound, "`ls`"),
    ("/dir/nothing/x", FileNotFound, "`ls`"),
    ("/dir/file/x/y/z", NotDirectory, "/dir/file is a file"),
    ("/out", LeadsOutside, "out of the mounted directory"),
    ("/out-dir/secret.txt", LeadsOutside, "out of the mounted directory"),
    ("/dangling", FileNotFound, "/dangling is a symbolic link"),
    ("/dangling/x", FileNotFound, "/dangling is a symbolic link"),
    ("/loop", FilesystemError, "go in a circle"),
    ("/ping/x", FilesystemError, "go in a circle"),
    ("/dir/../../etc/passwd", PathRefused, r"`\.\.` part"),
    ("/a\0b", PathRefused, "NUL"),
    ("", PathRefused, "empty"),
    ("/" + "x" * 256, PathRefused, "longer than 255 bytes"),
    (f"/{RESERVED}/x", PathRefused, "reserved for the filesystem"),
    (f"/{RESERVED.upper()}", PathRefused, "reserved for the filesystem"),
    (f"/dir/{TEMPORARY}1", PathRefused, "reserved for the filesystem"),
]


@pytest.mark.parametrize(("path", "kind", "reason"), ERRORS)
def test_an_error_says_why_and_never_where_the_root_is(
    jail: Jail, place: Place, path: str, kind: type[FilesystemError], reason: str
) -> None:
    ways: list[Any] = [lambda: jail.open(path, os.O_RDONLY), lambda: jail.stat(path)]
    for way in ways:
        with pytest.raises(kind, match=reason) as raised:
            way()
        assert str(place.root.parent) not in str(raised.value)


def test_errors_can_be_renamed_for_a_mount(jail: Jail) -> None:
    for path in ("/nothing", "/dir/file/x", "/out", "/dangling", "/loop", f"/{RESERVED}"):
        with pytest.raises(FilesystemError) as raised:
            jail.open(path, os.O_RDONLY)
        assert f"/mounted{path}" in str(raised.value.renamed(lambda path: "/mounted" + path))


def test_any_error_of_the_system_is_told_without_the_path_of_the_host(
    jail: Jail, place: Place
) -> None:
    for number in errno.errorcode:
        told = str(jail.explain("/dir/file", OSError(number, "x", str(place.root))))
        assert "/dir/file" in told
        assert str(place.root) not in told
    with pytest.raises(FilesystemError, match="/a: the host reports"), explaining("/a"):
        raise OSError("no number")


def test_our_names_may_be_deeper_in_the_tree(jail: Jail, place: Place) -> None:
    (place.root / "dir" / RESERVED).mkdir()
    (place.root / "dir" / RESERVED / "file").write_text("a checkout of somebody else")
    assert read(jail, f"/dir/{RESERVED}/file") == "a checkout of somebody else"
    assert jail.hides("/", RESERVED)
    assert not jail.hides("/dir", RESERVED)
    assert jail.hides("/dir", TEMPORARY + "x")


def test_a_fifo_a_device_and_a_socket_are_refused_at_once(jail: Jail, place: Place) -> None:
    os.mkfifo(place.root / "fifo")
    names = ["/fifo", "/socket"]
    here = os.getcwd()
    server = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(place.root)  # the path of a socket has to be short
        server.bind("socket")
    finally:
        os.chdir(here)
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
    [("/dir/file", "file"), ("/to-file", "file"), ("/dir/back", "file"), ("/to-dir/new", "new")],
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
        ("/dangling", FileNotFound),
        ("/dangling/new", FileNotFound),
        ("/loop", FilesystemError),
        ("/dir/file/new", NotDirectory),
        ("/", IsDirectory),
    ],
)
def test_nothing_is_written_through_a_link_that_leads_elsewhere(
    jail: Jail, place: Place, path: str, kind: type[FilesystemError]
) -> None:
    with pytest.raises(kind):
        jail.open_parent(path)
    for below in (f"{path.rstrip('/')}/a/b",) if path != "/" else ():
        with pytest.raises(FilesystemError):
            jail.make_parents(below)
    assert place.is_untouched_outside()


def test_missing_directories_are_made_and_named(jail: Jail, place: Place) -> None:
    assert jail.make_parents("/to-dir/x/y/file") == ["/to-dir/x", "/to-dir/x/y"]
    assert (place.root / "dir/x/y").is_dir()
    assert jail.make_parents("/to-dir/x/y/file") == []
    assert jail.make_parents("/file") == []


def test_an_entry_is_the_link_and_not_its_target(jail: Jail) -> None:
    parent, name = jail.open_entry("/out")
    assert stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    os.close(parent)
    assert stat.S_ISLNK(jail.lstat("/out").st_mode)
    assert stat.S_ISDIR(jail.lstat("/").st_mode)
    with pytest.raises(FileNotFound):
        jail.lstat("/nothing")


def test_a_directory_is_open_while_its_entries_are_read(jail: Jail) -> None:
    with jail.scandir("/dir") as entries:
        sizes = {entry.name: entry.stat(follow_symlinks=False).st_size for entry in entries}
    assert sizes["file"] == 6
    with pytest.raises(NotDirectory), jail.scandir("/dir/file"):
        pass
    with pytest.raises(LeadsOutside), jail.scandir("/out-dir"):
        pass


def test_missing_rights_are_told(jail: Jail, place: Place) -> None:
    (place.root / "dir/file").chmod(0)
    (place.root / "dir/sub").chmod(0)
    with unprivileged(*place.root.rglob("*"), place.root):
        with pytest.raises(PermissionDenied, match="/dir/file: permission denied"):
            jail.open("/dir/file", os.O_RDONLY)
        with pytest.raises(PermissionDenied):
            jail.open("/dir/sub/x", os.O_RDONLY)
        assert jail.stat("/dir/file").st_size == 6


def test_names_that_are_not_valid_paths_are_told_apart(jail: Jail) -> None:
    assert jail.can_name("/dir/new\nline\x01")
    assert not jail.can_name("/dir/back\\slash")
    assert not jail.can_name("/C:file")
    assert not jail.can_name(os.fsdecode(b"/dir/\xff"))


def test_the_root_may_be_a_link_but_not_a_file(place: Place) -> None:
    alias = place.root.parent / "alias"
    alias.symlink_to(place.root)
    assert read(Jail(alias), "/dir/file") == "inside"
    for kind in (Jail, Unconfined):
        for missing in ("nothing", "dir/file"):
            with pytest.raises(ValueError, match="can't be used as a directory"):
                kind(place.root / missing)


def test_a_jail_that_is_closed_or_not_used_any_more_holds_no_handle(place: Place) -> None:
    gc.collect()
    before = open_handles()
    jails = [Jail(place.root) for _ in range(10)]
    assert open_handles() == before + 10
    closed = jails[0]
    closed.close()
    closed.close()
    with pytest.raises(FilesystemError):
        closed.open("/dir/file", os.O_RDONLY)
    del jails
    gc.collect()
    assert open_handles() <= before


class TestUnconfined:
    """Without the jail: the paths of the host."""

    def test_an_absolute_path_is_the_hosts_and_a_relative_one_below_the_root(
        self, place: Place
    ) -> None:
        free = Unconfined(place.root)
        assert read(free, str(place.outside / "secret.txt")) == "secret"
        assert free.normal("//etc/./passwd/") == "/etc/passwd"
        assert read(free, "dir/file") == "inside"
        assert read(free, "../the-outside/secret.txt") == "secret"
        assert free.normal("dir") == f"{place.root}/dir"

    def test_every_link_is_followed(self, place: Place) -> None:
        free = Unconfined(place.root)
        (place.root / "to-secret").symlink_to(place.outside / "secret.txt")
        assert read(free, "out") == read(free, "out-dir/secret.txt") == "secret"
        for path, expected in {"out-dir/new": "new", "to-secret": "secret.txt"}.items():
            parent, name = free.open_parent(path)
            assert os.path.samestat(os.fstat(parent), place.outside.stat())
            assert name == expected
            os.close(parent)

    def test_a_backslash_is_a_part_of_a_name(self, place: Place) -> None:
        (place.root / "a\\b").write_text("odd")
        assert read(Unconfined(place.root), "a\\b") == "odd"

    @pytest.mark.parametrize("path", ["", "a\0b", "\ud800", 7, f"{RESERVED}/x"])
    def test_invalid_paths_are_refused(self, place: Place, path: Any) -> None:
        with pytest.raises(PathRefused):
            Unconfined(place.root).open(path, os.O_RDONLY)


def opened(opener: Opener, place: Place, path: str, flags: int = os.O_RDONLY) -> str:
    """Return what is in a file, or the name of the error."""
    root = os.open(place.root, O_PATH | os.O_DIRECTORY)
    try:
        handle = opener(root, path, flags | os.O_CLOEXEC, 0o666)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    finally:
        os.close(root)
    try:
        return "a directory" if os.path.isdir(handle) else os.pread(handle, 100, 0).decode()
    finally:
        os.close(handle)


@pytest.mark.parametrize("opener", [openat2, walk], ids=["openat2", "walk"])
class TestResolving:
    """The kernel's `openat2` and the walk give the same answers."""

    @pytest.mark.parametrize(
        ("paths", "expected"),
        [
            (". dir slash", "a directory"),
            ("dir/file to-file to-dir/file dir/back to-dir/back dir/sub/far chain", "inside"),
            ("slash/file here/here/dir/file dir/../dir/file", "inside"),
            ("out out-dir/secret.txt dir/out/secret.txt to-dir/out top ..", "EXDEV"),
            ("top/the-root/dir/file dir/../../the-outside/secret.txt absolute/passwd", "EXDEV"),
            ("dangling dangling/x nothing", "ENOENT"),
            ("loop loop/x ping", "ELOOP"),
            ("dir/file/x through-file", "ENOTDIR"),
        ],
    )
    def test_a_path_is_resolved_beneath_the_directory(
        self, opener: Opener, place: Place, paths: str, expected: str
    ) -> None:
        before = open_handles()
        for path in paths.split():
            assert opened(opener, place, path) == expected, path
        assert open_handles() <= before

    def test_a_link_at_the_end_is_not_followed_when_asked(
        self, opener: Opener, place: Place
    ) -> None:
        assert opened(opener, place, "to-file", os.O_NOFOLLOW) == "ELOOP"
        assert opened(opener, place, "to-dir/file", os.O_NOFOLLOW) == "inside"

    def test_a_file_is_created_beneath_only(self, opener: Opener, place: Place) -> None:
        assert opened(opener, place, "dir/new", os.O_RDWR | os.O_CREAT) == ""
        assert opened(opener, place, "out-dir/new", os.O_RDWR | os.O_CREAT) == "EXDEV"
        assert place.is_untouched_outside()

    def test_more_links_than_linux_follows_are_a_loop(self, opener: Opener, place: Place) -> None:
        (place.root / "link0").symlink_to("dir/file")
        for number in range(1, 41):
            (place.root / f"link{number}").symlink_to(f"link{number - 1}")
        assert opened(opener, place, "link39") == "inside"
        assert opened(opener, place, "link40") == "ELOOP"

    def test_depth_costs_no_handles(self, opener: Opener, place: Place) -> None:
        with nested(place.root, 2_000):
            assert opened(opener, place, "/".join(["d"] * 2_000)) == "a directory"


def test_without_openat2_the_walk_is_used(place: Place) -> None:
    root = os.open(place.root, O_PATH | os.O_DIRECTORY)
    assert choose_opener(None, root) is openat2
    assert choose_opener("walk", root) is walk
    os.close(root)
    assert choose_opener(None, -1) is walk
    with pytest.raises(ValueError, match="openat2 is not available"):
        choose_opener("openat2", -1)


names = st.sampled_from(["a", "b", "c", "..", "."])
paths = st.lists(names, min_size=1, max_size=5).map("/".join)


@settings(max_examples=100)
@given(st.lists(st.tuples(paths, paths | st.just("/")), max_size=6), st.lists(paths, max_size=6))
def test_both_resolvers_agree_on_any_tree(links: list[tuple[str, str]], asked: list[str]) -> None:
    directory = Path(tempfile.mkdtemp())
    try:
        place = Place(directory)
        for path in ("a/b/c", "b/a"):
            (place.root / path).mkdir(parents=True)
        (place.root / "a/b/b").write_text("inside")
        for link, target in links:
            name = place.root / link.replace("..", "c").replace(".", "b")
            # It may go through links that were made before, to the outside or in a circle.
            with contextlib.suppress(OSError, RuntimeError):
                if directory in name.parent.resolve().parents:
                    name.symlink_to(target)
        for path in asked:
            assert opened(openat2, place, path) == opened(walk, place, path), path
            assert "secret" not in opened(walk, place, path)
    finally:
        shutil.rmtree(directory)


def answers(backend: FilesystemBackend, path: str) -> Iterator[Any]:
    """Do with a path everything that can be done, deleting last."""
    yield backend.ls(path)
    yield backend.read(path)
    yield backend.read(path, 10**9, column=3)
    yield backend.grep("x", path)
    yield backend.glob("*", path)
    yield from backend.download_files([path])
    yield backend.edit(path, "missing", "x")
    yield backend.write(path, "\ud800")
    yield backend.write(path, "x")
    yield from backend.upload_files([(f"{path}/x/y", b"x")])
    yield backend.move(path, "/dir/file")
    yield backend.move(path, f"{path}/x")
    yield backend.move("/nothing", path)
    yield backend.delete(f"{path}/nothing")


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_no_answer_shows_where_the_root_is(place: Place, resolver: Any) -> None:
    for name in ("closed", "secret"):
        (place.root / name).touch(0)
    os.mkfifo(place.root / "fifo")
    (place.root / "binary").write_bytes(b"\0" * 2_000_000)
    backend = FilesystemBackend(place.root, resolver=resolver, max_file_size_mb=1)
    paths = ["/", *(f"/{name}" for name in os.listdir(place.root)), "", "~/x", "C:\\x", "\0", "/.."]
    paths += [
        "/nothing/x",
        "/dangling/x",
        "/out-dir/secret.txt",
        "/dir/out",
        "/\ud800",
        "/new\nline",
    ]
    before = open_handles()
    errors = 0
    with unprivileged(place.root, *place.root.rglob("*")):
        for path in paths:
            for answer in answers(backend, path):
                told = repr(answer)
                assert str(place.root.parent) not in told
                assert "the-outside" not in told
                errors += getattr(answer, "error", None) is not None
    assert errors > 100
    assert open_handles() <= before
    assert place.is_untouched_outside()
    assert place.litter() == []
    backend.close()


def test_a_root_that_is_moved_stays_the_root(place: Place) -> None:
    backend = FilesystemBackend(place.root)
    place.root.rename(place.root.parent / "moved")
    assert backend.write("/dir/new", "x").error is None
    assert (place.root.parent / "moved/dir/new").read_text() == "x"
