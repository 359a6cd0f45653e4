"""`open_sqlite`: LangGraph's own saver and store, on a file that many may use at once."""

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import GetOp, PutOp
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore
from pydantic import BaseModel

from langgraph_filesystem.persistence.sqlite import (
    CompressedSerializer,
    aopen_sqlite,
    open_sqlite,
)
from tests import forked
from tests.graph.runs import THREAD, Runs, agent, contents
from tests.scripted import call

GO: Any = {"messages": [HumanMessage("go")]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


def writer(checkpointer: Any, content: str = "one", name: str = "a") -> Any:
    """Return an agent that writes a file and edits it."""
    edited = {"file_path": f"/{name}", "old_string": content, "new_string": f"{content}, edited"}
    return agent(
        call("write_file", file_path=f"/{name}", content=content),
        call("edit_file", **edited),
        checkpointer=checkpointer,
    )


# What is opened


async def test_the_saver_and_the_store_are_langgraphs_own(file: Path) -> None:
    with open_sqlite(file) as opened:
        assert [type(part) for part in opened] == [SqliteSaver, SqliteStore]
    async with aopen_sqlite(file) as opened:
        assert [type(part) for part in opened] == [AsyncSqliteSaver, AsyncSqliteStore]


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("busy_timeout", 10_000), ("synchronous", 1)]
)
async def test_every_connection_is_tuned(file: Path, pragma: str, value: object) -> None:
    with open_sqlite(file) as opened:
        for part in cast(Any, opened):
            assert part.conn.execute(f"PRAGMA {pragma}").fetchone() == (value,)
    async with aopen_sqlite(file) as opened:
        for part in cast(Any, opened):
            async with part.conn.execute(f"PRAGMA {pragma}") as cursor:
                assert await cursor.fetchone() == (value,)


async def test_a_closed_file_leaves_no_litter(file: Path) -> None:
    with open_sqlite(file) as (checkpointer, store):
        writer(checkpointer).invoke(GO, THREAD)
        store.put(("n",), "k", {"v": 1})
        next(iter(checkpointer.list(None)))
    async with aopen_sqlite(file) as (checkpointer, store):
        await writer(checkpointer, name="b").ainvoke(GO, THREAD)
        await store.aput(("n",), "k", {"v": 1})
    with pytest.raises(KeyError), open_sqlite(file) as (checkpointer, _):
        checkpointer.put({}, empty_checkpoint(), {}, {})
    assert list(file.parent.iterdir()) == [file]


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


# To and fro between `open_sqlite` and LangGraph's own savers


@asynccontextmanager
async def opened_by(who: str, file: Path) -> AsyncIterator[Runs]:
    if who == "open_sqlite":
        with open_sqlite(file) as (checkpointer, _):
            yield Runs(checkpointer, awaited=False)
    elif who == "SqliteSaver":
        with SqliteSaver.from_conn_string(str(file)) as saver:
            yield Runs(saver, awaited=False)
    elif who == "aopen_sqlite":
        async with aopen_sqlite(file) as (checkpointer, _):
            yield Runs(checkpointer, awaited=True)
    else:
        async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
            yield Runs(saver, awaited=True)


@pytest.mark.parametrize(
    "owners",
    [
        ("open_sqlite", "SqliteSaver"),
        ("aopen_sqlite", "AsyncSqliteSaver"),
        ("SqliteSaver", "aopen_sqlite"),
        ("open_sqlite", "aopen_sqlite"),
    ],
    ids=lambda pair: " and ".join(pair),
)
async def test_a_thread_goes_to_and_fro(file: Path, owners: tuple[str, str]) -> None:
    before: list[Any] = []
    expected = {}
    for number, who in enumerate(owners * 2):
        async with opened_by(who, file) as runs:
            graph = writer(runs.checkpointer, content=str(number), name=f"f{number}")
            assert [state.values for state in await runs.history(graph)] == before
            state = await runs.invoke(graph, {"messages": [HumanMessage(f"go {number}")]})
            expected[f"/f{number}"] = f"{number}, edited"
            assert contents(state) == expected
            history = await runs.history(graph)
            before = [state.values for state in history]
            assert len(before) > 10
            assert contents((await runs.state(graph, history[0].config)).values) == expected
    said = [m.text for m in before[0]["messages"] if m.type == "human"]
    assert said == [f"go {number}" for number in range(4)]


@pytest.mark.parametrize("owners", [("open_sqlite", "SqliteSaver"), ("SqliteSaver", "open_sqlite")])
async def test_every_checkpoint_of_the_other_can_be_forked_and_run(
    file: Path, owners: tuple[str, str]
) -> None:
    async with opened_by(owners[0], file) as runs:
        await runs.invoke(writer(runs.checkpointer), GO)
    async with opened_by(owners[1], file) as runs:
        graph = writer(runs.checkpointer)
        for state in await runs.history(graph):
            edit = {"messages": [HumanMessage("again")]}
            fork = await runs.call(graph, "update_state", state.config, edit, as_node="prepare")
            result = await runs.invoke(graph, None, fork)
            assert result["messages"][-1].type == "ai"
            assert contents(result)["/a"].startswith("one, edited")


