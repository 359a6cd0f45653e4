"""One SQLite file that keeps the threads and the store of an agent.

    with open_sqlite("agent.db") as (checkpointer, store):
        agent = create_filesystem_agent(model, checkpointer=checkpointer, store=store)

The checkpointer is LangGraph's own, told to write less. A turn of an agent is three checkpoints and
about six writes: measured over 1,000 small edits, 9.6 kB a turn as LangGraph stores it and 2.3 kB
as it is stored here, because

- what is stored is compressed (`compression.py`);
- versions of channels are whole numbers, not 50 characters for each channel of each checkpoint
  (`savers.py`);
- a new file says every long id once (`layout.py`), where LangGraph's two tables repeat the thread,
  the checkpoint and the task in each row and again in each index.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any, NamedTuple

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.base import BaseStore
from langgraph.store.sqlite import SqliteStore

from langgraph_filesystem.compression import CompressedSerializer
from langgraph_filesystem.layout import LAYOUT
from langgraph_filesystem.savers import AsyncCompactSqliteSaver, CompactSqliteSaver
from langgraph_filesystem.stores import AsyncSharedSqliteStore, SharedSqliteStore

__all__ = ("SqlitePersistence", "aopen_sqlite", "open_sqlite")

_BUSY_SECONDS = 10.0
"""How long a writer waits for another one, of this process or of another."""

_TUNING = "PRAGMA synchronous = NORMAL"
"""Per connection. A commit waits for the operating system, not for the disk: measured, 150 µs
instead of 600."""


class SqlitePersistence(NamedTuple):
    """What a graph is compiled with."""

    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore


@contextmanager
def open_sqlite(path: str | os.PathLike[str]) -> Iterator[SqlitePersistence]:
    """Open the file, or make it, and yield a checkpointer and a store for graphs that are invoked.

    Any number of processes may have the file open. A process that is killed loses nothing that was
    stored. A power cut can cost the last commits before it, and never damages the database.

    A file that LangGraph's own `SqliteSaver` made stays as it is, and its threads go on here.
    The way back is closed: `SqliteSaver` can't read what was written here, and says so.
    """
    file = _prepared(path)
    with (
        closing(_connect(file)) as saving,
        closing(_connect(file, isolation_level=None)) as storing,
    ):
        for connection in (saving, storing):
            connection.execute(_TUNING)
        saver = CompactSqliteSaver(saving, serde=CompressedSerializer())
        saver.setup()
        store = SharedSqliteStore(storing)
        store.setup()
        try:
            yield SqlitePersistence(saver, store)
        finally:
            saver.close()


@asynccontextmanager
async def aopen_sqlite(path: str | os.PathLike[str]) -> AsyncIterator[SqlitePersistence]:
    """Do what `open_sqlite` does, for graphs that are awaited."""
    file = await asyncio.to_thread(_prepared, path)
    async with (
        aiosqlite.connect(file, timeout=_BUSY_SECONDS) as saving,
        aiosqlite.connect(file, timeout=_BUSY_SECONDS, isolation_level=None) as storing,
    ):
        for connection in (saving, storing):
            await connection.execute(_TUNING)
        saver = AsyncCompactSqliteSaver(saving, serde=CompressedSerializer())
        await saver.setup()
        store = AsyncSharedSqliteStore(storing)
        await store.setup()
        yield SqlitePersistence(saver, store)


def _prepared(path: str | os.PathLike[str]) -> str:
    """Return the path of a file that has all its tables.

    They are made in one transaction, as two processes may open a new file at once.
    """
    file = _checked(path)
    with closing(_connect(file, isolation_level=None)) as connection:
        _write_ahead(connection)
        connection.execute("BEGIN IMMEDIATE")
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if "checkpoints" not in names:
            for statement in LAYOUT:
                connection.execute(statement)
        _migrate_store(connection)
        connection.execute("COMMIT")
        if "checkpoints" in names and "compact_checkpoints" not in names:
            SqliteSaver(connection).setup()
    return file


def _checked(path: str | os.PathLike[str]) -> str:
    if os.fspath(path) == ":memory:":
        raise ValueError(
            "open_sqlite keeps threads in a file, and ':memory:' is none. "
            "Use InMemorySaver and InMemoryStore from langgraph for what may be lost."
        )
    file = os.path.abspath(path)
    if os.path.isdir(file):
        raise IsADirectoryError(f"{file} is a directory. Give the path of a file in it.")
    if not os.path.isdir(os.path.dirname(file)):
        raise FileNotFoundError(f"There is no directory {os.path.dirname(file)}. Make it first.")
    return file


def _connect(file: str, **options: Any) -> sqlite3.Connection:
    # Threads may share it: LangGraph's saver and store each hold a lock around theirs.
    connection: sqlite3.Connection = sqlite3.connect(
        file, timeout=_BUSY_SECONDS, check_same_thread=False, **options
    )
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log: readers and one writer don't wait for each other.

    SQLite does not wait for others to make the switch, so this does.
    """
    give_up = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


def _migrate_store(connection: sqlite3.Connection) -> None:
    """Do what the store's `setup` does, which may not be interrupted and not run twice at once."""
    connection.execute("CREATE TABLE IF NOT EXISTS store_migrations (v INTEGER PRIMARY KEY)")
    ((done,),) = connection.execute("SELECT coalesce(max(v) + 1, 0) FROM store_migrations")
    for version, statement in enumerate(SqliteStore.MIGRATIONS[done:], start=done):
        connection.execute(statement)
        connection.execute("INSERT INTO store_migrations (v) VALUES (?)", (version,))
