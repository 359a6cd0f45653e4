"""One view for a task: what a call changed is there for the next, and comes out as one update."""

import time
from typing import Any

import pytest

from langgraph_filesystem.state.backends import StateBackend
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.state.view import renamed
from langgraph_filesystem.state.workspace.mounts import Mount
from tests.nodes.backends import Shelf
from tests.nodes.test_filesystem import filesystem
from tests.scripted import answer, call


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


class Inheriting(Shelf):
    """Has methods that it does not implement, as by inheritance."""

    def delete(self, file_path: str) -> Any:
        raise NotImplementedError

    def glob(self, pattern: str, path: str | None = None) -> Any:
        raise NotImplementedError("not here")


@pytest.mark.parametrize(
    ("name", "args"),
    [("delete", {"file_path": "/m/a"}), ("glob", {"pattern": "*", "path": "/m"})],
)
def test_a_method_that_is_not_implemented_is_one_that_is_not_there(
    name: str, args: dict[str, str]
) -> None:
    reply = answer(call(name, **args), mounts={"/m": Inheriting(a="x")})
    assert f"the backend mounted at /m can't {name}." in reply.text


def test_an_error_says_once_that_it_is_one() -> None:
    class Shouting(Shelf):
        def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any:
            return ReadResult(error=f"Error: {file_path} is missing")

    reply = answer(call("read_file", file_path="/m/a"), mounts={"/m": Shouting()})
    assert reply.text == "Error: /m/a is missing"


def test_of_a_very_deep_path_each_name_that_is_told_is_renamed() -> None:
    mount = Mount("/m", Shelf())
    path = "/m" + "/x" * 1_300
    told = f"{path[2:]}: /x/x is a file, /x/xy and /y/x are none"
    began = time.perf_counter()
    assert renamed(told, mount, path) == f"{path}: /m/x/x is a file, /x/xy and /y/x are none"
    assert time.perf_counter() - began < 2
