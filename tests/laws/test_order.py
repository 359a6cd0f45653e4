"""Calls of one message take effect in their order, each answered once; independent ones overlap."""

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.state.backends import LsResult, ReadResult
from tests.scripted import ScriptedModel, answers, call, run, says


def texts(state: dict[str, Any]) -> dict[str, str]:
    """Return the answers by the ids of their calls, each of which must be there once."""
    found = answers(state)
    ids = [message.tool_call_id for message in found]
    assert len(ids) == len(set(ids))
    assert all(message.status == "success" for message in found), found
    return {message.tool_call_id: message.text for message in found}


def edit(path: str, old: str, new: str, id: str | None = None) -> dict[str, Any]:
    return call("edit_file", file_path=path, old_string=old, new_string=new, id=id)


def test_five_edits_of_one_file_in_one_message_all_land() -> None:
    state = run(
        call("write_file", file_path="/a", content="0"),
        [edit("/a", str(n), str(n + 1)) for n in range(5)],
    )
    assert state["files"]["/a"]["content"] == "5"
    assert len(texts(state)) == 6


def test_write_then_read_in_one_message_reads_what_was_written() -> None:
    state = run(
        [
            call("write_file", file_path="/a", content="new\n", id="w"),
            call("read_file", file_path="/a", id="r"),
        ]
    )
    assert texts(state)["r"].startswith("     1\tnew\n")


def test_write_then_edit_then_grep_in_one_message_finds_the_edited_text() -> None:
    state = run(
        [
            call("write_file", file_path="/a", content="one\n"),
            edit("/a", "one", "two"),
            call("grep", pattern="two", output_mode="content", id="g"),
        ]
    )
    assert texts(state)["g"] == "/a:1:two"


def test_a_delete_between_two_reads_is_seen_by_the_second_only() -> None:
    state = run(
        [
            call("read_file", file_path="/a", id="before"),
            call("delete", file_path="/a", id="delete"),
            call("read_file", file_path="/a", id="after"),
        ],
        files={"/a": "here"},
    )
    found = {message.tool_call_id: message for message in answers(state)}
    assert "here" in found["before"].text
    assert found["delete"].status == "success"
    assert found["after"].status == "error"
    assert "/a" not in state["files"]


def test_a_read_before_an_edit_in_one_message_shows_the_old_text() -> None:
    state = run(
        [call("read_file", file_path="/a", id="r"), edit("/a", "old", "new")], files={"/a": "old"}
    )
    assert "old" in texts(state)["r"]
    assert state["files"]["/a"]["content"] == "new"


def test_a_write_after_a_move_of_its_directory_lands_at_the_old_path() -> None:
    state = run(
        [
            call("move", source="/d", destination="/e"),
            call("write_file", file_path="/d/x", content="second"),
        ],
        files={"/d/x": "first"},
    )
    contents = {path: file["content"] for path, file in state["files"].items()}
    assert contents == {"/d/x": "second", "/e/x": "first"}


def test_two_hundred_edits_in_one_message_are_applied_in_order_and_each_answered() -> None:
    state = run(
        call("write_file", file_path="/a", content="0."),
        [edit("/a", f"{n}.", f"{n} {n + 1}.", id=f"e{n}") for n in range(200)],
    )
    assert state["files"]["/a"]["content"] == " ".join(map(str, range(201))) + "."
    assert [m.tool_call_id for m in answers(state)[1:]] == [f"e{n}" for n in range(200)]
    assert len(texts(state)) == 201


