"""Through memory: a batch at a time, nothing that is too large, and all of it or nothing."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import SearchOp
from langgraph.store.memory import InMemoryStore

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.state.backends.filesystem import FilesystemBackend
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from langgraph_filesystem.state.backends.protocol import (
    FileDownloadResponse,
    FileUploadResponse,
    LsResult,
)
from langgraph_filesystem.state.copies import MAX_FILE, MAX_IN_STATE, batches
from langgraph_filesystem.state.inventories import Item
from tests.nodes.backends import Shelf
from tests.nodes.test_move import contents, move
from tests.scripted import ScriptedModel, answers, run, says
from tests.state.backends.disks import largest_file
from tests.state.backends.objects.counting import CountingStore

CONFIG: Any = {"configurable": {"thread_id": "t"}}
MB = 1 << 20


def sizes(*given: int | None) -> list[list[int | None]]:
    items = [Item(str(number), size) for number, size in enumerate(given)]
    return [[item.size for item in batch] for batch in batches(items)]


def test_the_first_goes_alone_and_the_rest_by_what_fits() -> None:
    assert sizes() == []
    assert sizes(1) == [[1]]
    assert sizes(1, 2, 3) == [[1], [2, 3]]
    assert sizes(1, 10 * MB, 6 * MB, 1, 40 * MB, 1) == [
        [1],
        [10 * MB, 6 * MB],
        [1],
        [40 * MB],
        [1],
    ]
    assert [len(batch) for batch in sizes(*[1] * 402)] == [1, 200, 200, 1]


def test_what_nobody_knows_the_size_of_goes_alone() -> None:
    assert sizes(1, 2, None, 3, None) == [[1], [2], [None], [3], [None]]


def sparse(path: Path, size: int) -> None:
    path.parent.mkdir(exist_ok=True)
    with open(path, "wb") as file:
        file.truncate(size)


@pytest.mark.parametrize("target", ["state", "store", "shelf"])
@pytest.mark.parametrize("source", ["/m/d", "/m/d/big"])
def test_a_file_that_is_too_large_is_refused_before_anything_changes(
    target: str, source: str, tmp_path: Path
) -> None:
    sparse(tmp_path / "d" / "big", MAX_FILE + 1)
    (tmp_path / "d" / "small").write_text("small")
    shelf = Shelf()
    mounts = {"/m": FilesystemBackend(tmp_path), "/store": StoreBackend(("x",)), "/shelf": shelf}
    to = {"state": "/new", "store": "/store/new", "shelf": "/shelf/new"}[target]
    state = run(move(source, to), mounts=mounts, store=InMemoryStore())
    [reply] = answers(state)
    assert reply.status == "error"
    assert f"/m/d/big: has {MAX_FILE + 1:,} bytes, more than the {MAX_FILE:,}" in reply.text
    assert "Nothing was moved. Leave it where it is, or" in reply.text
    assert sorted(os.listdir(tmp_path / "d")) == ["big", "small"]
    assert state.get("files", {}) == {}
    assert shelf.files == {}


def test_what_is_too_much_for_the_state_is_refused_before_anything_changes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        sparse(tmp_path / "d" / name, MAX_IN_STATE // 2 + 1)
    state = run(move("/m/d", "/new"), mounts={"/m": FilesystemBackend(tmp_path)})
    assert f"more than the {MAX_IN_STATE:,} that one move can take" in answers(state)[0].text
    assert state.get("files", {}) == {}
    assert len(os.listdir(tmp_path / "d")) == 2


class Sized(Shelf):
    """A shelf that says how large a file is, and would rather not give it away."""

    def ls(self, path: str) -> LsResult:
        found = super().ls(path)
        for info in found.entries or ():
            if not info.get("is_dir"):
                info["size"] = MAX_FILE + 1
        return found

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        raise AssertionError("it was downloaded")


def test_a_large_file_of_others_is_not_even_downloaded() -> None:
    shelf = Sized(f="x", d__g="x")
    for source in ("/m/f", "/m/d"):
        state = run(move(source, "/new"), mounts={"/m": shelf})
        assert f"has {MAX_FILE + 1:,} bytes" in answers(state)[0].text


class Measured(Shelf):
    """A shelf that remembers how many bytes and files it was given at once."""

    def __init__(self) -> None:
        super().__init__()
        self.most = self.calls = 0

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        self.most = max(self.most, sum(len(content) for _, content in files))
        self.calls += 1
        return super().upload_files([(path, content[:1]) for path, content in files])


def test_files_are_in_memory_a_batch_at_a_time(tmp_path: Path) -> None:
    for number in range(40):
        sparse(tmp_path / "d" / f"f{number}", MB)
    shelf = Measured()
    mounts = {"/m": FilesystemBackend(tmp_path), "/n": shelf}
    [reply] = answers(run(move("/m/d", "/n/d"), mounts=mounts))
    assert reply.text == "Moved /m/d to /n/d (40 files)."
    assert (shelf.most, shelf.calls) == (16 * MB, 4)
    assert os.listdir(tmp_path) == []


class Filling(Shelf):
    """A shelf that is full after some files."""

    room = 3_000

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        taken = [file for file in files if len(self.files) < self.room]
        answered = super().upload_files(taken[: max(0, self.room - len(self.files))])
        rest = files[len(answered) :]
        return [*answered, *(FileUploadResponse(path, error="disk full") for path, _ in rest)]


def test_five_thousand_files_with_an_error_in_the_middle_stay_where_they_are() -> None:
    files = {f"/d/{number % 50}/{number}": str(number) for number in range(5_000)}
    full = Filling(other="kept")
    state = run(move("/d", "/m/d"), files=files, mounts={"/m": full})
    assert "could not be written (disk full)" in answers(state)[0].text
    assert contents(state) == files
    assert full.files == {"/other": b"kept"}


def test_what_others_put_beside_the_copies_is_not_deleted_with_them(tmp_path: Path) -> None:
    class Busy(Filling):
        room = 2

        def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
            answered = super().upload_files(files)
            self.put("/d/of-others", "kept")
            return answered

    busy = Busy()
    state = run(move("/d", "/m/d"), files={"/d/a": "a", "/d/b": "b"}, mounts={"/m": busy})
    assert answers(state)[0].status == "error"
    assert busy.files == {"/d/of-others": b"kept"}


def test_no_directory_is_left_of_a_move_to_a_disk_that_failed(tmp_path: Path) -> None:
    files = {"/d/a": "a", "/d/sub/large": "x" * 2_000, "/d/sub/c": "c"}
    with largest_file(1_000):
        mounts = {"/m": FilesystemBackend(tmp_path)}
        state = run(move("/d", "/m/new/e"), files=files, mounts=mounts)
    told = "Error: /m/new/e/sub/large: it would get larger than the host allows."
    assert answers(state)[0].text.startswith(told)
    assert contents(state) == files
    assert os.listdir(tmp_path) == []


class Slow(Shelf):
    """A shelf that does not come to an end when it first gets many files."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        answered = self.upload_files(files[:2])
        if len(files) > 1 and not self.begun.is_set():
            self.begun.set()
            await asyncio.sleep(60)
        return [*answered, *self.upload_files(files[2:])]


