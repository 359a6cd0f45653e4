"""Opening a file: every connection is tuned, nothing is left over, and others may use it too."""

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any, cast

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.store.base import GetOp, PutOp

from langgraph_filesystem.sqlite import aopen_sqlite, open_sqlite
from tests.graph.saving import CONFIG, arun, at, looped, put, run


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
