"""The agent in real parents: supervisors, teams, workflows, on real databases."""

import itertools
import operator
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, NotRequired

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_filesystem import (
    FileData,
    FilesystemState,
    add_filesystem,
    create_filesystem_agent,
    filesystem_condition,
    filesystem_node,
    guarded,
    merge_files,
)
from langgraph_filesystem.labels import draw_mermaid
from tests import databases
from tests.graph.runs import Runs, agent, contents, opened_runs
from tests.scripted import ScriptedModel, answers, call, says
from tests.snapshots import assert_snapshot

GO: Any = {"messages": [HumanMessage("go", id="go")]}


@pytest.fixture(params=databases.BOTH_WAYS, ids=" on ".join)
async def runs(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runs]:
    how, kind = request.param
    with databases.choose(kind):
        path = databases.emptied(tmp_path / f"{kind}.db")
        async with opened_runs(path, how == "awaited") as opened:
            yield opened


def write(path: str, content: str, **options: Any) -> Any:
    return call("write_file", file_path=path, content=content, **options)


def edit(path: str, old: str, new: str) -> list[Any]:
    return [call("edit_file", file_path=path, old_string=old, new_string=new)]


def parent_of(*agents: Any, schema: Any = FilesystemState, **nodes: Any) -> StateGraph[Any]:
    """Return a builder that runs the agents one after the other."""
    builder = StateGraph(schema)
    steps = nodes or {f"agent{n}": filesystem_node(one) for n, one in enumerate(agents, start=1)}
    for name, node in steps.items():
        builder.add_node(name, node)
    names = [START, *steps, END]
    for one, other in itertools.pairwise(names):
        builder.add_edge(one, other)
    return builder


def supervisor(left: Any, right: Any) -> StateGraph[Any]:
    """Return a builder whose `plan` starts two agents, and whose `report` waits for both."""
    builder = StateGraph(FilesystemState)
    builder.add_node("plan", lambda state: {})
    builder.add_node("left", filesystem_node(left))
    builder.add_node("right", filesystem_node(right))
    builder.add_node("report", lambda state: {"messages": [AIMessage("both are back", id="end")]})
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "left")
    builder.add_edge("plan", "right")
    builder.add_edge(["left", "right"], "report")
    return builder


# Parallel branches


async def test_branches_that_change_different_files_both_land(runs: Runs) -> None:
    left = agent([write("/left.txt", "l"), call("delete", file_path="/old")])
    right = agent([write("/right.txt", "r"), call("move", source="/b", destination="/c")])
    graph = supervisor(left, right).compile(checkpointer=runs.checkpointer)
    given = {**GO, "files": {"/old": "o", "/b": "bee", "/kept": "k"}}
    state = await runs.invoke(graph, given)
    assert contents(state) == {"/kept": "k", "/left.txt": "l", "/right.txt": "r", "/c": "bee"}
    assert contents((await runs.state(graph)).values) == contents(state)
    assert [m.status for m in answers(state)] == ["success"] * 4


async def test_branches_that_edit_different_parts_of_one_file_both_land(runs: Runs) -> None:
    read = call("read_file", file_path="/a")
    left = agent(read, edit("/a", "one", "ONE"), edit("/a", "two", "TWO"))
    right = agent(read, edit("/a", "four", "FOUR"))
    graph = supervisor(left, right).compile(checkpointer=runs.checkpointer)
    state = await runs.invoke(graph, {**GO, "files": {"/a": "one\ntwo\nthree\nfour\n"}})
    assert contents(state) == {"/a": "ONE\nTWO\nthree\nFOUR\n"}
    assert contents((await runs.state(graph)).values) == contents(state)


async def test_a_branch_hands_back_nothing_that_it_did_not_touch(runs: Runs) -> None:
    left = agent(call("delete", file_path="/gone"))
    right = agent([call("read_file", file_path="/gone"), write("/new", "n")])
    graph = supervisor(left, right).compile(checkpointer=runs.checkpointer)
    given = {**GO, "files": {"/gone": "g", "/kept": "k"}}
    chunks = await runs.stream(graph, given, stream_mode="updates")
    written = {name: update.get("files") for c in chunks for name, update in c.items() if update}
    assert written["left"] == {"/gone": None}
    assert set(written["right"]) == {"/new"}
    assert contents((await runs.state(graph)).values) == {"/kept": "k", "/new": "n"}


