"""`tools`: the user's own tools, each call answered once whatever the tool does."""

from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.base import BaseStore
from langgraph.types import Command, interrupt

from langgraph_filesystem import create_filesystem_agent
from tests.scripted import ScriptedModel, answer, answers, arun, call, run, says


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_tool_is_run_and_answered(mode: str) -> None:
    turn = [call("double", "a", number=2), call("double", "b", number=3)]
    state = await arun(turn, tools=[double]) if mode == "async" else run(turn, tools=[double])
    assert {reply.tool_call_id: reply.text for reply in answers(state)} == {"a": "4", "b": "6"}
    assert all(reply.name == "double" for reply in answers(state))


def test_tools_run_beside_operations() -> None:
    state = run([call("double", "a", number=2), call("ls", "b")], tools=[double])
    assert {reply.tool_call_id for reply in answers(state)} == {"a", "b"}


@pytest.mark.parametrize(
    ("args", "problem"), [({}, "number"), ({"number": "many"}, "number")], ids=["missing", "wrong"]
)
def test_wrong_arguments_are_an_error_reply(args: dict[str, Any], problem: str) -> None:
    reply = answer(call("double", **args), tools=[double])
    assert reply.status == "error"
    assert problem in reply.text


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no luck"),
        ToolException("no luck"),
        KeyError("no luck"),
        AssertionError("no luck"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_tool_that_raises_is_an_error_reply(error: Exception, mode: str) -> None:
    def fail() -> str:
        """Fail."""
        raise error

    asked, options = call("fail"), {"tools": [fail]}
    state = await arun(asked, **options) if mode == "async" else run(asked, **options)
    [reply] = answers(state)
    assert reply.status == "error"
    assert type(error).__name__ in reply.text
    assert "no luck" in reply.text
    assert state["messages"][-1].text == "done"


def test_an_unknown_tool_is_named_with_those_there_are() -> None:
    reply = answer(call("triple", number=1), tools=[double], operations=["ls"])
    assert reply.text == "Error: There is no tool 'triple'. There are: ls, double."


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_tool_reads_the_state(mode: str) -> None:
    @tool
    def names(state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Name the files."""
        return ", ".join(state["files"])

    @tool
    def first(files: Annotated[dict[str, Any], InjectedState("files")]) -> str:
        """Name a file."""
        return next(iter(files))

    @tool
    def via_runtime(runtime: ToolRuntime) -> str:
        """Name the files and the call."""
        return f"{list(runtime.state['files'])} {runtime.tool_call_id}"

    turn = [call("names", "a"), call("first", "b"), call("via_runtime", "c")]
    options: Any = {"tools": [names, first, via_runtime], "files": {"/x": "", "/y": ""}}
    state = await arun(turn, **options) if mode == "async" else run(turn, **options)
    assert {reply.tool_call_id: reply.text for reply in answers(state)} == {
        "a": "/x, /y",
        "b": "/x",
        "c": "['/x', '/y'] c",
    }


def test_a_tool_reaches_the_store_and_the_stream(store: Any) -> None:
    @tool
    def remember(store: Annotated[BaseStore, InjectedStore()], runtime: ToolRuntime) -> str:
        """Remember."""
        store.put(("me",), "k", {"v": 1})
        runtime.stream_writer({"progress": 1})
        return "kept"

    agent = create_filesystem_agent(
        ScriptedModel([says(call("remember"))]), [remember], store=store
    )
    events = list(agent.stream({"messages": [HumanMessage("go")]}, stream_mode="custom"))
    assert events == [{"progress": 1}]
    assert store.get(("me",), "k") is not None


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_command_updates_files_and_answers(mode: str) -> None:
    @tool
    def save(path: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Save a file."""
        message = ToolMessage(f"saved {path}", tool_call_id=tool_call_id)
        return Command(update={"files": {path: "saved"}, "messages": [message]})

    turn = [call("save", "a", path="/a"), call("save", "b", path="/b"), call("ls", "c", path="/x")]
    options: Any = {"tools": [save], "files": {"/x/y": ""}}
    state = await arun(turn, **options) if mode == "async" else run(turn, **options)
    assert sorted(state["files"]) == ["/a", "/b", "/x/y"]
    assert {reply.tool_call_id: reply.text for reply in answers(state)} == {
        "a": "saved /a",
        "b": "saved /b",
        "c": "/x/y",
    }


def test_a_file_of_a_command_must_be_read_before_it_is_edited() -> None:
    @tool
    def save(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Save a file."""
        message = ToolMessage("saved", tool_call_id=tool_call_id)
        return Command(update={"files": {"/a": "saved"}, "messages": [message]})

    edit = call("edit_file", file_path="/a", old_string="saved", new_string="x")
    assert "has not been read" in answer(call("save"), edit, tools=[save]).text


ODD: dict[str, Any] = {
    "a message for another call": ToolMessage("x", tool_call_id="another"),
    "a command without an answer": Command(update={"files": {"/a": "x"}}),
    "a command for another call": Command(
        update={"messages": [ToolMessage("x", tool_call_id="another")]}
    ),
    "a command of a list": Command(update=[("files", {"/a": "x"})]),
    "an empty command": Command(),
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_tool_that_does_not_answer_its_call_is_not_run_again(value: Any, mode: str) -> None:
    ran: list[int] = []

    @tool
    def odd() -> Any:
        """Do something odd."""
        ran.append(1)
        return value

    asked, options = call("odd", "a"), {"tools": [odd]}
    state = await arun(asked, **options) if mode == "async" else run(asked, **options)
    assert ran == [1]
    [reply] = [reply for reply in answers(state) if reply.tool_call_id == "a"]
    assert reply.status == "error"
    assert state["messages"][-1].text == "done"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ({"a": [1]}, '{"a": [1]}'),
        ("\ud800", "?"),
        ("", ""),
        (ToolMessage("own words", tool_call_id="a", artifact={"k": 1}), "own words"),
    ],
    ids=repr,
)
def test_a_tool_may_return_what_it_likes(value: Any, text: str) -> None:
    @tool
    def give() -> Any:
        """Give it."""
        return value

    reply = answer(call("give", "a"), tools=[give])
    assert (reply.status, reply.text) == ("success", text)


async def test_a_tool_that_only_awaits_works_in_async_graphs() -> None:
    @tool
    async def wait(number: int) -> int:
        """Wait."""
        return number + 1

    asked = call("wait", number=1)
    [reply] = answers(await arun(asked, tools=[wait]))
    assert reply.text == "2"
    refused = answer(asked, tools=[wait])
    assert refused.status == "error"
    assert "NotImplementedError" in refused.text


def test_a_tool_may_end_the_run() -> None:
    @tool(return_direct=True)
    def final(word: str) -> str:
        """Give the last word."""
        if word == "no":
            raise ValueError(word)
        return word

    model = ScriptedModel([says(call("final", word="yes"))])
    state = create_filesystem_agent(model, [final]).invoke({"messages": [HumanMessage("go")]})
    assert (state["messages"][-1].type, state["messages"][-1].text) == ("tool", "yes")
    assert len(model.asked) == 1
    failed = run(call("final", word="no"), tools=[final])
    assert failed["messages"][-1].text == "done"
    mixed = run([call("final", word="yes"), call("ls")], tools=[final])
    assert mixed["messages"][-1].text == "done"


def test_a_tool_may_ask_a_person(saver: Any) -> None:
    ran: list[str] = []

    @tool
    def ask(what: str) -> str:
        """Ask a person."""
        said = interrupt(what)
        ran.append(said)
        return f"they said {said}"

    agent = create_filesystem_agent(
        ScriptedModel([says(call("ask", "a", what="name?"), call("ls", "b"))]),
        [ask],
        checkpointer=saver,
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    stopped = agent.invoke({"messages": [HumanMessage("go")]}, config)
    assert [found.value for found in stopped["__interrupt__"]] == ["name?"]
    state = agent.invoke(Command(resume="Ann"), config)
    assert {m.tool_call_id: m.text for m in answers(state)} == {
        "a": "they said Ann",
        "b": "/ is empty.",
    }
    assert ran == ["Ann"]


def test_answers_are_known_by_the_place_of_their_call() -> None:
    message = AIMessage("", id="m", tool_calls=[call("ls"), call("double", number=1)])
    state = run(message, tools=[double])
    assert sorted(str(reply.id) for reply in answers(state)) == [
        f"{state['messages'][1].id}:0",
        f"{state['messages'][1].id}:1",
    ]


@pytest.mark.parametrize("update", [{"files": {"../x": "1"}}, {"files": 5}, {"seen": 5}])
def test_a_tool_that_writes_nonsense_is_told_and_the_thread_stays_whole(
    saver: Any, update: dict[str, Any]
) -> None:
    @tool
    def save(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Save."""
        return Command(
            update={**update, "messages": [ToolMessage("ok", tool_call_id=tool_call_id)]}
        )

    thread: Any = {"configurable": {"thread_id": "1"}}
    agent = create_filesystem_agent(
        ScriptedModel([says(call("save", id="s"))]), [save], checkpointer=saver
    )
    [reply] = answers(agent.invoke({"messages": [HumanMessage("go")]}, thread))
    assert (reply.status, reply.tool_call_id) == ("error", "s")
    assert agent.get_state(thread).values.get("files", {}) == {}
