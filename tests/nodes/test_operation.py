"""What every operation node does: errors into replies, one answer per call, whatever breaks."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.nodes.operation import calls_of_task
from langgraph_filesystem.state.backends.protocol import WriteResult
from tests.nodes.backends import Broken, Shelf
from tests.scripted import ScriptedModel, answers, arun, call, run, says

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


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_whatever_a_backend_raises_is_an_error_reply(
    name: str, error: Exception, mode: str
) -> None:
    options: Any = {"mounts": {"/m": Broken(error)}, "read_before_edit": False}
    asked = call(name, **CALLS[name])
    state = await arun(asked, **options) if mode == "async" else run(asked, **options)
    [reply] = answers(state)
    assert reply.status == "error"
    assert name in reply.text
    assert "/m" in reply.text
    assert len(reply.text) <= 4_000
    assert "\x1b" not in reply.text
    reply.text.encode()
    assert state["messages"][-1].text == "done"


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_factory_that_raises_is_an_error_reply(name: str, mode: str) -> None:
    def factory(runtime: Any) -> Any:
        raise ConnectionError("no route to host")

    asked, options = call(name, **CALLS[name]), {"mounts": {"/m": factory}}
    state = await arun(asked, **options) if mode == "async" else run(asked, **options)
    [reply] = answers(state)
    assert reply.status == "error"
    assert "/m" in reply.text
    assert "ConnectionError: no route to host" in reply.text
    assert state["messages"][-1].text == "done"


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
    assert [found.position for found in calls_of_task(TASK, messages)] == left


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
