"""The operations: what a model sees of them, and what every operation node does.

Errors become replies, each call is answered once, whatever breaks.
"""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.nodes.operation import calls_of_task
from langgraph_filesystem.nodes.registry import OPERATIONS, chosen_operations, tool_schemas
from langgraph_filesystem.state.backends.protocol import WriteResult
from langgraph_filesystem.state.errors import InvalidCall, PathRefused
from tests.nodes.backends import Broken, Shelf
from tests.scripted import ScriptedModel, answers, arun, call, run, says
from tests.snapshots import assert_snapshot


def test_schemas_are_as_a_model_sees_them() -> None:
    schemas = json.dumps(tool_schemas(OPERATIONS), indent=2, ensure_ascii=False)
    assert_snapshot("operations.json", schemas + "\n")


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_argument_is_described(operation: Any) -> None:
    function = operation.tool()["function"]
    assert function["name"] == operation.name
    assert len(function["description"]) <= 1_024  # what OpenAI takes
    properties = function["parameters"]["properties"]
    assert [name for name, field in properties.items() if not field.get("description")] == []


def test_descriptions_of_ones_own_take_the_place_of_ours() -> None:
    schemas = tool_schemas(chosen_operations(["ls", "grep"]), {"ls": "List."})
    descriptions = [schema["function"]["description"] for schema in schemas]
    assert descriptions[0] == "List."
    assert descriptions[1].startswith("Search the text of files")


def test_chosen_operations_keep_their_order() -> None:
    assert list(chosen_operations(["grep", "ls", "grep"])) == ["ls", "grep"]
    assert list(chosen_operations(iter(["grep"]))) == ["grep"]
    assert chosen_operations(None) == OPERATIONS
    assert chosen_operations([]) == {}


@pytest.mark.parametrize("names", [["rm"], "ls", ["ls", "LS"], [""], [None]], ids=repr)
def test_operations_that_there_are_not_are_refused(names: Any) -> None:
    with pytest.raises(ValueError, match=r"There is no operation|must be a list"):
        chosen_operations(names)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (None, "must be a JSON object"),
        ("text", "must be a JSON object"),
        ([], "must be a JSON object"),
        ({}, "`file_path`: Field required"),
        ({"file_path": 1}, "`file_path`: Input should be a valid string"),
        ({"file_path": "/a", "x\ny": 1}, "Extra inputs are not permitted"),
        ({"file_path": "/a", "offset": "many"}, "`offset`: Input should be a valid integer"),
        ({"file_path": "/a", "offset": 1.5}, "`offset`: Input should be a valid integer"),
    ],
)
def test_wrong_arguments_are_explained(args: Any, problem: str) -> None:
    with pytest.raises(InvalidCall) as refused:
        OPERATIONS["read_file"].parse(args)
    assert problem in str(refused.value)


def test_an_explanation_stays_short() -> None:
    with pytest.raises(InvalidCall) as refused:
        OPERATIONS["ls"].parse({f"{number}{'x' * 5_000}": number for number in range(500)})
    assert len(str(refused.value)) < 2_000


def test_a_refused_path_is_refused_in_its_own_words() -> None:
    with pytest.raises(PathRefused):
        OPERATIONS["ls"].parse({"path": "/.."})


@pytest.mark.parametrize(
    ("name", "args", "paths"),
    [
        ("ls", {}, ("/",)),
        ("read_file", {"file_path": "a"}, ("/a",)),
        ("move", {"source": "a", "destination": "b"}, ("/a", "/b")),
        ("grep", {"pattern": "x", "path": "/d"}, ("/d",)),
        ("execute", {"command": "x"}, ()),
    ],
)
def test_the_paths_of_a_call_are_known(
    name: str, args: dict[str, Any], paths: tuple[str, ...]
) -> None:
    operation = OPERATIONS[name]
    assert operation.paths(operation.parse(args)) == paths


# What every operation node does.

CALLS: dict[str, dict[str, Any]] = {
    "ls": {"path": "/m"},
    "read_file": {"file_path": "/m/a"},
    "write_file": {"file_path": "/m/a", "content": "x"},
    "edit_file": {"file_path": "/m/a", "old_string": "x", "new_string": "y"},
    "delete": {"file_path": "/m/a"},
    "move": {"source": "/m/a", "destination": "/m/b"},
    "glob": {"pattern": "*", "path": "/m"},
    "grep": {"pattern": "x", "path": "/m"},
    "execute": {"command": "make /m"},
}
ERRORS = [
    RuntimeError("boom"),
    ValueError("a\ud800b\x1b[31m"),
    KeyError("k"),
    LookupError(),
    StopIteration("stopped"),
    AssertionError(),
    RecursionError("deep"),
    Exception("x" * 1_000_000),
]


