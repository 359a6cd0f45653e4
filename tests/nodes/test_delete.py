"""`delete`: a file or a whole directory goes, and nothing else."""

import pytest

from tests.nodes.backends import Shelf
from tests.scripted import answer, answers, arun, call, run

FILES = {"/a": "", "/d/x": "", "/d/e/y": "", "/dx": ""}


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/a", ["/d/e/y", "/d/x", "/dx"]),
        ("/d", ["/a", "/dx"]),
        ("d/", ["/a", "/dx"]),
        ("/d/e", ["/a", "/d/x", "/dx"]),
    ],
)
def test_a_file_or_a_directory_goes(path: str, left: list[str]) -> None:
    state = run(call("delete", file_path=path), files=FILES)
    assert sorted(state["files"]) == left
    assert answers(state)[0].text == f"Deleted /{path.strip('/')}."


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/", "/: is the root, and can't be written, moved or deleted"),
        ("/gone", "/gone: no such file or directory"),
        ("/d/", "/d: is a mount point, or a directory above one"),
        ("/d/m", "/d/m: is a mount point, or a directory above one"),
        ("/x/..", "it has a `..` part"),
    ],
)
def test_what_can_not_be_deleted_says_why(path: str, problem: str) -> None:
    mount = Shelf(a="kept")
    state = run(call("delete", file_path=path), files=FILES, mounts={"/d/m": mount})
    [reply] = answers(state)
    assert reply.status == "error"
    assert problem in reply.text
    assert sorted(state["files"]) == sorted(FILES)
    assert mount.files == {"/a": b"kept"}


def test_a_file_can_be_written_anew_after_it_was_deleted() -> None:
    write = call("write_file", file_path="/a", content="new")
    state = run([call("delete", file_path="/a"), write], files={"/a": "old"})
    assert state["files"]["/a"]["content"] == "new"


def test_deleting_twice_in_one_message_fails_the_second_time() -> None:
    state = run([call("delete", file_path="/a"), call("delete", file_path="/a")], files=FILES)
    assert [reply.status for reply in answers(state)] == ["success", "error"]


def test_a_backend_that_can_not_delete_says_so() -> None:
    class Keeper(Shelf):
        delete = None  # type: ignore[assignment]  # a backend of other people may lack it

    reply = answer(call("delete", file_path="/s/a"), mounts={"/s": Keeper(a="")})
    assert reply.text == "Error: /s/a: the backend there can't delete."


async def test_deleting_is_the_same_in_async_graphs() -> None:
    shelf = Shelf(a="", b="")
    state = await arun(
        [call("delete", file_path="/s/a"), call("delete", file_path="/d")],
        files=FILES,
        mounts={"/s": shelf},
    )
    assert shelf.files == {"/b": b""}
    assert sorted(state["files"]) == ["/a", "/dx"]