async def test_a_file_that_came_and_went_does_not_take_another_branchs_file(runs: Runs) -> None:
    left = agent(write("/same", "left"))
    right = agent(write("/same", "right"), call("delete", file_path="/same"))
    graph = supervisor(left, right).compile(checkpointer=runs.checkpointer)
    assert contents(await runs.invoke(graph, GO)) == {"/same": "left"}


async def test_messages_of_branches_stay_together(runs: Runs) -> None:
    left = agent(write("/l", "l", id="l"))
    right = agent(write("/r", "r", id="r"))
    graph = supervisor(left, right).compile(checkpointer=runs.checkpointer)
    messages = (await runs.invoke(graph, GO))["messages"]
    kinds = [message.type for message in messages]
    assert kinds == ["human", "ai", "tool", "ai", "ai", "tool", "ai", "ai"]
    assert [messages[1].tool_calls[0]["id"], messages[2].tool_call_id] == ["l", "l"]


async def test_one_agent_may_work_in_many_branches_with_a_conversation_each(runs: Runs) -> None:
    class Work(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        files: Annotated[dict[str, FileData], merge_files]

    class Obedient(ScriptedModel):
        def __init__(self, script: Any) -> None:
            super().__init__(script)

        def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            name = messages[1].text
            self.script[:] = [says(write(f"/{name}", name, id=f"w-{name}"))]
            return super()._generate(messages, *args, **options)

    def spread(state: Any) -> list[Send]:
        return [Send("worker", {"messages": [HumanMessage(name)]}) for name in "abc"]

    builder = StateGraph(Work)
    builder.add_node("worker", filesystem_node(create_filesystem_agent(Obedient([]))))
    builder.add_conditional_edges(START, spread, ["worker"])
    graph = builder.compile(checkpointer=runs.checkpointer)
    state = await runs.invoke(graph, {**GO, "files": {"/kept": "k"}})
    assert contents(state) == {"/kept": "k", "/a": "a", "/b": "b", "/c": "c"}
    # What each was told was its own, and is not handed back.
    assert [m.text for m in state["messages"] if m.type == "human"] == ["go"]
    assert sorted(m.tool_call_id for m in answers(state)) == ["w-a", "w-b", "w-c"]


# Parents with keys and reducers of their own


class Plain(TypedDict):
    """A parent that knows nothing of ours but the reducer."""

    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, FileData], merge_files]
    visits: Annotated[int, operator.add]
    topic: str


class PlainModel(BaseModel):
    """The same as a model."""

    messages: Annotated[list[AnyMessage], add_messages] = []
    files: Annotated[dict[str, FileData], merge_files] = {}
    visits: Annotated[int, operator.add] = 0
    topic: str = ""


class Extended(FilesystemState):
    """A parent that extends ours."""

    visits: Annotated[int, operator.add]
    topic: NotRequired[str]


@pytest.mark.parametrize("schema", [Plain, PlainModel, Extended])
async def test_a_parent_keeps_its_own_keys_and_reducers(runs: Runs, schema: Any) -> None:
    one = agent([write("/a", "one two"), call("delete", file_path="/old")])
    two = agent(edit("/a", "two", "TWO"))
    builder = parent_of(
        schema=schema,
        first=lambda state: {"visits": 1, "topic": "files"},
        one=filesystem_node(one),
        two=filesystem_node(two),
        last=lambda state: {"visits": 1},
    )
    graph = builder.compile(checkpointer=runs.checkpointer)
    await runs.invoke(graph, {**GO, "files": {"/old": "o"}})
    state = (await runs.state(graph)).values
    assert contents(state) == {"/a": "one TWO"}
    assert (state["visits"], state["topic"]) == (2, "files")
    assert [m.status for m in answers(state)] == ["success"] * 3


