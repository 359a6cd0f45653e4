"""Threads and stores in a file: they come back, they are small, and others may use the file too."""

import asyncio
import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, cast
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import GetOp, PutOp
from langgraph.types import Send
from typing_extensions import TypedDict

from langgraph_filesystem.sqlite import SqlitePersistence, aopen_sqlite, open_sqlite
from tests.graph.test_compact import at, put

CONFIG: RunnableConfig = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}


def append(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*state, *(item for write in writes for item in write)]


def merge(state: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {key: value for part in (state, *writes) for key, value in part.items()}


class State(TypedDict, total=False):
    messages: Annotated[list[Any], DeltaChannel(append, snapshot_frequency=10_000)]
    files: Annotated[dict[str, str], DeltaChannel(merge, snapshot_frequency=10_000)]
    routes: list[dict[str, str]]
    turns: int


def looped(saver: BaseCheckpointSaver[Any] | None) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return an agent's loop: a model, a router that sends, an operation, an eviction."""

    def model(state: State) -> State:
        call = {"name": "op", "args": {"file_path": "/a.txt"}, "id": f"call_{uuid4().hex}"}
        message = AIMessage("Some words of a model.", id=str(uuid4()), tool_calls=[call])
        return {"messages": [message], "turns": state["turns"] - 1}

    def router(state: State) -> State:
        return {"routes": [{"node": "op", "mount": "/"}]}

    def op(task: dict[str, Any]) -> State:
        answer = ToolMessage("Some words of a tool.", id=str(uuid4()), tool_call_id=task["calls"])
        return {"messages": [answer], "files": {f"/{uuid4().hex[:2]}": "words"}}

    def evict(state: State) -> State:
        return {}

    def dispatch(state: State) -> list[Send]:
        last = state["messages"][-1]
        return [Send("op", {"message": last.id, "calls": last.tool_calls[0]["id"]})]

    builder = StateGraph(State)
    builder.add_node("model", model)
    builder.add_node("router", router)
    builder.add_node("op", cast(Any, op))
    builder.add_node("evict", evict)
    builder.add_edge(START, "model")
    builder.add_edge("model", "router")
    builder.add_conditional_edges("router", dispatch, ["op"])
    builder.add_edge("op", "evict")
    builder.add_conditional_edges(
        "evict", lambda state: "model" if state["turns"] > 0 else END, ["model", END]
    )
    return cast(CompiledStateGraph[Any, Any, Any, Any], builder.compile(checkpointer=saver))


def run(saver: BaseCheckpointSaver[Any], turns: int = 1, thread: str = "thread") -> State:
    config: RunnableConfig = {
        "configurable": {"thread_id": thread},
        "recursion_limit": 4 * turns + 1,
    }
    return cast(State, looped(saver).invoke({"turns": turns}, config))


async def arun(saver: BaseCheckpointSaver[Any], turns: int = 1) -> State:
    return cast(State, await looped(saver).ainvoke({"turns": turns}, CONFIG))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def opened(file: Path) -> Iterator[SqlitePersistence]:
    with open_sqlite(file) as persistence:
        yield persistence


def rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


# Threads


def test_a_thread_goes_on_after_the_file_was_closed(file: Path) -> None:
    with open_sqlite(str(file)) as (checkpointer, _):
        first = run(checkpointer)["messages"]
    with open_sqlite(file) as (checkpointer, _):
        assert looped(checkpointer).get_state(CONFIG).values["messages"] == first
        assert run(checkpointer)["messages"][:2] == first
        assert len(looped(checkpointer).get_state(CONFIG).values["messages"]) == 4


async def test_a_thread_goes_on_after_the_file_was_closed_async(file: Path) -> None:
    async with aopen_sqlite(str(file)) as (checkpointer, _):
        first = (await arun(checkpointer))["messages"]
    async with aopen_sqlite(file) as (checkpointer, _):
        assert (await looped(checkpointer).aget_state(CONFIG)).values["messages"] == first
        assert (await arun(checkpointer))["messages"][:2] == first
        history = [state async for state in looped(checkpointer).aget_state_history(CONFIG)]
        assert len(history[0].values["messages"]) == 4


async def test_a_thread_goes_on_from_sync_to_async(file: Path) -> None:
    with open_sqlite(file) as (checkpointer, _):
        first = run(checkpointer)["messages"]
    async with aopen_sqlite(file) as (checkpointer, _):
        assert (await arun(checkpointer))["messages"][:2] == first


def test_every_checkpoint_can_be_forked(opened: SqlitePersistence) -> None:
    graph = looped(opened.checkpointer)
    run(opened.checkpointer, turns=2)

    for state in list(graph.get_state_history(CONFIG)):
        before = state.values.get("messages", [])
        edit = {"messages": [AIMessage("edited", id="e")], "turns": 1}
        forked = graph.update_state(state.config, edit, as_node="evict")
        after = graph.get_state(forked).values["messages"]
        assert [message.id for message in after] == [*(m.id for m in before), "e"]


def test_a_deleted_thread_leaves_nothing_and_the_others_alone(
    file: Path, opened: SqlitePersistence
) -> None:
    checkpointer = opened.checkpointer
    run(checkpointer, thread="one")
    kept = run(checkpointer, thread="two")["messages"]
    # Writes whose checkpoint never came, as after a crash.
    checkpointer.put_writes(
        {"configurable": {"thread_id": "one", "checkpoint_ns": "", "checkpoint_id": "lost"}},
        [("messages", "lost")],
        "task",
    )

    checkpointer.delete_thread("one")

    assert rows(file, "SELECT thread_id FROM compact_threads") == [("two",)]
    for table, parent in (("tasks", "checkpoints"), ("writes", "tasks")):
        orphans = f"WHERE {parent[:-1]} NOT IN (SELECT id FROM compact_{parent})"
        assert rows(file, f"SELECT 1 FROM compact_{table} {orphans}") == []
    assert rows(file, "SELECT count(DISTINCT thread) FROM compact_checkpoints") == [(1,)]
    config: RunnableConfig = {"configurable": {"thread_id": "two"}}
    assert looped(checkpointer).get_state(config).values["messages"] == kept


async def test_a_deleted_thread_leaves_nothing_async(file: Path) -> None:
    async with aopen_sqlite(file) as (checkpointer, _):
        await arun(checkpointer)
        await checkpointer.adelete_thread("thread")
        assert await checkpointer.aget_tuple(CONFIG) is None
    for table in ("threads", "checkpoints", "tasks", "writes"):
        assert rows(file, f"SELECT count(*) FROM compact_{table}") == [(0,)]


# Files of LangGraph's own saver


def test_a_thread_of_the_plain_saver_goes_on(file: Path) -> None:
    with SqliteSaver.from_conn_string(str(file)) as saver:
        first = run(saver)["messages"]
    with open_sqlite(file) as (checkpointer, _):
        assert run(checkpointer)["messages"][:2] == first
        found = checkpointer.get_tuple(CONFIG)
        assert found is not None
        assert {type(v) for v in found.checkpoint["channel_versions"].values()} == {int}


async def test_a_thread_of_the_plain_saver_goes_on_async(file: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
        first = (await arun(saver))["messages"]
    async with aopen_sqlite(file) as (checkpointer, _):
        assert (await arun(checkpointer))["messages"][:2] == first
        assert len([item async for item in checkpointer.alist(CONFIG)]) > 8


def test_every_checkpoint_of_the_plain_saver_can_be_forked_and_run(file: Path) -> None:
    # A fork gives a version to channels that never had one: it must fit those that do.
    with SqliteSaver.from_conn_string(str(file)) as saver:
        run(saver)
    with open_sqlite(file) as (checkpointer, _):
        graph = looped(checkpointer)
        for state in list(graph.get_state_history(CONFIG)):
            graph.invoke(None, state.config)
            graph.invoke(None, graph.update_state(state.config, {"turns": 1}, as_node="evict"))


def test_the_plain_saver_says_that_it_can_not_open_the_file(file: Path) -> None:
    with open_sqlite(file) as (checkpointer, _):
        run(checkpointer)
    with (
        SqliteSaver.from_conn_string(str(file)) as saver,
        pytest.raises(sqlite3.OperationalError, match="view"),
    ):
        saver.get_tuple(CONFIG)


# What is stored


def test_a_turn_costs_less_than_three_kilobytes(file: Path) -> None:
    turns = 200
    with open_sqlite(file) as (checkpointer, _):
        pass
    empty = file.stat().st_size
    with open_sqlite(file) as (checkpointer, _):
        run(checkpointer, turns, thread=str(uuid4()))

    assert (file.stat().st_size - empty) / turns < 3_000


def test_a_large_value_is_compressed(file: Path, opened: SqlitePersistence) -> None:
    text = "words " * 100_000
    put(opened.checkpointer, "1", None)
    opened.checkpointer.put_writes(at("1"), [("messages", text)], "task")

    ((kind, size),) = rows(file, "SELECT type, length(value) FROM writes")
    found = opened.checkpointer.get_tuple(at("1"))

    assert kind == "msgpack+zlib1"
    assert size < len(text) / 100
    assert found is not None
    assert found.pending_writes == [("task", "messages", text)]


def test_a_thread_loads_in_strict_mode(
    file: Path, opened: SqlitePersistence, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(opened.checkpointer)["messages"]
    monkeypatch.setattr("langgraph.checkpoint.serde._msgpack.STRICT_MSGPACK_ENABLED", True)
    monkeypatch.setattr("langgraph._internal._serde.STRICT_MSGPACK_ENABLED", True)

    with open_sqlite(file) as (checkpointer, _):
        assert cast(Any, checkpointer.serde)._allowed_msgpack_modules is not True
        assert run(checkpointer)["messages"][:2] == first


# The store


def test_the_store_keeps_values_in_the_same_file(file: Path) -> None:
    with open_sqlite(file) as (_, store):
        store.put(("users", "ada"), "likes", {"food": "cake"})
    with open_sqlite(file) as (_, store):
        item = store.get(("users", "ada"), "likes")
        assert item is not None
        assert item.value == {"food": "cake"}


async def test_the_store_keeps_values_in_the_same_file_async(file: Path) -> None:
    async with aopen_sqlite(file) as (_, store):
        await store.aput(("users", "ada"), "likes", {"food": "cake"})
    async with aopen_sqlite(file) as (_, store):
        item = await store.aget(("users", "ada"), "likes")
        assert item is not None
        assert item.value == {"food": "cake"}


def test_a_batch_answers_in_the_order_of_its_operations(opened: SqlitePersistence) -> None:
    store = opened.store
    store.put(("n",), "old", {"v": 1})

    results = store.batch(
        [PutOp(("n",), "new", {"v": 2}), GetOp(("n",), "old"), GetOp(("n",), "new")]
    )

    assert results[0] is None
    assert cast(Any, results[1]).value == {"v": 1}
    assert results[2] is None
    assert cast(Any, store.get(("n",), "new")).value == {"v": 2}


async def test_the_store_reads_and_writes_beside_a_busy_checkpointer(file: Path) -> None:
    async with aopen_sqlite(file) as (checkpointer, store):

        async def checkpoints() -> None:
            for _ in range(200):
                await checkpointer.aput(CONFIG, empty_checkpoint(), {}, {})

        busy = asyncio.create_task(checkpoints())
        while not busy.done():
            await asyncio.gather(store.aget(("n",), "k"), store.aput(("n",), "k", {"v": 1}))
        await busy


# The file


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("busy_timeout", 10_000), ("synchronous", 1)]
)
async def test_every_connection_is_tuned(file: Path, pragma: str, value: object) -> None:
    with open_sqlite(file) as persistence:
        for part in cast(Any, persistence):
            assert part.conn.execute(f"PRAGMA {pragma}").fetchone() == (value,)
    async with aopen_sqlite(file) as persistence:
        for part in cast(Any, persistence):
            async with part.conn.execute(f"PRAGMA {pragma}") as cursor:
                assert await cursor.fetchone() == (value,)


async def test_a_closed_file_leaves_no_litter(tmp_path: Path) -> None:
    with open_sqlite(tmp_path / "agent.db") as (checkpointer, store):
        run(checkpointer)
        store.put(("n",), "k", {"v": 1})
        next(iter(checkpointer.list(None)))
    async with aopen_sqlite(tmp_path / "agent.db") as (checkpointer, store):
        await arun(checkpointer)
        await store.aput(("n",), "k", {"v": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["agent.db"]


def test_a_file_is_closed_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(KeyError), open_sqlite(tmp_path / "agent.db") as (checkpointer, _):
        checkpointer.put({}, empty_checkpoint(), {}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["agent.db"]


async def test_a_path_that_can_not_be_a_file_is_refused(tmp_path: Path) -> None:
    cases: list[tuple[str | Path, type[Exception], str]] = [
        (tmp_path, IsADirectoryError, "is a directory"),
        (tmp_path / "missing" / "agent.db", FileNotFoundError, "no directory .*missing"),
        (":memory:", ValueError, "InMemorySaver"),
    ]
    for path, error, words in cases:
        with pytest.raises(error, match=words), open_sqlite(path):
            pass
        with pytest.raises(error, match=words):
            async with aopen_sqlite(path):
                pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_refused_and_left_alone(file: Path) -> None:
    file.write_text("my diary " * 1_000)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"), open_sqlite(file):
        pass
    assert file.read_text() == "my diary " * 1_000


# Other processes

_SPAWN = multiprocessing.get_context("spawn")


def _work(file: Path, name: str, barrier: Any) -> None:
    barrier.wait()
    with open_sqlite(file) as (checkpointer, store):
        for number in range(20):
            put(checkpointer, f"{name}-{number:02}", None)
            store.batch([GetOp(("n",), name), PutOp(("n",), name, {"v": number})])


def test_processes_may_make_and_fill_one_file_at_once(file: Path) -> None:
    names = ["a", "b", "c"]
    barrier = _SPAWN.Barrier(len(names))
    processes = [_SPAWN.Process(target=_work, args=(file, name, barrier)) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * len(names)
    with open_sqlite(file) as (checkpointer, store):
        assert len(list(checkpointer.list(at(None)))) == 20 * len(names)
        assert [cast(Any, store.get(("n",), name)).value for name in names] == [{"v": 19}] * 3


def _die(file: Path) -> None:
    with open_sqlite(file) as (checkpointer, store):
        run(checkpointer)
        store.put(("n",), "k", {"v": 1})
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_loses_nothing(file: Path) -> None:
    process = _SPAWN.Process(target=_die, args=(file,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    with open_sqlite(file) as (checkpointer, store):
        assert len(looped(checkpointer).get_state(CONFIG).values["messages"]) == 2
        assert store.get(("n",), "k") is not None
