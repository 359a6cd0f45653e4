"""`move`: another path for a file or a directory, or the reason why not."""

from typing import Any

import pytest

from tests.nodes.backends import Shelf
from tests.scripted import answers, call, run

FILES = {"/a": "a", "/d/x": "x", "/d/e/.y": "y", "/dx": "dx"}


def move(source: str, destination: str) -> dict[str, Any]:
    return call("move", source=source, destination=destination)


def contents(state: dict[str, Any]) -> dict[str, str]:
    return {path: file["content"] for path, file in state["files"].items()}


@pytest.mark.parametrize(
    ("source", "destination", "moved", "count"),
    [
        ("/a", "/b", {"/b": "a"}, "1 file"),
        ("/a", "/new/b", {"/new/b": "a"}, "1 file"),
        ("/a", "/d/a", {"/d/a": "a"}, "1 file"),
        ("/d", "/n", {"/n/x": "x", "/n/e/.y": "y"}, "2 files"),
        ("/d/e", "/e", {"/e/.y": "y"}, "1 file"),
        ("/d", "/dxx", {"/dxx/x": "x", "/dxx/e/.y": "y"}, "2 files"),
    ],
)
def test_files_and_directories_move(
    source: str, destination: str, moved: dict[str, str], count: str
) -> None:
    state = run(move(source, destination), files=FILES)
    gone = {p for p in FILES if p == source or p.startswith(source + "/")}
    kept = {path: text for path, text in FILES.items() if path not in gone}
    assert contents(state) == kept | moved
    [reply] = answers(state)
    assert reply.text == f"Moved {source} to {destination} ({count})."
    assert reply.artifact == {"files": len(moved)}


@pytest.mark.parametrize(
    ("source", "destination", "problem"),
    [
        ("/a", "/a", "can't be moved to /a, which is the same path or inside it"),
        ("/d", "/d/e/f", "can't be moved to /d/e/f, which is the same path or inside it"),
        ("/d/e", "/d", "/d: is a directory"),
        ("/a", "/dx", "/dx: the file exists already"),
        ("/a", "/d", "/d: is a directory"),
        ("/a", "/dx/b", "/dx is a file, not a directory"),
        ("/d", "/dx", "/dx: the file exists already"),
        ("/gone", "/b", "/gone: no such file or directory"),
        ("/", "/b", "/: is the root"),
        ("/a", "/", "/: is the root"),
        ("/m", "/b", "/m: is a mount point, or a directory above one"),
        ("/a", "/m", "/m: is a mount point, or a directory above one"),
        ("/a", "/m/taken", "/m/taken: the file exists already"),
        ("/a", "/m/dir", "/m/dir: is a directory"),
        ("/d", "/m/dir", "/m/dir: the file exists already"),
        ("/m/taken", "/a", "/a: the file exists already"),
        ("/m/dir", "/d", "/d: the file exists already"),
        ("/m/gone", "/b", "/m/gone: "),
        ("/gone", "/m/b", "/gone: no such file or directory"),
        ("/../a", "/b", "it has a `..` part"),
    ],
)
def test_what_can_not_move_says_why_and_stays(source: str, destination: str, problem: str) -> None:
    shelf = Shelf(taken="t", dir__f="f")
    state = run(move(source, destination), files=FILES, mounts={"/m": shelf})
    [reply] = answers(state)
    assert reply.status == "error"
    assert problem in reply.text
    assert contents(state) == FILES
    assert shelf.files == {"/taken": b"t", "/dir/f": b"f"}
