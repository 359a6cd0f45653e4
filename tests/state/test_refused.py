"""Results that a mount refused: found below directories of the mount, and nowhere else."""

from typing import Any

import pytest
from langgraph.runtime import Runtime

from langgraph_filesystem.state.backends import StateBackend
from langgraph_filesystem.state.io import Blocking
from langgraph_filesystem.state.refused import refused_below
from langgraph_filesystem.state.view import EVICTED, View
from langgraph_filesystem.state.workspace.composite import CompositeBackend
from langgraph_filesystem.state.workspace.mounts import Mounts
from tests.nodes.backends import Shelf

FILES: Any = {
    path: {"content": path}
    for path in (f"{EVICTED}/a", f"{EVICTED}/sub/b", f"{EVICTED}-not/c", "/other/d")
}


async def refused(mounts: Any, directory: str, files: Any = FILES) -> list[str]:
    view = View(Mounts(mounts), Blocking(), Runtime(), files)
    found = await refused_below(view, directory)
    return [] if found is None else sorted(info["path"] for info in found.glob("*").matches or ())


@pytest.mark.parametrize(
    ("directory", "expected"),
    [
        ("/", [f"{EVICTED}/a", f"{EVICTED}/sub/b"]),
        (EVICTED, [f"{EVICTED}/a", f"{EVICTED}/sub/b"]),
        (f"{EVICTED}/sub", [f"{EVICTED}/sub/b"]),
        (f"{EVICTED}/a", []),
        ("/other", []),
        (f"{EVICTED}-not", []),
    ],
)
async def test_they_are_below_their_directories(directory: str, expected: list[str]) -> None:
    assert await refused({"/": Shelf()}, directory) == expected


async def test_files_of_the_state_itself_were_not_refused() -> None:
    assert await refused({"/": StateBackend()}, "/") == []
    assert await refused({"/": Shelf(), EVICTED: StateBackend()}, "/") == []
    composite = CompositeBackend(StateBackend(), {"/m": Shelf()})
    for factory in (lambda _: StateBackend(), lambda _: composite):
        assert await refused({"/": factory}, "/") == []


async def test_only_those_of_a_mount_that_takes_none_were_refused() -> None:
    mounts = {"/": StateBackend(), f"{EVICTED}/sub": Shelf()}
    assert await refused(mounts, "/") == [f"{EVICTED}/sub/b"]


async def test_a_mount_that_can_not_be_made_refuses_everything() -> None:
    assert len(await refused({"/": lambda _: 1 / 0}, EVICTED)) == 2
