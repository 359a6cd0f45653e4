"""Checkpointers on a file: threads go on, LangGraph's own too, and what is stored is small."""

import sqlite3
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_filesystem.sqlite import SqlitePersistence, aopen_sqlite, open_sqlite
from tests.graph.saving import CONFIG, arun, at, looped, put, rows, run


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
            assert graph.get_state(CONFIG).next == ()
            graph.invoke(None, graph.update_state(state.config, {"turns": 1}, as_node="evict"))
            assert graph.get_state(CONFIG).next == ()


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
