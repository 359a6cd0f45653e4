"""The calls of a message: each is answered exactly once, whatever its id."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.nodes.calls import (
    answer_id,
    calls_of,
    last_ai_message,
    open_calls,
    unanswered,
)
from tests.scripted import ScriptedModel, answers, arun, call, run, says


def ls(id: str | None) -> dict[str, Any]:
    return {"name": "ls", "args": {}, "id": id, "type": "tool_call"}


@pytest.mark.parametrize("id", [None, "", "a\ud800"])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_call_with_a_bad_id_is_answered_with_an_error(id: str | None, mode: str) -> None:
    turn = [ls(id), ls("good")]
    state = await arun(turn, files={"/a": ""}) if mode == "async" else run(turn, files={"/a": ""})
    replies = {reply.tool_call_id: reply for reply in answers(state)}
    assert len(answers(state)) == 2
    assert replies[id or ""].status == "error"
    assert replies["good"].text == "/a"
    assert state["messages"][-1].text == "done"
    assert list(state["files"]) == ["/a"]


IDS = {
    "usual": "call_abc-123",
    "with a colon": "functions.ls:0",
    "Japanese": "日本",
    "10 kB": "x" * 10_240,
    "slash": "a/b",
    "backslash": "a\\b",
    "dots": "..",
    "newline": "a\nb",
    "NUL": "a\0",
    "escape": "\x1b[31m",
    "right to left": "a\u202eb",
    "path": "../../etc/passwd",
}


@pytest.mark.parametrize("id", IDS.values(), ids=IDS)
def test_a_model_may_give_a_call_any_id(id: str, saver: Any) -> None:
    write = call("write_file", id=id, file_path="/a", content="x")
    agent = create_filesystem_agent(ScriptedModel([says(write)]), checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [HumanMessage("go")]}, config)
    state = agent.get_state(config).values
    [reply] = answers(state)
    assert (reply.status, reply.tool_call_id) == ("success", id)
    assert list(state["files"]) == ["/a"]


def test_repeated_ids_are_answered_for_each_call_and_run_once() -> None:
    write = call("write_file", id="same", file_path="/a", content="first")
    again = call("write_file", id="same", file_path="/b", content="second")
    state = run([write, again, again, ls("other")])
    replies = answers(state)
    assert [reply.tool_call_id for reply in replies].count("same") == 3
    assert [reply.status for reply in replies if reply.tool_call_id == "same"].count("error") == 2
    assert list(state["files"]) == ["/a"]
    assert len({reply.id for reply in replies}) == 4


def test_the_same_id_in_a_later_message_is_a_new_call() -> None:
    state = run(ls("same"), ls("same"))
    assert [reply.status for reply in answers(state)] == ["success", "success"]


def test_malformed_calls_are_answered_with_what_was_wrong() -> None:
    broken = {
        "name": "ls",
        "args": '{"path": ',
        "id": "bad",
        "error": "Unterminated\nstring",
        "type": "invalid_tool_call",
    }
    nameless = {"name": None, "args": None, "id": None, "error": None, "type": "invalid_tool_call"}
    message = AIMessage("", tool_calls=[ls("good")], invalid_tool_calls=[broken, nameless])
    state = run(message)
    replies = {reply.tool_call_id: reply for reply in answers(state)}
    assert replies["good"].status == "success"
    assert replies["bad"].text == (
        r"Error: The arguments are not a JSON object (Unterminated\nstring). Repeat the call with "
        "valid JSON."
    )
    assert replies[""].status == "error"


def test_a_message_of_malformed_calls_only_goes_back_to_the_model() -> None:
    broken = {"name": "ls", "args": "{", "id": "x", "error": None, "type": "invalid_tool_call"}
    state = run(AIMessage("", invalid_tool_calls=[broken]))
    assert answers(state)[0].status == "error"
    assert state["messages"][-1].text == "done"


@pytest.mark.parametrize("args", [None, [], ["/"], "text", 5])
@pytest.mark.parametrize("name", ["ls", "double"])
def test_arguments_that_are_no_object_are_an_error(args: Any, name: str) -> None:
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    raw = {"name": name, "args": args, "id": "x", "type": "tool_call"}
    message = AIMessage.model_construct(content="", tool_calls=[raw], invalid_tool_calls=[], id="m")
    state = run(message, tools=[double], checkpointer=None)
    [reply] = answers(state)
    assert reply.text.startswith("Error: The arguments are not a JSON object.")
    assert (reply.tool_call_id, reply.status) == ("x", "error")


def test_an_unknown_tool_is_an_error_that_names_those_there_are() -> None:
    [reply] = answers(run(call("rm\n" + "x" * 100), operations=["ls", "grep"]))
    assert reply.status == "error"
    assert reply.text.startswith("Error: There is no tool 'rm\\nxxx")
    assert reply.text.endswith("There are: ls, grep.")
    assert len(reply.name or "") == 64


def ai(*ids: str, id: str = "m") -> AIMessage:
    return AIMessage("", id=id, tool_calls=[ls(call_id) for call_id in ids])


def answered(call_id: str, id: str) -> ToolMessage:
    return ToolMessage("x", tool_call_id=call_id, id=id)


@pytest.mark.parametrize(
    ("answers_given", "left"),
    [
        ([], [0, 1, 2]),
        ([answered("a", "m:0")], [1, 2]),
        ([answered("a", "a person's")], [1, 2]),
        ([answered("b", "a person's")], [0, 2]),
        ([answered("a", "m:2")], [0, 1]),
        ([answered("a", "m:2"), answered("a", "other")], [1]),
        ([answered("a", "1"), answered("a", "2")], [1]),
        ([answered("a", "1"), answered("a", "2"), answered("a", "3")], [1]),
        ([answered("unrelated", "1")], [0, 1, 2]),
        ([answered("a", "m:0"), answered("b", "m:1"), answered("a", "m:2")], []),
    ],
)
def test_answers_close_calls_by_place_or_by_id(
    answers_given: list[ToolMessage], left: list[int]
) -> None:
    message = ai("a", "b", "a")
    assert [found.position for found in open_calls(message, answers_given)] == left


def test_only_the_last_message_has_open_calls() -> None:
    messages: list[AnyMessage] = [ai("a", id="1"), HumanMessage("x"), ai("b", id="2")]
    assert [found.id for found in unanswered(messages)] == ["b"]
    assert unanswered([HumanMessage("x")]) == []
    assert unanswered([]) == []
    assert last_ai_message([HumanMessage("x")]) == (None, [])


def test_the_id_of_an_answer_is_made_of_message_and_place() -> None:
    [first, second] = calls_of(ai("a", "b"))
    assert answer_id(first.message, first.position) == "m:0"
    assert answer_id(second.message, second.position) == "m:1"


def test_an_answer_of_a_person_takes_the_place_of_a_run(saver: Any) -> None:
    write = call("write_file", id="w", file_path="/a", content="no")
    agent = create_filesystem_agent(
        ScriptedModel([says(write, ls("l"))]),
        checkpointer=saver,
        interrupt_before=["router"],
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [HumanMessage("go")]}, config)
    agent.update_state(config, {"messages": [ToolMessage("not now", tool_call_id="w")]})
    state = agent.invoke(None, config)
    assert {reply.tool_call_id: reply.text for reply in answers(state)} == {
        "w": "not now",
        "l": "/ is empty.",
    }
    assert state.get("files", {}) == {}


def test_calls_are_answered_in_parallel_threads_of_one_graph() -> None:
    agent = create_filesystem_agent(ScriptedModel([says(ls("a"), ls("b"))]))
    for state in agent.batch([{"messages": [HumanMessage(str(n))]} for n in range(8)]):
        assert [reply.tool_call_id for reply in answers(state)] == ["a", "b"]


def test_an_answer_to_another_call_at_the_same_place_does_not_count() -> None:
    message = AIMessage("", id="m", tool_calls=[call("ls", id="new")])
    stale = ToolMessage("", id="m:0", tool_call_id="old")
    assert [left.id for left in open_calls(message, [stale])] == ["new"]
    assert open_calls(message, [ToolMessage("", id="m:0", tool_call_id="new")]) == []
