"""PostgreSQL's tables: what is pruned is gone from each of them."""

from pathlib import Path
from typing import Any

import psycopg

from langgraph_filesystem.postgres import open_postgres
from langgraph_filesystem.postgres_tables import PostgresTables
from tests.databases import uri_of
from tests.graph.details import check_details
from tests.graph.runs import THREAD, agent
from tests.scripted import call

GO: Any = {"messages": [("user", "go")]}


def rows(uri: str) -> dict[str, int]:
    """Return how many rows each table has."""
    counts = {}
    with psycopg.connect(uri) as connection:
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            counts[table] = int(found[0]) if found else 0
    return counts


def test_what_a_checkpoint_is_said_to_hold_is_what_the_saver_loads(tmp_path: Path) -> None:
    with open_postgres(uri_of(tmp_path)) as (saver, _):
        check_details(saver, PostgresTables())


def test_each_table_holds_less_after_a_prune_and_nothing_after_a_deletion(tmp_path: Path) -> None:
    uri = uri_of(tmp_path)
    turns = [call("write_file", file_path=f"/f{n}", content=str(n)) for n in range(6)]
    with open_postgres(uri) as (saver, _):
        graph = agent(*turns, checkpointer=saver)
        graph.invoke(GO, THREAD)
        whole, before = graph.get_state(THREAD).values, rows(uri)
        saver.prune(["1"])
        left = rows(uri)
        assert left["checkpoints"] <= 4
        assert left["checkpoint_blobs"] < before["checkpoint_blobs"]
        # What was written to the channels that are rebuilt, and nothing else.
        assert left["checkpoint_writes"] < before["checkpoint_writes"] / 2
        assert graph.get_state(THREAD).values == whole
        saver.prune(["1"], strategy="delete")
        assert set(rows(uri).values()) == {0}