async def test_a_run_that_is_cancelled_has_moved_nothing_away() -> None:
    slow = Slow()
    files = {f"/d/{number}": str(number) for number in range(10)}
    agent: Any = create_filesystem_agent(
        ScriptedModel([says(move("/d", "/m/d"))]),
        mounts={"/m": slow},
        checkpointer=InMemorySaver(),
    )
    given = {"messages": [HumanMessage("go")], "files": files}
    running = asyncio.create_task(agent.ainvoke(given, CONFIG))
    await asyncio.wait_for(slow.begun.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    state = await agent.aget_state(CONFIG)
    assert contents(state.values) == files


def operations(count: int) -> int:
    """Return what a store is asked for when so many files are moved to it."""
    store = CountingStore(InMemoryStore())
    files = {f"/d/{number % 10}/{number}": "text" for number in range(count)}
    agent: Any = create_filesystem_agent(
        ScriptedModel([says(move("/d", "/m/d"))]),
        mounts={"/m": StoreBackend(("x",))},
        checkpointer=InMemorySaver(),
        store=store,
    )
    state = agent.invoke({"messages": [HumanMessage("go")], "files": files}, CONFIG)
    assert answers(state)[0].text == f"Moved /d to /m/d ({count} files)."
    assert len([op for op in store.ops if isinstance(op, SearchOp)]) < 20
    return len(store.ops)


def test_four_times_the_files_take_four_times_the_work() -> None:
    assert operations(800) < 4.5 * operations(200)
