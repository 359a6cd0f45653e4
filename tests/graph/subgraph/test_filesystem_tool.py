"""`filesystem_tool`: another agent calls ours, and gets its answer and what it changed."""

from typing import Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.messages import HumanMessage
from langgraph.types import Command, interrupt

from langgraph_filesystem import (
    FileData,
    create_filesystem_agent,
    filesystem_tool,
    merge_files,
)
from tests.graph.runs import THREAD, agent, contents
from tests.scripted import ScriptedModel, answers, call, says

GO: Any = {"messages": [HumanMessage("go")]}
FILES: Any = {"/a": "one two", "/b": "b"}
WORK = [
    call("read_file", file_path="/a"),
    [
        call("edit_file", file_path="/a", old_string="one", new_string="1"),
        call("delete", file_path="/b"),
        call("write_file", file_path="/c", content="c"),
    ],
]


class WithFiles(AgentState[Any]):
    files: Annotated[dict[str, FileData], merge_files]


def helper(*turns: Any, **options: Any) -> Any:
    return filesystem_tool(agent(*turns, **options), name="helper", description="Helps.")


def caller(kind: str, tools: list[Any], *calls: Any, **options: Any) -> Any:
    """Return an agent, of LangChain or of ours, that makes calls in one message."""
    model = ScriptedModel([says(*calls or [call("helper", "h", task="work")])])
    if kind == "ours":
        return create_filesystem_agent(model, tools, **options)
    return create_agent(model, tools, state_schema=WithFiles, **options)


callers = pytest.mark.parametrize("kind", ["langchain", "ours"])


@callers
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_caller_gets_the_answer_and_what_changed(kind: str, mode: str) -> None:
    graph = caller(kind, [helper(*WORK)])
    given = {**GO, "files": FILES if kind == "ours" else merge_files({}, [FILES])}
    state = await graph.ainvoke(given) if mode == "async" else graph.invoke(given)
    assert contents(state) == {"/a": "1 two", "/c": "c"}
    [answer] = answers(state)
    assert (answer.text, answer.name, answer.tool_call_id) == ("done", "helper", "h")
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "ai"]


@callers
def test_two_calls_of_one_message_lose_none_of_their_edits(kind: str) -> None:
    def editor(name: str, old: str, new: str) -> Any:
        edit = call("edit_file", file_path="/a", old_string=old, new_string=new)
        made = agent(call("read_file", file_path="/a"), edit)
        return filesystem_tool(made, name=name, description="Edits.")

    tools = [editor("first", "one", "1"), editor("second", "two", "2")]
    graph = caller(kind, tools, call("first", task="x"), call("second", task="x"))
    assert contents(graph.invoke({**GO, "files": merge_files({}, [FILES])}))["/a"] == "1 2"


def test_a_caller_without_files_gets_the_answer() -> None:
    model = ScriptedModel([says(call("helper", task="work"))])
    state = create_agent(model, [helper(call("write_file", file_path="/c", content="c"))]).invoke(
        GO
    )
    [answer] = answers(state)
    assert answer.text == "done"
    assert "files" not in state


def test_it_is_told_its_task_and_nothing_else_of_the_conversation() -> None:
    model = ScriptedModel([])
    tool = filesystem_tool(create_filesystem_agent(model), name="helper", description="Helps.")
    caller("ours", [tool]).invoke(GO)
    assert [message.text for message in model.asked[0][1:]] == ["work"]


def test_what_one_agent_has_read_is_not_known_to_the_other() -> None:
    edit = call("edit_file", file_path="/a", old_string="one", new_string="1")
    read = call("read_file", file_path="/a")
    unread = helper(edit)
    model = ScriptedModel([says(read), says(call("helper", task="work"))])
    state = create_filesystem_agent(model, [unread]).invoke({**GO, "files": FILES})
    assert contents(state)["/a"] == "one two"
    model = ScriptedModel([says(call("helper", task="work")), says(edit)])
    state = create_filesystem_agent(model, [helper(read)]).invoke({**GO, "files": FILES})
    assert "has not been read" in answers(state)[-1].text


@callers
def test_it_may_wait_for_a_person_and_goes_on_where_it_was(kind: str, saver: Any) -> None:
    ran: list[str] = []

    def ask() -> str:
        """Ask a person."""
        said = interrupt("which?")
        ran.append(said)
        return str(said)

    write = call("write_file", file_path="/c", content="c")
    graph = caller(kind, [helper(write, call("ask"), tools=[ask])], checkpointer=saver)
    stopped = graph.invoke({**GO, "files": merge_files({}, [FILES])}, THREAD)
    assert [waits.value for waits in stopped["__interrupt__"]] == ["which?"]
    state = graph.invoke(Command(resume="this"), THREAD)
    assert ran == ["this"]
    assert set(state["files"]) == {"/a", "/b", "/c"}
    assert [answer.text for answer in answers(state)] == ["done"]


def test_a_model_sees_a_task_and_nothing_that_is_injected() -> None:
    tool = helper()
    assert (tool.name, tool.description) == ("helper", "Helps.")
    assert list(tool.tool_call_schema.model_json_schema()["properties"]) == ["task"]
    with pytest.raises(ValueError, match="takes a compiled graph"):
        filesystem_tool(object(), name="helper", description="Helps.")  # type: ignore[arg-type]
