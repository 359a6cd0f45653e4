"""SQLite's tables: what is pruned is free for others, and all or nothing is done."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.sqlite import SqlitePersistence, open_sqlite
from langgraph_filesystem.sqlite_tables import SqliteTables
from tests.graph.details import check_details
from tests.graph.runs import THREAD, agent
from tests.scripted import call

GO: Any = {"messages": [("user", "go")]}


def write(path: str, content: str) -> Any:
    return call("write_file", file_path=path, content=content)


def test_what_a_checkpoint_is_said_to_hold_is_what_the_saver_loads(
    opened: SqlitePersistence,
) -> None:
    check_details(opened.checkpointer, SqliteTables(opened.checkpointer.serde))


def test_pages_of_a_file_are_free_again(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with open_sqlite(path) as (checkpointer, _):
        empty = used_pages(path)
        graph = agent(*[write(f"/f{n}", str(n)) for n in range(60)], checkpointer=checkpointer)
        graph.invoke(GO, {**THREAD, "recursion_limit": 1000})
        before = graph.get_state(THREAD).values
        used = used_pages(path) - empty
        checkpointer.prune(["1"])
        assert used_pages(path) - empty < used / 3
        assert graph.get_state(THREAD).values == before
    size = path.stat().st_size
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
    assert path.stat().st_size < size / 2
    with open_sqlite(path) as (checkpointer, _):
        graph = agent(write("/more", "m"), checkpointer=checkpointer)
        assert graph.get_state(THREAD).values == before
        assert len(graph.invoke(GO, THREAD)["files"]) == 61


def used_pages(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        ((pages,),) = connection.execute("PRAGMA page_count")
        ((free,),) = connection.execute("PRAGMA freelist_count")
    return int(pages) - int(free)


def test_a_prune_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with open_sqlite(path) as (checkpointer, _):
        graph = agent([write("/a", "a"), write("/b", "b")], checkpointer=checkpointer)
        graph.invoke(GO, THREAD)
        before = list(graph.get_state_history(THREAD))
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(
                "CREATE TRIGGER stop BEFORE DELETE ON compact_checkpoints"
                " BEGIN SELECT raise(ABORT, 'no deletion today'); END"
            )
        with pytest.raises(sqlite3.IntegrityError, match="no deletion today"):
            checkpointer.prune(["1"])
        assert list(graph.get_state_history(THREAD)) == before
