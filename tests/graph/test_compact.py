"""Rows as we add them, as the triggers do, and as LangGraph's own saver does: all the same."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from langgraph_filesystem.layout import LAYOUT
from langgraph_filesystem.sqlite import open_sqlite
from tests.graph.saving import at, put


def every_saver(tmp_path: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    with open_sqlite(tmp_path / "ours.db") as (checkpointer, _):
        yield checkpointer
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:
        for statement in LAYOUT:
            connection.execute(statement)
        triggers_alone = SqliteSaver(connection)
        triggers_alone.is_setup = True
        yield triggers_alone
    with SqliteSaver.from_conn_string(str(tmp_path / "plain.db")) as saver:
        yield saver


def test_writes_may_come_before_their_checkpoint(tmp_path: Path) -> None:
    for saver in every_saver(tmp_path):
        saver.put_writes(at("2"), [("a", 1), ("b", 2)], "task", "path")
        assert saver.get_tuple(at("2")) is None
        assert saver.get_tuple(at(None)) is None

        put(saver, "2", "1")

        found = saver.get_tuple(at("2"))
        assert found is not None
        assert found.pending_writes == [("task", "a", 1), ("task", "b", 2)]


@pytest.mark.parametrize("parent", [None, "0", "not-stored"])
def test_a_parent_is_kept_whether_it_is_stored_or_not(tmp_path: Path, parent: str | None) -> None:
    for saver in every_saver(tmp_path):
        put(saver, "0", None)
        put(saver, "1", parent)
        found = saver.get_tuple(at("1"))
        assert found is not None
        assert found.parent_config == (at(parent) if parent else None)


def test_a_checkpoint_that_is_put_again_is_replaced_and_keeps_its_writes(tmp_path: Path) -> None:
    for saver in every_saver(tmp_path):
        put(saver, "1", None, step=1)
        saver.put_writes(at("1"), [("a", 1)], "task")
        put(saver, "2", "1", step=2)
        put(saver, "1", None, step=3)

        found = list(saver.list(at(None)))

        assert [item.checkpoint["id"] for item in found] == ["2", "1"]
        assert found[0].parent_config == at("1")
        assert found[1].metadata == {"step": 3}
        assert found[1].pending_writes == [("task", "a", 1)]


def test_a_write_that_comes_again_is_ignored_and_an_error_is_replaced(tmp_path: Path) -> None:
    for saver in every_saver(tmp_path):
        put(saver, "1", None)
        for value in ("first", "second"):
            saver.put_writes(at("1"), [("a", value)], "task")
            saver.put_writes(at("1"), [("__error__", value)], "task")
        found = saver.get_tuple(at("1"))
        assert found is not None
        assert found.pending_writes == [("task", "__error__", "second"), ("task", "a", "first")]


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"source": "loop", "step": 3, "parents": {}},
        {
            "source": "loop",
            "step": -1,
            "parents": {},
            "counters_since_delta_snapshot": {
                "messages": [1, 2],
                "files": [0, 2],
                "seen": [0, 2],
                "more": [5, 6],
            },
        },
        {"source": "update", "step": 1, "note": '{"source": "loop", "step": \x01 é 漢 "\\'},
        {"nan": float("inf")},
    ],
)
def test_metadata_comes_back_as_it_was(tmp_path: Path, metadata: dict[str, Any]) -> None:
    for saver in every_saver(tmp_path):
        put(saver, "1", None, **metadata)
        found = saver.get_tuple(at("1"))
        assert found is not None
        assert found.metadata == metadata


def test_checkpoints_are_found_by_their_metadata(tmp_path: Path) -> None:
    for saver in every_saver(tmp_path):
        put(saver, "1", None, source="loop", step=1, parents={})
        put(saver, "2", "1", source="loop", step=2, parents={})
        found = saver.list(None, filter={"source": "loop", "step": 2}, limit=5)
        assert [item.checkpoint["id"] for item in found] == ["2"]
