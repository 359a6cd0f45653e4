"""`move`: another path for a file or a directory, within a mount or across two."""

from typing import Any

import pytest

from langgraph_filesystem.state.backends import StateBackend
from langgraph_filesystem.state.backends.protocol import FileDownloadResponse, FileUploadResponse
from tests.nodes.backends import Shelf
from tests.scripted import answer, answers, arun, call, run

FILES = {"/a": "a", "/d/x": "x", "/d/e/.y": "y", "/dx": "dx"}


def move(source: str, destination: str) -> dict[str, Any]:
    return call("move", source=source, destination=destination)


def contents(state: dict[str, Any]) -> dict[str, str]:
    return {path: file["content"] for path, file in state["files"].items()}


@pytest.mark.parametrize(
    ("source", "destination", "moved", "count"),
    [
        ("/a", "/b", {"/b": "a"}, "1 file"),
        ("/a", "/new/b", {"/new/b": "a"}, "1 file"),
        ("/a", "/d/a", {"/d/a": "a"}, "1 file"),
        ("/d", "/n", {"/n/x": "x", "/n/e/.y": "y"}, "2 files"),
        ("/d/e", "/e", {"/e/.y": "y"}, "1 file"),
        ("/d", "/dxx", {"/dxx/x": "x", "/dxx/e/.y": "y"}, "2 files"),
    ],
)
def test_files_and_directories_move(
    source: str, destination: str, moved: dict[str, str], count: str
) -> None:
    state = run(move(source, destination), files=FILES)
    gone = {p for p in FILES if p == source or p.startswith(source + "/")}
    kept = {path: text for path, text in FILES.items() if path not in gone}
    assert contents(state) == kept | moved
    [reply] = answers(state)
    assert reply.text == f"Moved {source} to {destination} ({count})."
    assert reply.artifact == {"files": len(moved)}


@pytest.mark.parametrize(
    ("source", "destination", "problem"),
    [
        ("/a", "/a", "can't be moved to /a, which is itself"),
        ("/d", "/d/e/f", "can't be moved to /d/e/f, which is itself"),
        ("/d/e", "/d", "/d: is a directory"),
        ("/a", "/dx", "/dx: the file exists already"),
        ("/a", "/d", "/d: is a directory"),
        ("/a", "/dx/b", "/dx is a file, not a directory"),
        ("/d", "/dx", "/dx: the file exists already"),
        ("/gone", "/b", "/gone: no such file or directory"),
        ("/", "/b", "/: is the root"),
        ("/a", "/", "/: is the root"),
        ("/m", "/b", "/m: is a mount point, or above one"),
        ("/a", "/m", "/m: is a mount point, or above one"),
        ("/a", "/m/taken", "/m/taken: the file exists already"),
        ("/a", "/m/dir", "/m/dir: the file exists already"),
        ("/d", "/m/dir", "/m/dir: the file exists already"),
        ("/m/taken", "/a", "/a: the file exists already"),
        ("/m/dir", "/d", "/d: the file exists already"),
        ("/m/gone", "/b", "/m/gone: "),
        ("/gone", "/m/b", "/gone: no such file or directory"),
        ("/../a", "/b", "it has a `..` part"),
    ],
)
def test_what_can_not_move_says_why_and_stays(source: str, destination: str, problem: str) -> None:
    shelf = Shelf(taken="t", dir__f="f")
    state = run(move(source, destination), files=FILES, mounts={"/m": shelf})
    [reply] = answers(state)
    assert reply.status == "error"
    assert problem in reply.text
    assert contents(state) == FILES
    assert shelf.files == {"/taken": b"t", "/dir/f": b"f"}


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_files_move_from_one_mount_to_another(mode: str) -> None:
    shelf = Shelf(in__f="text\r\n", in__b=b"\xff\x00")
    shelf.put("/in/.hidden", "kept too")
    turns = [move("/m/in", "/here"), move("/d", "/m/out")]
    options: Any = {"files": FILES, "mounts": {"/m": shelf}}
    state = await arun(*turns, **options) if mode == "async" else run(*turns, **options)
    assert [reply.text for reply in answers(state)] == [
        "Moved /m/in to /here (3 files).",
        "Moved /d to /m/out (2 files).",
    ]
    assert shelf.files == {"/out/x": b"x", "/out/e/.y": b"y"}
    assert contents(state) == {
        "/a": "a",
        "/dx": "dx",
        "/here/f": "text\r\n",
        "/here/b": "/wA=",
        "/here/.hidden": "kept too",
    }
    assert state["files"]["/here/b"]["encoding"] == "base64"


def test_files_move_between_two_mounts_of_the_state() -> None:
    mounts = {"/m": StateBackend(), "/n": StateBackend()}
    state = run(move("/m/a", "/n/b"), files={"/m/a": "text"}, mounts=mounts)
    assert contents(state) == {"/n/b": "text"}


def test_a_file_that_was_known_is_known_at_its_new_path() -> None:
    edit = call("edit_file", file_path="/m/b", old_string="a", new_string="b")
    shelf = Shelf()
    run(
        call("read_file", file_path="/a"),
        [move("/a", "/m/b"), edit],
        files=FILES,
        mounts={"/m": shelf},
    )
    assert shelf.files == {"/b": b"b"}


class Full(Shelf):
    """A shelf that takes one file and no more."""

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        if self.files:
            return [FileUploadResponse(path, error="disk full") for path, _ in files]
        return super().upload_files(files)


def test_a_move_that_fails_half_way_leaves_everything_where_it_was() -> None:
    full = Full()
    state = run(move("/d", "/m/d"), files=FILES, mounts={"/m": full})
    assert "could not be written (disk full)" in answers(state)[0].text
    assert contents(state) == FILES
    assert full.files == {}


class Sealed(Shelf):
    """A shelf whose files can't be taken out."""

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [FileDownloadResponse(path, error="permission_denied") for path in paths]


@pytest.mark.parametrize("path", ["/m/f", "/m/d"])
def test_what_can_not_be_read_is_not_deleted(path: str) -> None:
    sealed = Sealed(f="kept", d__g="kept")
    reply = answer(move(path, "/b"), mounts={"/m": sealed})
    assert reply.status == "error"
    assert sealed.files == {"/f": b"kept", "/d/g": b"kept"}


def test_a_source_that_can_not_be_deleted_is_told() -> None:
    class Keeper(Shelf):
        def delete(self, file_path: str) -> Any:
            raise OSError("read-only")

    state = run(move("/m/f", "/b"), mounts={"/m": Keeper(f="x")})
    assert "Copied to /b, but the source is left" in answers(state)[0].text
    assert "read-only" in answers(state)[0].text
    assert contents(state) == {"/b": "x"}


def test_directories_in_circles_end() -> None:
    class Circle(Shelf):
        def ls(self, path: str) -> Any:
            found = super().ls("/")
            found.entries = [{"path": f"{path.rstrip('/')}/again", "is_dir": True}]
            return found

    reply = answer(move("/m/x", "/b"), mounts={"/m": Circle()})
    assert "more than 10,000 directories" in reply.text