# The store


async def test_the_store_keeps_values_in_the_same_file(file: Path) -> None:
    with open_sqlite(file) as (_, store):
        store.put(("users", "ada"), "likes", {"food": "cake"})
    async with aopen_sqlite(file) as (_, store):
        item = await store.aget(("users", "ada"), "likes")
        assert item is not None
        assert item.value == {"food": "cake"}
    with sqlite3.connect(file) as connection:
        plain = SqliteStore(connection).get(("users", "ada"), "likes")
        assert plain is not None
        assert plain.value == {"food": "cake"}
    connection.close()


async def test_the_store_reads_and_writes_beside_a_busy_checkpointer(file: Path) -> None:
    place: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    async with aopen_sqlite(file) as (checkpointer, store):

        async def checkpoints() -> None:
            for _ in range(200):
                await checkpointer.aput(place, empty_checkpoint(), {}, {})

        busy, written = asyncio.create_task(checkpoints()), 0
        while not busy.done():
            written += 1
            read, _ = await asyncio.gather(
                store.aget(("n",), f"k{written - 1}"), store.aput(("n",), f"k{written}", {"v": 1})
            )
            assert (read is None) == (written == 1)
        await busy
        assert written > 1
        assert len([one async for one in checkpointer.alist(place)]) == 200


# Other processes


def _work(file: Path, name: str, barrier: Any) -> None:
    barrier.wait()
    with open_sqlite(file) as (checkpointer, store):
        for number in range(3):
            graph = writer(checkpointer, content=name, name=f"{name}{number}")
            graph.invoke(GO, {"configurable": {"thread_id": name}})
            store.batch([GetOp(("n",), name), PutOp(("n",), name, {"v": number})])


def test_processes_may_create_and_fill_one_file_at_once(file: Path) -> None:
    names = ["a", "b", "c"]
    barrier = forked.CONTEXT.Barrier(len(names))
    forked.run_at_once(_work, *((file, name, barrier) for name in names))
    with open_sqlite(file) as (checkpointer, store):
        for name in names:
            state = writer(checkpointer).get_state({"configurable": {"thread_id": name}})
            assert contents(state.values) == {f"/{name}{n}": f"{name}, edited" for n in range(3)}
            assert cast(Any, store.get(("n",), name)).value == {"v": 2}


def _die(file: Path) -> None:
    with open_sqlite(file) as (checkpointer, store):
        writer(checkpointer).invoke(GO, THREAD)
        store.put(("n",), "k", {"v": 1})
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_loses_nothing(file: Path) -> None:
    process = forked.CONTEXT.Process(target=_die, args=(file,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with open_sqlite(file) as (checkpointer, store):
        state = writer(checkpointer).get_state(THREAD)
        assert contents(state.values) == {"/a": "one, edited"}
        assert store.get(("n",), "k") is not None


# Compressed


async def test_a_thread_can_be_compressed_from_any_point_on(file: Path) -> None:
    with open_sqlite(file) as (checkpointer, _):
        writer(checkpointer, "plain " * 5_000, "a").invoke(GO, THREAD)
    plain = file.stat().st_size
    with open_sqlite(file, compress=True) as (checkpointer, _):
        writer(checkpointer, "packed " * 5_000, "b").invoke(GO, THREAD)
    async with aopen_sqlite(file, compress=True) as (checkpointer, _):
        state = await writer(checkpointer, name="c").ainvoke(GO, THREAD)
    assert contents(state)["/b"] == "packed " * 5_000 + ", edited"
    assert contents(state)["/a"] == "plain " * 5_000 + ", edited"
    assert file.stat().st_size < 1.5 * plain


@given(st.recursive(st.text() | st.binary(), lambda inner: st.lists(inner, max_size=30)))
def test_a_compressed_value_comes_back_and_never_takes_more_room(value: Any) -> None:
    plain = JsonPlusSerializer().dumps_typed(value)
    kind, data = CompressedSerializer().dumps_typed(value)
    assert CompressedSerializer().loads_typed((kind, data)) == value
    assert CompressedSerializer().loads_typed(plain) == value
    assert len(data) <= len(plain[1])


class Custom(BaseModel):
    """A class that no allowlist names."""

    value: str


def test_strict_mode_holds_for_compressed_values_too() -> None:
    strict = CompressedSerializer(allowed_msgpack_modules=None)
    message = AIMessage("long " * 100, id="1")
    assert strict.loads_typed(strict.dumps_typed(message)) == message
    kind, data = strict.dumps_typed(Custom(value="long " * 100))
    assert kind != "msgpack"
    assert not isinstance(strict.loads_typed((kind, data)), Custom)
    # LangGraph derives a serializer that allows more when it compiles a graph in strict mode.
    saver: BaseCheckpointSaver[Any] = BaseCheckpointSaver(serde=strict)
    derived = saver.with_allowlist([("other", "Thing")]).serde
    assert isinstance(derived, CompressedSerializer)
