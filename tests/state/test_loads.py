"""Uploads and downloads over several mounts."""

from typing import Any

from langgraph.runtime import Runtime

from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.io import Blocking
from langgraph_filesystem.state.loads import download, upload
from langgraph_filesystem.state.view import View
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Broken, Shelf


def view_of(**mounts: Any) -> View:
    given = {f"/{prefix}": backend for prefix, backend in mounts.items()}
    return View(Mounts(given), Blocking(), Runtime(), {"/s": {"content": "state"}})


async def test_each_mount_is_asked_once() -> None:
    asked: list[list[str]] = []

    class Counting(Shelf):
        def download_files(self, paths: list[str]) -> Any:
            asked.append(paths)
            return super().download_files(paths)

    view = view_of(m=Counting(a="1", b="2"))
    found = await download(view, ["/m/b", "/s", "/m/a", "/m/gone"])
    assert asked == [["/b", "/a", "/gone"]]
    assert [one.content for one in found] == [b"2", b"state", b"1", None]
    assert [one.path for one in found] == ["/m/b", "/s", "/m/a", "/m/gone"]


async def test_a_mount_that_fails_does_not_keep_the_others() -> None:
    view = view_of(m=Broken(OSError("gone")), n=Shelf(a="1"))
    found = await download(view, ["/m/a", "/n/a"])
    assert [one.content for one in found] == [None, b"1"]
    assert "OSError: gone" in (found[0].error or "")
    arrived = await upload(view, [("/m/a", b""), ("/n/b", b"")])
    assert "OSError: gone" in (arrived[0].error or "")
    assert arrived[1].error is None


async def test_what_is_wrong_with_a_path_is_told_without_asking() -> None:
    view = view_of(**{"m/n": Shelf()}, x=StateBackend())
    paths = ["/../a", "/", "/m", "/m/n", "/x", "~"]
    errors = ["invalid_path", *["is_directory"] * 4, "invalid_path"]
    assert [one.error for one in await download(view, paths)] == errors
    assert [one.error for one in await upload(view, [(path, b"") for path in paths])] == errors


async def test_what_goes_to_the_state_comes_back_as_an_update() -> None:
    [arrived] = await upload(view_of(x=StateBackend()), [("/x/a", b"text")])
    assert arrived.files_update is not None
    assert set(arrived.files_update) == {"/x/a"}


async def test_nothing_is_nothing() -> None:
    assert await upload(view_of(), []) == []
    assert await download(view_of(), []) == []
