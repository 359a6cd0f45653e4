"""What a move writes is taken back if it fails; what others have written meanwhile is kept."""

import os
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from obstore.store import MemoryStore

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.objects.remote import RemoteBackend
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from langgraph_filesystem.state.backends.protocol import FileUploadResponse
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from tests.nodes.backends import Shelf
from tests.nodes.test_move import contents, move
from tests.scripted import answers, run
from tests.state.backends.disk.places import largest_file
from tests.state.backends.test_composed import Noting

FILES = {f"/d/{number}": "ours" for number in range(20)}
REFUSED = "others have written there meanwhile, so it was not overwritten, and /d is left as it is."


class Visited:
    """Somebody else writes a file when the second part of a move is about to be uploaded."""

    visit: Any
    fails = False

    def begin(self, files: Any) -> None:
        if len(files) > 1:
            self.visit()
            if self.fails:
                raise OSError(5, "Input/output error")


class VisitedStore(Visited, StoreBackend):
    def upload_files(self, files: Any, *, once: Any = None, overwrite: bool = True) -> Any:
        self.begin(files)
        return super().upload_files(files, once=once, overwrite=overwrite)


class VisitedRemote(Visited, RemoteBackend):
    def upload_files(self, files: Any, *, once: Any = None, overwrite: bool = True) -> Any:
        self.begin(files)
        return super().upload_files(files, once=once, overwrite=overwrite)


class VisitedDisk(Visited, FilesystemBackend):
    def upload_files(self, files: Any, *, overwrite: bool = True, once: Any = None) -> Any:
        self.begin(files)
        return super().upload_files(files, overwrite=overwrite, once=once)


def visited(kind: str, directory: Path) -> tuple[Any, Any]:
    """Return a backend at which somebody writes during a move, and one to look at it."""
    store, memory = InMemoryStore(), MemoryStore()
    made: dict[str, Any] = {
        "store": lambda: (VisitedStore(("x",), store=store), StoreBackend(("x",), store=store)),
        "remote": lambda: (VisitedRemote(memory), RemoteBackend(memory)),
        "disk": lambda: (VisitedDisk(directory), FilesystemBackend(directory)),
    }
    backend, other = made[kind]()
    backend.visit = lambda: other.write("/d/9", "theirs")
    return backend, other


def held(backend: Any) -> dict[str, bytes]:
    paths = [info["path"] for info in backend.glob("**/*").matches]
    return {one.path: one.content for one in backend.download_files(paths)}


@pytest.mark.parametrize("kind", ["store", "remote", "disk"])
def test_what_comes_between_the_look_and_the_write_is_not_overwritten(
    kind: str, tmp_path: Path
) -> None:
    backend, other = visited(kind, tmp_path)
    state = run(move("/d", "/m/d"), files=FILES, mounts={"/m": backend})
    assert answers(state)[0].text.startswith(f"Error: /m/d/9: {REFUSED}")
    assert contents(state) == FILES
    assert held(other) == {"/d/9": b"theirs"}


def test_what_comes_while_other_parts_are_copied_is_not_overwritten() -> None:
    class Busy(Shelf):
        # That it takes any option does not mean that it heeds this one.
        def upload_files(
            self, files: list[tuple[str, bytes]], **_: Any
        ) -> list[FileUploadResponse]:
            self.put("/d/9", "theirs")
            return super().upload_files(files)

    busy = Busy()
    state = run(move("/d", "/m/d"), files=FILES, mounts={"/m": busy})
    assert answers(state)[0].text.startswith(f"Error: /m/d/9: {REFUSED}")
    assert contents(state) == FILES
    assert busy.files == {"/d/9": b"theirs"}


@pytest.mark.parametrize("kind", ["store", "remote", "disk"])
def test_what_others_wrote_is_not_deleted_with_the_copies(kind: str, tmp_path: Path) -> None:
    backend, other = visited(kind, tmp_path)
    backend.fails = True
    state = run(move("/d", "/m/d"), files=FILES, mounts={"/m": backend})
    assert "Input/output error" in answers(state)[0].text
    assert contents(state) == FILES
    assert held(other) == {"/d/9": b"theirs"}


def test_an_empty_directory_stays_where_a_file_can_not_be(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    mounts = {"/m": FilesystemBackend(tmp_path)}
    state = run(move("/f", "/m/keep"), files={"/f": "x"}, mounts=mounts)
    assert answers(state)[0].text == "Error: /m/keep: could not be written (is_directory)."
    assert (tmp_path / "keep").is_dir()


def test_only_the_directories_are_deleted_that_came_with_the_copies(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    files = {"/d/a/b": "b", "/d/c": "c", "/d/sub/large": "x" * 2_000}
    with largest_file(1_000):
        mounts = {"/m": FilesystemBackend(tmp_path)}
        state = run(move("/d", "/m/keep"), files=files, mounts=mounts)
    assert answers(state)[0].status == "error"
    assert contents(state) == files
    assert os.listdir(tmp_path) == ["keep"]
    assert os.listdir(tmp_path / "keep") == []


class Full(Shelf):
    """A shelf that takes one file and gives none back."""

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        if len(files) > 1:
            raise OSError(28, "No space left on device")
        return super().upload_files(files)

    def delete(self, file_path: str) -> Any:
        raise NotImplementedError


def test_copies_that_can_not_be_deleted_are_named() -> None:
    full = Full()
    state = run(move("/d", "/m/d"), files=FILES, mounts={"/m": full})
    assert answers(state)[0].text == (
        "Error: copy /d/1 failed: OSError: No space left on device. "
        "What was copied before could not be deleted, and stays: /m/d/0."
    )
    assert full.files == {"/d/0": b"ours"}


def test_copies_that_can_not_be_looked_at_are_named_and_left() -> None:
    class Gone(Full):
        delete = Shelf.delete

        def download_files(self, paths: Any) -> Any:
            if "/d/0" in paths and self.files:
                raise OSError(5, "Input/output error")
            return super().download_files(paths)

    gone = Gone()
    state = run(move("/d", "/m/d"), files=FILES, mounts={"/m": gone})
    assert "could not be deleted, and stays: /m/d/0." in answers(state)[0].text
    assert gone.files == {"/d/0": b"ours"}


@pytest.mark.parametrize("edited", ["/d/a", "/d/c"])
@pytest.mark.parametrize("kind", ["store", "remote", "shelf"])
def test_a_copy_that_others_edited_after_a_crash_is_not_overwritten(kind: str, edited: str) -> None:
    source = Noting(d__a="1", d__b="2", d__c="3", d__d="4")
    source.breaks_before = "delete"
    ends: dict[str, Any] = {
        "store": lambda: StoreBackend(("x",), store=InMemoryStore()),
        "remote": lambda: RemoteBackend(MemoryStore()),
        "shelf": Noting,
    }
    end = ends[kind]()
    both = CompositeBackend(source, {"/m": end})
    before = dict(source.files)
    with pytest.raises(SystemExit):
        both.move("/d", "/m/d", once="s.g.1")
    end.upload_files([(edited, b"theirs")])
    after = before | {edited: b"theirs"}
    found = both.move("/d", "/m/d", once="s.g.1").error
    assert found is not None
    assert f"/m{edited}" in found or "/m/d: this call was interrupted" in found
    assert source.files == before
    assert {one.path: one.content for one in end.download_files(list(after))} == after