async def test_keys_that_both_have_are_handed_in_and_back_once(runs: Runs) -> None:
    class Inner(FilesystemState):
        log: Annotated[list[str], operator.add]
        cost: Annotated[int, operator.add]
        topic: NotRequired[str]
        verdict: NotRequired[str]
        secret: NotRequired[str]

    class Outer(Plain):
        log: Annotated[list[str], operator.add]
        cost: Annotated[int, operator.add]
        verdict: str

    def judge(state: Inner) -> Any:
        assert (state["log"], state["cost"], state["topic"]) == (["begun"], 3, "files")
        assert contents(state) == {"/a": "a"}
        return {"log": ["judged"], "cost": 4, "verdict": "good", "secret": "s"}

    def close(state: Inner) -> Any:
        assert (state["log"], state["cost"]) == (["begun", "judged"], 7)
        return {"log": ["closed"], "cost": 2, "files": {"/b": "b"}}

    inner = parent_of(schema=Inner, judge=judge, close=close).compile()
    outer = parent_of(schema=Outer, inner=filesystem_node(inner))
    graph = outer.compile(checkpointer=runs.checkpointer)
    given = {**GO, "files": {"/a": "a"}, "log": ["begun"], "cost": 3, "topic": "files"}
    state = await runs.invoke(graph, given)
    assert state["log"] == ["begun", "judged", "closed"]
    assert (state["cost"], state["verdict"], state["topic"]) == (9, "good", "files")
    assert contents(state) == {"/a": "a", "/b": "b"}
    assert "secret" not in state


async def test_what_a_send_gives_for_a_key_with_a_reducer_is_not_handed_back(runs: Runs) -> None:
    class Inner(FilesystemState):
        log: Annotated[list[str], operator.add]

    class Outer(Plain):
        log: Annotated[list[str], operator.add]

    def note(state: Inner) -> Any:
        assert state["log"] == ["sent"]
        return {"log": ["noted"]}

    def spread(state: Any) -> list[Send]:
        return [Send("inner", {"messages": [], "log": ["sent"]})] * 2

    builder = StateGraph(Outer)
    builder.add_node("inner", filesystem_node(parent_of(schema=Inner, note=note).compile()))
    builder.add_conditional_edges(START, spread, ["inner"])
    graph = builder.compile(checkpointer=runs.checkpointer)
    state = await runs.invoke(graph, {**GO, "files": {}, "log": ["begun"]})
    assert state["log"] == ["begun", "noted", "noted"]


