"""Deleting a directory takes along what its mount refused, and nothing else."""

from typing import Any

import pytest

from tests.nodes.backends import Shelf
from tests.nodes.test_move import contents
from tests.scripted import answers, call, run

EVICTED = "/large_tool_results"
FILES = {f"{EVICTED}/a": "a", f"{EVICTED}/sub/b": "b", f"{EVICTED}-not/c": "c"}


def deleted(path: str, shelf: Shelf) -> Any:
    return run(call("delete", file_path=path), files=FILES, mounts={"/": shelf})


@pytest.mark.parametrize("has_others", [True, False])
def test_results_that_the_mount_refused_go_with_their_directory(has_others: bool) -> None:
    shelf = Shelf(kept="kept")
    if has_others:
        shelf.put(f"{EVICTED}/sub/on-mount", "x")
        shelf.put(f"{EVICTED}/on-mount", "x")
    state = deleted(f"{EVICTED}/sub", shelf)
    assert answers(state)[0].text == f"Deleted {EVICTED}/sub."
    assert sorted(contents(state)) == [f"{EVICTED}-not/c", f"{EVICTED}/a"]
    state = deleted(EVICTED, shelf)
    assert answers(state)[0].text == f"Deleted {EVICTED}."
    assert sorted(contents(state)) == [f"{EVICTED}-not/c"]
    assert shelf.files == {"/kept": b"kept"}


def test_one_result_goes_alone() -> None:
    state = deleted(f"{EVICTED}/a", Shelf(kept="kept"))
    assert sorted(contents(state)) == [f"{EVICTED}-not/c", f"{EVICTED}/sub/b"]


def test_what_is_nowhere_is_an_error_still() -> None:
    state = deleted(f"{EVICTED}/none", Shelf(kept="kept"))
    assert answers(state)[0].status == "error"
    assert contents(state) == FILES


def test_a_mount_that_does_not_delete_keeps_the_results_too() -> None:
    class Keeper(Shelf):
        def delete(self, file_path: str) -> Any:
            raise OSError("read-only")

    keeper = Keeper()
    keeper.put(f"{EVICTED}/on-mount", "x")
    state = deleted(EVICTED, keeper)
    assert answers(state)[0].status == "error"
    assert contents(state) == FILES
