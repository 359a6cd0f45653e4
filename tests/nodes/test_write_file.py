"""`write_file`: a new file, or one that takes the place of a known one."""

from typing import Any

import pytest

from tests.nodes.backends import Shelf
from tests.scripted import answer, answers, arun, call, run


def write(path: str = "/a", content: str = "new", **args: Any) -> dict[str, Any]:
    return call("write_file", file_path=path, content=content, **args)


@pytest.mark.parametrize(
    ("content", "lines"),
    [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2), ("a\r\nb\fc\u2028d", 2)],
)
def test_a_file_is_written_as_it_is(content: str, lines: int) -> None:
    state = run(write(content=content))
    [reply] = answers(state)
    assert state["files"]["/a"]["content"] == content
    assert state["files"]["/a"]["encoding"] == "utf-8"
    size = f"{len(content)} character{'' if len(content) == 1 else 's'}"
    assert reply.text == f"Wrote /a: {lines} line{'' if lines == 1 else 's'}, {size}."
    assert reply.artifact == {"lines": lines, "characters": len(content)}


def test_directories_above_come_into_being() -> None:
    state = run(write("/x/y/z.txt"), call("ls", path="/x"))
    assert answers(state)[-1].text == "/x/y/"


@pytest.mark.parametrize("turns", [[], [call("read_file", file_path="/a")]], ids=["unread", "read"])
def test_an_existing_file_is_left_alone_and_says_what_to_do(turns: list[Any]) -> None:
    state = run(*turns, write(), files={"/a": "old"})
    reply = answers(state)[-1]
    assert reply.status == "error"
    assert reply.text == (
        "Error: /a: the file exists already. Change it with `edit_file`, or set `overwrite`."
    )
    assert state["files"]["/a"]["content"] == "old"


def test_overwrite_replaces_a_file_that_was_read() -> None:
    state = run(
        call("read_file", file_path="/a"), write(overwrite=True), files={"/a": {"content": "old"}}
    )
    assert state["files"]["/a"]["content"] == "new"


def test_overwrite_replaces_a_file_that_was_written() -> None:
    state = run(write(), write(content="newer", overwrite=True))
    assert state["files"]["/a"]["content"] == "newer"


def test_overwrite_keeps_the_time_of_birth() -> None:
    state = run(write(), write(content="newer", overwrite=True))
    file = state["files"]["/a"]
    assert file["created_at"] <= file["modified_at"]
    state = run(
        call("read_file", file_path="/a"),
        write(overwrite=True),
        files={"/a": {"content": "", "created_at": "2020-01-01T00:00:00Z"}},
    )
    assert state["files"]["/a"]["created_at"] == "2020-01-01T00:00:00Z"


def test_overwrite_of_an_unread_file_asks_to_read_it() -> None:
    state = run(write(overwrite=True), files={"/a": "old"})
    assert answers(state)[0].text == (
        "Error: /a: it has not been read in this conversation, so it was not changed. Read it with "
        "`read_file`, then try again."
    )
    assert state["files"]["/a"]["content"] == "old"


def test_overwrite_of_an_unread_file_works_where_that_is_wanted() -> None:
    state = run(write(overwrite=True), files={"/a": "old"}, read_before_edit=False)
    assert state["files"]["/a"]["content"] == "new"


def test_overwrite_of_nothing_writes_a_new_file() -> None:
    assert run(write(overwrite=True))["files"]["/a"]["content"] == "new"


def test_overwrite_puts_text_in_the_place_of_binary_content() -> None:
    binary = {"content": "/w==", "encoding": "base64"}
    state = run(
        call("read_file", file_path="/a.png"),
        write("/a.png", overwrite=True),
        files={"/a.png": binary},
    )
    assert state["files"]["/a.png"]["content"] == "new"
    assert state["files"]["/a.png"]["encoding"] == "utf-8"


def test_two_writes_of_one_message_land_in_order() -> None:
    state = run([write(content="first"), write(content="second", overwrite=True)])
    assert state["files"]["/a"]["content"] == "second"
    assert all(reply.status == "success" for reply in answers(state))


def test_the_second_of_two_writes_is_refused_without_overwrite() -> None:
    state = run([write(content="first"), write(content="second")])
    assert [reply.status for reply in answers(state)] == ["success", "error"]
    assert state["files"]["/a"]["content"] == "first"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"file_path": "/"}, "/: is the root"),
        ({"file_path": "/d"}, "/d: is a directory, not a file"),
        ({"file_path": "/d/f/x"}, "/d/f is a file, not a directory"),
        ({"file_path": "/m"}, "/m: is a mount point"),
        ({"file_path": "/../x"}, "it has a `..` part"),
        ({"file_path": "/" + "x" * 256}, "a name in it is longer than 255 bytes"),
        ({"content": "\ud800"}, "lone surrogate at character 0"),
        ({"content": 5}, "`content`: Input should be a valid string"),
        ({"content": None}, "`content`: Input should be a valid string"),
        ({"extra": 1}, "`extra`: Extra inputs are not permitted"),
        ({"overwrite": "perhaps"}, "`overwrite`: Input should be a valid boolean"),
    ],
)
def test_what_can_not_be_written_says_why(args: dict[str, Any], problem: str) -> None:
    given = {"file_path": "/a", "content": "new", **args}
    state = run(call("write_file", **given), files={"/d/f": "old"}, mounts={"/m": Shelf()})
    [reply] = answers(state)
    assert reply.status == "error"
    assert problem in reply.text
    assert {path: file["content"] for path, file in state["files"].items()} == {"/d/f": "old"}


def test_missing_arguments_are_named_with_those_there_are() -> None:
    reply = answer(call("write_file"))
    assert "`file_path`: Field required; `content`: Field required" in reply.text
    assert "It takes: file_path, content, overwrite." in reply.text


def test_a_backend_of_other_people_is_guarded_the_same_way() -> None:
    shelf = Shelf(a="old")
    mounts = {"/s": shelf}
    assert "exists already" in answer(write("/s/a"), mounts=mounts).text
    assert "not been read" in answer(write("/s/a", overwrite=True), mounts=mounts).text
    assert shelf.files == {"/a": b"old"}
    state = run(
        call("read_file", file_path="/s/a"),
        write("/s/a", overwrite=True),
        write("/s/b"),
        mounts=mounts,
    )
    assert [reply.status for reply in answers(state)] == ["success"] * 3
    assert shelf.files == {"/a": b"new", "/b": b"new"}


async def test_writing_is_the_same_in_async_graphs() -> None:
    shelf = Shelf()
    state = await arun([write(), write("/s/a")], mounts={"/s": shelf})
    assert state["files"]["/a"]["content"] == "new"
    assert shelf.files == {"/a": b"new"}