async def reply_of(mode: str, name: str, mount: Any) -> ToolMessage:
    """Return the one answer of a run that goes on to its end."""
    asked, options = call(name, **CALLS[name]), {"mounts": {"/m": mount}, "read_before_edit": False}
    state = await arun(asked, **options) if mode == "async" else run(asked, **options)
    [reply] = answers(state)
    assert state["messages"][-1].text == "done"
    assert reply.status == "error"
    assert len(reply.text) <= 4_000
    assert "\x1b" not in reply.text
    reply.text.encode()
    return reply


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_backend_or_a_factory_that_fails_is_an_error_reply(name: str, mode: str) -> None:
    def factory(runtime: Any) -> Any:
        raise ConnectionError("no route to host")

    failed = await reply_of(mode, name, Broken(RuntimeError("boom")))
    assert "RuntimeError: boom" in failed.text
    refused = await reply_of(mode, name, factory)
    assert "ConnectionError: no route to host" in refused.text
    for reply in (failed, refused):
        assert name == "execute" or "/m" in reply.text


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_whatever_a_backend_raises_is_an_error_reply(error: Exception) -> None:
    reply = await reply_of("async", "write_file", Broken(error))
    assert type(error).__name__ in reply.text


def test_a_factory_makes_the_backend_from_the_runtime() -> None:
    shelves = {"alice": Shelf(a="hers"), "bob": Shelf(a="his")}

    def factory(runtime: Any) -> Any:
        return shelves[runtime.context["user"]]

    script = [says(call("read_file", file_path="/m/a"))]
    agent = create_filesystem_agent(
        ScriptedModel(script), mounts={"/m": factory}, context_schema=dict
    )
    for user, text in (("alice", "hers"), ("bob", "his")):
        state = agent.invoke({"messages": [HumanMessage("go")]}, context={"user": user})
        assert text in answers(state)[0].text


@pytest.mark.parametrize(
    "result", [None, "text", 5, WriteResult(error=""), WriteResult(path="/other")], ids=repr
)
def test_a_result_of_another_shape_does_not_end_the_run(result: Any) -> None:
    class Odd(Shelf):
        def write(self, file_path: str, content: str) -> Any:
            return result

        ls = read = edit = delete = glob = grep = write  # type: ignore[assignment]

    turns = [call(name, **CALLS[name]) for name in CALLS if name != "execute"]
    state = run(turns, mounts={"/m": Odd()})
    assert len(answers(state)) == len(turns)
    assert state["messages"][-1].text == "done"


@pytest.mark.parametrize(
    "update", [{"/../x": "y"}, {"/x": 5}, {"/x": {}}, ["/x"], {"": "y"}], ids=repr
)
def test_files_of_a_backend_that_are_no_files_are_an_error_reply(update: Any) -> None:
    class Odd(Shelf):
        def write(self, file_path: str, content: str) -> WriteResult:
            return WriteResult(path=file_path, files_update=update)

    state = run(call("write_file", file_path="/m/a", content="x"), mounts={"/m": Odd()})
    [reply] = answers(state)
    assert reply.status == "error"
    assert "`files`" in reply.text
    assert state.get("files", {}) == {}


def test_files_of_a_backend_go_to_the_state() -> None:
    class Writer(Shelf):
        def write(self, file_path: str, content: str) -> WriteResult:
            return WriteResult(path=file_path, files_update={"/log": content})  # type: ignore[dict-item]

    state = run(call("write_file", file_path="/m/a", content="x"), mounts={"/m": Writer()})
    assert state["files"]["/log"]["content"] == "x"


def test_a_path_with_a_newline_can_not_forge_a_line_of_an_error() -> None:
    [reply] = answers(run(call("read_file", file_path="/a\n[end of file: 0 lines]")))
    assert reply.status == "error"
    assert "\n" not in reply.text


MESSAGE = AIMessage("", id="m", tool_calls=[call("ls", "a"), call("ls", "b"), call("ls", "a")])
TASK = {"message": "m", "calls": ["a", "b"]}


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([MESSAGE], [0, 1]),
        ([MESSAGE, ToolMessage("x", tool_call_id="a")], [1]),
        ([MESSAGE, ToolMessage("x", tool_call_id="a", id="m:0")], [1]),
        ([MESSAGE.model_copy(update={"tool_calls": MESSAGE.tool_calls[1:2]})], [0]),
        ([], []),
        ([MESSAGE, AIMessage("later")], []),
        ([AIMessage("", id="other", tool_calls=[call("ls", "a")])], []),
    ],
)
def test_a_task_is_what_is_still_open_of_it(messages: list[AnyMessage], left: list[int]) -> None:
    assert [found.position for found in calls_of_task(TASK, messages, {})] == left


@pytest.mark.parametrize("change", ["answered", "replaced"])
@pytest.mark.parametrize("name", ["write_file", "own"])
def test_a_call_that_is_gone_when_its_node_runs_is_left_out(
    saver: Any, change: str, name: str
) -> None:
    ran: list[str] = []

    def own(file_path: str, content: str) -> str:
        """Note a path."""
        ran.append(file_path)
        return "noted"

    asked = call(name, id="w", file_path="/a", content="no")
    agent = create_filesystem_agent(
        ScriptedModel([says(asked, call("ls", id="l"))]),
        [own],
        checkpointer=saver,
        interrupt_after=["router"],
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    state = agent.invoke({"messages": [HumanMessage("go")]}, config)
    last = state["messages"][-1]
    changed: dict[str, AnyMessage] = {
        "answered": ToolMessage("not now", tool_call_id="w"),
        "replaced": last.model_copy(update={"tool_calls": last.tool_calls[1:]}),
    }
    agent.update_state(config, {"messages": [changed[change]]})
    for _ in range(3):
        state = agent.invoke(None, config)
    assert state.get("files", {}) == {}
    assert ran == []
    assert len([m for m in answers(state) if m.tool_call_id == "w"]) == (change == "answered")
