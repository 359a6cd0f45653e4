"""What a task wrote waits for its checkpoint, and is never lost by that."""

import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from langgraph_filesystem import writer
from langgraph_filesystem.savers import CompactSqliteSaver
from langgraph_filesystem.sqlite import SqlitePersistence, open_sqlite
from tests.graph.saving import CONFIG, State, at, looped, put, rows, run

PATH = "~__pregel_pull, model"


@pytest.fixture
def saver(opened: SqlitePersistence) -> CompactSqliteSaver:
    assert isinstance(opened.checkpointer, CompactSqliteSaver)
    return opened.checkpointer


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the thread that watches sleep, so that a test sees what happens without it."""
    monkeypatch.setattr(writer, "_LOOK_EVERY", 60)


def stored(file: Path) -> list[str]:
    return [channel for (channel,) in rows(file, "SELECT channel FROM writes ORDER BY channel")]


def soon(check: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not check() and time.monotonic() < end:
        time.sleep(0.005)
    return check()


@pytest.mark.usefixtures("patient")
def test_writes_go_into_the_transaction_of_their_checkpoint(
    file: Path, saver: CompactSqliteSaver
) -> None:
    put(saver, "1", None)
    saver.put_writes(at("1"), [("a", 1)], "task", PATH)
    saver.put_writes(at("2"), [("b", 1)], "task", PATH)
    assert stored(file) == []

    put(saver, "2", "1")
    assert stored(file) == ["a"]

    put(saver, "3", "2")
    assert stored(file) == ["a", "b"]


@pytest.mark.usefixtures("patient")
def test_a_superstep_is_one_transaction(saver: CompactSqliteSaver) -> None:
    said: list[str] = []
    saver.conn.set_trace_callback(said.append)

    run(saver, turns=5)

    saver.conn.set_trace_callback(None)
    checkpoints = len(list(saver.list(CONFIG)))
    assert checkpoints > 20
    # What a trigger does is told as its statement once more.
    statements = [statement for statement, _ in groupby(said)]
    alone = sum("INTO compact_supersteps" in statement for statement in statements)
    assert alone > 15
    assert checkpoints <= said.count("COMMIT") + alone <= checkpoints + 1


@pytest.mark.usefixtures("patient")
def test_a_reader_of_the_same_saver_sees_what_waits(file: Path, saver: CompactSqliteSaver) -> None:
    put(saver, "1", None)
    saver.put_writes(at("1"), [("a", 1)], "task", PATH)

    found = saver.get_tuple(at("1"))

    assert found is not None
    assert found.pending_writes == [("task", "a", 1)]
    assert stored(file) == ["a"]


@pytest.mark.usefixtures("patient")
def test_a_deleted_thread_takes_what_waits_with_it(file: Path, saver: CompactSqliteSaver) -> None:
    put(saver, "1", None)
    saver.put_writes(at("1"), [("a", 1)], "task", PATH)

    saver.delete_thread("t")
    put(saver, "2", "1")

    assert stored(file) == []


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("special", ["__interrupt__", "__error__", "__resume__"])
def test_where_a_task_was_stopped_nothing_waits(
    file: Path, saver: CompactSqliteSaver, special: str
) -> None:
    put(saver, "1", None)
    saver.put_writes(at("1"), [("before", 1)], "one", PATH)
    assert stored(file) == []

    saver.put_writes(at("1"), [(special, "why")], "two", PATH)
    assert stored(file) == sorted(["before", special])

    saver.put_writes(at("1"), [("behind", 1)], "three", PATH)
    assert stored(file) == sorted(["before", "behind", special])


@pytest.mark.usefixtures("patient")
def test_an_interrupted_run_has_all_in_the_file_when_it_returns(
    file: Path, saver: CompactSqliteSaver
) -> None:
    def asks(state: State) -> State:
        return {"turns": interrupt("?")}

    def works(state: State) -> State:
        time.sleep(0.02)
        return {"routes": [{"node": "works"}]}

    builder = StateGraph(State)
    for node in (asks, works):
        builder.add_node(node)
        builder.add_edge(START, node.__name__)
    builder.compile(checkpointer=saver).invoke({"turns": 1}, CONFIG)

    assert {"__interrupt__", "routes"} <= set(stored(file))


@pytest.mark.usefixtures("patient")
def test_an_update_of_the_state_is_in_the_file_when_it_returns(
    file: Path, saver: CompactSqliteSaver
) -> None:
    call = {"name": "op", "args": {}, "id": "call"}
    update = {"messages": [AIMessage("more", id="more", tool_calls=[call])], "turns": 1}
    run(saver)
    looped(saver).update_state(CONFIG, update, as_node="router")

    with open_sqlite(file) as (another, _):
        state = looped(another).get_state(CONFIG)

    assert state.values["messages"][-1].id == "more"
    assert state.next == ("op",)


@pytest.mark.usefixtures("patient")
def test_what_comes_with_no_path_is_stored_at_once(file: Path, saver: CompactSqliteSaver) -> None:
    saver.put_writes(at("1"), [("a", 1)], "task")
    assert stored(file) == ["a"]


@pytest.mark.usefixtures("patient")
def test_what_is_large_is_stored_at_once(file: Path, saver: CompactSqliteSaver) -> None:
    saver.put_writes(at("1"), [("a", os.urandom(1_100_000))], "task", PATH)
    assert stored(file) == ["a"]


@pytest.mark.usefixtures("patient")
def test_closing_stores_what_waits(file: Path) -> None:
    with open_sqlite(file) as (checkpointer, _):
        put(checkpointer, "1", None)
        checkpointer.put_writes(at("1"), [("a", 1)], "task", PATH)
        assert stored(file) == []
    assert stored(file) == ["a"]


@pytest.mark.usefixtures("patient")
def test_what_waits_is_not_lost_when_a_checkpoint_can_not_be_stored(
    file: Path, saver: CompactSqliteSaver
) -> None:
    put(saver, "1", None)
    saver.put_writes(at("1"), [("a", 1)], "task", PATH)
    saver.conn.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            put(saver, "2", "1")
    assert stored(file) == []

    put(saver, "2", "1")

    assert stored(file) == ["a"]
    assert len(rows(file, "SELECT 1 FROM checkpoints")) == 2


@pytest.mark.usefixtures("patient")
def test_what_sqlite_refuses_stops_nobody_else(file: Path, saver: CompactSqliteSaver) -> None:
    with pytest.raises(UnicodeEncodeError):
        saver.put_writes(at("1"), [("\ud800", 1)], "task", PATH)
    put(saver, "2", "1")
    assert len(rows(file, "SELECT 1 FROM checkpoints")) == 1


def test_what_no_checkpoint_follows_is_stored_soon(file: Path, saver: CompactSqliteSaver) -> None:
    put(saver, "1", None)
    saver.put_writes(at("1"), [("a", 1)], "task", PATH)
    assert soon(lambda: stored(file) == ["a"])


def test_the_watch_begins_again_after_it_ended(
    file: Path, saver: CompactSqliteSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_LOOKS", 1)
    for name in ("a", "b"):
        saver.put_writes(at("1"), [(name, 1)], name, PATH)
        assert soon(lambda name=name: name in stored(file))  # type: ignore[misc]
        assert soon(lambda: not saver._writer._watched.locked())


def test_the_watch_leaves_an_error_to_the_next_call(file: Path, saver: CompactSqliteSaver) -> None:
    saver.conn.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        saver.put_writes(at("1"), [("a", 1)], "task", PATH)
        assert soon(lambda: not saver._writer._watched.locked())
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            saver.get_tuple(at("1"))
    assert saver.get_tuple(at("1")) is None
    assert stored(file) == ["a"]


def test_writes_of_many_threads_at_once_all_come_in(file: Path, saver: CompactSqliteSaver) -> None:
    def one(number: int) -> Any:
        return run(saver, turns=10, thread=str(number))["messages"]

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(one, range(4)))

    for number, messages in enumerate(done):
        config: Any = {"configurable": {"thread_id": str(number)}}
        assert looped(saver).get_state(config).values["messages"] == messages
    tasks = "SELECT checkpoint, task_id FROM compact_tasks"
    assert len(rows(file, tasks)) == len(set(rows(file, tasks)))
