"""The filesystem of a node run: mounts under their paths, and one view for a task."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.filesystem import Filesystem
from langgraph_filesystem.nodes.node import _Blocking
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.backends import StateBackend
from langgraph_filesystem.state.backends.protocol import FileDownloadResponse
from langgraph_filesystem.state.errors import FileExists, NotRead, Unsupported
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.state.mounts import Mounts
from tests.nodes.backends import Shelf, Shell
from tests.scripted import answer, answers, call, run


def filesystem(
    files: Files | None = None, mounts: Any = None, seen: Any = None, **options: Any
) -> Filesystem:
    settings = Settings(Mounts(mounts), **options)
    return Filesystem(settings, _Blocking(), Runtime(), files=files or {}, seen=seen or {})


async def test_the_next_call_of_a_task_sees_what_the_one_before_changed() -> None:
    files: Files = {"/old": {"content": "x"}}
    fs = filesystem(files)
    await fs.write("/a", "one")
    assert await fs.edit("/a", "one", "two", False) == 1
    await fs.delete("/old")
    assert [entry["path"] for entry in (await fs.ls("/"))[0]] == ["/a"]
    updates = fs.updates()
    assert updates["files"]["/a"]["content"] == "two"
    assert updates["files"]["/old"] is None
    assert list(updates["seen"]) == ["/a"]
    assert files == {"/old": {"content": "x"}}


async def test_edits_are_handed_on_as_operations() -> None:
    fs = filesystem({"/a": {"content": "1" * 10_000 + "2"}}, read_before_edit=False)
    await fs.edit("/a", "2", "3", False)
    await fs.edit("/a", "3", "4", False)
    [update] = fs.updates()["files"].values()
    assert [(edit["old"], edit["new"]) for edit in update["edits"]] == [("2", "3"), ("3", "4")]


def test_what_changes_nothing_writes_nothing() -> None:
    assert filesystem().updates() == {}


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


async def test_a_factory_is_asked_once_for_the_calls_of_a_task() -> None:
    made: list[Shelf] = []

    def factory(runtime: Any) -> Any:
        made.append(Shelf(a="x"))
        return made[-1]

    fs = filesystem(mounts={"/m": factory})
    await fs.read("/m/a", 0, 10)
    await fs.write("/m/b", "y")
    assert len(made) == 1


async def test_a_factory_that_gives_the_state_and_then_fails_loses_nothing() -> None:
    made: list[int] = []

    def factory(runtime: Any) -> Any:
        made.append(1)
        if len(made) > 1:
            raise ConnectionError
        return StateBackend()

    fs = filesystem(mounts={"/m": factory})
    await fs.write("/m/b", "y")
    assert fs.updates()["files"]["/m/b"]["content"] == "y"


async def test_without_a_shell_nothing_can_be_executed() -> None:
    with pytest.raises(Unsupported):
        await filesystem().execute("ls", None)
    shell = Shell("hi")
    response = await filesystem(mounts={"/w": shell}).execute("ls", 5, unknown=1)
    assert (response.output, shell.asked) == ("hi", [{"command": "ls", "timeout": 5}])


def test_mounts_are_separate() -> None:
    shelf, other = Shelf(a="outer", inner__a="hidden"), Shelf(a="inner")
    mounts = {"/m": shelf, "/m/inner": other, "/s": StateBackend()}
    state = run(
        [
            call("read_file", "1", file_path="/m/a"),
            call("read_file", "2", file_path="/m/inner/a"),
            call("read_file", "3", file_path="/s/a"),
            call("read_file", "4", file_path="/a"),
        ],
        files={"/a": "root", "/s/a": "state"},
        mounts=mounts,
    )
    texts = {m.tool_call_id: m.text.split("\n")[0].split("\t")[-1] for m in answers(state)}
    assert texts == {"1": "outer", "2": "inner", "3": "state", "4": "root"}


def test_errors_name_the_path_as_the_model_knows_it() -> None:
    reply = answer(call("read_file", file_path="/m/x/gone"), mounts={"/m": Shelf()})
    assert reply.text == "Error: /m/x/gone: file_not_found"
    inside = answer(call("read_file", file_path="/m/gone"), mounts={"/m": StateBackend()})
    assert inside.text.startswith("Error: /m/gone: no such file or directory")


class Bare:
    """The least that is a backend: it lists, and knows nothing else."""

    def ls(self, path: str) -> Any:
        return Shelf(a="").ls(path)


@pytest.mark.parametrize(
    ("name", "args", "can"),
    [
        ("read_file", {"file_path": "/m/a"}, "read"),
        ("write_file", {"file_path": "/m/a", "content": ""}, "write"),
        ("edit_file", {"file_path": "/m/a", "old_string": "a", "new_string": "b"}, "edit"),
        ("delete", {"file_path": "/m/a"}, "delete"),
        ("glob", {"pattern": "*", "path": "/m"}, "glob"),
        ("grep", {"pattern": "x", "path": "/m"}, "grep"),
        ("move", {"source": "/m/a", "destination": "/b"}, "move"),
    ],
)
def test_what_a_backend_lacks_is_told(name: str, args: dict[str, str], can: str) -> None:
    mounts: Any = {"/m": Bare()}
    reply = answer(call(name, **args), mounts=mounts)
    assert reply.status == "error"
    assert "/m" in reply.text
    if name != "move":
        assert f"the backend mounted at /m can't {can}." in reply.text


def test_a_backend_without_downloads_is_edited_unguarded() -> None:
    class NoDownloads(Shelf):
        def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
            raise NotImplementedError

    shelf = NoDownloads(a="x")
    edit = call("edit_file", file_path="/m/a", old_string="x", new_string="y")
    assert answer(edit, mounts={"/m": shelf}).status == "success"
    assert shelf.files == {"/a": b"y"}
