"""Moves within a mount and across: every file ends at one end, or stays where it was."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import FilesystemBackend as TheirFiles
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from obstore.store import MemoryStore

from langgraph_filesystem import (
    CompositeBackend,
    FilesystemBackend,
    RemoteBackend,
    StateBackend,
    StoreBackend,
    create_filesystem_agent,
)
from langgraph_filesystem.state.backends.protocol import FileDownloadResponse, FileUploadResponse
from langgraph_filesystem.state.errors import (
    FileExists,
    FilesystemError,
    Unsupported,
)
from langgraph_filesystem.state.io import run_sync
from langgraph_filesystem.state.workspace.workspace import Workspace
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answers, arun, call, run, says
from tests.state.workspace.opened import texts, workspace

FILES = {"/one": b"one\r\n", "/d/a": b"a", "/d/deep/.b": b"\xff\x00", "/dx": b"dx"}
KINDS = ["state", "disk", "disk 2", "store", "remote", "foreign", "theirs"]


class Ends:
    """A mount of each kind, and what is on it."""

    def __init__(self, directory: Path) -> None:
        for name in ("disk", "disk 2", "theirs"):
            (directory / name).mkdir()
        self.shelf = Shelf()
        self.mounts: dict[str, Any] = {
            "/state": StateBackend(),
            "/disk": FilesystemBackend(directory / "disk"),
            "/disk 2": FilesystemBackend(directory / "disk 2"),
            "/store": StoreBackend(("x",), store=InMemoryStore()),
            "/remote": RemoteBackend(MemoryStore()),
            "/foreign": self.shelf,
            "/theirs": TheirFiles(root_dir=directory / "theirs", virtual_mode=True),
        }
        self.workspace = workspace(self.mounts)

    async def fill(self, kind: str, files: dict[str, bytes]) -> None:
        given = {f"/{kind}{path}": content for path, content in files.items()}
        assert await self.workspace.put(given) == {}

    async def files(self, kind: str) -> dict[str, bytes]:
        """Return what a mount holds."""
        found: dict[str, bytes] = {}
        directories = [f"/{kind}"]
        for directory in directories:
            for entry in (await self.workspace.ls(directory)).entries or ():
                path = entry["path"].rstrip("/")
                if entry.get("is_dir"):
                    directories.append(path)
                    continue
                [content] = await self.workspace.fetch([path])
                assert isinstance(content, bytes)
                found[path.removeprefix(f"/{kind}")] = content
        return found


@pytest.fixture
def ends(tmp_path: Path) -> Ends:
    return Ends(tmp_path)


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("destination", KINDS)
async def test_files_and_directories_move_between_all_kinds_of_mounts(
    source: str, destination: str, ends: Ends
) -> None:
    await ends.fill(source, FILES)
    file = await ends.workspace.move(f"/{source}/one", f"/{destination}/new/one")
    directory = await ends.workspace.move(f"/{source}/d", f"/{destination}/e")
    assert file.path == f"/{destination}/new/one"
    if source != destination or source not in ("foreign", "theirs"):
        assert (file.files, directory.files) == (1, 2)
    moved = {"/new/one": b"one\r\n", "/e/a": b"a", "/e/deep/.b": b"\xff\x00"}
    left = {"/dx": b"dx"}
    if source == destination:
        assert await ends.files(source) == left | moved
    else:
        assert (await ends.files(source), await ends.files(destination)) == (left, moved)


@pytest.mark.parametrize("destination", KINDS)
async def test_a_taken_destination_is_refused_and_nothing_changes(
    destination: str, ends: Ends
) -> None:
    source = "disk" if destination != "disk" else "store"
    await ends.fill(source, FILES)
    await ends.fill(destination, {"/taken": b"t", "/dir/f": b"f"})
    for start, end, named in [
        ("/one", "/taken", "/taken"),
        ("/one", "/dir", "/dir"),
        ("/d", "/taken", "/taken"),
        ("/d", "/dir", "/dir"),
        *([("/one", "/taken/below", "/taken")] if destination != "foreign" else []),
    ]:
        with pytest.raises(FilesystemError) as caught:
            await ends.workspace.move(f"/{source}{start}", f"/{destination}{end}")
        assert f"/{destination}{named}" in str(caught.value)
    assert await ends.files(source) == FILES
    assert await ends.files(destination) == {"/taken": b"t", "/dir/f": b"f"}


@pytest.mark.parametrize("destination", ["state", "store", "remote", "foreign"])
async def test_a_part_that_is_there_already_counts_as_copied(destination: str, ends: Ends) -> None:
    await ends.fill("disk", FILES)
    await ends.fill(destination, {"/e/a": b"a", "/one": b"one\r\n"})
    moved = await ends.workspace.move("/disk/d", f"/{destination}/e")
    await ends.workspace.move("/disk/one", f"/{destination}/one")
    assert moved.files == 2
    assert await ends.files("disk") == {"/dx": b"dx"}
    assert (await ends.files(destination)).keys() == {"/one", "/e/a", "/e/deep/.b"}


async def test_a_part_that_differs_is_refused(ends: Ends) -> None:
    await ends.fill("disk", FILES)
    await ends.fill("foreign", {"/e/a": b"theirs"})
    with pytest.raises(FileExists, match=r"/foreign/e/a: .*differs from what would be moved there"):
        await ends.workspace.move("/disk/d", "/foreign/e")
    assert await ends.files("disk") == FILES
    assert ends.shelf.files["/e/a"] == b"theirs"


@pytest.mark.parametrize(
    ("source", "destination", "problem"),
    [
        (
            "/disk/one",
            "/disk/one",
            "/disk/one: can't be moved to /disk/one, which is the same path",
        ),
        ("/disk/d", "/disk/d/x", "/disk/d: can't be moved to /disk/d/x, which is the same path"),
        ("/disk", "/store/x", "/disk: is a mount point"),
        ("/disk/one", "/store", "/store: is a mount point"),
        ("/", "/store/x", "/: is the root"),
        ("/disk/gone", "/store/x", "/disk/gone: no such file"),
        ("/disk/gone", "/disk 2/x", "/disk/gone: no such file"),
        ("/foreign/gone", "/state/x", "/foreign/gone: no such file"),
        ("/disk/gone", "/store/there", "/store/there exists: it may have been moved there before"),
    ],
)
async def test_what_can_not_move_says_why(
    source: str, destination: str, problem: str, ends: Ends
) -> None:
    await ends.fill("disk", FILES)
    await ends.fill("store", {"/there": b""})
    with pytest.raises(FilesystemError) as caught:
        await ends.workspace.move(source, destination)
    assert problem in str(caught.value)
    assert await ends.files("disk") == FILES


# The same storage under two mounts


@pytest.mark.parametrize("is_one_object", [True, False])
@pytest.mark.parametrize("kind", ["store", "remote", "disk", "theirs"])
async def test_a_file_is_not_moved_onto_itself_under_another_mount(
    kind: str, is_one_object: bool, tmp_path: Path
) -> None:
    store, memory = InMemoryStore(), MemoryStore()
    make: Any = {
        "store": lambda: StoreBackend(("x",), store=store),
        "remote": lambda: RemoteBackend(memory),
        "disk": lambda: FilesystemBackend(tmp_path),
        "theirs": lambda: TheirFiles(root_dir=tmp_path, virtual_mode=True),
    }[kind]
    one = make()
    opened = workspace({"/a": one, "/b": one if is_one_object else make()})
    assert await opened.put({"/a/d/f": b"kept"}) == {}
    for path in ("/d/f", "/d"):
        with pytest.raises(FilesystemError) as caught:
            await opened.move(f"/a{path}", f"/b{path}")
        assert "/a/d" in str(caught.value) or "/b/d" in str(caught.value)
    assert await opened.fetch(["/a/d/f"]) == [b"kept"]
    assert len((await opened.ls("/a")).entries or ()) == 1
    await opened.move("/a/d", "/b/e")
    assert await opened.fetch(["/a/e/f"]) == [b"kept"]


# Limits


class Crash(BaseException):
    """The end of a process."""


class CrashingStore(InMemoryStore):
    """A store whose process ends before the first deletion."""

    crashed = False

    def batch(self, ops: Any) -> Any:
        ops = list(ops)
        if not self.crashed and any(isinstance(op, PutOp) and op.value is None for op in ops):
            self.crashed = True
            raise Crash
        return super().batch(ops)


def test_a_crash_while_two_mounts_are_compared_leaves_nothing_behind(tmp_path: Path) -> None:
    store = CrashingStore()
    (tmp_path / "a").write_text("1")
    graph = create_filesystem_agent(
        ScriptedModel(
            [
                says(call("write_file", file_path="/store/a", content="1")),
                says(move("/store/a", "/disk/a")),
            ]
        ),
        mounts={"/store/": StoreBackend(("files",)), "/disk/": FilesystemBackend(tmp_path)},
        store=store,
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    with pytest.raises(Crash):
        graph.invoke({"messages": [HumanMessage("go")]}, config)
    assert len(store.search(("files",))) == 2
    assert answers(graph.invoke(None, config))[-1].text == "Moved /store/a to /disk/a (1 file)."
    assert store.search(("files",)) == []


async def test_too_many_files_are_refused_before_anything_is_copied(ends: Ends) -> None:
    await ends.fill("state", {f"/many/{number}": b"" for number in range(1_001)})
    with pytest.raises(FilesystemError, match=r"/state/many: has 1,001 files .* up to 1,000 files"):
        await ends.workspace.move("/state/many", "/foreign/many")
    assert ends.shelf.files == {}


async def test_too_many_bytes_are_refused_before_anything_is_copied(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for number in range(5):
        with open(tmp_path / "d" / str(number), "wb") as file:
            file.truncate(14 << 20)
    shelf = Shelf()
    opened = workspace({"/m": FilesystemBackend(tmp_path, max_file_size_mb=20), "/n": shelf})
    with pytest.raises(FilesystemError, match="up to 1,000 files and 64 MB"):
        await opened.move("/m/d", "/n/d")
    assert shelf.files == {}


async def test_too_many_bytes_of_unknown_size_are_refused_and_nothing_is_deleted() -> None:
    class Large(Shelf):
        def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
            return [FileDownloadResponse(path, bytes(1 << 20)) for path in paths]

    large = Large(**{f"d__{number}": "" for number in range(65)})
    with pytest.raises(FilesystemError, match=r"64 MB.*Nothing was deleted from /m/d"):
        await workspace({"/m": large}).move("/m/d", "/d")
    assert len(large.files) == 65


# What goes wrong


class Full(Shelf):
    """A shelf that takes two files and no more."""

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        answers = []
        for path, content in files:
            is_full = len(self.files) == 2
            answers.append(FileUploadResponse(path, error="disk full" if is_full else None))
            if not is_full:
                self.put(path, content)
        return answers


async def test_a_move_that_fails_half_way_deletes_nothing_and_goes_on_when_made_again() -> None:
    full = Full()
    files = {"/d/1": "1", "/d/2": "2", "/d/3": "3"}
    opened = workspace({"/m": full}, files)
    with pytest.raises(FilesystemError, match=r"/m/d/3: disk full\. Nothing was deleted from /d\."):
        await opened.move("/d", "/m/d")
    assert texts(opened) == files
    roomy = Shelf()
    roomy.files = full.files
    again = workspace({"/m": roomy}, files)
    assert (await again.move("/d", "/m/d")).files == 3
    assert roomy.files == {"/d/1": b"1", "/d/2": b"2", "/d/3": b"3"}
    assert texts(again) == {}


@pytest.mark.parametrize("source", ["/m/f", "/m/d"])
async def test_what_can_not_be_read_is_not_deleted(source: str) -> None:
    class Sealed(Shelf):
        def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
            return [FileDownloadResponse(path, error="permission_denied") for path in paths]

    sealed = Sealed(f="kept", d__g="kept")
    with pytest.raises(FilesystemError, match=r"/m/.*permission denied"):
        await workspace({"/m": sealed}).move(source, "/b")
    assert sealed.files == {"/f": b"kept", "/d/g": b"kept"}


async def test_a_source_that_can_not_be_deleted_is_told() -> None:
    class Keeper(Shelf):
        def delete(self, file_path: str) -> Any:
            raise OSError("read-only")

    opened = workspace({"/m": Keeper(f="x")})
    told = "Copied to /b, but the source could not be deleted: /m/f: OSError: read-only"
    with pytest.raises(FilesystemError, match=told):
        await opened.move("/m/f", "/b")
    assert texts(opened) == {"/b": "x"}


async def test_what_has_no_delete_is_not_copied_either() -> None:
    class Lasting(Shelf):
        delete = None  # type: ignore[assignment]

    shelf, other = Lasting(f="x"), Shelf()
    with pytest.raises(Unsupported, match=r"/m/f: can't be moved.*write it to /n/f"):
        await workspace({"/m": shelf, "/n": other}).move("/m/f", "/n/f")
    assert other.files == {}


@pytest.mark.parametrize("destination", ["/n/d", "/d"])
async def test_files_that_change_or_come_during_a_move_stay(
    destination: str, tmp_path: Path
) -> None:
    (tmp_path / "d").mkdir()
    for name in ("a", "b"):
        (tmp_path / "d" / name).write_text("old")

    def change(event: dict[str, Any]) -> None:
        (tmp_path / "d" / "a").write_text("new text")
        (tmp_path / "d" / "c").write_text("came")

    opened = workspace({"/m": FilesystemBackend(tmp_path), "/n": Shelf()})
    opened.progress = change
    moved = await opened.move("/m/d", destination)
    assert moved.files == 1
    assert moved.note is not None
    assert moved.note.startswith("Changed or added during the move, and therefore still at the ")
    assert "/m/d/a and 1 more" in moved.note
    assert destination in moved.note
    left = {path.name: path.read_text() for path in (tmp_path / "d").iterdir()}
    assert left == {"a": "new text", "c": "came"}
    assert await opened.fetch([f"{destination}/a", f"{destination}/b"]) == [b"old", b"old"]


async def test_what_the_destination_can_not_hold_is_told(tmp_path: Path) -> None:
    (tmp_path / "d" / "empty").mkdir(parents=True)
    (tmp_path / "d" / "f").write_text("f")
    (tmp_path / "d" / "link").symlink_to("f")
    opened = workspace({"/m": FilesystemBackend(tmp_path)})
    moved = await opened.move("/m/d", "/d")
    assert moved.files == 2
    assert moved.note == (
        "Empty directories were not kept: 1. Symbolic links became copies of what they pointed to: "
        "1."
    )
    assert texts(opened) == {"/d/f": "f", "/d/link": "f"}


async def test_a_destination_that_has_all_of_it_and_more_is_where_a_move_was_interrupted(
    ends: Ends,
) -> None:
    await ends.fill("disk", {"/d/b": b"b"})
    await ends.fill("foreign", {"/e/a": b"a", "/e/b": b"b"})
    assert (await ends.workspace.move("/disk/d", "/foreign/e")).files == 1
    assert await ends.files("disk") == {}
    await ends.fill("disk", {"/d/b": b"b", "/d/new": b"new"})
    with pytest.raises(FileExists, match=r"^/foreign/e: the file exists already"):
        await ends.workspace.move("/disk/d", "/foreign/e")
    assert ends.shelf.files == {"/e/a": b"a", "/e/b": b"b"}


@pytest.mark.parametrize("kind", ["fifo", "broken link", "empty"])
async def test_what_another_mount_can_not_hold_stays(kind: str, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    if kind == "fifo":
        os.mkfifo(tmp_path / "d" / "odd")
    elif kind == "broken link":
        (tmp_path / "d" / "odd").symlink_to("nothing")
    before = os.listdir(tmp_path / "d")
    opened = workspace({"/m": FilesystemBackend(tmp_path)})
    with pytest.raises(FilesystemError, match="/m/d"):
        await opened.move("/m/d", "/d")
    assert texts(opened) == {}
    assert os.listdir(tmp_path / "d") == before


# Into the state: the source is deleted when the copy is in a checkpoint


async def test_into_the_state_a_call_with_a_key_comes_again(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    mounts = {"/m": FilesystemBackend(tmp_path)}
    first = workspace(mounts, key="s.g.1")
    assert await first.move_or_defer("/m/f", "/f") is None
    assert (tmp_path / "f").exists()
    assert texts(first) == {"/f": "text"}
    second = workspace(mounts, texts(first), key="s.g.1")
    moved = await second.move_or_defer("/m/f", "/f")
    assert moved is not None
    assert moved.files == 1
    assert not (tmp_path / "f").exists()
    # Killed after the deletion, before the answer is stored, it comes once more.
    third = await workspace(mounts, texts(first), key="s.g.1").move_or_defer("/m/f", "/f")
    assert third is not None
    assert third.files == 1


async def test_without_a_key_it_is_one_step(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    opened = workspace({"/m": FilesystemBackend(tmp_path)})
    moved = await opened.move_or_defer("/m/f", "/f")
    assert moved is not None
    assert not (tmp_path / "f").exists()


async def test_a_source_that_changes_between_the_two_steps_stays(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    mounts = {"/m": FilesystemBackend(tmp_path)}
    first = workspace(mounts, key="s.g.1")
    assert await first.move_or_defer("/m/f", "/f") is None
    (tmp_path / "f").write_text("new")
    with pytest.raises(FileExists, match=r"/f: .*differs.*Nothing was deleted from /m/f"):
        await workspace(mounts, texts(first), key="s.g.1").move_or_defer("/m/f", "/f")
    assert (tmp_path / "f").read_text() == "new"


class Watched(Shelf):
    """A shelf that notes, when it deletes, what the saver has of the files of the thread."""

    agent: Any = None

    def __init__(self, **files: str | bytes) -> None:
        super().__init__(**files)
        self.stored: list[list[str]] = []

    def delete(self, file_path: str) -> Any:
        self.stored.append(sorted(self.agent.get_state(CONFIG).values.get("files", {})))
        return super().delete(file_path)


CONFIG: Any = {"configurable": {"thread_id": "t"}}


def move(source: str, destination: str) -> dict[str, Any]:
    return call("move", source=source, destination=destination)


def agent_of(mounts: Any, *calls: Any) -> Any:
    return create_filesystem_agent(
        ScriptedModel([says(*calls)]), mounts=mounts, checkpointer=InMemorySaver()
    )


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("is_made", [False, True])
async def test_what_goes_into_the_state_is_stored_before_it_is_deleted(
    mode: str, is_made: bool
) -> None:
    shelf = Watched(f="one", d__g="two", d__h="three")
    calls = [move("/m/f", "/f"), move("/m/d", "/d"), call("ls", path="/d")]
    composite = CompositeBackend(StateBackend(), {"/m": shelf})
    mounts: Any = {"/": lambda _: composite} if is_made else {"/m": shelf}
    shelf.agent = work = agent_of(mounts, *calls)
    given: Any = {"messages": [HumanMessage("go")]}
    state = await work.ainvoke(given, CONFIG) if mode == "async" else work.invoke(given, CONFIG)
    assert [reply.text for reply in answers(state)] == [
        "Moved /m/f to /f (1 file).",
        "Moved /m/d to /d (2 files).",
        "/d/g\n/d/h",
    ]
    assert shelf.files == {}
    assert shelf.stored == [["/d/g", "/d/h", "/f"]] * 2


def test_a_thread_that_goes_on_from_before_a_move_is_told_that_it_was_made(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    agent = agent_of({"/m": FilesystemBackend(tmp_path)}, move("/m/f", "/f"))
    agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    before = [state for state in agent.get_state_history(CONFIG) if state.next == ("move",)][-1]
    state = agent.invoke(None, agent.update_state(before.config, {"messages": []}))
    [reply] = answers(state)
    assert reply.status == "error"
    assert "/m/f: was moved to /f before, and is not there now" in reply.text


def test_a_call_that_is_edited_after_the_copy_is_another_call(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    agent = agent_of({"/m": FilesystemBackend(tmp_path)}, move("/m/f", "/f"))
    agent.invoke({"messages": [HumanMessage("go")]}, CONFIG, interrupt_after=["move"])
    asked = agent.get_state(CONFIG).values["messages"][-1].model_copy(deep=True)
    asked.tool_calls[0]["args"]["source"] = "/m/other"
    agent.update_state(CONFIG, {"messages": [asked]})
    [reply] = answers(agent.invoke(None, CONFIG))
    assert reply.status == "error"
    assert (tmp_path / "f").read_text() == "text"


async def test_a_composite_that_overrides_a_method_does_not_move_into_the_state() -> None:
    class Mine(CompositeBackend):
        def read(self, *args: Any, **options: Any) -> Any:
            return super().read(*args, **options)

    shelf = Shelf(f="x")
    opened = workspace({"/x": Mine(StateBackend(), {"/m": shelf})}, key="s.g.1")
    with pytest.raises(Unsupported, match="/x/m/f: can't be moved into the state"):
        await opened.move_or_defer("/x/m/f", "/x/f")
    assert shelf.files == {"/f": b"x"}


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_move_is_the_same_in_a_sync_and_an_async_graph(mode: str, tmp_path: Path) -> None:
    turns = [move("/d", "/m/out"), move("/m/out", "/back"), move("/back/x", "/m/x")]
    options: Any = {
        "files": {"/d/x": "x", "/d/y": "y"},
        "mounts": {"/m": FilesystemBackend(tmp_path)},
    }
    state = await arun(*turns, **options) if mode == "async" else run(*turns, **options)
    assert [reply.text for reply in answers(state)] == [
        "Moved /d to /m/out (2 files).",
        "Moved /m/out to /back (2 files).",
        "Moved /back/x to /m/x (1 file).",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


# Interrupted


class Died(BaseException):
    """Raised in the place of a kill."""


class MortalStore(InMemoryStore):
    """A store that calls a function before and after it is used."""

    __slots__ = ("burn",)
    burn: Callable[[], None]

    def batch(self, ops: Any) -> Any:
        self.burn()
        result = super().batch(ops)
        self.burn()
        return result


class Life:
    """A thread with files at one end of a move, which dies at the n-th change of disk or store."""

    def __init__(self, directory: Path, key: str | None) -> None:
        for name in ("disk", "disk 2"):
            (directory / name).mkdir(parents=True)
        self.left = 0
        self.store = MortalStore()
        self.store.burn = self.burn
        self.mounts: dict[str, Any] = {
            "/disk": FilesystemBackend(directory / "disk"),
            "/disk 2": FilesystemBackend(directory / "disk 2"),
            "/store": StoreBackend(("x",), store=self.store),
            "/state": StateBackend(),
        }
        self.key = key
        self.thread: dict[str, str] = {}

    def burn(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Died

    def around(self, function: Any) -> Any:
        def burning(*args: Any, **options: Any) -> Any:
            self.burn()
            result = function(*args, **options)
            self.burn()
            return result

        return burning

    def open(self) -> Workspace:
        return workspace(self.mounts, self.thread, key=self.key)

    def fetch(self, *paths: str) -> list[Any]:
        return run_sync(self.open().fetch(paths))

    def put(self, files: dict[str, bytes]) -> None:
        opened = self.open()
        assert run_sync(opened.put(files)) == {}
        self.thread = texts(opened)

    def move(self, source: str, destination: str) -> None:
        """Run the call until it is answered; each time it ends, the state is stored."""
        moved = None
        while moved is None:
            opened = self.open()
            moved = run_sync(opened.move_or_defer(source, destination))
            self.thread = texts(opened)

    def dies(self, moment: int, source: str, destination: str) -> bool:
        """Die at a moment of a move; say whether there was such a moment."""
        self.left = moment
        with pytest.MonkeyPatch.context() as patch:
            for name in ("rename", "replace", "link", "unlink", "rmdir", "mkdir"):
                patch.setattr(os, name, self.around(getattr(os, name)))
            try:
                self.move(source, destination)
            except Died:
                return True
            finally:
                self.left = 0
        return False


WAYS = [("disk", "store"), ("store", "disk"), ("disk", "disk 2"), ("disk", "state")]


@pytest.mark.parametrize(("source", "destination"), [*WAYS, ("state", "disk")])
def test_a_move_that_dies_at_any_change_is_finished_by_the_same_call(
    source: str, destination: str, tmp_path: Path
) -> None:
    old = [f"/{source}/d/a", f"/{source}/d/deep/b"]
    new = [f"/{destination}/e/a", f"/{destination}/e/deep/b"]
    way = f"/{source}/d", f"/{destination}/e"
    moment, died = 0, True
    while died:
        moment += 1
        life = Life(tmp_path / str(moment), "scope.group.1")
        life.put(dict(zip(old, (b"a", b"b"), strict=True)))
        died = life.dies(moment, *way)
        for content, *ends in zip((b"a", b"b"), old, new, strict=True):
            assert content in life.fetch(*ends)
        if died:
            life.move(*way)
        assert life.fetch(*new) == [b"a", b"b"]
        assert run_sync(life.open().kind(way[0])) is None
    assert moment > 2
