"""Moves within a mount and across, with the results that a mount refused."""

import os
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.protocol import FileUploadResponse, MoveResult
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from tests.nodes.backends import Shelf
from tests.nodes.test_move import contents, move
from tests.scripted import answers, run

EVICTED = "/large_tool_results"
FILES = {f"{EVICTED}/sub/a": "a", f"{EVICTED}/sub/deep/b": "b", f"{EVICTED}/c": "c"}


def shelf_with(*paths: str) -> Shelf:
    shelf = Shelf()
    for path in paths:
        shelf.put(path, "on mount")
    return shelf


@pytest.mark.parametrize("on_mount", [(), (f"{EVICTED}/sub/m",)])
def test_refused_results_go_along_into_the_state(on_mount: tuple[str, ...]) -> None:
    shelf = shelf_with("/kept", *on_mount)
    mounts = {"/": shelf, "/own": StateBackend()}
    state = run(move(f"{EVICTED}/sub", "/own/new"), files=FILES, mounts=mounts)
    count = 2 + len(on_mount)
    assert answers(state)[0].text == f"Moved {EVICTED}/sub to /own/new ({count} files)."
    arrived = {"/own/new/a", "/own/new/deep/b", *(["/own/new/m"] if on_mount else [])}
    assert set(contents(state)) == {f"{EVICTED}/c", *arrived}
    assert shelf.files.keys() == {"/kept"}


@pytest.mark.parametrize("on_mount", [(), (f"{EVICTED}/sub/m",)])
def test_refused_results_go_along_to_another_mount(on_mount: tuple[str, ...]) -> None:
    shelf, other = shelf_with("/kept", *on_mount), Shelf()
    state = run(move(f"{EVICTED}/sub", "/o/new"), files=FILES, mounts={"/": shelf, "/o": other})
    assert answers(state)[0].status == "success"
    assert other.files.keys() == {"/new/a", "/new/deep/b", *(["/new/m"] if on_mount else [])}
    assert contents(state) == {f"{EVICTED}/c": "c"}
    assert shelf.files.keys() == {"/kept"}


def test_refused_results_stay_in_the_state_where_their_mount_would_refuse_them_again() -> None:
    class Moving(Shelf):
        def move(self, source: str, destination: str) -> MoveResult:
            for path in [path for path in self.files if path.startswith(source + "/")]:
                self.files[destination + path[len(source) :]] = self.files.pop(path)
            return MoveResult(path=destination)

    shelf = Moving()
    shelf.put(f"{EVICTED}/sub/m", "on mount")
    state = run(move(f"{EVICTED}/sub", f"{EVICTED}/new"), files=FILES, mounts={"/": shelf})
    assert answers(state)[0].text == f"Moved {EVICTED}/sub to {EVICTED}/new (3 files)."
    assert shelf.files.keys() == {f"{EVICTED}/new/m"}
    assert contents(state) == {
        f"{EVICTED}/new/a": "a",
        f"{EVICTED}/new/deep/b": "b",
        f"{EVICTED}/c": "c",
    }


class Refusing(Shelf):
    """Takes no results."""

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        refused = [content != b"on mount" for _, content in files]
        if not any(refused):
            return super().upload_files(files)
        return [FileUploadResponse(path, error="no room") for path, _ in files]


def test_refused_results_that_stay_are_told() -> None:
    shelf, other = shelf_with(f"{EVICTED}/sub/m"), Refusing()
    state = run(move(f"{EVICTED}/sub", "/o/new"), files=FILES, mounts={"/": shelf, "/o": other})
    text = answers(state)[0].text
    assert text.startswith(f"Moved {EVICTED}/sub to /o/new (1 file). 2 results stay in {EVICTED}")
    assert "/o/new/a: could not be written (no room)" in text
    assert contents(state) == FILES
    assert other.files == {"/new/m": b"on mount"}
    state = run(move(f"{EVICTED}/sub", "/o/x"), files=FILES, mounts={"/": Shelf(), "/o": other})
    assert answers(state)[0].status == "error"
    assert contents(state) == FILES


