"""`filesystem_node`: what it takes, what it stores, what it streams."""

import operator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Overwrite, interrupt
from typing_extensions import TypedDict

from langgraph_filesystem import (
    FileData,
    FilesystemState,
    add_filesystem,
    create_filesystem_agent,
    filesystem_condition,
    filesystem_node,
    merge_files,
    open_sqlite,
)
from langgraph_filesystem.subgraph.filesystem_node import FilesystemNode
from tests.benchmarks.corpus import real_text
from tests.databases import emptied
from tests.graph.runs import THREAD, Runs, agent, contents, opened_runs
from tests.scripted import ScriptedModel, answers, call, says

GO: Any = {"messages": [HumanMessage("go")]}


def write(path: str, content: str) -> Any:
    return call("write_file", file_path=path, content=content)


def parent_of(node: Any, schema: Any = FilesystemState) -> StateGraph[Any]:
    builder = StateGraph(schema)
    builder.add_node("agent", node)
    builder.add_edge(START, "agent")
    return builder


# What it takes


def test_only_a_graph_with_files_can_be_a_node() -> None:
    class Talk(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    class NoReducer(Talk):
        files: dict[str, FileData]

    for schema in (Talk, NoReducer):
        builder = parent_of(lambda state: {}, schema)
        with pytest.raises(ValueError, match="no channel `files` with the reducer `merge_files`"):
            filesystem_node(builder.compile())
    with pytest.raises(ValueError, match="a compiled graph, not StateGraph"):
        filesystem_node(parent_of(lambda state: {}))  # type: ignore[arg-type]


def test_a_graph_that_keeps_its_own_state_can_not_be_a_node() -> None:
    with pytest.raises(ValueError, match="checkpointer=True"):
        filesystem_node(create_filesystem_agent(ScriptedModel(), checkpointer=True))


def test_a_node_is_made_once() -> None:
    node = filesystem_node(agent())
    assert filesystem_node(node) is node


def test_a_node_is_called_with_a_mapping() -> None:
    with pytest.raises(ValueError, match="takes a mapping with `messages`, not 5"):
        filesystem_node(agent()).invoke(5)


async def test_outside_of_a_graph_it_returns_what_changed() -> None:
    node = filesystem_node(agent([write("/a", "a"), call("delete", file_path="/b")]))
    given: Any = {**GO, "files": {"/b": "b", "c": "c"}}
    for update in (node.invoke(given), await node.ainvoke(given), node(given)):
        assert update["files"]["/b"] is None
        assert update["files"]["/a"]["content"] == "a"
        assert set(update["files"]) == {"/a", "/b"}
        assert [message.type for message in update["messages"]] == ["ai", "tool", "tool", "ai"]
        assert set(update) == {"messages", "files"}
    assert [set(chunk) for chunk in node.stream(given)] == [{"messages", "files"}]
    assert [set(chunk) async for chunk in node.astream(given)] == [{"messages", "files"}]


def test_outside_of_a_graph_it_says_what_it_waits_for(saver: Any) -> None:
    def ask() -> str:
        """Ask a person."""
        return str(interrupt("?"))

    waiting = agent(write("/a", "a"), call("ask"), tools=[ask], checkpointer=saver)
    update = filesystem_node(waiting).invoke({**GO, "files": {"/b": "b"}}, THREAD)
    assert [waits.value for waits in update["__interrupt__"]] == ["?"]
    assert set(update["files"]) == {"/a"}


def test_it_can_be_configured_like_any_graph() -> None:
    node = filesystem_node(agent(write("/a", "a"))).with_config({"tags": ["tagged"]})
    assert isinstance(node, FilesystemNode)
    assert set(parent_of(node).compile().invoke(GO)["files"]) == {"/a"}


def test_an_agent_without_checkpoints_works_too(saver: Any) -> None:
    node = filesystem_node(agent(write("/a", "a"), checkpointer=False))
    graph = parent_of(node).compile(checkpointer=saver)
    assert set(graph.invoke(GO, THREAD)["files"]) == {"/a"}
    stored = list(saver.list(THREAD))
    assert {s.config["configurable"]["checkpoint_ns"] for s in stored} == {""}


async def test_a_nodes_own_function_may_call_it_and_choose_what_to_keep() -> None:
    node = filesystem_node(agent([write("/a", "a"), write("/b", "b")]))

    class Report(TypedDict):
        files: Annotated[dict[str, FileData], merge_files]
        report: str

    def work(state: Report) -> Any:
        update = node.invoke({"messages": [HumanMessage("work")]})
        assert set(update["files"]) == {"/a", "/b"}
        return {"files": update["files"], "report": update["messages"][-1].text}

    async def awork(state: Report) -> Any:
        update = await node.ainvoke({"messages": [HumanMessage("work")]})
        return {"files": update["files"], "report": update["messages"][-1].text}

    given: Any = {"files": {"/c": "c"}, "report": ""}
    for state in (
        parent_of(work, Report).compile().invoke(given),
        await parent_of(awork, Report).compile().ainvoke(given),
    ):
        assert state["report"] == "done"
        assert contents(state) == {"/c": "c", "/a": "a", "/b": "b"}
    assert "agent" in dict(parent_of(work, Report).compile().get_subgraphs())


# What it streams


def test_the_nodes_input_does_not_repeat_files() -> None:
    graph = parent_of(filesystem_node(agent(write("/a", "a")))).compile()
    events = list(graph.stream({**GO, "files": {"/b": "b"}}, stream_mode="tasks"))
    [begun] = [event for event in events if "input" in event]
    assert set(begun["input"]) == {"messages"}


async def test_tokens_progress_and_updates_of_the_inside_are_in_the_parents_stream() -> None:
    graph = parent_of(filesystem_node(agent(write("/a", "a"), call("grep", pattern="a")))).compile()
    modes: Any = ["messages", "custom", "updates"]
    chunks: Any = list(graph.stream(GO, stream_mode=modes, subgraphs=True))
    nodes = {name for _, mode, data in chunks if mode == "updates" for name in data}
    assert nodes >= {"agent", "model", "router", "write_file", "grep"}
    spoken = [data[0].id for _, mode, data in chunks if mode == "messages"]
    # A message is streamed once, though it is in the update of the inside and of the parent.
    assert len(spoken) == len(set(spoken)) == 5
    acks = [chunk async for chunk in graph.astream(GO, stream_mode=modes, subgraphs=True)]
    assert [mode for _, mode, _ in acks] == [mode for _, mode, _ in chunks]


async def test_events_of_the_inside_come_through_and_the_result_stays_right() -> None:
    graph = parent_of(filesystem_node(agent(write("/a", "a")))).compile()
    events = [event async for event in graph.astream_events(GO, version="v2")]
    assert {event["name"] for event in events} >= {"agent", "model", "write_file"}
    assert set(events[-1]["data"]["output"]["files"]) == {"/a"}


# What it stores


def _bytes_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def _working(form: str, visits: int, writes: int) -> StateGraph[Any]:
    """Return a parent that writes files: flat, or through a node."""
    done = 0

    def think(state: Any) -> Any:
        nonlocal done
        since = [m.type for m in state["messages"]]
        since = since[len(since) - since[::-1].index("human") :]
        if since.count("tool") == writes // visits:
            return {"messages": [AIMessage("done", id=f"done-{done}")]}
        done += 1
        text = real_text(100 + done, 200)
        made = call("write_file", id=f"c{done}", file_path=f"/out/{done}.txt", content=text)
        return {"messages": [AIMessage("", id=f"ai-{done}", tool_calls=[made])]}

    builder = StateGraph(FilesystemState)
    builder.add_node("think", think)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", filesystem_condition, ["router", END])
    add_filesystem(builder, then="think")
    if form == "flat":
        return builder
    inner = builder.compile()
    return parent_of(filesystem_node(inner) if form == "node" else inner)


@pytest.mark.parametrize("visits", [1, 49])
def test_the_parents_database_grows_by_what_changed(tmp_path: Path, visits: int) -> None:
    """49 writes over 478 kB of files. Measured: 1.1 times the flat form, 1.2 in 49 visits."""
    given = {f"/src/{n}.py": real_text(n, 47_800) for n in range(10)}
    size: dict[str, int] = {}
    for form in ("flat", "node"):
        folder = tmp_path / form
        folder.mkdir()
        with open_sqlite(folder / "parent.db") as (checkpointer, _):
            graph = _working(form, visits, 49).compile(checkpointer=checkpointer)
            config: Any = {**THREAD, "recursion_limit": 1_000}
            graph.invoke({"messages": [HumanMessage("go")], "files": given}, config)
            for _ in range(visits - 1):
                graph.invoke({"messages": [HumanMessage("go")]}, config)
            assert len(graph.get_state(THREAD).values["files"]) == 59
        size[form] = _bytes_of(folder)
    assert size["node"] <= 1.5 * size["flat"], size


def test_every_node_inside_streams_its_update_to_the_parent() -> None:
    inside = filesystem_node(agent([write("/a", "a")]))
    graph: Any = parent_of(inside).compile()
    stream = graph.stream(GO, stream_mode="updates", subgraphs=True)
    updates = {node: update for ns, chunk in stream if ns for node, update in chunk.items()}
    [route] = updates["router"]["routes"]
    assert (route["node"], route["path"]) == ("write_file", "/a")


def test_a_compiled_graph_that_is_added_as_it_is_shares_files_by_value(saver: Any) -> None:
    """What the README warns of: an echo of all files, and deleted ones come back."""
    plain = agent([write("/a", "a"), call("delete", file_path="/gone")])
    graph = parent_of(plain).compile(checkpointer=saver)
    given = {**GO, "files": {"/gone": "g", "/kept": "k"}}
    chunks = list(graph.stream(given, THREAD, stream_mode="updates"))
    assert set(chunks[-1]["agent"]["files"]) == {"/a", "/kept"}
    assert set(graph.get_state(THREAD).values["files"]) == {"/a", "/gone", "/kept"}


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("awaited", [False, True])
async def test_a_run_that_failed_inside_goes_on_where_it_was(tmp_path: Path, awaited: bool) -> None:
    class Failing(ScriptedModel):
        broken: list[int]

        def __init__(self, script: Any) -> None:
            super().__init__(script, broken=[1, 1])

        def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            if len(self.asked) == 2 and self.broken:
                self.broken.pop()
                raise ConnectionError("no line")
            return super()._generate(messages, *args, **options)

    edit = call("edit_file", file_path="/a", old_string="one", new_string="ONE")
    model = Failing(
        [
            says(call("read_file", file_path="/a", id="r")),
            says(edit, call("delete", file_path="/b", id="d")),
            says(write("/c", "c")),
        ]
    )
    node = filesystem_node(create_filesystem_agent(model))
    given = {**GO, "files": {"/a": "one two", "/b": "b"}}
    path = emptied(tmp_path / "parent.db")
    for attempt in range(3):
        async with opened_runs(path, awaited) as runs:
            runs_on: Runs = runs
            graph = parent_of(node).compile(checkpointer=runs_on.checkpointer)
            if attempt < 2:
                with pytest.raises(ConnectionError):
                    await runs_on.invoke(graph, None if attempt else given)
            else:
                state = await runs_on.invoke(graph, None)
    assert contents(state) == {"/a": "ONE two", "/c": "c"}
    assert [message.status for message in answers(state)] == ["success"] * 4
    # What was done before was not done again.
    assert len(model.asked) == 4


# What it makes of the channels of the parent


def extend(left: list[str], right: list[str]) -> list[str]:
    """Change the value in place, as reducers of other people do."""
    left += right
    return left


class Logged(FilesystemState):
    log: Annotated[list[str], operator.add]
    notes: Annotated[list[str], extend]


def visitor(*updates: Any) -> Any:
    """Return a node whose steps write these updates."""
    builder = StateGraph(Logged)
    names = [f"step{number}" for number in range(len(updates))]
    for name, update in zip(names, updates, strict=True):
        builder.add_node(name, lambda state, update=update: update)
    for one, other in zip([START, *names], [*names, END], strict=True):
        builder.add_edge(one, other)
    return filesystem_node(builder.compile())


def test_what_a_visitor_overwrites_is_overwritten_in_the_parent() -> None:
    node = visitor(
        {"log": ["dropped"]},
        {"log": Overwrite(["new"]), "files": Overwrite({"/c": "c"})},
        {"log": ["newer"]},
    )
    given: Any = {**GO, "files": {"/a": "a"}, "log": ["old"], "notes": []}
    state = parent_of(node, Logged).compile().invoke(given)
    assert state["log"] == ["new", "newer"]
    assert contents(state) == {"/c": "c"}


def test_a_reducer_that_changes_its_value_in_place_adds_once() -> None:
    given: Any = {**GO, "log": [], "notes": ["old"]}
    state = parent_of(visitor({"notes": ["new"]}), Logged).compile().invoke(given)
    assert state["notes"] == ["old", "new"]


def test_what_a_visit_moves_in_the_conversation_moves_in_the_parent() -> None:
    def swap(state: Any) -> Any:
        first, *others = state["messages"]
        return {"messages": Overwrite([*others, AIMessage("between", id="b"), first])}

    class Talk(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        files: Annotated[dict[str, FileData], merge_files]

    given: Any = {"messages": [HumanMessage("1", id="1"), HumanMessage("2", id="2")]}
    for schema in (FilesystemState, Talk):
        node = filesystem_node(parent_of(swap).compile())
        state = parent_of(node, schema).compile().invoke(given)
        assert [message.id for message in state["messages"]] == ["2", "b", "1"]


# What can be read of it while it waits


def stopping() -> Any:
    return agent(write("/a", "a"), interrupt_before=["write_file"])


def test_the_state_of_a_visit_shows_what_it_began_with(saver: Any) -> None:
    graph = parent_of(filesystem_node(stopping())).compile(checkpointer=saver)
    graph.invoke({**GO, "files": {"/b": "b"}}, THREAD)
    inside: Any = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    assert contents(inside.values) == {"/b": "b"}
    assert inside.values["messages"][0].text == "go"
    assert inside.next == ("write_file",)


def test_a_plain_subgraph_inside_a_visit_shows_the_files_that_it_was_given(saver: Any) -> None:
    """To begin with those of the parent would bring deleted files back."""
    inner = parent_of(stopping()).compile()
    graph = parent_of(filesystem_node(inner)).compile(checkpointer=saver)
    graph.invoke({**GO, "files": {"/b": "b"}}, THREAD)
    visit: Any = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    assert contents(visit.tasks[0].state.values) == {"/b": "b"}


def test_a_visit_whose_parent_is_gone_can_still_be_read(tmp_path: Path) -> None:
    with open_sqlite(tmp_path / "parent.db") as (checkpointer, _):
        saver: Any = checkpointer
        graph = parent_of(filesystem_node(stopping())).compile(checkpointer=saver)
        graph.invoke({**GO, "files": {"/b": "b"}}, THREAD)
        inside: Any = graph.get_state(THREAD).tasks[0].state
        with saver.cursor() as cursor:
            cursor.execute("DELETE FROM checkpoints WHERE checkpoint_ns = ''")
        assert graph.get_state(inside).next == ("write_file",)
