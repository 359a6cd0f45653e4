"""Threads that are pruned: what they hold stays, what they were goes, whatever the database."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from langgraph_filesystem import FilesystemState, create_filesystem_agent, filesystem_node
from tests.databases import emptied
from tests.graph.details import count
from tests.graph.runs import THREAD, Runs, agent, contents, opened_runs
from tests.scripted import ScriptedModel, call, says

GO: Any = {"messages": [("user", "go")]}


@pytest.fixture(params=["invoked", "awaited"])
async def runs(
    request: pytest.FixtureRequest, tmp_path: Path, database: str
) -> AsyncIterator[Runs]:
    path = emptied(tmp_path / f"{database}.db")
    async with opened_runs(path, request.param == "awaited") as opened:
        yield opened


def write(path: str, content: str) -> Any:
    return call("write_file", file_path=path, content=content)


def edit(old: str, new: str) -> Any:
    return call("edit_file", file_path="/a", old_string=old, new_string=new)


def config_of(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


async def pruned(runs: Runs, *threads: str, **options: Any) -> None:
    await runs.call(runs.checkpointer, "prune", threads, **options)


async def listed(runs: Runs, thread: str = "1") -> list[Any]:
    """Return the checkpoints of a thread, in all namespaces."""
    if runs.awaited:
        return [found async for found in runs.checkpointer.alist(config_of(thread))]
    return list(runs.checkpointer.list(config_of(thread)))


def writer_of(runs: Runs) -> Any:
    turns = [[write("/a", "1"), write("/b", "b")], edit("1", "2"), edit("2", "3")]
    return agent(*turns, call("delete", file_path="/b"), checkpointer=runs.checkpointer)


async def test_the_newest_state_stays_and_is_the_only_one(runs: Runs) -> None:
    graph = writer_of(runs)
    await runs.invoke(graph, GO)
    before = await runs.history(graph)
    await pruned(runs, "1")
    [left] = await runs.history(graph)
    assert left.values == before[0].values
    assert left.config == before[0].config
    assert left.metadata == before[0].metadata
    assert (left.next, left.created_at) == (before[0].next, before[0].created_at)
    assert contents(left.values) == {"/a": "3"}
    assert len(before) > 15


async def test_the_thread_goes_on_and_can_be_pruned_again_and_again(runs: Runs) -> None:
    graph = writer_of(runs)
    messages = 0
    for number in range(4):
        await runs.invoke(graph, {"messages": [HumanMessage("go")]})
        await pruned(runs, "1")
        if number % 2:
            await pruned(runs, "1", strategy="keep_latest")
        more = agent(write(f"/more{number}", "m"), checkpointer=runs.checkpointer)
        state = await runs.invoke(more, {"messages": [HumanMessage(f"on {number}")]})
        assert len(state["messages"]) > messages
        messages = len(state["messages"])
        stored = (await runs.state(graph)).values
        assert stored["files"] == state["files"]
        assert stored["messages"] == state["messages"]
    assert contents(state) == {"/a": "3", **{f"/more{n}": "m" for n in range(4)}}
    said = [m.text for m in state["messages"] if m.type == "human"]
    assert said == [word for n in range(4) for word in ("go", f"on {n}")]


def test_what_each_channel_needs_may_lie_in_different_checkpoints(saver: Any) -> None:
    """Each has its snapshots at its own time, and some never had one."""
    graph = agent(*[write(f"/f{n}", str(n)) for n in range(52)], checkpointer=saver)
    # Messages reach their 100th update, files and seen don't.
    graph.invoke(GO, {**THREAD, "recursion_limit": 1000})
    before = graph.get_state(THREAD).values
    saver.prune(["1"])
    assert graph.get_state(THREAD).values == before
    assert len(before["files"]) == 52
    # Which files the agent knows stays too: it needs not read this one again.
    edit = call("edit_file", file_path="/f7", old_string="7", new_string="seven")
    state = agent(edit, checkpointer=saver).invoke(GO, THREAD)
    assert state["files"]["/f7"]["content"] == "seven"


async def test_forks_go_with_the_past(runs: Runs) -> None:
    graph = writer_of(runs)
    await runs.invoke(graph, GO)
    middle = (await runs.history(graph))[8]
    fork = await runs.call(graph, "update_state", middle.config, {"files": {"/fork": "f"}})
    before = await runs.state(graph)
    assert before.config["configurable"] == fork["configurable"]
    await pruned(runs, "1")
    [left] = await runs.history(graph)
    assert left.values == before.values
    assert "/fork" in left.values["files"]
    assert left.next == before.next
    state = await runs.invoke(graph, None)
    assert contents(state)["/fork"] == "f"


async def test_a_run_that_waits_for_a_person_goes_on(runs: Runs) -> None:
    def ask() -> str:
        """Ask a person."""
        return str(interrupt("?"))

    turns = [[write("/a", "1"), write("/b", "b")], call("ask"), edit("1", "2")]
    graph = agent(*turns, tools=[ask], checkpointer=runs.checkpointer)
    await runs.invoke(graph, GO)
    await pruned(runs, "1")
    [waits] = (await runs.state(graph)).interrupts
    assert waits.value == "?"
    state = await runs.invoke(graph, Command(resume="yes"))
    assert contents(state) == {"/a": "2", "/b": "b"}
    assert "yes" in [m.text for m in state["messages"]]


async def test_a_subgraph_that_waits_stays_and_those_that_ended_go(runs: Runs) -> None:
    def ask() -> str:
        """Ask a person."""
        return str(interrupt("?"))

    builder = StateGraph(FilesystemState)
    builder.add_node("first", filesystem_node(agent([write("/a", "1"), write("/x", "x")])))
    turns = [edit("1", "2"), call("ask"), [edit("2", "3"), call("delete", file_path="/x")]]
    builder.add_node("second", filesystem_node(agent(*turns, tools=[ask])))
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    graph = builder.compile(checkpointer=runs.checkpointer)
    await runs.invoke(graph, GO)
    before = await runs.state(graph, subgraphs=True)
    await pruned(runs, "1")
    after = await runs.state(graph, subgraphs=True)
    assert after.values == before.values
    assert after.tasks[0].state.values == before.tasks[0].state.values
    assert contents(after.tasks[0].state.values) == {"/a": "2", "/x": "x"}
    kept = {found.config["configurable"]["checkpoint_ns"] for found in await listed(runs)}
    assert {namespace.partition(":")[0] for namespace in kept} == {"", "second"}
    state = await runs.invoke(graph, Command(resume="yes"))
    assert contents(state) == {"/a": "3"}
    await pruned(runs, "1")
    [only] = await listed(runs)
    assert only.config["configurable"]["checkpoint_ns"] == ""
    assert contents((await runs.state(graph)).values) == {"/a": "3"}


async def test_channels_with_reducers_of_other_people_are_kept_too(runs: Runs) -> None:
    class Counted(TypedDict, total=False):
        counted: Annotated[dict[str, int], DeltaChannel(count, dict, snapshot_frequency=3)]
        never: Annotated[dict[str, int], DeltaChannel(count, dict)]
        plain: str

    builder = StateGraph(Counted)
    builder.add_node("one", lambda state: {"counted": f"one{len(state['counted'])}"})
    builder.add_node("two", lambda state: {"counted": f"two{len(state['counted'])}", "plain": "p"})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    graph = builder.compile(checkpointer=runs.checkpointer)
    for n in range(4):
        await runs.invoke(graph, {"counted": f"in{n}"})
        before = (await runs.state(graph)).values
        await pruned(runs, "1")
        [left] = await runs.history(graph)
        assert left.values == before
        assert list(left.values["counted"].values()) == list(range(3 * n + 3))


async def test_other_threads_and_those_that_there_are_not_are_left_alone(runs: Runs) -> None:
    graph = writer_of(runs)
    for thread in ("1", "2", "11"):
        await runs.invoke(graph, GO, config_of(thread))
    others = [await runs.history(graph, config_of(thread)) for thread in ("2", "11")]
    await pruned(runs, "1", "no such thread")
    await pruned(runs, "no such thread", strategy="delete")
    await pruned(runs)
    assert [await runs.history(graph, config_of(thread)) for thread in ("2", "11")] == others
    await pruned(runs, "1", "11", strategy="delete")
    assert await runs.history(graph, config_of("1")) == []
    assert await runs.history(graph, config_of("11")) == []
    assert await runs.history(graph, config_of("2")) == others[0]


async def test_what_can_not_be_meant_is_refused(runs: Runs) -> None:
    await runs.invoke(writer_of(runs), GO)
    before = await listed(runs)
    with pytest.raises(ValueError, match=r"no strategy 'half' .* use 'keep_latest' or 'delete'"):
        await pruned(runs, "1", strategy="half")
    with pytest.raises(TypeError, match=r"\['1'\]"):
        await runs.call(runs.checkpointer, "prune", "1", strategy="delete")
    assert await listed(runs) == before


async def test_a_pruned_thread_can_be_copied_and_a_run_of_it_taken_back(runs: Runs) -> None:
    graph = writer_of(runs)
    first: Any = {**THREAD, "metadata": {"run_id": "r1"}}
    await runs.invoke(graph, GO, first)
    await pruned(runs, "1")
    await runs.call(runs.checkpointer, "copy_thread", "1", "copy")
    [kept], [copied] = await runs.history(graph), await runs.history(graph, config_of("copy"))
    assert copied.values == kept.values
    later: Any = {**THREAD, "metadata": {"run_id": "r2"}}
    await runs.invoke(agent(write("/c", "c"), checkpointer=runs.checkpointer), GO, later)
    await runs.call(runs.checkpointer, "delete_for_runs", ["r2"])
    [left] = await runs.history(graph)
    assert left.values == kept.values
    # What was before the newest state is forgotten: there is nothing to go back to.
    await runs.call(runs.checkpointer, "delete_for_runs", ["r1"])
    [left] = await runs.history(graph)
    assert left.values == kept.values


async def test_a_thread_is_copied_to_a_new_one_only(runs: Runs) -> None:
    graph = writer_of(runs)
    for thread in ("1", "2"):
        await runs.invoke(graph, GO, config_of(thread))
    before = await runs.history(graph, config_of("2"))
    for target in ("1", "2"):
        with pytest.raises(ValueError, match=f"There is a thread '{target}' already"):
            await runs.call(runs.checkpointer, "copy_thread", "1", target)
    assert await runs.history(graph, config_of("2")) == before


async def test_a_thread_of_two_states_has_one_afterwards(runs: Runs) -> None:
    graph = writer_of(runs)
    await runs.invoke(graph, GO, durability="exit")
    before = await runs.state(graph)
    for _ in range(2):
        await pruned(runs, "1")
        [left] = await runs.history(graph)
        assert left.values == before.values


async def test_a_run_may_be_on_its_way(runs: Runs) -> None:
    """A thread is pruned while one of its runs is between two steps."""
    script = [says(write(f"/f{n}", str(n))) for n in range(4)]

    class Pruning(ScriptedModel):
        def __init__(self, script: Any) -> None:
            super().__init__(script)

        def _generate(self, *args: Any, **options: Any) -> Any:
            if not runs.awaited:
                runs.checkpointer.prune(["1"])
            return super()._generate(*args, **options)

        async def _agenerate(self, *args: Any, **options: Any) -> Any:
            await runs.checkpointer.aprune(["1"])
            return super()._generate(*args, **options)

    graph = create_filesystem_agent(Pruning(script), checkpointer=runs.checkpointer)
    for _ in range(2):
        state = await runs.invoke(graph, GO)
        stored = (await runs.state(graph)).values
        assert stored["messages"] == state["messages"]
        assert contents(stored) == {f"/f{n}": str(n) for n in range(4)}


def test_a_pruned_thread_is_rebuilt_the_long_way_too(saver: Any) -> None:
    """One checkpoint at a time, as an adapter of a server may do it."""
    turns = [[write("/a", "1"), write("/b", "b")], [edit("1", "2"), edit("2", "3")]]
    agent(*turns, checkpointer=saver).invoke(GO, THREAD)
    saver.prune(["1"])
    place: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    wanted: Any = {"config": place, "channels": ["messages", "files", "seen"]}
    short = saver.get_delta_channel_history(**wanted)
    assert BaseCheckpointSaver.get_delta_channel_history(saver, **wanted) == short
    assert [len(short[channel]["writes"]) > 2 for channel in ("messages", "files")] == [True] * 2
