"""`edit_file`: exact text gives way, in a file whose content is known."""

import base64
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore
from obstore.store import MemoryStore

from langgraph_filesystem import (
    FilesystemBackend,
    RemoteBackend,
    StoreBackend,
    create_filesystem_agent,
)
from tests.nodes.backends import Shelf
from tests.scripted import ScriptedModel, answers, arun, call, run, says

READ = call("read_file", file_path="/a")


def edit(old: str, new: str, path: str = "/a", **args: Any) -> dict[str, Any]:
    return call("edit_file", file_path=path, old_string=old, new_string=new, **args)


def test_text_is_replaced_and_counted() -> None:
    state = run(READ, edit("two", "2"), files={"/a": "one\ntwo\nthree"})
    reply = answers(state)[-1]
    assert state["files"]["/a"]["content"] == "one\n2\nthree"
    assert reply.text == "Edited /a in 1 place."
    assert reply.artifact["replacements"] == 1
    assert reply.artifact["diff"].split("\n")[-2:] == ["-two", "+2"]


def test_replace_all_replaces_every_place() -> None:
    state = run(READ, edit("x", "yy", replace_all=True), files={"/a": "x\nx\nx"})
    assert state["files"]["/a"]["content"] == "yy\nyy\nyy"
    assert answers(state)[-1].text == "Edited /a in 3 places."


def test_line_ends_of_the_file_are_kept() -> None:
    state = run(READ, edit("one\ntwo", "1\n2"), files={"/a": "one\r\ntwo\r\n"})
    assert state["files"]["/a"]["content"] == "1\r\n2\r\n"


def test_a_diff_that_would_take_too_long_is_left_out() -> None:
    state = run(READ, edit("x", "y" * 20_001), files={"/a": "x"})
    assert answers(state)[-1].artifact == {"replacements": 1, "diff": None}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"old_string": "thre e"}, "The most similar line is 3: 'three'."),
        ({"old_string": "two\nfour"}, "Line 2 starts like it: 'two'. Check white space"),
        ({"old_string": "#####"}, "No line is similar: read the file again."),
        ({"old_string": " \t "}, "Only white space was given"),
        ({"old_string": "e"}, "occurs 3 times in the file (line 1, 3, 3)"),
        ({"old_string": ""}, "`old_string` is empty"),
        ({"old_string": "two", "new_string": "two"}, "`old_string` and `new_string` are the same"),
        ({"old_string": "two", "new_string": "\udfff"}, "lone surrogate"),
        ({"file_path": "/gone"}, "/gone: no such file or directory"),
        ({"file_path": "/d"}, "/d: is a directory, not a file"),
        ({"file_path": "/"}, "/: is a directory, not a file"),
        ({"file_path": "/m"}, "/m: "),
        ({"new_string": None}, "`new_string`: Input should be a valid string"),
    ],
)
def test_an_edit_that_fails_helps(args: dict[str, Any], problem: str) -> None:
    files = {
        "/a": "one\ntwo\nthree\n",
        "/d/f": "",
    }
    given = {"file_path": "/a", "old_string": "one", "new_string": "1", **args}
    state = run(READ, call("edit_file", **given), files=files, mounts={"/m": Shelf()})
    reply = answers(state)[-1]
    assert reply.status == "error"
    assert problem in reply.text
    assert state["files"]["/a"]["content"] == "one\ntwo\nthree\n"


def test_many_places_are_counted_and_the_first_are_named() -> None:
    state = run(READ, edit("x", "y"), files={"/a": "x\n" * 50})
    assert "occurs 50 times in the file (line 1, 2, 3, 4, 5, ...)" in answers(state)[-1].text


def test_an_unread_file_is_not_edited() -> None:
    state = run(edit("one", "two"), files={"/a": "one"})
    assert "/a: it has not been read in this conversation" in answers(state)[0].text
    assert state["files"]["/a"]["content"] == "one"


def test_an_unread_file_is_edited_where_that_is_wanted() -> None:
    state = run(edit("one", "two"), files={"/a": "one"}, read_before_edit=False)
    assert state["files"]["/a"]["content"] == "two"


@pytest.mark.parametrize(
    ("know", "names"),
    [
        (call("grep", pattern="one", output_mode="content"), "searching"),
        (call("ls"), "listing"),
        (call("glob", pattern="*"), "finding"),
    ],
)
def test_only_reading_and_writing_make_a_file_known(know: Any, names: str) -> None:
    state = run(know, edit("one", "two"), files={"/a": "one"})
    assert answers(state)[-1].status == "error", names


@pytest.mark.parametrize(
    "know",
    [
        [READ],
        [call("read_file", file_path="/a", limit=1)],
        [call("delete", file_path="/a"), call("write_file", file_path="/a", content="one")],
        [
            READ,
            call("move", source="/a", destination="/b"),
            call("move", source="/b", destination="/a"),
        ],
    ],
    ids=["read", "read in part", "written", "read and moved"],
)
def test_a_known_file_is_edited(know: list[Any]) -> None:
    state = run(*know, edit("one", "two"), files={"/a": "one"})
    assert state["files"]["/a"]["content"] == "two"


def test_a_file_that_is_known_no_more_is_not_edited() -> None:
    state = run(
        READ,
        call("delete", file_path="/a"),
        call("move", source="/b", destination="/a"),
        edit("one", "two"),
        files={"/a": "one", "/b": "one"},
    )
    assert "has not been read" in answers(state)[-1].text


