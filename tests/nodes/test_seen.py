"""What the agent knows of files: only that may be changed, and it is stored when it is new."""

import pytest

from langgraph_filesystem.state.backends.protocol import FileDownloadResponse
from langgraph_filesystem.state.channels import merge_seen
from langgraph_filesystem.state.errors import FileExists, NotRead
from tests.nodes.backends import Shelf
from tests.nodes.test_filesystem import filesystem
from tests.nodes.test_move import FILES, move
from tests.scripted import answer, call, run


async def test_reading_what_is_known_already_writes_nothing() -> None:
    fs = filesystem({"/a": {"content": "x"}})
    await fs.mark_seen("/a")
    seen = fs.updates()["seen"]
    again = filesystem({"/a": {"content": "x"}}, seen=seen)
    await again.mark_seen("/a")
    assert again.updates() == {}


async def test_a_file_must_be_known_to_be_changed() -> None:
    fs = filesystem({"/a": {"content": "x"}})
    with pytest.raises(NotRead):
        await fs.edit("/a", "x", "y", False)
    with pytest.raises(NotRead):
        await fs.write("/a", "y", overwrite=True)
    with pytest.raises(FileExists):
        await fs.write("/a", "y")
    await fs.mark_seen("/a")
    assert await fs.edit("/a", "x", "y", False) == 1


def test_a_backend_without_downloads_is_guarded_by_what_it_reads() -> None:
    class NoDownloads(Shelf):
        def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
            raise NotImplementedError

    shelf = NoDownloads(a="x")
    edit = call("edit_file", file_path="/m/a", old_string="x", new_string="y")
    assert "has not been read" in answer(edit, mounts={"/m": shelf}).text
    assert shelf.files == {"/a": b"x"}
    run(call("read_file", file_path="/m/a"), edit, mounts={"/m": shelf})
    assert shelf.files == {"/a": b"y"}


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


async def test_a_move_that_has_only_copied_is_remembered_until_it_is_finished() -> None:
    fs = filesystem()
    fs._seen.mark_copied("k", "2")
    seen = fs.updates()["seen"]
    again = filesystem(seen=seen)
    assert (again._seen.copied("k"), again._seen.copied("other")) == ("2", "")
    again._seen.forget("/")
    again._seen.mark_copied("k", None)
    assert merge_seen(seen, [again.updates()["seen"]]) == {}
