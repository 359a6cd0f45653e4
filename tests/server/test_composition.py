"""Graphs with agents inside them, on a real server."""

from typing import Any

from tests.server.driving import typed
from tests.server.serving import Server

TASK = """\
read_file /a
delete /b

edit_file /a one ONE

write_file /c c
"""


def test_a_visit_that_waits_is_shown_edited_and_resumed(server: Server) -> None:
    client = server.sync
    thread = client.threads.create()["thread_id"]
    given = {**typed(TASK), "files": {"/a": "one two", "/b": "b", "/kept": "k"}}
    chunks = list(
        client.runs.stream(
            thread, "stopping_parent", input=given, stream_mode="updates", stream_subgraphs=True
        )
    )
    inside = [chunk for chunk in chunks if chunk.event.startswith("updates|agent:")]
    assert {node for chunk in inside for node in chunk.data} >= {"model", "edit_file", "delete"}

    state: Any = client.threads.get_state(thread, subgraphs=True)
    assert state["next"] == ["agent"]
    assert set(state["values"]["files"]) == {"/a", "/b", "/kept"}
    visit = state["tasks"][0]["state"]
    assert visit["next"] == ["write_file"]
    contents = {path: file["content"] for path, file in visit["values"]["files"].items()}
    assert contents == {"/a": "ONE two", "/kept": "k"}

    edited = {"files": {"/human": "h", "/kept": None}}
    client.threads.update_state(thread, edited, checkpoint=visit["checkpoint"])
    while client.threads.get_state(thread)["next"]:
        done: Any = client.runs.wait(thread, "stopping_parent", input=None)
    contents = {path: file["content"] for path, file in done["files"].items()}
    assert contents == {"/a": "ONE two", "/c": "c", "/human": "h"}
    history: Any = client.threads.get_history(thread)
    assert set(history[0]["values"]["files"]) == {"/a", "/c", "/human"}


def test_subagents_are_named_in_the_stream_shown_and_resumed_one_by_one(server: Server) -> None:
    client = server.sync
    thread = client.threads.create()["thread_id"]
    tasks = """\
task "write_file /one 1\\n\\nask one" scribe
task "write_file /two 2\\n\\nask two" general-purpose
"""
    chunks = list(
        client.runs.stream(
            thread, "team", input=typed(tasks), stream_mode="updates", stream_subgraphs=True
        )
    )
    places = {tuple(part.split(":")[0] for part in c.event.split("|")) for c in chunks}
    assert places >= {("updates", "task", "scribe"), ("updates", "task", "general-purpose")}

    state: Any = client.threads.get_state(thread, subgraphs=True)
    assert state["next"] == ["task", "task"]
    waiting = {found["value"]: found["id"] for one in state["tasks"] for found in one["interrupts"]}
    assert set(waiting) == {"one", "two"}
    inside = [one["state"]["tasks"][0]["state"]["values"] for one in state["tasks"]]
    assert [list(values["files"]) for values in inside] == [["/one"], ["/two"]]

    for question in ("two", "one"):
        resume: Any = {"resume": {waiting[question]: f"answer to {question}"}}
        done: Any = client.runs.wait(thread, "team", command=resume)
    contents = {path: file["content"] for path, file in done["files"].items()}
    assert contents == {"/one": "1", "/two": "2"}
    answers = [m["content"] for m in done["messages"] if m["type"] == "tool"]
    assert ["answer to one" in answers[0], "answer to two" in answers[1]] == [True, True]
