"""Reading files and directories on disk: lists, pages of any file, bytes, digests."""

import base64
import hashlib
import os
import socket
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.file_store import MountContext
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import run_sync
from tests.state.backends.disk.places import Place, fast_place, nested, unprivileged


def content(result: ReadResult) -> str:
    assert result.error is None
    assert result.file_data is not None
    return result.file_data["content"]


def names(backend: FilesystemBackend, path: str = "/") -> dict[str, bool]:
    result = backend.ls(path)
    assert result.error is None
    return {info["path"]: info["is_dir"] for info in result.entries or ()}


class TestRead:
    def test_every_character_is_kept(self, backend: FilesystemBackend, place: Place) -> None:
        text = "\ufeffa\r\nb\rc\nd\u2028e\x0bf\x0cg\x1ch\x85i\n\n\ttab\nno newline"
        (place.root / "file").write_bytes(text.encode())
        (place.root / "link").symlink_to("file")
        assert content(backend.read("/file")) == content(backend.read("/link")) == text
        assert backend.read("/file").total_lines == 6

    def test_a_page_says_where_the_next_one_begins(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        (place.root / "file").write_text("".join(f"line {n}\n" for n in range(10)))
        os.utime(place.root / "file", (1.25, 1.25))
        page = backend.read("/file", 2, 3)
        assert content(page) == "line 2\nline 3\nline 4\n"
        assert (page.start_line, page.end_line, page.total_lines) == (3, 5, 10)
        assert (page.next_offset, page.next_column) == (5, None)
        assert page.file_data is not None
        assert page.file_data["modified_at"] == "1970-01-01T00:00:01.250+00:00"
        end = backend.read("/file", 8, 5)
        assert (end.start_line, end.end_line, end.next_offset) == (9, 10, None)
        past = backend.read("/file", 10, 5)
        assert content(past) == ""
        assert (past.start_line, past.end_line, past.total_lines) == (None, None, 10)

    @pytest.mark.parametrize("lines", [10, 300_000])
    def test_a_page_within_a_line(
        self, backend: FilesystemBackend, place: Place, lines: int
    ) -> None:
        (place.root / "file").write_text("äöü€\n" * lines)
        page = backend.read("/file", 3, column=2, max_characters=5)
        assert content(page) == "ü€\näö"
        assert (page.start_line, page.end_line) == (4, 5)
        assert (page.next_offset, page.next_column) == (4, 2)
        assert content(backend.read("/file", 4, 1, column=2)) == "ü€\n"
        assert content(backend.read("/file", 4, 1, column=4)) == "\n"
        error = backend.read("/file", 4, column=5).error
        assert error == "/file: line 5 has 4 characters, so column 5 is past its end."

    @pytest.mark.parametrize("lines", [3, 600_000])
    def test_numbers_out_of_every_range(
        self, backend: FilesystemBackend, place: Place, lines: int
    ) -> None:
        (place.root / "file").write_text("abc\n" * lines)
        most = 10**30
        assert content(backend.read("/file", -5, -1, column=-1, max_characters=-3)) == ""
        assert content(backend.read("/file", -5, 1, column=-1)) == "abc\n"
        assert content(backend.read("/file", 0, most, max_characters=most)) == "abc\n" * lines
        assert content(backend.read("/file", most, most)) == ""
        assert "past its end" in (backend.read("/file", 0, most, column=most).error or "")


BINARY = b"\x89PNG\0" + bytes(range(256))
LATIN = "Stra\xdfe\n".encode("latin-1")


class TestNotText:
    @pytest.mark.parametrize("data", [BINARY, LATIN, LATIN * 200_000, b"ok\n" * 400_000 + LATIN])
    def test_it_comes_whole(self, backend: FilesystemBackend, place: Place, data: bytes) -> None:
        (place.root / "file").write_bytes(data)
        result = backend.read("/file", max(0, data.count(b"\n") - 1), 100)
        assert base64.b64decode(content(result)) == data
        assert result.file_data is not None
        assert result.file_data["encoding"] == "base64"
        assert backend.download_files(["/file"])[0].content == data

    def test_if_it_is_too_large_the_error_says_what_it_is(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        (place.root / "binary").write_bytes(BINARY)
        os.truncate(place.root / "binary", 3 << 20)
        (place.root / "latin").write_bytes(LATIN * 500_000)
        error = backend.read("/binary").error or ""
        assert error.startswith("/binary: binary content (3,145,728 bytes), which can't be read")
        error = backend.read("/latin").error or ""
        assert error.startswith("/latin: text that is not UTF-8 (3,500,000 bytes)")

    def test_it_is_listed_and_found_and_not_edited(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        (place.root / "latin").write_bytes(LATIN)
        assert names(backend) == {"/latin": False}
        assert backend.grep("Stra").counts == {"/latin": 1}
        error = backend.edit("/latin", "Stra", "x").error or ""
        assert error.startswith("/latin: text that is not UTF-8 (7 bytes)")
        assert (place.root / "latin").read_bytes() == LATIN


class TestLarge:
    def test_the_head_of_eight_gigabytes_is_a_page(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        (place.root / "huge").write_text("head\n" * 2_000)
        (place.root / "empty").touch()
        for name in ("huge", "empty"):
            os.truncate(place.root / name, 8 << 30)
        tracemalloc.start()
        try:
            page = backend.read("/huge", 0, 10)
            assert content(page) == "head\n" * 10
            assert page.next_offset == 10
            assert backend.read("/huge", 1_995, 10, max_characters=100).next_column == 75
            assert backend.read("/huge", 1_995, 10).next_column == (4 << 20) - 25
            assert "binary content (8,589,934,592 bytes)" in (backend.read("/empty").error or "")
            assert backend.digest("/huge") == backend.digest("/huge") is not None
            assert "max_file_size_mb" in (backend.edit("/huge", "head", "x").error or "")
            assert tracemalloc.get_traced_memory()[1] < 16 << 20
        finally:
            tracemalloc.stop()

    def test_one_line_of_fifty_megabytes(self, backend: FilesystemBackend, place: Place) -> None:
        (place.root / "line").write_bytes(b"x" * 50_000_000)
        tracemalloc.start()
        try:
            assert content(backend.read("/line", column=49_000_000)) == "x" * 1_000_000
            assert backend.read("/line").next_column == 4 << 20
            assert backend.read("/line", max_characters=10**9).next_column == 4 << 20
            assert tracemalloc.get_traced_memory()[1] < 32 << 20
        finally:
            tracemalloc.stop()

    def test_large_and_deep_directories(self) -> None:
        with fast_place() as place:
            backend = FilesystemBackend(place.root)
            (place.root / "many").mkdir()
            for number in range(30_000):
                os.mknod(place.root / f"many/{number}")
            assert len(names(backend, "/many")) == 30_000
            assert backend.delete("/many").error is None
            with nested(place.root, 2_000) as last:
                os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=last))
                deep = "/d" * 2_000
                assert names(backend, deep) == {f"{deep}/file": False}
                assert "no such file" in (backend.read(f"{deep}/nothing").error or "")
                assert "is a file" in (backend.read(f"{deep}/file/x").error or "")
                assert backend.write(f"{deep[:2_000]}{'/x' * 1_000}/new", "x").error is None
                assert backend.edit(f"{deep[:2_000]}{'/x' * 1_000}/new", "x", "y").error is None
                assert backend.move("/d", "/e").error is None
                assert backend.delete("/e").error is None
                assert os.listdir(place.root) == []
            backend.close()


class TestList:
    def test_entries_say_what_they_are(self, backend: FilesystemBackend, place: Place) -> None:
        (place.root / "dir").mkdir()
        (place.root / "dir/file").touch()
        (place.root / ".hidden").touch()
        os.mkfifo(place.root / "fifo")
        targets = {"to-dir": "dir", "to-file": "dir/file", "dangling": "x", "loop": "loop"}
        targets |= {"out": "../the-outside", "out-absolute": str(place.outside)}
        for name, target in targets.items():
            (place.root / name).symlink_to(target)
        found = names(backend)
        assert {path for path, is_directory in found.items() if is_directory} == {
            "/dir",
            "/to-dir",
        }
        assert found.keys() == {"/dir", "/.hidden", "/fifo", *(f"/{name}" for name in targets)}
        assert names(backend, "/to-dir") == {"/to-dir/file": False}

    def test_our_own_names_are_not_shown(self, place: Place) -> None:
        backend = FilesystemBackend(place.root)
        backend.write("/file", "x", once="s.g.0")
        (place.root / ".~lgfs-left").touch()
        (place.root / "dir/.langgraph-filesystem").mkdir(parents=True)
        assert names(backend) == {"/file": False, "/dir": True}
        assert names(backend, "/dir") == {"/dir/.langgraph-filesystem": True}

    def test_names_that_are_not_valid_paths_are_counted(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        odd = ["new\nline", "tab\t", "\x1b[31m", "ä" * 127, "x" * 255, " ", "ab:c", "\u202e", "~"]
        for name in [*odd, "back\\slash", "C:drive"]:
            (place.root / name).touch()
        os.mknod(os.fsencode(place.root) + b"/\xff")
        result = backend.ls("/")
        assert {info["path"] for info in result.entries or ()} == {f"/{name}" for name in odd}
        assert result.note is not None
        assert result.note.startswith("3 entries are not listed: a name that is not valid UTF-8")
        for name in odd:
            assert backend.write(f"/{name}", "x", overwrite=True).error is None
            assert content(backend.read(f"/{name}")) == "x"

    def test_a_directory_that_can_not_be_read_is_an_error(
        self, backend: FilesystemBackend, place: Place
    ) -> None:
        for name in ("closed", "dir"):
            (place.root / name).mkdir()
        (place.root / "dir/file").touch(0)
        (place.root / "closed").chmod(0)
        with unprivileged(place.root, *place.root.rglob("*")):
            assert names(backend) == {"/closed": True, "/dir": True}
            assert names(backend, "/dir") == {"/dir/file": False}
            error = backend.ls("/closed").error or ""
        assert error.startswith("/closed: permission denied")
        for path, reason in {
            "/dir/file": "is a file",
            "/no": "no such file",
            "/..": "`..`",
        }.items():
            assert reason in (backend.ls(path).error or "")


def test_the_kind_of_a_path(backend: FilesystemBackend, place: Place) -> None:
    store = backend.open(MountContext())
    (place.root / "dir").mkdir()
    (place.root / "dir/file").touch()
    links = {"link": "dir", "dangling": "x", "loop": "loop", "out": "../the-outside"}
    for name, target in links.items():
        (place.root / name).symlink_to(target)
    kinds: dict[str, str | None] = {"/": "directory", "/link": "directory", "/link/file": "file"}
    kinds |= dict.fromkeys(["/nothing", "/dir/file/x", "/dangling", "/nothing/x"])
    for path, kind in kinds.items():
        assert run_sync(store.kind(path)) == kind
    with pytest.raises(FilesystemError, match="go in a circle"):
        run_sync(store.kind("/loop"))
    with pytest.raises(FilesystemError, match="out of the mounted directory"):
        run_sync(store.kind("/out"))


def test_downloads_say_of_each_file_what_went_wrong(
    backend: FilesystemBackend, place: Place
) -> None:
    (place.root / "dir").mkdir()
    (place.root / "file").write_bytes(b"\0x")
    (place.root / "closed").touch(0)
    (place.root / "out").symlink_to("../the-outside/secret.txt")
    os.mkfifo(place.root / "fifo")
    paths = ["/file", "/nothing", "/dir", "/closed", "/out", "/../x", "/file/x", "/fifo"]
    with unprivileged(place.root, place.root / "closed", place.root / "file"):
        found = backend.download_files(paths)
    assert found[0].content == b"\0x"
    errors = ["file_not_found", "is_directory", "permission_denied", *["invalid_path"] * 3]
    assert [one.error for one in found[1:7]] == errors
    assert "FIFO" in (found[7].error or "")


def test_a_digest_is_of_the_content_and_of_a_large_file_of_its_identity(
    backend: FilesystemBackend, place: Place
) -> None:
    assert backend.digest("/file") is None
    (place.root / "file").write_text("one")
    assert backend.digest("/file") == hashlib.sha256(b"one").hexdigest()[:24]
    for path in ("/", "/../x", "/file/x"):
        assert backend.digest(path) is None
    large = place.root / "large"
    large.write_bytes(b"x" * (3 << 20))
    before = backend.digest("/large")
    large.rename(place.root / "renamed")
    assert backend.digest("/renamed") == before
    os.utime(place.root / "renamed", (1, 1))
    assert backend.digest("/renamed") != before


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
def test_a_fifo_a_socket_and_a_loop_block_nothing(
    backend: FilesystemBackend, place: Place, operation: str
) -> None:
    os.mkfifo(place.root / "fifo")
    (place.root / "loop").symlink_to("loop")
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as server:
        try:
            os.chdir(place.root)
            server.bind("socket")
        finally:
            os.chdir(here)
        for path in ("/fifo", "/socket", "/loop", "/loop/x"):
            assert OPERATIONS[operation](backend, path).error is not None
    assert backend.glob("**").error is backend.grep("x").error is backend.ls("/").error is None


def test_without_virtual_mode_paths_are_the_hosts(place: Place) -> None:
    backend = FilesystemBackend(place.root, virtual_mode=False)
    (place.root / "dir").mkdir()
    (place.root / "dir/file").write_text("one")
    assert content(backend.read(str(place.outside / "secret.txt"))) == "secret"
    assert backend.write("dir/new", "x").error is None
    assert backend.edit(f"{place.root}/dir/new", "x", "y", once="s.g.0").error is None
    assert backend.recall("s.g.0") is not None
    assert names(backend, "dir").keys() == {f"{place.root}/dir/{it}" for it in ("file", "new")}
    assert names(backend, str(place.root)) == {f"{place.root}/dir": True}
    assert backend.move("dir/new", f"{place.outside}/moved").error is None
    assert backend.delete(f"{place.outside}/moved").error is None
    assert "is the root" in (backend.delete(str(place.root)).error or "")
    for where in (None, "dir"):  # without a path the search begins at `root_dir`
        found = backend.glob("file", where).matches or ()
        assert [info["path"] for info in found] == [f"{place.root}/dir/file"]
        assert backend.grep("one", where).counts == {f"{place.root}/dir/file": 1}
    assert place.is_untouched_outside()
    backend.close()