def test_refused_results_don_t_go_where_something_is() -> None:
    other = Shelf(new__f="kept")
    state = run(move(f"{EVICTED}/sub", "/o/new"), files=FILES, mounts={"/": Shelf(), "/o": other})
    assert "/o/new: the file exists already" in answers(state)[0].text
    assert contents(state) == FILES


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_directory_that_is_renamed_on_disk_says_how_many_files_it_has(
    is_nested: bool, tmp_path: Path
) -> None:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    for name in ("a", "b", "sub/c"):
        (tmp_path / "d" / name).write_text(name)
    os.mkfifo(tmp_path / "d" / "fifo")
    disk = FilesystemBackend(tmp_path)
    composite = CompositeBackend(StateBackend(), {"/m": disk})
    mounts: Any = {"/": lambda _: composite} if is_nested else {"/m": disk}
    [reply, odd] = answers(run([move("/m/d", "/m/e"), move("/m/e/fifo", "/m/f")], mounts=mounts))
    assert reply.text == "Moved /m/d to /m/e (4 files)."
    assert odd.text == "Moved /m/e/fifo to /m/f (1 file)."


@pytest.mark.parametrize("is_nested", [False, True])
def test_empty_directories_that_are_not_kept_are_told(is_nested: bool, tmp_path: Path) -> None:
    (tmp_path / "d" / "empty").mkdir(parents=True)
    (tmp_path / "d" / "also" / "empty").mkdir(parents=True)
    (tmp_path / "d" / "f").write_text("f")
    (tmp_path / "d" / "link").symlink_to("f")
    disk = FilesystemBackend(tmp_path)
    composite = CompositeBackend(StateBackend(), {"/m": disk})
    mounts: Any = {"/": lambda _: composite} if is_nested else {"/m": disk}
    state = run(move("/m/d", "/d"), mounts=mounts)
    assert answers(state)[0].text == (
        "Moved /m/d to /d (2 files). 2 empty directories were not kept: there are none at the "
        "destination. 1 symbolic link is now what it led to."
    )
    assert contents(state) == {"/d/f": "f", "/d/link": "f"}
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["fifo", "directory link", "dangling link"])
@pytest.mark.parametrize("is_nested", [False, True])
def test_what_only_a_disk_can_hold_is_named_and_nothing_changes(
    kind: str, is_nested: bool, tmp_path: Path
) -> None:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "f").write_text("f")
    odd = tmp_path / "d" / "sub" / "odd"
    if kind == "fifo":
        os.mkfifo(odd)
    else:
        odd.symlink_to(".." if kind == "directory link" else "nothing")
    disk = FilesystemBackend(tmp_path)
    composite = CompositeBackend(StateBackend(), {"/m": disk})
    mounts: Any = {"/": lambda _: composite} if is_nested else {"/m": disk}
    for source in ("/m/d", "/m/d/sub/odd"):
        state = run(move(source, "/d"), mounts=mounts)
        text = answers(state)[0].text
        assert text.startswith("Error: /m/d/sub/odd: is a ")
        assert "Nothing was moved" in text
        assert state.get("files", {}) == {}
    assert odd.is_symlink() or odd.exists()


def test_a_directory_without_files_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "d" / "empty").mkdir(parents=True)
    state = run(move("/m/d", "/d"), mounts={"/m": FilesystemBackend(tmp_path)})
    assert "/m/d: has no files, and /d can't be a directory without any" in answers(state)[0].text
    assert (tmp_path / "d" / "empty").is_dir()


def test_what_can_not_be_deleted_is_not_copied_either() -> None:
    class Lasting(Shelf):
        delete = None  # type: ignore[assignment]

    shelf, other = Lasting(f="x"), Shelf()
    [reply] = answers(run(move("/m/f", "/n/f"), mounts={"/m": shelf, "/n": other}))
    assert reply.status == "error"
    assert "/m/f: can't be moved to /n/f, as the backend mounted at /m can't delete." in reply.text
    assert "Nothing was copied." in reply.text
    assert (shelf.files, other.files) == ({"/f": b"x"}, {})
