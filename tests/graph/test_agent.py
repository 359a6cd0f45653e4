"""`create_filesystem_agent`: what it draws, what it refuses, and how it is used."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import MessagesState, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_filesystem import (
    CommandModel,
    FilesystemState,
    StateBackend,
    add_filesystem,
    create_filesystem_agent,
)
from langgraph_filesystem.labels import draw_mermaid
from langgraph_filesystem.state.backends import ExecuteResponse, LsResult, ReadResult
from tests.databases import aopen_database, open_database
from tests.scripted import ScriptedModel, answers, call, says
from tests.snapshots import assert_snapshot

GO: Any = {"messages": [HumanMessage("go")]}


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny"


class Shell:
    """The least that runs commands."""

    id = "shell"

    def ls(self, path: str) -> LsResult:
        return LsResult(entries=[])

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return ReadResult(error="nothing here")

    def execute(self, command: str) -> ExecuteResponse:
        return ExecuteResponse(f"ran {command}\n", 0)


class Verdict(BaseModel):
    """The last word."""

    good: bool


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "tools": {"tools": [weather]},
    "execute": {"mounts": {"/": Shell()}},
    "review": {"interrupt_on": {"write_file": True}},
    "read_only": {"operations": ["ls", "read_file", "glob", "grep"]},
    "response_format": {"response_format": Verdict},
    "summarize": {"summarize": 100_000},
    "todos": {"todos": True},
    "everything": {
        "tools": [weather],
        "mounts": {"/": StateBackend(), "/box/": Shell()},
        "interrupt_on": {"execute": True},
        "response_format": Verdict,
        "subagents": [{"name": "helper", "description": "Helps."}],
        "memory": ["/AGENTS.md"],
        "skills": ["/skills/"],
        "todos": True,
        "summarize": 100_000,
    },
}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_graph_is_drawn_with_what_is_configured_and_nothing_else(name: str) -> None:
    drawn = create_filesystem_agent(ScriptedModel(), **OPTIONS[name]).get_graph()
    assert_snapshot(f"graph_{name}.mmd", draw_mermaid(drawn))


def test_a_graph_without_options_has_these_nodes_and_channels_and_no_others() -> None:
    agent = create_filesystem_agent(ScriptedModel())
    nodes = "prepare router evict ls read_file write_file edit_file delete move glob grep model"
    assert {*agent.nodes} == {"__start__", *nodes.split()}
    channels = {name for name in agent.channels if not name.startswith(("branch:", "__"))}
    assert channels == {"messages", "files", "seen", "routes"}
    # Nothing is planned, and no edge waits, for a node that is not there.
    branches = {name.removeprefix("branch:to:") for name in agent.channels if "branch:" in name}
    assert branches == {*nodes.split()}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"mounts": {"memories/": StateBackend()}}, "must begin with '/'"),
    ({"mounts": {"/../x": StateBackend()}}, r"`\.\.`"),
    ({"mounts": {"/a": StateBackend(), "/a/": StateBackend()}}, "Two mounts"),
    ({"mounts": {"/": "disk"}}, "neither a backend nor a function"),
    ({"mounts": {"/": StateBackend}}, "neither a backend nor a function"),
    ({"mounts": [StateBackend()]}, "must map"),
    ({"mounts": StateBackend()}, r"such as `mounts=\{'/': StateBackend\(\.\.\.\)\}`"),
    ({"operations": ["ls", "rm"]}, "no operation 'rm'"),
    ({"operations": "ls"}, "list of names"),
    ({"evict_over": -1}, "evict_over"),
    ({"evict_over": 0}, "evict_over"),
    ({"max_execute_timeout": 0}, "max_execute_timeout"),
    ({"token_counter": 7}, "token_counter"),
    ({"tool_descriptions": {"rm": "remove"}}, "no operation 'rm'"),
    ({"tools": [weather, weather]}, "same name"),
    ({"state_schema": TypedDict("Mine", {"messages": list[Any]})}, "lacks the channels"),  # type: ignore[operator]
    ({"model": 7}, "chat model"),
    ({"model": CommandModel}, r"pass an instance of it, such as `CommandModel\(\.\.\.\)`"),
    ({"state_schema": MessagesState}, r"`class MessagesState\(FilesystemState\): \.\.\.`"),
    ({"evict_over": "x"}, "evict_over"),
    ({"summarize": 0}, "`over` of `summarize` must be a number of tokens, or a share"),
    ({"summarize": 1.5}, "`over` of `summarize`"),
    ({"summarize": "often"}, "`over` of `summarize`"),
    ({"summarize": True}, r"no `max_input_tokens`\. .* such as `summarize=100_000`"),
    ({"summarize": 1_000}, "leaves no room for a conversation"),
    ({"evict_over": 1.5}, "evict_over"),
    ({"evict_over": True}, "evict_over"),
    ({"max_execute_timeout": "1"}, "max_execute_timeout"),
    ({"state_schema": 5}, "state_schema"),
    ({"system_prompt": 5}, "system_prompt"),
    ({"tools": "abc"}, "tools"),
    ({"tool_descriptions": {"ls": 5}}, "description of 'ls'"),
]


@pytest.mark.parametrize(("options", "problem"), BAD)
def test_nonsense_is_refused_when_the_graph_is_built(options: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        create_filesystem_agent(**{"model": CommandModel(), **options})


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"backend": StateBackend()}, r'no `backend`\. Use `mounts=\{"/": backend\}`'),
        ({"middleware": []}, r"no `middleware`\. .*`add_filesystem`"),
        ({"prompt": "Be kind."}, r"no `prompt`\. Use `system_prompt`"),
    ],
)
def test_keywords_of_other_factories_are_refused_with_what_replaces_them(
    options: Any, fix: str
) -> None:
    with pytest.raises(TypeError, match=fix):
        create_filesystem_agent(CommandModel(), **options)
    with pytest.raises(TypeError, match=fix):
        add_filesystem(StateGraph(FilesystemState), then="think", **options)


def test_a_tool_with_the_name_of_an_operation_is_refused() -> None:
    @tool
    def ls(path: str) -> str:
        """List."""
        return path

    with pytest.raises(ValueError, match="names of operations"):
        create_filesystem_agent(CommandModel(), [ls])
    agent = create_filesystem_agent(CommandModel(), [ls], operations=["read_file"])
    assert "tools" in agent.get_graph().nodes


def test_files_are_typed_in_the_schemas_and_private_channels_are_not_there() -> None:
    agent = create_filesystem_agent(CommandModel())
    for schema in (agent.get_input_jsonschema(), agent.get_output_jsonschema()):
        assert set(schema["properties"]) == {"messages", "files"}
        files = schema["properties"]["files"]
        assert files["additionalProperties"] == {"$ref": "#/$defs/FileData"}
        assert schema["$defs"]["FileData"]["required"] == ["content"]
    assert agent.get_input_jsonschema()["required"] == ["messages"]


def test_tokens_stream_and_updates_name_the_nodes() -> None:
    agent = create_filesystem_agent(CommandModel())
    given = {"messages": [HumanMessage("write_file /a.txt hi")]}
    tokens: list[Any] = []
    nodes: list[str] = []
    for mode, chunk in agent.stream(given, stream_mode=["messages", "updates"]):
        if mode == "messages":
            tokens.append(chunk[0])
        else:
            nodes += list(chunk)
    assert nodes == ["prepare", "evict", "model", "router", "write_file", "evict", "model"]
    assert len([token for token in tokens if token.type == "AIMessageChunk" and token.text]) > 2


async def test_async_streams_do_the_same() -> None:
    agent = create_filesystem_agent(CommandModel())
    given = {"messages": [HumanMessage("write_file /a.txt hi\nls /")]}
    nodes = []
    async for chunk in agent.astream(given, stream_mode="updates"):
        nodes += list(chunk)
    assert nodes[:5] == ["prepare", "evict", "model", "router", "write_file"]
    assert nodes[-1] == "model"


def test_a_run_stops_before_and_after_any_node_and_goes_on(saver: Any) -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    script = [says(call("write_file", file_path="/a", content="x"))]
    agent = create_filesystem_agent(
        ScriptedModel(script),
        checkpointer=saver,
        interrupt_before=["write_file"],
        interrupt_after=["evict", "write_file"],
    )
    agent.invoke(GO, thread)
    stops = []
    while following := agent.get_state(thread).next:
        stops.append(following)
        agent.invoke(None, thread)
    assert stops == [("model",), ("write_file",), ("evict",), ("model",)]
    assert agent.get_state(thread).values["files"]["/a"]["content"] == "x"


def test_a_structured_response_comes_last() -> None:
    model = ScriptedModel([says(call("ls", path="/"))], structured={"good": True})
    state = create_filesystem_agent(model, response_format=Verdict).invoke(GO)
    assert state["structured_response"] == Verdict(good=True)
    assert "structured_response" not in create_filesystem_agent(ScriptedModel()).invoke(GO)


@pytest.mark.usefixtures("database")
def test_a_structured_response_is_loaded_from_a_strict_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    thread: Any = {"configurable": {"thread_id": "1"}}
    with open_database(tmp_path / "agent.sqlite") as (checkpointer, _):
        agent = create_filesystem_agent(
            ScriptedModel(structured={"good": True}),
            response_format=("Judge.", Verdict),
            checkpointer=checkpointer,
        )
        agent.invoke(GO, thread)
        assert agent.get_state(thread).values["structured_response"] == Verdict(good=True)
        assert "Verdict" in json.dumps(agent.get_output_jsonschema())


def test_a_state_schema_of_ones_own_keeps_its_keys() -> None:
    class Mine(FilesystemState):
        topic: str

    agent = create_filesystem_agent(ScriptedModel(), state_schema=Mine)
    state = agent.invoke({**GO, "topic": "birds"})
    assert state["topic"] == "birds"
    assert "topic" in agent.get_input_jsonschema()["properties"]


def test_the_context_of_a_run_reaches_factories_of_mounts() -> None:
    class Context(TypedDict):
        user: str

    class Greeter(Shell):
        def __init__(self, user: str) -> None:
            self.user = user

        def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
            return ReadResult(file_data={"content": f"hello {self.user}"}, total_lines=1)

    def for_user(runtime: Runtime[Context]) -> Greeter:
        return Greeter(runtime.context["user"])

    mounts: Any = {"/": for_user}
    agent = create_filesystem_agent(
        ScriptedModel([says(call("read_file", file_path="/x"))]),
        mounts=mounts,
        context_schema=Context,
    )
    state = agent.invoke(GO, context={"user": "ada"})
    assert "hello ada" in answers(state)[0].text


def test_system_prompt_is_put_before_ours_as_blocks() -> None:
    for own in ("Be kind.", SystemMessage([{"type": "text", "text": "Be kind."}])):
        model = ScriptedModel()
        create_filesystem_agent(model, system_prompt=own).invoke(GO)
        system = model.asked[0][0]
        assert isinstance(system, SystemMessage)
        blocks: Any = system.content
        assert [block["type"] for block in blocks] == ["text", "text"]
        assert blocks[0]["text"] == "Be kind."
        assert "filesystem" in blocks[1]["text"]


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"/../etc": "x"}, id="refused path"),
        pytest.param({"/a": 7}, id="number"),
        pytest.param({"/a": {"encoding": "utf-8"}}, id="no content"),
        pytest.param({"/a": {"content": 7}}, id="content is no text"),
        pytest.param(["/a"], id="list"),
        pytest.param({"/good": "x", "~/bad": "y"}, id="one of two"),
    ],
)
def test_bad_files_are_refused_and_nothing_of_them_is_stored(tmp_path: Path, files: Any) -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    with open_database(tmp_path / "agent.sqlite") as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(), checkpointer=checkpointer)
        with pytest.raises(ValueError, match="`files`"):
            agent.invoke({**GO, "files": files}, thread)
        assert agent.get_state(thread).values.get("files", {}) == {}
        agent.invoke({**GO, "files": {"/kept": "k"}}, thread)
        with pytest.raises(ValueError, match="`files`"):
            agent.update_state(thread, {"files": files})
        with pytest.raises(ValueError, match="`files`"):
            agent.invoke({**GO, "files": files}, thread)
    with open_database(tmp_path / "agent.sqlite") as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(), checkpointer=checkpointer)
        state = agent.invoke(GO, thread)
        assert set(state["files"]) == {"/kept"}
        for snapshot in agent.get_state_history(thread):
            assert set(snapshot.values.get("files", {})) <= {"/kept"}


@pytest.mark.usefixtures("database")
async def test_an_async_thread_goes_on_after_the_file_is_opened_again(tmp_path: Path) -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    script = [says(call("write_file", file_path="/a", content="x"))]
    async with aopen_database(tmp_path / "agent.sqlite") as (checkpointer, store):
        agent = create_filesystem_agent(
            ScriptedModel(script), checkpointer=checkpointer, store=store
        )
        await agent.ainvoke(GO, thread)
    async with aopen_database(tmp_path / "agent.sqlite") as (checkpointer, store):
        agent = create_filesystem_agent(ScriptedModel(), checkpointer=checkpointer, store=store)
        state = await agent.ainvoke(GO, thread)
        assert state["files"]["/a"]["content"] == "x"
        assert len([m for m in state["messages"] if isinstance(m, AIMessage)]) == 3


def test_a_hundred_turns_need_no_larger_recursion_limit() -> None:
    script = [says(call("ls", path="/")) for _ in range(100)]
    state = create_filesystem_agent(ScriptedModel(script)).invoke(GO)
    assert len(answers(state)) == 100


def test_the_input_schema_is_json() -> None:
    assert json.dumps(create_filesystem_agent(CommandModel()).get_input_jsonschema())
