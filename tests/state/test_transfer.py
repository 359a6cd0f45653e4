"""From one mount to another: what can't be moved whole stays whole."""

import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.state.backends import StateBackend, claims
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.protocol import (
    FileDownloadResponse,
    FileUploadResponse,
    WriteResult,
)
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from tests.nodes.backends import Shelf
from tests.nodes.test_move import FILES, contents, move
from tests.scripted import ScriptedModel, answer, answers, arun, call, run, says


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


class WriteOnly:
    """Takes text only, by writing it."""

    def __init__(self) -> None:
        self.shelf = Shelf()

    def ls(self, path: str) -> Any:
        return self.shelf.ls(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any:
        return self.shelf.read(file_path, offset, limit)

    def write(self, file_path: str, content: str) -> Any:
        return self.shelf.write(file_path, content)

    def delete(self, file_path: str) -> Any:
        return self.shelf.delete(file_path)


class InNameOnly(WriteOnly):
    """Has methods that it does not implement, as by inheritance."""

    def upload_files(self, files: Any) -> Any:
        raise NotImplementedError

    def download_files(self, paths: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("kind", [WriteOnly, InNameOnly])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_text_moves_to_and_from_a_backend_without_uploads(kind: Any, mode: str) -> None:
    backend = kind()
    turns = [move("/d", "/m/d"), move("/m/d/x", "/back")]
    options: Any = {"files": FILES, "mounts": {"/m": backend}}
    state = await arun(*turns, **options) if mode == "async" else run(*turns, **options)
    assert [reply.status for reply in answers(state)] == ["success", "success"]
    assert backend.shelf.files == {"/d/e/.y": b"y"}
    assert contents(state)["/back"] == "x"


@pytest.mark.parametrize("kind", [WriteOnly, InNameOnly])
def test_what_is_no_text_stays_where_it_is(kind: Any) -> None:
    raw = {"/raw": {"content": "/wA=", "encoding": "base64"}}
    state = run(move("/raw", "/m/raw"), files=raw, mounts={"/m": kind()})
    assert "takes only text" in answers(state)[0].text
    assert list(state["files"]) == ["/raw"]


CONFIG: Any = {"configurable": {"thread_id": "t"}}


def agent_of(backend: Any, *calls: Any, at: str = "/m") -> Any:
    return create_filesystem_agent(
        ScriptedModel([says(*calls)]), mounts={at: backend}, checkpointer=InMemorySaver()
    )


class Watched(Shelf):
    """A shelf that notes, when it deletes, what the saver has of the files of the thread."""

    agent: Any = None

    def __init__(self, **files: str | bytes) -> None:
        super().__init__(**files)
        self.stored: list[list[str]] = []

    def delete(self, file_path: str) -> Any:
        self.stored.append(sorted(self.agent.get_state(CONFIG).values.get("files", {})))
        return super().delete(file_path)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("is_nested", [False, True])
async def test_what_goes_into_the_state_is_stored_before_it_is_deleted(
    mode: str, is_nested: bool
) -> None:
    shelf = Watched(f="one", d__g="two", d__h="three")
    calls = [move("/m/f", "/f"), move("/m/d", "/d"), call("ls", path="/d")]
    composite = CompositeBackend(StateBackend(), {"/m": shelf})
    at, backend = ("/", lambda _: composite) if is_nested else ("/m", shelf)
    shelf.agent = agent_of(backend, *calls, at=at)
    given: Any = {"messages": [HumanMessage("go")]}
    work = shelf.agent
    state = await work.ainvoke(given, CONFIG) if mode == "async" else work.invoke(given, CONFIG)
    assert [reply.text for reply in answers(state)] == [
        "Moved /m/f to /f (1 file).",
        "Moved /m/d to /d (2 files).",
        "/d/g\n/d/h",
    ]
    assert contents(state) == {"/f": "one", "/d/g": "two", "/d/h": "three"}
    assert shelf.files == {}
    assert shelf.stored == [["/d/g", "/d/h", "/f"]] * 2
    assert shelf.agent.get_state(CONFIG).values.get("seen", {}).keys() <= {"/f", "/d/g", "/d/h"}


def test_a_source_that_changes_before_it_is_deleted_is_left() -> None:
    class Changing(Shelf):
        def digest(self, path: str) -> str | None:
            return "known" if path in self.files else None

        def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
            found = super().download_files(paths)
            if paths == ["/f"] and found[0].content == b"old":
                self.put("/f", "new")
            return found

    shelf = Changing(f="old")
    state = agent_of(shelf, move("/m/f", "/f")).invoke({"messages": [HumanMessage("go")]}, CONFIG)
    [reply] = answers(state)
    assert (
        "Copied to /f, but the source is left: /m/f was changed since, or its copy was."
        in reply.text
    )
    assert contents(state) == {"/f": "old"}
    assert shelf.files == {"/f": b"new"}


def test_what_is_at_the_destination_already_is_not_taken_for_the_copy() -> None:
    shelf = Shelf(f="same")
    agent = agent_of(shelf, move("/m/f", "/f"))
    given: Any = {"messages": [HumanMessage("go")], "files": {"/f": "same"}}
    [reply] = answers(agent.invoke(given, CONFIG))
    assert "the file exists already" in reply.text
    assert shelf.files == {"/f": b"same"}


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_directory_with_what_has_no_path_is_left_where_it_is(
    tmp_path: Path, is_nested: bool
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("text")
    Path(os.fsdecode(bytes(tmp_path / "d") + b"/\xff")).write_text("can't be named")
    disk = FilesystemBackend(tmp_path)
    composite = CompositeBackend(StateBackend(), {"/m": disk})
    at, backend = ("/", lambda _: composite) if is_nested else ("/m", disk)
    agent = agent_of(backend, move("/m/d", "/d"), move("/m/d/f", "/f"), at=at)
    state = agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    assert "is left where it is, as not all of it can be moved: " in answers(state)[0].text
    assert answers(state)[1].text == "Moved /m/d/f to /f (1 file)."
    assert contents(state) == {"/f": "text"}
    assert len(os.listdir(tmp_path / "d")) == 1


def test_a_thread_that_goes_on_from_before_a_move_is_told_that_it_was_made(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    agent = agent_of(FilesystemBackend(tmp_path), move("/m/f", "/f"))
    agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    before = [state for state in agent.get_state_history(CONFIG) if state.next == ("move",)][-1]
    assert before.values.get("files", {}) == {}
    state = agent.invoke(None, agent.update_state(before.config, {"messages": []}))
    [reply] = answers(state)
    assert reply.status == "error"
    assert "was moved to /f already, in another course of this thread" in reply.text


def test_a_call_that_is_edited_after_the_copy_is_another_call(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    agent = agent_of(FilesystemBackend(tmp_path), move("/m/f", "/f"))
    agent.invoke({"messages": [HumanMessage("go")]}, CONFIG, interrupt_after=["move"])
    asked = agent.get_state(CONFIG).values["messages"][-1].model_copy(deep=True)
    asked.tool_calls[0]["args"]["source"] = "/m/other"
    agent.update_state(CONFIG, {"messages": [asked]})
    state = agent.invoke(None, CONFIG)
    [reply] = answers(state)
    assert reply.status == "error"
    assert (tmp_path / "f").read_text() == "text"


def test_a_result_that_its_mount_refused_stays_where_it_is_found() -> None:
    class Refusing(Shelf):
        def write(self, file_path: str, content: str) -> Any:
            return WriteResult(error=f"{file_path}: no room")

        def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
            return [FileUploadResponse(path, error="permission_denied") for path, _ in files]

    state = run(
        move("/large_tool_results/c1", "/moved"),
        files={"/large_tool_results/c1": "text"},
        mounts={"/": Refusing()},
    )
    assert answers(state)[0].status == "error"
    assert contents(state) == {"/large_tool_results/c1": "text"}


def test_what_comes_to_the_source_while_it_is_copied_is_not_deleted_with_it(tmp_path: Path) -> None:
    class Meanwhile(Shelf):
        def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
            (tmp_path / "d" / "new").write_text("new")
            return super().upload_files(files)

    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("text")
    shelf = Meanwhile()
    mounts = {"/m": FilesystemBackend(tmp_path), "/n": shelf}
    [reply] = answers(run(move("/m/d", "/n/d"), mounts=mounts))
    assert "Copied to /n/d, but the source is left: /m/d was changed meanwhile." in reply.text
    assert sorted(os.listdir(tmp_path / "d")) == ["f", "new"]
    assert shelf.files == {"/d/f": b"text"}


@pytest.mark.parametrize("destination", ["/n/d", "/here"])
def test_what_comes_after_the_last_look_is_not_deleted_with_it(
    destination: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("text")
    disk = FilesystemBackend(tmp_path)
    delete = disk.delete_copied

    def late(*args: Any, **options: Any) -> Any:
        assert FilesystemBackend(tmp_path).write("/d/new", "new").error is None
        return delete(*args, **options)

    monkeypatch.setattr(disk, "delete_copied", late)
    agent = create_filesystem_agent(
        ScriptedModel([says(move("/m/d", destination))]),
        mounts={"/m": disk, "/n": Shelf()},
        checkpointer=InMemorySaver(),
    )
    [reply] = answers(agent.invoke({"messages": [HumanMessage("go")]}, CONFIG))
    left = f"Copied to {destination}, but the source is left: /m/d was changed meanwhile."
    assert left in reply.text
    assert sorted(os.listdir(tmp_path / "d")) == ["f", "new"]


def test_a_source_that_is_kept_under_another_name_is_told_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_text("text")
    disk, claim = FilesystemBackend(tmp_path), claims._claim

    def between(place: Any) -> Any:
        (tmp_path / "f").write_text("changed")
        held = claim(place)
        (tmp_path / "f").write_text("new")
        return held

    monkeypatch.setattr(claims, "_claim", between)
    [reply] = answers(run(move("/m/f", "/n/f"), mounts={"/m": disk, "/n": Shelf()}))
    assert "It is at /m/f-1 now, as something else is at /m/f." in reply.text
    assert (tmp_path / "f-1").read_text() == "changed"
    assert (tmp_path / "f").read_text() == "new"
