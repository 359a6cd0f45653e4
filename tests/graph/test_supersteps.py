"""A superstep in one statement is stored as by many, or left to them."""

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem import writer
from langgraph_filesystem.savers import CompactSqliteSaver
from langgraph_filesystem.sqlite import SqlitePersistence
from tests.graph.saving import at, put, rows

PATH = "~__pregel_pull, model"


@pytest.fixture
def saver(opened: SqlitePersistence, monkeypatch: pytest.MonkeyPatch) -> CompactSqliteSaver:
    # What waits goes with its checkpoint, and not by the thread that watches.
    monkeypatch.setattr(writer, "_LOOK_EVERY", 60)
    assert isinstance(opened.checkpointer, CompactSqliteSaver)
    put(opened.checkpointer, "0", None)
    # From now on the names are known.
    opened.checkpointer.put_writes(at("0"), [("a", 1), ("b", None), ("c", b"c")], "task", PATH)
    put(opened.checkpointer, "1", "0")
    put(opened.checkpointer, "1b", "0")
    return opened.checkpointer


def said_while(saver: CompactSqliteSaver, name: str, parent: str, **metadata: Any) -> list[str]:
    said: list[str] = []
    saver.conn.set_trace_callback(said.append)
    put(saver, name, parent, **metadata)
    saver.conn.set_trace_callback(None)
    # What a trigger does is told as its statement once more.
    return [statement.split()[0] for statement, _ in groupby(said)]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_task_and_its_checkpoint_are_one_statement(saver: CompactSqliteSaver, count: int) -> None:
    writes = [("abca"[n], (1, None, b"c", "4")[n]) for n in range(count)]
    saver.put_writes(at("1"), writes, "task", PATH)

    assert said_while(saver, "2", "1", source="loop", step=3, parents={}) == ["INSERT"]

    before, after = saver.get_tuple(at("1")), saver.get_tuple(at("2"))
    assert before is not None
    assert after is not None
    assert before.pending_writes == [("task", *write) for write in writes]
    assert after.parent_config == before.config
    assert after.checkpoint["channel_values"] == {"name": "2"}
    assert after.metadata == {"source": "loop", "step": 3, "parents": {}}


def test_what_the_statement_can_not_do_is_done_by_others(
    saver: CompactSqliteSaver, file: Path
) -> None:
    saver.put_writes(at("1"), [("a", n) for n in range(5)], "many", PATH)
    assert "COMMIT" in said_while(saver, "2", "1")

    saver.put_writes(at("2"), [("new", 1)], "a name without a number", PATH)
    assert "COMMIT" in said_while(saver, "3", "2")

    saver.put_writes(at("3"), [("a", 1)], "one", PATH)
    saver.put_writes(at("3"), [("a", 2)], "two", PATH)
    assert "COMMIT" in said_while(saver, "4", "3")

    saver.put_writes(at("missing"), [("a", 1)], "no parent", PATH)
    assert "COMMIT" in said_while(saver, "5", "missing")

    saver.put_writes(at("4"), [("a", 1)], "again", PATH)
    assert "COMMIT" in said_while(saver, "3", "4")

    found = rows(file, "SELECT task_id, count(*) FROM writes GROUP BY 1 ORDER BY 1")
    assert found == [
        *(("a name without a number", 1), ("again", 1), ("many", 5), ("no parent", 1)),
        *(("one", 1), ("task", 3), ("two", 1)),
    ]


def test_a_task_that_is_stored_already_is_not_stored_twice(
    saver: CompactSqliteSaver, file: Path
) -> None:
    for value in ("first", "second"):
        saver.put_writes(at("1"), [("a", value)], "task", PATH)
        put(saver, f"2 {value}", "1")

    found = saver.get_tuple(at("1"))
    assert found is not None
    assert found.pending_writes == [("task", "a", "first")]
    assert rows(file, "SELECT count(*) FROM compact_tasks") == [(2,)]


def test_a_statement_that_fails_leaves_no_transaction_open(saver: CompactSqliteSaver) -> None:
    saver.put_writes(at("missing"), [("a", 1)], "task", PATH)
    put(saver, "2", "missing")

    assert not saver.conn.in_transaction
    assert saver.conn.isolation_level is not None
