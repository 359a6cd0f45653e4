"""The workspace: paths, what the agent has seen, effects that happen once, commands."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from obstore.store import MemoryStore

from langgraph_filesystem import (
    CompositeBackend,
    FilesystemBackend,
    LocalShellBackend,
    RemoteBackend,
    StateBackend,
    StoreBackend,
)
from langgraph_filesystem.state.backends.file_store import Query
from langgraph_filesystem.state.backends.protocol import (
    ExecuteResponse,
    FileDownloadResponse,
    Outcome,
    WriteResult,
)
from langgraph_filesystem.state.channels import merge_seen
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotRead,
    PathRefused,
    Unsupported,
)
from langgraph_filesystem.state.workspace.workspace import EVICTED
from tests.nodes.backends import Broken, PlainShell, Shelf, Shell
from tests.scripted import answer, answers, call, run
from tests.state.workspace.opened import paths, texts, workspace

# Paths


@pytest.mark.parametrize("kind", ["disk", "store", "remote", "composite"])
async def test_a_path_that_a_backend_could_not_list_is_refused(kind: str, tmp_path: Path) -> None:
    backends: dict[str, Any] = {
        "disk": FilesystemBackend(tmp_path),
        "store": StoreBackend(("files",), store=InMemoryStore()),
        "remote": RemoteBackend(MemoryStore()),
    }
    backends["composite"] = CompositeBackend(backends["disk"], {"/in/": backends["store"]})
    opened = workspace({"/": StateBackend(), "/m/": backends[kind]}, {"/a": "1"})
    for write in (opened.write("/m/c:x", "1"), opened.move("/a", "/m/c:x")):
        with pytest.raises(PathRefused, match=r"Path '/m/c:x' is invalid: there are no drive"):
            await write
    assert paths(await opened.glob("**", "/")) == ["/a"]


def test_a_factory_that_fails_does_not_tell_the_directory_on_the_host(tmp_path: Path) -> None:
    mounts: Any = {"/": StateBackend(), "/user/": lambda _: FilesystemBackend(tmp_path / "gone")}
    reply = answer(call("ls", path="/user"), mounts=mounts)
    assert reply.status == "error"
    assert "can't be used as a directory: No such file or directory" in reply.text
    assert str(tmp_path) not in reply.text


# One task


async def test_the_next_call_of_a_task_sees_what_the_one_before_changed() -> None:
    files = {"/old": "x"}
    opened = workspace(None, files, seen={})
    await opened.write("/a", "one")
    assert (await opened.edit("/a", "one", "two")).occurrences == 1
    await opened.delete("/old")
    assert paths(await opened.ls("/")) == ["/a"]
    updates = opened.updates()
    assert updates["files"]["/a"]["content"] == "two"
    assert updates["files"]["/old"] is None
    assert list(updates["seen"]) == ["/a"]
    assert files == {"/old": "x"}
    assert workspace().updates() == {}


async def test_edits_are_handed_on_as_edits() -> None:
    opened = workspace(None, {"/a": "1" * 10_000 + "2"})
    await opened.edit("/a", "2", "3")
    await opened.edit("/a", "3", "4")
    [update] = opened.updates()["files"].values()
    assert [(edit["old"], edit["new"]) for edit in update["edits"]] == [("2", "3"), ("3", "4")]


async def test_mounts_are_separate() -> None:
    mounts = {"/m": Shelf(a="outer", n__a="hidden"), "/m/n": Shelf(a="inner"), "/s": StateBackend()}
    opened = workspace(mounts, {"/a": "root", "/s/a": "state"})
    found = await opened.fetch(["/m/a", "/m/n/a", "/s/a", "/a"])
    assert found == [b"outer", b"inner", b"state", b"root"]
    assert (await opened.edit("/m/a", "outer", "x")).path == "/m/a"


# Errors name the paths that the model knows, once


async def test_errors_have_the_path_of_the_graph(tmp_path: Path) -> None:
    mounts = {
        "/s": StateBackend(),
        "/d": FilesystemBackend(tmp_path),
        "/f": Shelf(),
        "/o": StoreBackend(("x",), store=InMemoryStore()),
        "/made": lambda runtime: CompositeBackend(StateBackend(), {"/in": Shelf()}),
    }
    opened = workspace(mounts)
    for prefix in ("/s", "/d", "/f", "/o", "/made", "/made/in"):
        path = f"{prefix}/gone"
        for failing in (
            opened.read(path),
            opened.edit(path, "a", "b"),
            opened.delete(path),
            opened.ls(path),
            opened.move(path, f"{prefix}/x"),
            opened.move(path, "/elsewhere"),
        ):
            with pytest.raises(FileNotFound) as caught:
                await failing
            assert str(caught.value).startswith(f"{path}: no such file")
        [content] = await opened.fetch([path])
        assert str(content).startswith(f"{path}: no such file")


async def test_whatever_a_backend_raises_is_told_with_the_path_of_the_graph() -> None:
    opened = workspace({"/m": Broken(ValueError("odd"))})
    for failing in (
        opened.read("/m/a"),
        opened.write("/m/a", "x"),
        opened.edit("/m/a", "x", "y"),
        opened.delete("/m/a"),
        opened.move("/m/a", "/m/b"),
    ):
        with pytest.raises(FilesystemError) as caught:
            await failing
        assert str(caught.value) in ("/m/a: ValueError: odd", "/m: ValueError: odd")


@pytest.mark.parametrize("path", ["/", "/m", "/m/n", "/v"])
async def test_a_mount_and_what_is_above_it_are_directories(path: str) -> None:
    opened = workspace({"/m/n": Shelf(), "/v/w": StateBackend()})
    for failing in (opened.read(path), opened.edit(path, "a", "b")):
        with pytest.raises(IsDirectory, match=f"^{path}: is a directory"):
            await failing
    for refused in (opened.write(path, ""), opened.delete(path), opened.move(path, "/x")):
        with pytest.raises(FilesystemError, match=f"^{path}: is "):
            await refused
    [content] = await opened.fetch([path])
    assert isinstance(content, IsDirectory)
    assert isinstance((await opened.put({path: b""}))[path], IsDirectory)
    assert await opened.kind(path) == "directory"


# Many files at once


async def test_each_mount_is_asked_once_for_many_files() -> None:
    asked: list[list[str]] = []

    class Counting(Shelf):
        def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
            asked.append(paths)
            return super().download_files(paths)

    opened = workspace({"/m": Counting(a="1", b="2")}, {"/s": "state"})
    found = await opened.fetch(["/m/b", "/s", "/m/a", "/m/b"])
    assert found == [b"2", b"state", b"1", b"2"]
    assert asked == [["/b", "/a"]]
    assert await opened.put({"/m/c": b"3", "/t": b"\xff"}) == {}
    assert await opened.fetch(["/m/c", "/t"]) == [b"3", b"\xff"]
    assert await opened.fetch([]) == []


@pytest.mark.parametrize("broken", [Broken(OSError("gone")), lambda runtime: 1 / 0])
async def test_a_mount_that_fails_does_not_keep_others_from_their_files(broken: Any) -> None:
    opened = workspace({"/m": broken, "/n": Shelf(a="1")})
    found = await opened.fetch(["/m/a", "/n/a"])
    assert isinstance(found[0], FilesystemError)
    assert found[1] == b"1"
    failed = await opened.put({"/m/a": b"", "/n/b": b""})
    assert list(failed) == ["/m/a"]
    assert "/m" in str(failed["/m/a"])


# Factories


async def test_a_factory_gets_the_runtime_and_is_called_once_for_a_task() -> None:
    made: list[Any] = []

    def factory(runtime: Any) -> Any:
        made.append(runtime)
        return Shelf(a="x")

    opened = workspace({"/m": factory}, runtime="the runtime")
    await opened.read("/m/a")
    await opened.write("/m/b", "y")
    assert paths(await opened.ls("/m")) == ["/m/a", "/m/b"]
    assert made == ["the runtime"]


async def test_a_factory_that_gives_the_state_serves_the_files_of_the_thread() -> None:
    opened = workspace({"/m": lambda runtime: StateBackend()}, {"/m/a": "x"}, seen={})
    await opened.mark_seen("/m/a")
    await opened.edit("/m/a", "x", "y")
    assert texts(opened) == {"/m/a": "y"}
    assert list(opened.updates()["seen"]) == ["/m/a"]


@pytest.mark.parametrize("made", [None, "text", lambda runtime: 1 / 0])
async def test_a_factory_that_fails_is_an_error_of_its_mount_alone(made: Any) -> None:
    opened = workspace({"/m": lambda runtime: made}, {"/a": "x"})
    with pytest.raises(FilesystemError, match=r"^open /m failed: "):
        await opened.read("/m/a")
    assert (await opened.read("/a")).file_data is not None


async def test_a_composite_that_a_factory_makes_is_mounted_in_parts(tmp_path: Path) -> None:
    def factory(runtime: Any) -> Any:
        inner = CompositeBackend(StateBackend(), {"/deep": lambda _: Shelf(f="deep")})
        return CompositeBackend(inner, {"/disk": FilesystemBackend(tmp_path)})

    opened = workspace({"/x": factory}, {"/x/a": "x", "/b": "b"}, seen={}, key="s.g.1")
    assert paths(await opened.glob("*")) == ["/b", "/x/a", "/x/deep/f"]
    assert paths(await opened.ls("/x")) == ["/x/a", "/x/deep", "/x/disk"]
    await opened.mark_seen("/x/a")
    await opened.edit("/x/a", "x", "y")
    await opened.write("/x/disk/c", "disk")
    with pytest.raises(FilesystemError, match="/x/disk: is a mount point"):
        await opened.delete("/x/disk")
    await opened.move("/x/a", "/x/disk/d")
    assert texts(opened) == {"/b": "b"}
    assert sorted(path.name for path in tmp_path.glob("[a-z]*")) == ["c", "d"]


# Results that their mount refused to take


async def test_results_that_a_mount_refused_are_in_the_state_at_their_path(tmp_path: Path) -> None:
    path = f"{EVICTED}/call-1"
    for mounts in (
        {"/": FilesystemBackend(tmp_path)},
        {EVICTED: FilesystemBackend(tmp_path)},
        {"/": lambda runtime: 1 / 0},
    ):
        opened = workspace(mounts, {path: "text\n"}, seen={})
        assert await opened.fetch([path]) == [b"text\n"]
        assert (await opened.read(path)).total_lines == 1
        found = await opened.grep(Query("text"), path)
        assert [match["path"] for match in found.matches or ()] == [path]
        await opened.mark_seen(path)
        await opened.edit(path, "text", "other")
        await opened.delete(path)
        assert opened.updates()["files"] == {path: None}
    moved = workspace({"/": FilesystemBackend(tmp_path)}, {path: "text\n"})
    await moved.move(path, "/kept")
    assert (texts(moved), (tmp_path / "kept").read_text()) == ({}, "text\n")


async def test_results_in_a_mount_of_the_state_are_ordinary_files() -> None:
    opened = workspace(None, {f"{EVICTED}/a": "x"}, key="s.g.1")
    assert paths(await opened.ls(EVICTED)) == [f"{EVICTED}/a"]
    assert await opened.move_or_defer(f"{EVICTED}/a", "/b") is not None
    assert texts(opened) == {"/b": "x"}


# Edits that did not fit


async def test_conflicts_can_be_read_and_deleted_wherever_the_root_is(tmp_path: Path) -> None:
    path = "/conflicts/a.py-1.txt"
    mounts = {"/": FilesystemBackend(tmp_path), "/s": StateBackend()}
    opened = workspace(mounts, {path: "edit"})
    assert paths(await opened.ls("/")) == ["/conflicts", "/s"]
    assert paths(await opened.ls("/conflicts")) == [path]
    assert paths(await opened.grep(Query("edit"))) == [path]
    await opened.delete(path)
    assert texts(opened) == {}
    assert paths(await workspace(mounts).ls("/")) == ["/s"]


# Read before edit


@pytest.fixture(params=["state", "foreign", "disk", "store"])
def mounts(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "a").write_text("x")
    store = StoreBackend(("x",), store=InMemoryStore())
    store.upload_files([("/a", b"x")])
    made: dict[str, Any] = {
        "state": StateBackend(),
        "foreign": Shelf(a="x"),
        "disk": FilesystemBackend(tmp_path),
        "store": store,
    }
    return {"/m": made[request.param]}


FILES = {"/m/a": "x"}


async def test_a_file_must_be_known_to_be_changed(mounts: Any) -> None:
    opened = workspace(mounts, FILES, seen={})
    with pytest.raises(NotRead, match="/m/a: it has not been read"):
        await opened.edit("/m/a", "x", "y")
    with pytest.raises(NotRead, match="/m/a: it has not been read"):
        await opened.write("/m/a", "y", overwrite=True)
    with pytest.raises(FileExists, match="/m/a"):
        await opened.write("/m/a", "y")
    await opened.mark_seen("/m/a")
    await opened.edit("/m/a", "x", "y")
    await opened.edit("/m/a", "y", "z")
    await opened.write("/m/a", "new", overwrite=True)
    assert await opened.fetch(["/m/a"]) == [b"new"]
    await opened.write("/m/never-there", "", overwrite=True)


async def test_what_is_known_lasts_until_somebody_changes_the_file(mounts: Any) -> None:
    first = workspace(mounts, FILES, seen={})
    await first.mark_seen("/m/a")
    seen = first.updates()["seen"]
    again = workspace(mounts, FILES, seen=seen)
    await again.mark_seen("/m/a")
    assert again.updates() == {}
    await workspace(mounts, FILES).put({"/m/a": b"theirs"})
    later = workspace(mounts, {"/m/a": "theirs"}, seen=seen)
    with pytest.raises(NotRead, match="/m/a: it has changed since it was last read"):
        await later.edit("/m/a", "theirs", "y")


async def test_a_deleted_file_is_not_known_and_a_moved_one_is(mounts: Any) -> None:
    opened = workspace(mounts, FILES, seen={})
    await opened.mark_seen("/m/a")
    await opened.move("/m/a", "/m/b")
    await opened.edit("/m/b", "x", "y")
    await opened.move("/m/b", "/d/c")
    await opened.edit("/d/c", "y", "z")
    seen = merge_seen({}, [opened.updates()["seen"]])
    assert list(seen) == ["/d/c"]
    await opened.delete("/d")
    assert merge_seen({}, [opened.updates().get("seen", {})]) == {}


async def test_what_nobody_can_check_after_a_change_has_to_be_read_again() -> None:
    class Silent(Shelf):
        def digest(self, file_path: str) -> str | None:
            raise OSError("no digest today")

    opened = workspace({"/m": Silent()}, seen={"/m/a": "old"})
    await opened.write("/m/a", "x")
    assert opened.updates()["seen"] == {"/m/a": None}


def test_a_file_that_was_read_may_be_edited_after_it_moved_to_another_mount() -> None:
    shelf = Shelf()
    run(
        call("read_file", file_path="/a"),
        [
            call("move", source="/a", destination="/m/b"),
            call("edit_file", file_path="/m/b", old_string="a", new_string="b"),
        ],
        files={"/a": "a"},
        mounts={"/m": shelf},
    )
    assert shelf.files == {"/b": b"b"}


# Once


class Keyed(Shelf):
    """A shelf that knows of a call what it is told to know."""

    def __init__(self, outcome: Outcome | None = None) -> None:
        super().__init__()
        self.outcome = outcome
        self.keys: list[str | None] = []

    def write(self, file_path: str, content: str, *, once: str | None = None) -> WriteResult:
        self.keys.append(once)
        return super().write(file_path, content)

    def recall(self, once: str) -> Outcome | None:
        self.keys.append(once)
        return self.outcome


async def test_an_effect_outside_the_state_gets_the_key_of_its_call() -> None:
    keyed = Keyed()
    await workspace({"/m": keyed}, key="s.g.0").write("/m/a", "x")
    assert keyed.keys == ["s.g.0", "s.g.0"]
    await workspace({"/m": keyed}).write("/m/b", "x")
    assert keyed.keys == ["s.g.0", "s.g.0", None]


async def test_an_effect_waits_until_it_may_happen_and_one_in_the_state_does_not() -> None:
    waited: list[str] = []

    async def ready() -> None:
        waited.append("ready")

    opened = workspace({"/m": Shell("hi")}, before_effect=ready, key="s.g.0")
    await opened.write("/a", "x")
    assert waited == []
    await opened.write("/m/a", "x")
    await opened.delete("/m/a")
    await opened.execute("ls")
    assert waited == ["ready"] * 3


@pytest.mark.parametrize("kind", ["disk", "store"])
async def test_a_call_that_is_run_again_does_not_repeat_its_effect(
    kind: str, tmp_path: Path
) -> None:
    store = StoreBackend(("x",), store=InMemoryStore())
    mounts = {"/m": FilesystemBackend(tmp_path) if kind == "disk" else store}

    def again(number: int) -> Any:
        return workspace(mounts, key=f"scope.group.{number}")

    for _ in range(2):
        await again(0).write("/m/a", "x")
    for _ in range(2):
        assert (await again(1).edit("/m/a", "x", "xx")).occurrences == 1
    assert await again(1).fetch(["/m/a"]) == [b"xx"]
    for _ in range(2):
        await again(2).move("/m/a", "/m/b")
    for _ in range(2):
        await again(3).delete("/m/b")
    assert await again(4).kind("/m/b") is None


async def test_work_that_others_changed_since_is_for_the_model_to_see(tmp_path: Path) -> None:
    mounts = {"/m": FilesystemBackend(tmp_path)}
    await workspace(mounts, key="scope.group.0").write("/m/a", "x")
    (tmp_path / "a").write_text("theirs")
    with pytest.raises(FilesystemError, match="/m/a: this call was interrupted"):
        await workspace(mounts, key="scope.group.0").write("/m/a", "x")
    assert (tmp_path / "a").read_text() == "theirs"


# Commands


async def test_a_command_runs_in_the_first_mount_that_can() -> None:
    with pytest.raises(Unsupported, match="No mount can run commands"):
        await workspace({"/m": Shelf(), "/made": lambda runtime: Shelf()}).execute("ls")
    near, deep = Shell("near"), Shell("deep")
    opened = workspace({"/a/b": deep, "/a": near})
    assert (await opened.execute("ls", timeout=5)).output == "near"
    assert near.asked == [{"command": "ls", "timeout": 5}]
    made = workspace({"/f": lambda runtime: Shelf(), "/s": lambda runtime: PlainShell()})
    assert (await made.execute("ls")).output == "ran ls\n"
    composite = workspace({"/": lambda runtime: CompositeBackend(StateBackend(), {"/b": deep})})
    assert (await composite.execute("ls")).output == "deep"


async def test_a_shell_that_can_not_be_made_is_an_error() -> None:
    with pytest.raises(FilesystemError, match="open /m failed: ZeroDivisionError"):
        await workspace({"/m": lambda runtime: 1 / 0, "/other": Shell()}).execute("ls")


async def test_a_command_is_never_run_twice(tmp_path: Path) -> None:
    mounts = {"/m": LocalShellBackend(tmp_path)}
    for _ in range(2):
        response = await workspace(mounts, key="scope.group.0").execute("echo ran >> log; echo hi")
        assert response.output == "hi\n"
    assert (tmp_path / "log").read_text() == "ran\n"
    shell = Shell("hi")
    await workspace({"/m": shell}, key="s.g.0").execute("one")
    with pytest.raises(FilesystemError, match="started before the run was interrupted"):
        await workspace({"/m": shell}, key="s.g.0").execute("one")
    assert len(shell.asked) == 1

    class Begun(PlainShell):
        def recall(self, once: str) -> Outcome:
            return Outcome(finished=False)

    with pytest.raises(FilesystemError, match="was started before the run was interrupted"):
        await workspace({"/m": Begun()}, key="s.g.0").execute("one")


async def test_a_command_that_ended_is_answered_from_the_journal() -> None:
    class Journaled(PlainShell):
        def recall(self, once: str) -> Outcome:
            return Outcome(finished=True, response=ExecuteResponse("printed before", 3))

    response = await workspace({"/m": Journaled()}, key="s.g.0").execute("x")
    assert response == ExecuteResponse("printed before", 3)


# Paths that commands print, in a graph


KINDS: dict[str, Any] = {
    "plain": lambda root: {"/project": LocalShellBackend(root)},
    "composite": lambda root: CompositeBackend(Shelf(), {"/project": LocalShellBackend(root)}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_operation_takes_a_path_that_a_command_printed(kind: str, tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "src").mkdir()
    (root / "src/a.py").write_text("x = 1\n")
    state = run(
        call("execute", command='printf %s "$PWD/src/a.py"'),
        call("read_file", file_path=f"{root}/src/a.py"),
        call("edit_file", file_path="/project/src/a.py", old_string="1", new_string="2"),
        call("edit_file", file_path=f"{root}/src/a.py", old_string="2", new_string="3"),
        call("write_file", file_path=f"{root}/new.txt", content="x\n"),
        call("ls", path=str(root)),
        call("grep", pattern="x", path=f"{root}/src", output_mode="content"),
        call("move", source=f"{root}/new.txt", destination=f"{root}/src/old.txt"),
        call("delete", file_path=f"{root}/src/old.txt"),
        call("read_file", file_path=f"{root}/src/old.txt"),
        call("delete", file_path=str(root)),
        mounts=KINDS[kind](root),
    )
    said = [reply.text for reply in answers(state)]
    assert said[0].startswith(f"{root}/src/a.py")
    assert said[1].startswith("     1\tx = 1\n")
    assert said[5] == "/project/new.txt\n/project/src/"
    assert said[6] == "/project/src/a.py:1:x = 3"
    assert said[9].startswith("Error: /project/src/old.txt: no such file")
    assert said[10].startswith("Error: /project: is a mount point")
    assert (root / "src/a.py").read_text() == "x = 3\n"


def test_calls_under_two_names_of_a_file_keep_their_order(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    mounts = {"/project": LocalShellBackend(root)}
    command = call("execute", command="sleep 0.3; echo one > f")
    read = call("read_file", file_path=f"{root}/f")
    edits = [
        call("edit_file", file_path="/project/f", old_string="one", new_string="two"),
        call("edit_file", file_path=f"{root}/f", old_string="two", new_string="three"),
    ]
    state = run([command, read], edits, mounts=mounts)
    assert [reply.status for reply in answers(state)] == ["success"] * 4
    assert (root / "f").read_text() == "three\n"


@pytest.mark.parametrize("below", ["../secret", "link/secret", "out"])
def test_an_alias_is_no_way_out_of_the_root(below: str, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (tmp_path / "secret").write_text("secret")
    (root / "link").symlink_to(tmp_path)
    (root / "out").symlink_to(tmp_path / "secret")
    read = call("read_file", file_path=f"{root}/{below}")
    reply = answer(read, mounts={"/project": LocalShellBackend(root)})
    assert reply.status == "error"
    assert "secret" not in reply.text.replace("/secret", "")
