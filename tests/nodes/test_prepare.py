"""`prepare`: calls that a stopped run left open are cancelled, in their places."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from langgraph_filesystem import create_filesystem_agent
from tests.scripted import ScriptedModel, answers, call, says

CANCELLED = "Error: The call was cancelled before it was answered: the run had stopped."


def ai(*ids: str, id: str) -> AIMessage:
    return AIMessage("", id=id, tool_calls=[call("ls", call_id) for call_id in ids])


def done(call_id: str, id: str) -> ToolMessage:
    return ToolMessage("done", tool_call_id=call_id, id=id)


def human(id: str) -> HumanMessage:
    return HumanMessage(id, id=id)


HISTORIES: dict[str, tuple[list[AnyMessage], list[str]]] = {
    "at the end": ([human("h"), ai("a", "b", id="m")], ["h", "m", "m:0*", "m:1*"]),
    "in the middle": (
        [human("h"), ai("a", id="m"), human("h2"), AIMessage("x", id="n"), human("h3")],
        ["h", "m", "m:0*", "h2", "n", "h3"],
    ),
    "answered in part": (
        [human("h"), ai("a", "b", id="m"), done("a", "m:0"), human("h2")],
        ["h", "m", "m:0", "m:1*", "h2"],
    ),
    "answered by a person": (
        [human("h"), ai("a", "b", id="m"), done("b", "p"), human("h2")],
        ["h", "m", "p", "m:0*", "h2"],
    ),
    "an answer behind something else": (
        [human("h"), ai("a", id="m"), human("between"), done("a", "m:0"), human("h2")],
        ["h", "m", "m:0", "between", "h2"],
    ),
    "twice": (
        [human("h"), ai("a", id="m"), human("h2"), ai("a", id="n"), human("h3")],
        ["h", "m", "m:0*", "h2", "n", "n:0*", "h3"],
    ),
    "a later answer is not its own": (
        [human("h"), ai("a", id="m"), ai("a", id="n"), done("a", "n:0")],
        ["h", "m", "m:0*", "n", "n:0"],
    ),
    "nothing is open": (
        [human("h"), ai("a", id="m"), done("a", "x"), AIMessage("y", id="n"), human("h2")],
        ["h", "m", "x", "n", "h2"],
    ),
    "no message at all": ([], []),
}


@pytest.mark.parametrize(("history", "places"), HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_open_calls_are_cancelled_right_behind_their_message(
    history: list[AnyMessage], places: list[str], mode: str
) -> None:
    model = ScriptedModel([AIMessage("fine")] * 10)
    agent = create_filesystem_agent(model)
    given: Any = {"messages": history}
    state = await agent.ainvoke(given) if mode == "async" else agent.invoke(given)
    shown = [
        f"{message.id}*" if message.text.startswith(CANCELLED) else message.id
        for message in state["messages"][:-1]
    ]
    assert shown == places
    assert [message.id for message in model.asked[0][1:]] == [
        message.id for message in state["messages"][:-1]
    ]


def test_malformed_and_nameless_calls_are_cancelled_too() -> None:
    broken = {"name": None, "args": "{", "id": None, "error": None, "type": "invalid_tool_call"}
    message = AIMessage("", id="m", tool_calls=[call("gone", "a")], invalid_tool_calls=[broken])
    agent = create_filesystem_agent(ScriptedModel([AIMessage("fine")] * 5))
    state = agent.invoke({"messages": [message, human("h")]})
    assert [reply.tool_call_id for reply in answers(state)] == ["a", ""]
    assert all(reply.status == "error" for reply in answers(state))


def test_a_run_that_was_stopped_goes_on_with_new_input(saver: Any) -> None:
    script = [says(call("write_file", "w", file_path="/a", content="x"))]
    agent = create_filesystem_agent(
        ScriptedModel(script), checkpointer=saver, interrupt_before=["write_file"]
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [human("first")]}, config)
    agent.invoke({"messages": [human("second")]}, config)
    messages = agent.get_state(config).values["messages"]
    assert [message.type for message in messages[:4]] == ["human", "ai", "tool", "human"]
    assert messages[2].text.startswith(CANCELLED)
    assert agent.get_state(config).values.get("files", {}) == {}


def test_input_without_messages_is_taken() -> None:
    state = create_filesystem_agent(ScriptedModel()).invoke({"files": {"/a": "x"}})
    assert state["messages"][-1].text == "done"
    assert list(state["files"]) == ["/a"]