class Meeting:
    """A backend whose reads wait for each other: alone, one fails."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(2, timeout=30)

    def ls(self, path: str) -> LsResult:
        return LsResult(entries=[])

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        self._barrier.wait()
        return ReadResult(file_data={"content": "met\n"}, total_lines=1)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_calls_on_different_paths_overlap(mode: str) -> None:
    calls = [call("read_file", file_path=path) for path in ("/a", "/b")]
    model = ScriptedModel([says(*calls)])
    mounts: Any = {"/": Meeting()}
    agent = create_filesystem_agent(model, mounts=mounts)
    given = {"messages": [HumanMessage("go")]}
    state = await agent.ainvoke(given) if mode == "async" else agent.invoke(given)
    assert all("met" in text for text in texts(state).values())


def test_a_wave_is_one_task_for_each_path() -> None:
    agent = create_filesystem_agent(
        ScriptedModel([says(edit("/a", "1", "2"), edit("/b", "1", "2"), edit("/a", "2", "3"))]),
        read_before_edit=False,
    )
    given = {"messages": [HumanMessage("go")], "files": {"/a": "1", "/b": "1"}}
    nodes = [node for chunk in agent.stream(given, stream_mode="updates") for node in chunk]
    assert nodes.count("edit_file") == 2
    assert nodes.count("router") == 1


def test_calls_left_open_by_a_stopped_run_are_cancelled_and_not_run_later(saver: Any) -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    calls = says(call("write_file", file_path="/a", content="late", id="w"))
    agent = create_filesystem_agent(
        ScriptedModel([calls]), checkpointer=saver, interrupt_before=["write_file"]
    )
    agent.invoke({"messages": [HumanMessage("go")]}, thread)
    model = ScriptedModel([])
    agent = create_filesystem_agent(model, checkpointer=agent.checkpointer)
    state = agent.invoke({"messages": [HumanMessage("never mind", id="second")]}, thread)
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "human", "ai"]
    assert state["messages"][2].status == "error"
    assert "cancelled" in state["messages"][2].text
    assert state.get("files", {}) == {}


def test_a_second_run_of_the_thread_repeats_nothing(saver: Any) -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    script = [says(call("write_file", file_path="/a", content="x"))]
    agent = create_filesystem_agent(ScriptedModel(script), checkpointer=saver)
    agent.invoke({"messages": [HumanMessage("one")]}, thread)
    state = agent.invoke({"messages": [HumanMessage("two")]}, thread)
    assert [message.status for message in answers(state)] == ["success", "error"]
    assert isinstance(state["messages"][-1], AIMessage)


# The law: one message with many calls does what many messages with one call each do.

PATHS = st.sampled_from(["/a", "/b", "/d", "/d/x", "/d/y", "/d/e/z", "/", "/m/k", "/m", "/..", "d"])
TEXTS = st.sampled_from(["", "one", "two", "one two\n", "two\r\n", "one one"])

CALLS = st.one_of(
    st.builds(lambda p: call("ls", path=p), PATHS),
    st.builds(lambda p: call("read_file", file_path=p), PATHS),
    st.builds(
        lambda p, t, o: call("write_file", file_path=p, content=t, overwrite=o),
        PATHS,
        TEXTS,
        st.booleans(),
    ),
    st.builds(
        lambda p, o, n, r: call(
            "edit_file", file_path=p, old_string=o, new_string=n, replace_all=r
        ),
        PATHS,
        TEXTS,
        TEXTS,
        st.booleans(),
    ),
    st.builds(lambda p: call("delete", file_path=p), PATHS),
    st.builds(lambda p, q: call("move", source=p, destination=q), PATHS, PATHS),
    st.builds(lambda p: call("glob", pattern="**", path=p), PATHS),
    st.builds(lambda p: call("grep", pattern="o", path=p, output_mode="content"), PATHS),
    st.builds(lambda: call("unheard_of", x=1)),
)
FILES = {"/a": "one two\n", "/d/x": "two\n", "/d/e/z": "one", "/m/k": "one\ntwo"}


def outcome(state: dict[str, Any]) -> Any:
    contents = {path: file["content"] for path, file in state["files"].items()}
    told = {m.tool_call_id: (m.status, m.text) for m in answers(state)}
    assert len(told) == len(answers(state))
    return contents, told


@settings(max_examples=25)
@given(calls=st.lists(CALLS, min_size=2, max_size=7), strict=st.booleans())
def test_calls_in_one_message_do_what_they_do_in_messages_of_their_own(
    calls: list[dict[str, Any]], strict: bool
) -> None:
    options: dict[str, Any] = {"files": FILES, "read_before_edit": strict}
    together = outcome(run(calls, **options))
    assert together == outcome(run(*calls, **options))
    assert set(together[1]) == {made["id"] for made in calls}