async def test_a_reducer_that_knows_no_edits_gets_whole_files(runs: Runs) -> None:
    def theirs(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        merged = {**left, **right}
        return {path: file for path, file in merged.items() if file is not None}

    class Theirs(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        files: Annotated[dict[str, Any], theirs]

    read = call("read_file", file_path="/a")
    one = agent(read, [*edit("/a", "one", "ONE"), call("delete", file_path="/b")])
    graph = parent_of(one, schema=Theirs).compile(checkpointer=runs.checkpointer)
    files = {path: {"content": text} for path, text in (("/a", "one two"), ("/b", "b"))}
    state = await runs.invoke(graph, {**GO, "files": files})
    assert contents(state) == {"/a": "ONE two"}


def test_a_reducer_that_keeps_what_was_deleted_is_an_error() -> None:
    def keeps(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {**left, **{path: file for path, file in right.items() if file}}

    class Keeping(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        files: Annotated[dict[str, Any], keeps]

    graph = parent_of(agent(call("delete", file_path="/a")), schema=Keeping).compile()
    with pytest.raises(ValueError, match=r"deleted /a, and the reducer .* keeps it"):
        graph.invoke({**GO, "files": {"/a": {"content": "a"}}})


def test_a_parent_without_files_is_an_error_that_says_what_to_do() -> None:
    class Talk(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    graph = parent_of(agent(write("/a", "a")), schema=Talk).compile()
    with pytest.raises(ValueError, match=r"no key `files`.*merge_files.*agent\.invoke"):
        graph.invoke(GO)


@pytest.mark.parametrize("key", ["files", "messages"])
def test_a_parent_without_a_reducer_is_an_error_that_says_what_to_do(key: str) -> None:
    class NoReducer(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        files: dict[str, FileData]

    class NoMessages(TypedDict):
        files: Annotated[dict[str, FileData], merge_files]

    schema = NoReducer if key == "files" else NoMessages
    graph = parent_of(agent(write("/a", "a")), schema=schema).compile()
    with pytest.raises(ValueError, match=rf"no reducer for its key `{key}`.*Annotated"):
        graph.invoke({**GO, "files": {"/kept": {"content": "k"}}})


async def test_a_node_of_ones_own_may_give_the_agent_files_that_end_with_the_visit(
    runs: Runs,
) -> None:
    class Talk(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    private = agent(write("/scratch", "s"))

    async def ask(state: Talk) -> Any:
        result = await runs.invoke(private, state, None)
        assert contents(result) == {"/scratch": "s"}
        return {"messages": result["messages"][-1:]}

    class Ask:
        def __call__(self, state: Talk) -> Any:
            return {"messages": private.invoke(state)["messages"][-1:]}

    graph = parent_of(schema=Talk, ask=ask if runs.awaited else Ask())
    compiled = graph.compile(checkpointer=runs.checkpointer)
    state = await runs.invoke(compiled, GO)
    assert [message.text for message in state["messages"]] == ["go", "done"]


# What a visit knows


@pytest.mark.parametrize("schema", [FilesystemState, Plain])
async def test_a_later_visit_may_edit_what_an_earlier_one_read(runs: Runs, schema: Any) -> None:
    reader = agent(call("read_file", file_path="/a"))
    editor = agent(edit("/a", "one", "ONE"))
    graph = parent_of(reader, editor, schema=schema).compile(checkpointer=runs.checkpointer)
    state = await runs.invoke(graph, {**GO, "files": {"/a": "one"}})
    assert contents(state) == {"/a": "ONE"}
    # And in the next run of the thread.
    state = await runs.invoke(graph, {"messages": [HumanMessage("again")]})
    assert answers(state)[-1].status == "error"
    assert "not in the file" in answers(state)[-1].text


async def test_a_file_that_two_branches_changed_must_be_read_again(runs: Runs) -> None:
    read = call("read_file", file_path="/a")
    left, right = agent(read, edit("/a", "one", "ONE")), agent(read, edit("/a", "two", "TWO"))
    builder = supervisor(left, right)
    builder.add_node("after", filesystem_node(agent(edit("/a", "TWO", "2"))))
    builder.add_edge("report", "after")
    graph = builder.compile(checkpointer=runs.checkpointer)
    state = await runs.invoke(graph, {**GO, "files": {"/a": "one two"}})
    assert contents(state) == {"/a": "ONE TWO"}
    assert "changed since it was last read" in answers(state)[-1].text


# Nesting


def three_deep(innermost: Any) -> StateGraph[Any]:
    """Return a builder of a company with a department with a team with an agent."""

    def note(name: str) -> Any:
        return lambda state: {"files": {f"/{name}": name}}

    team = parent_of(schema=Plain, before=note("team"), agent=filesystem_node(innermost))
    department = parent_of(
        schema=FilesystemState, team=filesystem_node(team.compile()), after=note("department")
    )
    return parent_of(
        schema=FilesystemState,
        before=note("company"),
        department=filesystem_node(department.compile()),
    )


async def test_three_deep_changes_reach_the_top(runs: Runs) -> None:
    innermost = agent(
        call("read_file", file_path="/a"),
        [*edit("/a", "one", "ONE"), call("delete", file_path="/b"), write("/c", "c")],
    )
    graph = three_deep(innermost).compile(checkpointer=runs.checkpointer)
    state = await runs.invoke(graph, {**GO, "files": {"/a": "one two", "/b": "b", "/kept": "k"}})
    assert contents(state) == {
        "/a": "ONE two",
        "/kept": "k",
        "/company": "company",
        "/team": "team",
        "/c": "c",
        "/department": "department",
    }
    kinds = [message.type for message in state["messages"]]
    assert kinds == ["human", "ai", "tool", "ai", "tool", "tool", "tool", "ai"]
    # The edit went all the way up as an edit.
    chunks = await runs.stream(graph, GO, stream_mode="updates", subgraphs=True)
    assert {len(namespace) for namespace, _ in chunks} == {0, 1, 2, 3}


def test_xray_draws_what_is_inside() -> None:
    small = agent(operations=["ls", "edit_file"])
    drawn = three_deep(small).compile().get_graph(xray=True)
    assert_snapshot("graph_three_deep.mmd", draw_mermaid(drawn))
    drawn = supervisor(small, small).compile().get_graph(xray=True)
    assert_snapshot("graph_supervisor.mmd", draw_mermaid(drawn))


# Interrupts


@tool
def ask_a_person(question: str) -> str:
    """Ask a person."""
    return str(interrupt({"question": question}))


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("deep", [False, True])
async def test_an_interrupt_inside_reaches_the_parent_and_loses_nothing(
    tmp_path: Path, awaited: bool, deep: bool
) -> None:
    asking = agent(
        call("read_file", file_path="/a"),
        [*edit("/a", "one", "ONE"), call("delete", file_path="/b")],
        call("ask_a_person", question="more?"),
        [*edit("/a", "two", "TWO"), write("/c", "c")],
        tools=[ask_a_person],
    )

    def graph() -> Any:
        return three_deep(asking) if deep else parent_of(asking)

    path = databases.emptied(tmp_path / "parent.db")
    async with opened_runs(path, awaited) as runs:
        compiled = graph().compile(checkpointer=runs.checkpointer)
        given = {**GO, "files": {"/a": "one two", "/b": "b", "/kept": "k"}}
        stopped = await runs.invoke(compiled, given)
        assert [i.value for i in stopped["__interrupt__"]] == [{"question": "more?"}]
        # The parent has not heard of it, and the visit shows all of it.
        assert contents((await runs.state(compiled)).values).keys() >= {"/a", "/b", "/kept"}
        inside = await runs.state(compiled, subgraphs=True)
        while inside.tasks and inside.tasks[0].state:
            inside = inside.tasks[0].state
        assert contents(inside.values).items() >= {"/a": "ONE two", "/kept": "k"}.items()
        assert "/b" not in inside.values["files"]
        assert [m.type for m in inside.values["messages"]][:2] == ["human", "ai"]
    # Another process goes on.
    async with opened_runs(path, awaited) as runs:
        compiled = graph().compile(checkpointer=runs.checkpointer)
        state = await runs.invoke(compiled, Command(resume="yes"))
        assert contents(state).items() >= {"/a": "ONE TWO", "/c": "c", "/kept": "k"}.items()
        assert "/b" not in state["files"]
        assert [m.status for m in answers(state)] == ["success"] * 6
        assert answers(state)[3].text == "yes"


@pytest.mark.parametrize("durability", ["sync", "exit"])
async def test_how_durable_a_run_is_makes_no_difference(runs: Runs, durability: str) -> None:
    asking = agent(
        call("read_file", file_path="/a"),
        [*edit("/a", "one", "ONE"), call("delete", file_path="/b")],
        call("ask_a_person", question="more?"),
        edit("/a", "two", "TWO"),
        tools=[ask_a_person],
    )
    graph = three_deep(asking).compile(checkpointer=runs.checkpointer)
    given = {**GO, "files": {"/a": "one two", "/b": "b"}}
    await runs.invoke(graph, given, durability=durability)
    state = await runs.invoke(graph, Command(resume="yes"), durability=durability)
    assert contents(state)["/a"] == "ONE TWO"
    assert "/b" not in state["files"]
    assert contents((await runs.state(graph)).values) == contents(state)


async def test_the_factorys_interrupts_stop_inside_and_go_on(runs: Runs) -> None:
    careful = agent(
        [write("/a", "a"), call("delete", file_path="/b")],
        edit("/a", "a", "A"),
        interrupt_before=["edit_file"],
    )
    graph = parent_of(careful).compile(checkpointer=runs.checkpointer)
    state = await runs.invoke(graph, {**GO, "files": {"/b": "b"}})
    assert contents(state) == {"/b": "b"}
    assert (await runs.state(graph)).next == ("agent1",)
    assert contents(await runs.invoke(graph, None)) == {"/a": "A"}


async def test_a_person_may_edit_the_state_inside_while_it_waits(runs: Runs) -> None:
    """Also where a call of the same step is done already: LangGraph stores all files then."""
    asking = agent(
        call("read_file", file_path="/a"),
        edit("/a", "one", "ONE"),
        [call("ask_a_person", question="?"), write("/beside", "b")],
        edit("/a", "two", "TWO"),
        tools=[ask_a_person],
    )
    graph = parent_of(asking).compile(checkpointer=runs.checkpointer)
    await runs.invoke(graph, {**GO, "files": {"/a": "one two three", "/kept": "k"}})
    inside = (await runs.state(graph, subgraphs=True)).tasks[0].state
    assert contents(inside.values) == {"/a": "ONE two three", "/kept": "k", "/beside": "b"}
    edits = {"files": {"/human": "h", "/kept": None}}
    await runs.call(graph, "update_state", inside.config, edits, as_node="ls")
    inside = (await runs.state(graph, subgraphs=True)).tasks[0].state
    expected = {"/a": "ONE two three", "/human": "h"}
    assert contents(inside.values).items() >= expected.items()
    while (await runs.state(graph)).next:
        await runs.invoke(graph, Command(resume="go on"))
    state = (await runs.state(graph)).values
    assert contents(state).items() >= {"/a": "ONE TWO three", "/human": "h"}.items()
    assert "/kept" not in state["files"]


async def test_one_branch_waits_and_the_other_is_done(runs: Runs) -> None:
    asking = agent(
        edit("/a", "one", "ONE"),
        call("ask_a_person", question="?"),
        edit("/a", "two", "TWO"),
        tools=[ask_a_person],
        read_before_edit=False,
    )
    quick = agent([*edit("/a", "three", "THREE"), write("/q", "q")], read_before_edit=False)
    graph = supervisor(asking, quick).compile(checkpointer=runs.checkpointer)
    await runs.invoke(graph, {**GO, "files": {"/a": "one two three"}})
    waiting = await runs.state(graph)
    # What is done shows; what waits sees what it began with and what it did itself.
    assert contents(waiting.values) == {"/a": "one two THREE", "/q": "q"}
    inside = next(t for t in (await runs.state(graph, subgraphs=True)).tasks if t.name == "left")
    assert contents(inside.state.values) == {"/a": "ONE two three"}
    state = await runs.invoke(graph, Command(resume="yes"))
    assert contents(state) == {"/a": "ONE TWO THREE", "/q": "q"}
    assert state["messages"][-1].text == "both are back"


async def test_an_answer_may_bring_files_along(runs: Runs) -> None:
    asking = agent(
        edit("/a", "one", "ONE"),
        call("ask_a_person", question="?"),
        [*edit("/a", "two", "TWO"), call("read_file", file_path="/brought")],
        tools=[ask_a_person],
        read_before_edit=False,
    )
    graph = parent_of(asking).compile(checkpointer=runs.checkpointer)
    await runs.invoke(graph, {**GO, "files": {"/a": "one two"}})
    answer: Command[Any] = Command(resume="yes", update={"files": {"/brought": "along"}})
    state = await runs.invoke(graph, answer)
    assert contents(state) == {"/a": "ONE TWO", "/brought": "along"}
    assert "along" in answers(state)[-1].text


# History


async def test_a_run_can_be_forked_inside_and_outside_of_a_visit(runs: Runs) -> None:
    asking = agent(
        edit("/a", "one", "ONE"),
        call("ask_a_person", question="?"),
        edit("/a", "two", "TWO"),
        tools=[ask_a_person],
        read_before_edit=False,
    )
    graph = parent_of(asking, agent(write("/z", "z"))).compile(checkpointer=runs.checkpointer)
    await runs.invoke(graph, {**GO, "files": {"/a": "one two", "/kept": "k"}})
    history = await runs.history(graph, (await runs.state(graph)).tasks[0].state)
    shown = [contents(state.values) for state in history if state.values.get("files")]
    assert shown[0] == {"/a": "ONE two", "/kept": "k"}
    assert {"/a": "one two", "/kept": "k"} in shown
    state = await runs.invoke(graph, Command(resume="yes"))
    final = {"/a": "ONE TWO", "/kept": "k", "/z": "z"}
    assert contents(state) == final
    # From each checkpoint of the parent and of the visit the run comes to the same end.
    for past in [*history, *await runs.history(graph)]:
        if not past.next:
            continue
        await runs.invoke(graph, None, past.config)
        while (await runs.state(graph)).next:
            await runs.invoke(graph, Command(resume="yes"))
        assert contents((await runs.state(graph)).values) == final


# Leaving


async def test_a_hand_off_takes_what_was_changed_along(runs: Runs) -> None:
    @tool
    def hand_over(to: str) -> Any:
        """Hand the task over."""
        return Command(goto=to, graph=Command.PARENT, update={"topic": "handed over"})

    first = agent(
        [write("/a", "one two"), call("delete", file_path="/b")],
        call("hand_over", to="second", id="h"),
        tools=[hand_over],
    )
    second = agent(edit("/a", "two", "TWO"))
    builder = StateGraph(Plain)
    builder.add_node("first", filesystem_node(first), destinations=("second",))
    builder.add_node("second", filesystem_node(second))
    builder.add_edge(START, "first")
    graph = builder.compile(checkpointer=runs.checkpointer)
    state = await runs.invoke(graph, {**GO, "files": {"/b": "b"}})
    assert contents(state) == {"/a": "one TWO"}
    assert state["topic"] == "handed over"
    # The call that handed over was never answered inside: the next agent sees it cancelled.
    last = answers(state)
    assert [m.status for m in last] == ["success", "success", "error", "success"]
    assert last[2].tool_call_id == "h"
    for place, message in enumerate(state["messages"]):
        if isinstance(message, AIMessage) and message.tool_calls:
            behind = state["messages"][place + 1 : place + 1 + len(message.tool_calls)]
            assert all(isinstance(m, ToolMessage) for m in behind)


# The functional API


async def test_the_agent_works_in_an_entrypoint_and_in_its_tasks(runs: Runs) -> None:
    asking = agent(
        [write("/b", "b"), call("delete", file_path="/old")],
        call("ask_a_person", question="?"),
        edit("/b", "b", "B"),
        tools=[ask_a_person],
    )
    changes = filesystem_node(asking)
    if runs.awaited:

        @task
        async def work(files: Any) -> Any:
            return await changes.ainvoke({**GO, "files": files})

        @entrypoint(checkpointer=runs.checkpointer)
        async def workflow(files: Any) -> Any:
            update = await work(files)
            return {
                "update": update,
                "files": merge_files(merge_files({}, [files]), [update["files"]]),
            }

    else:

        @task
        def work(files: Any) -> Any:
            return changes.invoke({**GO, "files": files})

        @entrypoint(checkpointer=runs.checkpointer)
        def workflow(files: Any) -> Any:
            update = work(files).result()
            return {
                "update": update,
                "files": merge_files(merge_files({}, [files]), [update["files"]]),
            }

    stopped = await runs.invoke(workflow, {"/old": "o", "/kept": "k"})
    assert stopped["__interrupt__"][0].value == {"question": "?"}
    done = await runs.invoke(workflow, Command(resume="yes"))
    assert contents(done) == {"/kept": "k", "/b": "B"}
    assert set(done["update"]["files"]) == {"/old", "/b"}
    assert [m.type for m in done["update"]["messages"]][:2] == ["ai", "tool"]


async def test_the_agent_itself_works_in_an_entrypoint_too(runs: Runs) -> None:
    plain = agent([write("/b", "b"), call("delete", file_path="/old")])

    if runs.awaited:

        @entrypoint(checkpointer=runs.checkpointer)
        async def workflow(files: Any) -> Any:
            return contents(await plain.ainvoke({**GO, "files": files}))

    else:

        @entrypoint(checkpointer=runs.checkpointer)
        def workflow(files: Any) -> Any:
            return contents(plain.invoke({**GO, "files": files}))

    assert await runs.invoke(workflow, {"/old": "o", "/kept": "k"}) == {"/kept": "k", "/b": "b"}


# Flat


async def test_flat_and_nested_forms_go_together(runs: Runs) -> None:
    """Router, operations and eviction around a model node of the parent's, and an agent beside."""
    model = ScriptedModel(
        [
            says(call("read_file", file_path="/a"), call("shout", word="hey")),
            says(*edit("/a", "one", "ONE"), call("delete", file_path="/b")),
        ]
    )

    @tool
    def shout(word: str) -> str:
        """Shout at length."""
        return word * 1_000

    def think(state: Any) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    def begun(state: Any) -> str:
        return "think" if state["messages"][-1].type == "human" else "helper"

    builder = StateGraph(Extended)
    builder.add_node("think", think)
    builder.add_node("helper", filesystem_node(agent(edit("/a", "two", "TWO"))))
    builder.add_edge(START, "think")
    builder.add_conditional_edges(
        "think", filesystem_condition, {"router": "router", END: "helper"}
    )
    add_filesystem(builder, then="think", tools=[shout], evict_over=100)
    graph = guarded(builder.compile(checkpointer=runs.checkpointer))
    state = await runs.invoke(graph, {**GO, "files": {"/a": "one two", "/b": "b"}, "visits": 1})
    evicted = [path for path in state["files"] if path.startswith("/large_tool_results/")]
    assert len(evicted) == 1
    assert state["files"][evicted[0]]["content"] == "hey" * 1_000
    assert state["files"]["/a"]["content"] == "ONE TWO"
    assert "/b" not in state["files"]
    assert [m.status for m in answers(state)] == ["success"] * 5
