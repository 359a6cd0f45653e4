"""`prune`: the values of a thread stay, its past goes, on each database."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from langgraph_filesystem import (
    FilesystemState,
    aprune,
    create_filesystem_agent,
    filesystem_node,
    open_sqlite,
    prune,
)
from tests.databases import emptied, uri_of
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


async def pruned(runs: Runs, graph: Any, config: Any = THREAD, **options: Any) -> int:
    if runs.awaited:
        return await aprune(graph, config, **options)
    return prune(graph, config, **options)


async def listed(runs: Runs, thread: str = "1") -> list[Any]:
    """Return the checkpoints of a thread, in all namespaces."""
    config: Any = {"configurable": {"thread_id": thread}}
    if runs.awaited:
        return [found async for found in runs.checkpointer.alist(config)]
    return list(runs.checkpointer.list(config))


def writer_of(runs: Runs) -> Any:
    turns = [[write("/a", "1"), write("/b", "b")], edit("1", "2"), edit("2", "3")]
    return agent(*turns, call("delete", file_path="/b"), checkpointer=runs.checkpointer)


async def test_the_newest_state_stays_and_is_the_only_one(runs: Runs) -> None:
    graph = writer_of(runs)
    await runs.invoke(graph, GO)
    await runs.invoke(graph, GO, {"configurable": {"thread_id": "other"}})
    before, other = await runs.history(graph), await listed(runs, "other")
    assert await pruned(runs, graph) == len(before)  # one was added
    [left] = await runs.history(graph)
    assert left.values == before[0].values
    assert left.next == ()
    assert left.parent_config is None
    assert contents(left.values) == {"/a": "3"}
    assert await listed(runs, "other") == other
    assert await pruned(runs, graph) == 1
    assert [state.values for state in await runs.history(graph)] == [left.values]


async def test_the_thread_goes_on_and_can_be_pruned_again_and_again(runs: Runs) -> None:
    graph = writer_of(runs)
    for number in range(3):
        await runs.invoke(graph, {"messages": [HumanMessage("go")]})
        await pruned(runs, graph)
        more = agent(write(f"/more{number}", "m"), checkpointer=runs.checkpointer)
        state = await runs.invoke(more, {"messages": [HumanMessage(f"on {number}")]})
        stored = (await runs.state(graph)).values
        assert stored["files"] == state["files"]
        assert stored["messages"] == state["messages"]
    assert contents(state) == {"/a": "3", **{f"/more{n}": "m" for n in range(3)}}
    said = [m.text for m in state["messages"] if m.type == "human"]
    assert said == [word for n in range(3) for word in ("go", f"on {n}")]


def test_the_agent_still_knows_what_it_has_read(saver: Any) -> None:
    graph = agent(write("/a", "1"), checkpointer=saver)
    graph.invoke(GO, THREAD)
    prune(graph, THREAD)
    state = agent(edit("1", "one"), checkpointer=saver).invoke(GO, THREAD)
    assert contents(state) == {"/a": "one"}


async def test_forks_go_with_the_past(runs: Runs) -> None:
    graph = writer_of(runs)
    await runs.invoke(graph, GO)
    middle = (await runs.history(graph))[8]
    fork = await runs.call(graph, "update_state", middle.config, {"files": {"/fork": "f"}})
    await runs.invoke(graph, None, fork)
    before = await runs.state(graph)
    await pruned(runs, graph)
    [left] = await runs.history(graph)
    assert left.values == before.values
    assert contents(left.values) == {"/a": "3", "/fork": "f"}


async def test_a_thread_that_waits_for_a_person_is_refused_and_goes_on(runs: Runs) -> None:
    def ask() -> str:
        """Ask a person."""
        return str(interrupt("?"))

    turns = [[write("/a", "1"), write("/b", "b")], call("ask"), edit("1", "2")]
    graph = agent(*turns, tools=[ask], checkpointer=runs.checkpointer)
    await runs.invoke(graph, GO)
    before = await listed(runs)
    with pytest.raises(ValueError, match=r"the step of tools has not ended\. Resume it"):
        await pruned(runs, graph)
    assert await listed(runs) == before
    state = await runs.invoke(graph, Command(resume="yes"))
    assert contents(state) == {"/a": "2", "/b": "b"}
    await pruned(runs, graph)
    assert (await runs.state(graph)).values == {**(await runs.state(graph)).values, **state}


async def test_a_thread_with_a_failed_task_is_refused_until_it_is_ended(runs: Runs) -> None:
    def fail(state: Any) -> dict[str, Any]:
        raise RuntimeError("broken")

    builder = StateGraph(FilesystemState)
    builder.add_node("agent", filesystem_node(agent(write("/a", "1"))))
    builder.add_node("fail", fail)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "fail")
    graph: Any = builder.compile(checkpointer=runs.checkpointer)
    with pytest.raises(RuntimeError, match="broken"):
        await runs.invoke(graph, GO)
    with pytest.raises(ValueError, match="the step of fail has not ended"):
        await pruned(runs, graph, as_node="agent")
    await runs.call(graph, "update_state", THREAD, None, END)
    await pruned(runs, graph, as_node="agent")
    state = await runs.state(graph)
    assert contents(state.values) == {"/a": "1"}
    assert state.next == ()
    # The checkpoints of the subgraph, which has ended, are gone too.
    assert {found.config["configurable"]["checkpoint_ns"] for found in await listed(runs)} == {""}


def test_a_thread_that_crashed_between_two_steps_is_refused_and_goes_on(tmp_path: Path) -> None:
    # All tasks of the last step have ended, so `get_state` says that nothing is to run next.
    with open_sqlite(tmp_path / "agent.db") as (checkpointer, _):
        graph = agent(write("/a", "1"), edit("1", "2"), checkpointer=checkpointer)
        assert isinstance(checkpointer, SqliteSaver)
        checkpointer.setup()
        checkpointer.conn.execute(
            "CREATE TRIGGER stop BEFORE INSERT ON checkpoints"
            " WHEN EXISTS (SELECT 1 FROM writes WHERE channel = 'files')"
            " BEGIN SELECT raise(ABORT, 'crash'); END"
        )
        with pytest.raises(sqlite3.IntegrityError, match="crash"):
            graph.invoke(GO, THREAD, durability="sync")
        checkpointer.conn.execute("DROP TRIGGER stop")
        assert graph.get_state(THREAD).next == ()
        with pytest.raises(ValueError, match="the step of write_file has not ended"):
            prune(graph, THREAD)
        assert contents(graph.invoke(None, THREAD)) == {"/a": "2"}


class Answer(BaseModel):
    """What the agent answers with."""

    word: str


async def test_where_the_agent_ends_elsewhere_nothing_is_left_to_run(runs: Runs) -> None:
    @tool(return_direct=True)
    def final() -> str:
        """Give the final answer."""
        return "final"

    model = ScriptedModel([says(write("/a", "1")), says(call("final"))], structured={"word": "hi"})
    options: Any = {"checkpointer": runs.checkpointer}
    direct = create_filesystem_agent(model, [final], **options)
    structured = create_filesystem_agent(model, [final], response_format=Answer, **options)
    for thread, graph in (("direct", direct), ("structured", structured)):
        config: Any = {"configurable": {"thread_id": thread}}
        await runs.invoke(graph, GO, config)
        before = (await runs.state(graph, config)).values
        await pruned(runs, graph, config)
        after = await runs.state(graph, config)
        assert after.next == ()
        assert after.values == before
        assert len(await listed(runs, thread)) <= 2
        state = await runs.invoke(graph, GO, config)
        assert [m.text for m in state["messages"] if m.type == "human"] == ["go", "go"]


def append(state: list[str], writes: Any) -> list[str]:
    return [*state, *(word for write in writes for word in write)]


class Mine(FilesystemState):
    log: Annotated[list[str], DeltaChannel(append, list)]
    note: str


def test_channels_of_your_own_are_kept_too(saver: Any) -> None:
    graph = create_filesystem_agent(
        ScriptedModel([says(write("/a", "1"))]), state_schema=Mine, checkpointer=saver
    )
    for word in ("one", "two"):
        graph.invoke({**GO, "log": [word], "note": word}, THREAD)
    before = graph.get_state(THREAD).values
    assert (before["log"], before["note"]) == (["one", "two"], "two")
    prune(graph, THREAD)
    assert graph.get_state(THREAD).values == before


def test_a_subgraph_that_keeps_its_state_is_left_alone(saver: Any) -> None:
    inner: Any = StateGraph(MessagesState)
    inner.add_node("count", lambda state: {"messages": [("ai", str(len(state["messages"])))]})
    inner.add_edge(START, "count")
    builder: Any = StateGraph(FilesystemState)
    builder.add_node("inner", inner.compile(checkpointer=True))
    builder.add_edge(START, "inner")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("one", id="1")]}, THREAD)
    kept = [f for f in saver.list(THREAD) if f.config["configurable"]["checkpoint_ns"] == "inner"]
    prune(graph, THREAD, as_node="inner")
    left = [f for f in saver.list(THREAD) if f.config["configurable"]["checkpoint_ns"] == "inner"]
    assert left == kept != []


async def test_a_thread_that_there_is_not_has_nothing_to_prune(runs: Runs) -> None:
    assert await pruned(runs, writer_of(runs)) == 0
    assert await listed(runs) == []


async def test_a_saver_that_it_does_not_know_is_refused(tmp_path: Path) -> None:
    graph = agent(write("/a", "1"), checkpointer=InMemorySaver())
    graph.invoke(GO, THREAD)
    with pytest.raises(ValueError, match="PostgresSaver or SqliteSaver, not InMemorySaver"):
        prune(graph, THREAD)
    with open_sqlite(tmp_path / "db") as (checkpointer, _):
        with pytest.raises(ValueError, match="Use `prune` with a sync"):
            await aprune(agent(checkpointer=checkpointer), THREAD)
        graph = agent(checkpointer=checkpointer)
        with pytest.raises(ValueError, match=r"no node 'mind' .*Pass `as_node` with .*model"):
            prune(graph, THREAD, as_node="mind")
        with pytest.raises(ValueError, match="needs a thread"):
            prune(graph, {})


async def test_a_saver_with_a_single_connection_will_do(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        graph = agent(write("/a", "1"), checkpointer=saver)
        graph.invoke(GO, THREAD)
        assert prune(graph, THREAD) > 5
    uri = uri_of(tmp_path)
    with PostgresSaver.from_conn_string(uri) as saver:
        graph = agent(write("/a", "1"), checkpointer=saver)
        graph.invoke(GO, THREAD)
        assert prune(graph, THREAD) > 5
        assert contents(graph.get_state(THREAD).values) == {"/a": "1"}
    async with AsyncPostgresSaver.from_conn_string(uri) as asaver:
        graph = agent(write("/b", "2"), checkpointer=asaver)
        await graph.ainvoke(GO, THREAD)
        assert await aprune(graph, THREAD) > 5
        assert contents((await graph.aget_state(THREAD)).values) == {"/a": "1", "/b": "2"}


def used_pages(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        ((pages,),) = connection.execute("PRAGMA page_count")
        ((free,),) = connection.execute("PRAGMA freelist_count")
    return int(pages) - int(free)


def test_the_room_in_a_file_is_free_again(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with open_sqlite(path) as (checkpointer, _):
        graph = agent(*[write(f"/f{n}", str(n)) for n in range(60)], checkpointer=checkpointer)
        graph.invoke(GO, {**THREAD, "recursion_limit": 1000})
        used = used_pages(path)
        prune(graph, THREAD)
        assert used_pages(path) < used / 3


def test_a_prune_that_fails_deletes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with open_sqlite(path) as (checkpointer, _):
        graph = agent([write("/a", "a"), write("/b", "b")], checkpointer=checkpointer)
        graph.invoke(GO, THREAD)
        before = [state.values for state in graph.get_state_history(THREAD)]
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(
                "CREATE TRIGGER stop BEFORE DELETE ON writes"
                " BEGIN SELECT raise(ABORT, 'no deletion today'); END"
            )
        with pytest.raises(sqlite3.IntegrityError, match="no deletion today"):
            prune(graph, THREAD)
        after = [state.values for state in graph.get_state_history(THREAD)]
        assert after == [before[0], *before]


async def test_a_thread_that_goes_on_meanwhile_is_left_whole(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run stores a checkpoint after the last one was read, before anything is deleted."""
    graph = writer_of(runs)
    other: Any = {"configurable": {"thread_id": "other"}}
    reads = 0
    await runs.invoke(graph, GO)
    await runs.invoke(graph, GO, other)
    method = "aget_tuple" if runs.awaited else "get_tuple"
    read = getattr(runs.checkpointer, method)

    def count(*args: Any) -> Any:
        nonlocal reads
        reads += 1
        return read(*args)

    async def counted(config: Any) -> Any:
        return await count(config)

    monkeypatch.setattr(runs.checkpointer, method, counted if runs.awaited else count)
    await pruned(runs, graph, other)
    left = reads
    update: Any = (THREAD, {"files": {"/new": "n"}}, "model")

    def go_on(config: Any) -> Any:
        nonlocal left
        found = read(config)
        left -= 1
        if left == 0:
            graph.update_state(*update)
        return found

    async def go_on_awaited(config: Any) -> Any:
        nonlocal left
        found = await read(config)
        left -= 1
        if left == 0:
            await graph.aupdate_state(*update)
        return found

    monkeypatch.setattr(runs.checkpointer, method, go_on_awaited if runs.awaited else go_on)
    before = len(await listed(runs))
    with pytest.raises(ValueError, match="went on while it was pruned, so nothing was deleted"):
        await pruned(runs, graph)
    assert len(await listed(runs)) == before + 2
    assert contents((await runs.state(graph)).values) == {"/a": "3", "/new": "n"}
