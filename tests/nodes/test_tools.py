"""`tools`: the user's own tools, each call answered once whatever the tool does."""

import operator
from typing import Annotated, Any, NotRequired

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, interrupt

from langgraph_filesystem import (
    Choices,
    CommandModel,
    FilesystemState,
    add_filesystem,
    create_filesystem_agent,
    filesystem_condition,
    guarded,
)
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


class Topic(FilesystemState):
    """A state with keys of the user's own."""

    topic: NotRequired[str]
    found: NotRequired[Annotated[list[str], operator.add]]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_tool_gets_and_updates_everything_that_can_be_injected(mode: str) -> None:
    @tool
    async def look(
        word: str,
        state: Annotated[dict[str, Any], InjectedState],
        topic: Annotated[str, InjectedState("topic")],
        store: Annotated[BaseStore, InjectedStore()],
        runtime: ToolRuntime[Choices],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> Command[Any]:
        """Look around."""
        return looked(word, state, topic, store, runtime, tool_call_id)

    def looked(
        word: str,
        state: Annotated[dict[str, Any], InjectedState],
        topic: Annotated[str, InjectedState("topic")],
        store: Annotated[BaseStore, InjectedStore()],
        runtime: ToolRuntime[Choices],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> Command[Any]:
        asked = [message.text for message in state["messages"] if message.type == "human"]
        has = [asked, sorted(state["files"]), state["topic"], topic, runtime.context.todos]
        store.put(("seen",), word, {"call": runtime.tool_call_id})
        message = ToolMessage(str(has), tool_call_id=tool_call_id)
        edit = {"edits": [{"old": "x", "new": word, "replace_all": False}]}
        files = {"/a": edit, "/b": None, f"/{word}": "new"}
        update = {"messages": [message], "files": files, "found": [word], "topic": word}
        return Command(update=update)

    if mode == "sync":
        look = StructuredTool.from_function(looked, name="look", description="Look around.")
    store = InMemoryStore()
    agent = create_filesystem_agent(
        ScriptedModel([says(call("look", "c", word="bee"))]),
        [look],
        state_schema=Topic,
        context_schema=Choices,
        store=store,
    )
    given: Any = {"messages": [HumanMessage("go")], "files": {"/a": "x", "/b": ""}, "topic": "ants"}
    context: Any = {"todos": False}
    state = (
        await agent.ainvoke(given, context=context)
        if mode == "async"
        else agent.invoke(given, context=context)
    )
    [reply] = answers(state)
    assert reply.text == "[['go'], ['/a', '/b'], 'ants', 'ants', False]"
    assert {path: file["content"] for path, file in state["files"].items()} == {
        "/a": "bee",
        "/bee": "new",
    }
    assert (state["found"], state["topic"]) == (["bee"], "bee")
    kept = store.get(("seen",), "bee")
    assert kept is not None
    assert kept.value == {"call": "c"}


@pytest.mark.parametrize("node", ["ls", "router", "model", "nowhere", Send("ls", {})], ids=str)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_tool_that_goes_to_a_node_of_an_agent_is_told(node: Any, mode: str) -> None:
    @tool
    def jump(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Jump."""
        message = ToolMessage("jumped", tool_call_id=tool_call_id)
        return Command(goto=node, update={"messages": [message], "files": {"/a": "x"}})

    asked, options = call("jump"), {"tools": [jump]}
    state = await arun(asked, **options) if mode == "async" else run(asked, **options)
    [reply] = answers(state)
    assert reply.status == "error"
    assert "should leave the `goto` out" in reply.text
    assert state.get("files", {}) == {}
    assert [m.text for m in state["messages"] if m.type == "ai"] == ["", "done"]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_tool_may_go_to_a_node_of_yours(mode: str) -> None:
    @tool
    def publish(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Publish."""
        message = ToolMessage("published", tool_call_id=tool_call_id)
        return Command(goto="print", update={"messages": [message]})

    def think(state: Topic) -> Any:
        messages = state["messages"]
        return {"messages": [AIMessage("done") if len(messages) > 1 else says(call("publish"))]}

    builder = StateGraph(Topic)
    builder.add_node("think", think)
    builder.add_node("print", lambda state: {"found": ["printed"]})
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", filesystem_condition, ["router", END])
    graph = guarded(add_filesystem(builder, then="think", tools=[publish]).compile())
    given: Any = {"messages": [HumanMessage("go")]}
    state = await graph.ainvoke(given) if mode == "async" else graph.invoke(given)
    assert state["found"] == ["printed"]
    assert state["messages"][-1].text == "done"


# Tools that the provider of the model runs.

SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}


@pytest.mark.parametrize("provided", [SEARCH, {"type": "web_search"}, {"google_search": {}}])
def test_a_tool_of_the_provider_is_bound_and_no_node_is_made_for_it(
    provided: dict[str, Any],
) -> None:
    model = ScriptedModel()
    agent = create_filesystem_agent(model, [provided])
    assert provided in model.bound
    assert "tools" not in agent.nodes
    typed = create_filesystem_agent(CommandModel(), [provided, double])
    state = typed.invoke({"messages": [HumanMessage("double 2")]})
    assert answers(state)[0].text == "4"


def test_what_the_provider_ran_is_not_run_again() -> None:
    content: list[Any] = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "ants"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "text", "text": "Ants."},
    ]
    state = run(
        AIMessage(content, tool_calls=[call("ls", "a")]), AIMessage(content), tools=[SEARCH]
    )
    assert [reply.tool_call_id for reply in answers(state)] == ["a"]
    assert state["messages"][-1].content == content
    assert state["messages"][1].content == content


def test_a_call_of_a_providers_tool_that_nobody_runs_is_an_error_reply() -> None:
    bash = {"type": "bash_20250124", "name": "bash"}
    reply = answer(call("bash", command="ls"), tools=[bash], operations=["ls"])
    assert reply.text == "Error: There is no tool 'bash'. There are: ls."


@pytest.mark.parametrize(
    "function",
    [
        {"type": "function", "function": {"name": "f", "parameters": {}}},
        {"type": "function", "name": "f", "parameters": {}},
        {"name": "f", "description": "", "input_schema": {"type": "object"}},
        {"type": "custom", "name": "f"},
        {"function_declarations": [{"name": "f"}]},
        {"title": "f", "type": "object", "properties": {}},
    ],
)
def test_a_dict_that_describes_a_function_is_refused_when_the_graph_is_built(
    function: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match="nobody would run it"):
        create_filesystem_agent(CommandModel(), [function])
    with pytest.raises(ValueError, match="tools or functions"):
        add_filesystem(StateGraph(FilesystemState), then="think", tools=[function])  # type: ignore[list-item]


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
    assert "`ainvoke`" in refused.text


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