@pytest.mark.parametrize("how", ["update_state", "input"])
def test_a_file_that_changed_since_must_be_read_again(saver: Any, how: str) -> None:
    script = [says(READ)]
    model = ScriptedModel(script)
    agent = create_filesystem_agent(model, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [HumanMessage("read")], "files": {"/a": "one"}}, config)
    model.script[:] = [says(edit("one", "two")), says(READ), says(edit("one", "two"))]
    given: dict[str, Any] = {"messages": [HumanMessage("edit")]}
    if how == "input":
        given["files"] = {"/a": "one, changed"}
    else:
        agent.update_state(config, {"files": {"/a": "one, changed"}})
    state = agent.invoke(given, config)
    first, _, third = answers(state)[1:]
    assert "/a: it has changed since it was last read" in first.text
    assert third.status == "success"
    assert state["files"]["/a"]["content"] == "two, changed"


def test_a_known_file_stays_known_over_runs_of_a_thread(saver: Any) -> None:
    model = ScriptedModel([says(READ)])
    agent = create_filesystem_agent(model, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [HumanMessage("read")], "files": {"/a": "one"}}, config)
    model.script[:] = [says(edit("one", "two"))]
    state = agent.invoke({"messages": [HumanMessage("edit")]}, config)
    assert state["files"]["/a"]["content"] == "two"


def test_a_failed_edit_between_others_changes_nothing() -> None:
    edits = [edit("1", "2"), edit("gone", "x"), edit("2", "3")]
    state = run(READ, edits, files={"/a": "1"})
    assert [reply.status for reply in answers(state)[1:]] == ["success", "error", "success"]
    assert state["files"]["/a"]["content"] == "3"


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_backend_of_other_people_is_guarded_the_same_way(mode: str) -> None:
    shelf = Shelf(a="one")
    turns = [
        edit("one", "two", "/s/a"),
        call("read_file", file_path="/s/a"),
        [edit("one", "two", "/s/a"), edit("two", "three", "/s/a")],
    ]
    mounts = {"/s": shelf}
    state = await arun(*turns, mounts=mounts) if mode == "async" else run(*turns, mounts=mounts)
    assert [reply.status for reply in answers(state)] == ["error", *["success"] * 3]
    assert shelf.files == {"/a": b"three"}


def test_a_backend_file_changed_by_others_must_be_read_again(saver: Any) -> None:
    shelf = Shelf(a="one")
    model = ScriptedModel([says(call("read_file", file_path="/s/a"))])
    agent = create_filesystem_agent(model, mounts={"/s": shelf}, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [HumanMessage("read")]}, config)
    shelf.put("/a", "one, changed")
    model.script[:] = [says(edit("one", "two", "/s/a"))]
    state = agent.invoke({"messages": [HumanMessage("edit")]}, config)
    assert "has changed since" in answers(state)[-1].text
    assert shelf.files == {"/a": b"one, changed"}


@pytest.mark.parametrize("kind", ["state", "disk", "store", "remote"])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("caf\xe9\n".encode("latin-1"), "text that is not UTF-8 (5 bytes)"),
        (b"line\n" * 5_000 + b"\xe9", "text that is not UTF-8 (25,001 bytes)"),
        (b"a\0b", "binary content (3 bytes)"),
    ],
    ids=["latin", "late", "binary"],
)
def test_a_file_that_is_not_text_is_not_edited(
    kind: str, content: bytes, why: str, tmp_path: Path
) -> None:
    options = where(kind, tmp_path, content)
    replies = answers(run(call("read_file", file_path="/m/a"), edit("a", "b", "/m/a"), **options))
    for reply in replies:
        assert reply.status == "error"
        assert reply.text.startswith(f"Error: /m/a: {why}, which can't be read or edited as text.")


def where(kind: str, tmp_path: Path, content: bytes) -> dict[str, Any]:
    """Return what an agent is given that finds a file at `/m/a`."""
    if kind == "state":
        data = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        is_text = content.isascii() and b"\0" not in content
        return {"files": {"/m/a": content.decode() if is_text else data}}
    kept: Any = {
        "disk": lambda: FilesystemBackend(tmp_path),
        "store": lambda: StoreBackend(("n",), store=InMemoryStore()),
        "remote": lambda: RemoteBackend(MemoryStore()),
        "foreign": Shelf,
    }
    backend = kept[kind]()
    backend.upload_files([("/a", content)])
    return {"mounts": {"/m": backend}}


@pytest.mark.parametrize("kind", ["state", "disk", "store", "remote"])
def test_the_diff_begins_at_the_true_line(kind: str, tmp_path: Path) -> None:
    content = b"x\n" * 100_000 + b"one\ntwo\nthree\n@@ -1 +1 @@\n"
    new = "ONE\nand\ntwo\n@@ -2 +2 @@"
    change = edit("one\ntwo\nthree\n@@ -1 +1 @@", new, "/m/a")
    state = run(call("read_file", file_path="/m/a"), change, **where(kind, tmp_path, content))
    assert answers(state)[-1].artifact["diff"].split("\n") == [
        "--- a/m/a",
        "+++ b/m/a",
        "@@ -100001 +100001,2 @@",
        "-one",
        "+ONE",
        "+and",
        "@@ -100003,2 +100004 @@",
        "-three",
        "-@@ -1 +1 @@",
        "+@@ -2 +2 @@",
    ]


def test_the_diff_of_a_backend_that_does_not_say_where_it_was_begins_at_line_one(
    tmp_path: Path,
) -> None:
    options = where("foreign", tmp_path, b"zero\none\n")
    state = run(call("read_file", file_path="/m/a"), edit("one", "1", "/m/a"), **options)
    assert "@@ -1 +1 @@" in answers(state)[-1].artifact["diff"]
