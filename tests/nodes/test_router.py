"""`router`: which calls share a task, run in parallel, or wait for the next wave."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Send

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.nodes.router import dispatch_edge
from langgraph_filesystem.state.backends import StateBackend
from tests.nodes.backends import Shelf, Shell
from tests.scripted import ScriptedModel, answers, call, run, says


def own(text: str) -> str:
    """Say it again."""
    return text


def read(path: str) -> dict[str, Any]:
    return call("read_file", file_path=path)


def write(path: str) -> dict[str, Any]:
    return call("write_file", file_path=path, content="")


def edit(path: str) -> dict[str, Any]:
    return call("edit_file", file_path=path, old_string="a", new_string="b")


def delete(path: str) -> dict[str, Any]:
    return call("delete", file_path=path)


def move(source: str, destination: str) -> dict[str, Any]:
    return call("move", source=source, destination=destination)


LS, GREP, GLOB = call("ls"), call("grep", pattern="x"), call("glob", pattern="*")
EXECUTE, OWN = call("execute", command="make"), call("own", text="x")


def waves(calls: list[dict[str, Any]], **options: Any) -> str:
    """Run calls in one message and return the tasks of each wave: `0,1 2 | 3`."""
    numbered = [{**given, "id": str(number)} for number, given in enumerate(calls)]
    agent = create_filesystem_agent(ScriptedModel([says(*numbered)]), [own], **options)
    planned = [
        update["router"]["routes"]
        for update in agent.stream({"messages": [HumanMessage("go")]}, stream_mode="updates")
        if "router" in update
    ]
    return " | ".join(" ".join(",".join(task["calls"]) for task in wave) for wave in planned)


TABLE: list[tuple[list[dict[str, Any]], str]] = [
    # What only looks runs at once; the same question about the same path is one task.
    ([read("/a"), read("/b"), LS, GREP, GLOB], "0 1 2 3 4"),
    ([read("/a"), read("/a"), read("a/")], "0,1,2"),
    # The same change of the same path is one task, in order.
    ([edit("/a"), edit("/a"), edit("/a")], "0,1,2"),
    ([write("/a"), write("/a")], "0,1"),
    ([edit("/a"), edit("/b"), edit("/a")], "0,2 1"),
    # Changes of other paths run beside each other.
    ([write("/a"), edit("/b"), delete("/c"), move("/d", "/e"), read("/f")], "0 1 2 3 4"),
    ([write("/a"), write("/ab")], "0 1"),
    # A change and anything else on an overlapping path wait for each other.
    ([write("/a"), read("/a")], "0 | 1"),
    ([read("/a"), write("/a")], "0 | 1"),
    ([write("/a"), edit("/a")], "0 | 1"),
    ([write("/d/a"), call("ls", path="/d")], "0 | 1"),
    ([write("/d/a"), call("ls", path="/e")], "0 1"),
    ([write("/d/a"), LS], "0 | 1"),
    ([GREP, write("/d/a")], "0 | 1"),
    ([delete("/d"), write("/d/a")], "0 | 1"),
    ([delete("/d/a"), delete("/d")], "0 | 1"),
    ([write("/d/a"), delete("/d"), read("/d/a")], "0 | 1 | 2"),
    ([move("/a", "/b"), read("/b")], "0 | 1"),
    ([move("/a", "/b"), read("/a")], "0 | 1"),
    ([move("/a", "/b"), move("/b", "/c")], "0 | 1"),
    ([move("/a", "/b"), move("/a", "/b")], "0,1"),
    ([move("/a", "/b"), move("/c", "/b")], "0 | 1"),
    # What waits holds back what conflicts with it, and nothing else.
    ([write("/a"), read("/a"), edit("/a"), read("/b")], "0 3 | 1 | 2"),
    ([edit("/a"), read("/a"), edit("/a")], "0 | 1 | 2"),
    ([write("/a"), GREP, write("/b"), read("/c")], "0 3 | 1 | 2"),
    ([write("/a"), write("/b"), GREP, LS], "0 1 | 2 3"),
    # A tool of the user's own touches no path.
    ([OWN, write("/a"), OWN, LS], "0 1 2 | 3"),
]


@pytest.mark.parametrize(("calls", "expected"), TABLE, ids=[expected for _, expected in TABLE])
def test_calls_share_a_task_or_run_beside_each_other_or_wait(
    calls: list[dict[str, Any]], expected: str
) -> None:
    assert waves(calls) == expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([EXECUTE, EXECUTE], "0,1"),
        ([EXECUTE, read("/box/a")], "0 | 1"),
        ([read("/box/a"), EXECUTE], "0 | 1"),
        ([EXECUTE, LS], "0 | 1"),
        ([GREP, EXECUTE], "0 | 1"),
        ([EXECUTE, read("/a"), write("/other/b"), call("ls", path="/other")], "0 1 2 | 3"),
        ([EXECUTE, move("/a", "/box/b")], "0 | 1"),
        ([write("/box/a"), EXECUTE, read("/box/a"), OWN], "0 3 | 1 | 2"),
    ],
)
def test_a_command_waits_for_what_its_mount_can_touch(
    calls: list[dict[str, Any]], expected: str
) -> None:
    assert waves(calls, mounts={"/box": Shell(), "/other": StateBackend()}) == expected


def test_a_command_waits_for_other_directories_of_the_machine() -> None:
    """They may be the directory in which it runs, or one below it."""
    mounts = {"/": Shell(), "/other": Shelf(), "/state": StateBackend()}
    calls = [EXECUTE, read("/other/a"), read("/state/a"), LS]
    assert waves(calls, mounts=mounts) == "0 2 | 1 3"


def test_a_plan_says_which_backend_serves_which_call() -> None:
    def factory(runtime: Any) -> Any:
        return Shelf()

    agent = create_filesystem_agent(
        ScriptedModel(
            [says(call("ls", "0", path="/m/x"), call("ls", "1", path="/f"), call("ls", "2"))]
        ),
        mounts={"/m": Shelf(), "/f": factory},
    )
    [plan] = [
        update["router"]["routes"]
        for update in agent.stream({"messages": [HumanMessage("go")]}, stream_mode="updates")
        if "router" in update
    ]
    served = [(task["path"], task["mount"], task["backend"]) for task in plan]
    assert served == [("/m/x", "/m", "Shelf"), ("/f", "/f", "factory"), ("/", "/", "StateBackend")]


def test_what_can_not_run_is_answered_at_once_beside_what_can() -> None:
    state = run([call("gone"), call("ls", path="../"), call("ls", depth=3), LS], files={"/a": ""})
    assert sorted(reply.status for reply in answers(state)) == ["error"] * 3 + ["success"]
    assert state["messages"][-1].text == "done"


def test_a_call_that_can_not_run_holds_nothing_back() -> None:
    bad = call("write_file", file_path="/a", content=None)
    assert waves([bad, read("/a"), write("/a")]) == "1 | 2"


STEPS = st.sampled_from("ab").flatmap(
    lambda name: st.sampled_from(
        [
            call("write_file", file_path=f"/{name}", content="0", overwrite=True),
            call("edit_file", file_path=f"/{name}", old_string="0", new_string="10"),
            call("read_file", file_path=f"/{name}"),
            call("delete", file_path=f"/{name}"),
            call("move", source=f"/{name}", destination="/c"),
            call("grep", pattern="1", output_mode="content"),
            call("ls"),
        ]
    )
)


@settings(max_examples=35, deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_one_message_does_what_the_calls_do_one_after_the_other(steps: list[Any]) -> None:
    numbered = [{**step, "id": str(number)} for number, step in enumerate(steps)]
    options: Any = {"files": {"/a": "0", "/c": "x"}, "read_before_edit": False}
    together, apart = run(numbered, **options), run(*numbered, **options)

    def results(state: dict[str, Any]) -> Any:
        found = {reply.tool_call_id: reply.text for reply in answers(state)}
        return found, {path: file["content"] for path, file in state["files"].items()}

    assert results(together) == results(apart)


MESSAGE = AIMessage("", id="m", tool_calls=[call("ls", "a"), call("ls", "b"), call("ls", "c")])
ROUTES = [
    {"message": "m", "calls": ["a", "b"], "node": "ls"},
    {"message": "m", "calls": ["c"], "node": "grep"},
    {"message": "old", "calls": ["a"], "node": "glob"},
]


def done(id: str) -> ToolMessage:
    return ToolMessage("x", tool_call_id=id)


@pytest.mark.parametrize(
    ("messages", "routes", "sends"),
    [
        ([MESSAGE], ROUTES, [("ls", ["a", "b"]), ("grep", ["c"])]),
        ([MESSAGE, done("a")], ROUTES, [("ls", ["b"]), ("grep", ["c"])]),
        ([MESSAGE, done("a"), done("b")], ROUTES, [("grep", ["c"])]),
        ([MESSAGE, done("a"), done("b"), done("c")], ROUTES, "evict"),
        ([MESSAGE], [], "evict"),
        ([MESSAGE], None, "evict"),
        ([HumanMessage("x")], ROUTES, "evict"),
        ([MESSAGE, AIMessage("later")], ROUTES, "evict"),
    ],
)
def test_the_edge_behind_it_is_a_function_of_the_state(
    messages: list[Any], routes: Any, sends: Any
) -> None:
    state = {"messages": messages, "routes": routes}
    before = repr(state)
    for _ in range(2):
        found = dispatch_edge().invoke(state)
        if isinstance(found, list):
            assert all(isinstance(send, Send) and send.arg["message"] == "m" for send in found)
            found = [(send.node, send.arg["calls"]) for send in found]
        assert found == sends
    assert repr(state) == before


def test_sends_carry_ids_and_no_contents() -> None:
    big = call("write_file", "big", file_path="/a", content="x" * 10_000)
    [send] = dispatch_edge().invoke(
        {
            "messages": [AIMessage("", id="m", tool_calls=[big])],
            "routes": [{"message": "m", "calls": ["big"], "node": "write_file"}],
        }
    )
    assert send.arg == {"message": "m", "calls": ["big"]}


def test_mounts_of_the_state_do_not_share_a_file() -> None:
    mounts = {"/m": StateBackend(), "/n": StateBackend()}
    state = run([write("/m/a"), read("/n/a")], mounts=mounts)
    assert [reply.status for reply in answers(state)] == ["success", "error"]
