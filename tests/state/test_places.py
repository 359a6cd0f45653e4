"""Where to look: mounts at and below a path, and paths that are there because of mounts only."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.io import Blocking
from langgraph_filesystem.state.places import (
    belongs,
    first_missing,
    is_only_above_mounts,
    is_there,
    places,
    points_below,
)
from langgraph_filesystem.state.view import View
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Broken, Shelf
from tests.scripted import answer, call


def view_of(mounts: dict[str, Any], **files: str) -> View:
    given: Any = {"/" + path.replace("__", "/"): {"content": text} for path, text in files.items()}
    return View(Mounts(mounts), Blocking(), Runtime(), given)


@pytest.mark.parametrize(
    ("path", "pattern", "asked"),
    [
        ("/", "*.py", [("/", "/", "*.py"), ("/a", "/a", "*.py"), ("/a/b", "/a/b", "*.py")]),
        ("/", "a/*", [("/", "/", "a/*"), ("/a", "/a", None), ("/a/b", "/a/b", None)]),
        ("/a/x", "x/*", [("/a", "/a/x", "x/*")]),
        ("/a/b", None, [("/a/b", "/a/b", None)]),
    ],
)
async def test_each_mount_is_asked_for_what_it_can_answer(
    path: str, pattern: str | None, asked: list[Any]
) -> None:
    view = view_of({"/a": Shelf(), "/a/b": Shelf()})
    found = await places(view, path, pattern)
    assert [(place.mount.prefix, place.start, place.pattern) for place in found] == asked


@pytest.mark.parametrize(
    ("root", "files", "only"),
    [
        (StateBackend(), {}, True),
        (StateBackend(), {"v__x": ""}, False),
        (Shelf(), {}, True),
        (Shelf(v__x=""), {}, False),
        (Shelf(other=""), {}, True),
        # What can't be known is looked at, and says itself what is wrong.
        (Broken(OSError("gone")), {}, False),
    ],
)
async def test_a_path_may_be_there_because_of_mounts_only(
    root: Any, files: dict[str, str], only: bool
) -> None:
    view = view_of({"/": root, "/v/w/x": Shelf()}, **files)
    assert await is_only_above_mounts(view, "/v") is only
    assert await is_only_above_mounts(view, "/") is False


def test_such_a_path_is_listed_without_a_complaint_of_the_mount_above_it() -> None:
    mounts: Any = {"/": Shelf(a=""), "/v/w": Shelf(h="x")}
    assert answer(call("ls", path="/v"), mounts=mounts).text == "/v/w/"
    assert answer(call("glob", pattern="*", path="/v"), mounts=mounts).text == "/v/w/h"
    assert answer(call("grep", pattern="x", path="/v"), mounts=mounts).text == "/v/w/h"


def test_mounts_are_directories_of_those_above_them() -> None:
    view = view_of({"/a/b/c": Shelf(), "/a/d": Shelf()})
    assert [entry["path"] for entry in points_below(view, "/a")] == ["/a/b", "/a/d"]
    assert [entry["path"] for entry in points_below(view, "/")] == ["/a"]
    assert points_below(view, "/a/d") == []


def test_a_mount_hides_what_is_at_its_path() -> None:
    view = view_of({"/a": Shelf()})
    assert not belongs(view, view.mounts.locate("/"), "/a/x")
    assert belongs(view, view.mounts.locate("/a"), "/a/x")


@pytest.mark.parametrize(
    ("path", "missing"),
    [("/m", None), ("/m/a", None), ("/m/a/b", None), ("/m/a/x/y", "/m/a/x"), ("/m/x/y", "/m/x")],
)
async def test_the_topmost_name_that_lacks_is_found(path: str, missing: str | None) -> None:
    view = view_of({"/m": Shelf(a__b="")})
    mount = view.mounts.locate(path)
    assert await first_missing(view, mount, path) == missing
    assert await is_there(view, mount, path) is (missing is None)


async def test_a_very_deep_path_is_looked_for_by_as_many_lists_as_there_are_names() -> None:
    class Counted(Shelf):
        lists = 0

        def ls(self, path: str) -> Any:
            self.lists += 1
            return super().ls(path)

    shelf = Counted(**{"__".join("x" * 1_500): ""})
    view = view_of({"/m": shelf})
    mount = view.mounts.locate("/m")
    assert await is_there(view, mount, "/m" + "/x" * 1_500)
    assert shelf.lists == 1_500
    assert not await is_there(view, mount, "/m" + "/y" * 1_500)
    assert shelf.lists == 1_501
