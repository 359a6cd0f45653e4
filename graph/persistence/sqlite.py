"""`open_sqlite`: one SQLite file that keeps the threads and the store of an agent.

    with open_sqlite("agent.db") as (checkpointer, store):
        agent = create_filesystem_agent(model, checkpointer=checkpointer, store=store)

Both are LangGraph's own, `SqliteSaver` and `SqliteStore`, on connections that several threads and
processes can use at the same time.
"""

import asyncio
import os
import sqlite3
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from langgraph_filesystem.persistence import Persistence

__all__ = ("CompressedSerializer", "aopen_sqlite", "open_sqlite")

_BUSY_SECONDS = 10.0
"""How long a writer waits for another one, in this process or another."""

_TUNING = "PRAGMA synchronous = NORMAL"
"""Per connection. A commit waits for the operating system, not for the disk: measured, 150 µs
instead of 600."""

_COMPRESSED = "+zlib"
"""Appended to the type of a value that is compressed."""


@contextmanager
def open_sqlite(path: str | os.PathLike[str], *, compress: bool = False) -> Iterator[Persistence]:
    """Open or create the file, and yield a checkpointer and a store for `invoke` and `stream`.

    Any number of processes may have the file open. A process that is killed loses nothing that was
    stored. A power cut can cost the last commits before it, and never damages the database.

    Args:
        path: The file. Its directory must exist.
        compress: Compress what is stored. Other programs can then read the file only with
            `CompressedSerializer`; without it, `SqliteSaver` reads and continues every thread.
    """
    file = _prepared(path)
    with closing(_connect(file)) as saving, closing(_connect_store(file)) as storing:
        for connection in (saving, storing):
            connection.execute(_TUNING)
        saver = SqliteSaver(saving, serde=_serializer(compress))
        saver.setup()
        store = SqliteStore(storing)
        store.setup()
        yield Persistence(saver, store)


@asynccontextmanager
async def aopen_sqlite(
    path: str | os.PathLike[str], *, compress: bool = False
) -> AsyncIterator[Persistence]:
    """Do the same as `open_sqlite`, for `ainvoke` and `astream`."""
    file = await asyncio.to_thread(_prepared, path)
    async with (
        aiosqlite.connect(file, timeout=_BUSY_SECONDS) as saving,
        aiosqlite.connect(file, **_STORE_OPTIONS) as storing,
    ):
        for connection in (saving, storing):
            await connection.execute(_TUNING)
        saver = AsyncSqliteSaver(saving, serde=_serializer(compress))
        await saver.setup()
        store = AsyncSqliteStore(storing)
        await store.setup()
        yield Persistence(saver, store)


class CompressedSerializer(JsonPlusSerializer):
    """LangGraph's serializer, with zlib over everything that it makes smaller.

    It reads uncompressed values too, so an existing thread can continue with it. It is a subclass,
    not a wrapper, because LangGraph's strict mode only knows how to restrict its own serializer.
    """

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the type and the bytes, compressed if that makes them fewer."""
        kind, data = super().dumps_typed(obj)
        packed = zlib.compress(data, 1)
        return (kind + _COMPRESSED, packed) if len(packed) < len(data) else (kind, data)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value, whether it is compressed or not."""
        kind, stored = data
        if kind.endswith(_COMPRESSED):
            kind, stored = kind.removesuffix(_COMPRESSED), zlib.decompress(stored)
        return super().loads_typed((kind, stored))


class _StoreConnection(sqlite3.Connection):
    """A connection that takes the write lock when a transaction begins.

    LangGraph's stores begin every batch with `BEGIN`. In SQLite such a transaction fails at once,
    without waiting, if it reads first, another connection commits, and then it writes. Measured
    beside a busy checkpointer: every second batch failed.
    """

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        return super().execute("BEGIN IMMEDIATE" if sql == "BEGIN" else sql, *args)


_STORE_OPTIONS: dict[str, Any] = {
    "timeout": _BUSY_SECONDS,
    "isolation_level": None,
    "factory": _StoreConnection,
}


def _serializer(compress: bool) -> JsonPlusSerializer | None:
    return CompressedSerializer() if compress else None


def _connect(file: str) -> sqlite3.Connection:
    # Threads may share it: LangGraph's saver and store each hold a lock around theirs.
    return sqlite3.connect(file, timeout=_BUSY_SECONDS, check_same_thread=False)


def _connect_store(file: str) -> sqlite3.Connection:
    connection: sqlite3.Connection = sqlite3.connect(
        file, check_same_thread=False, **_STORE_OPTIONS
    )
    return connection


def _prepared(path: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file that has all its tables.

    Processes that create the same file at once get in each other's way: SQLite does not wait when
    it switches to a write-ahead log, and the store's migrations are no transaction. Each of them
    makes progress, so trying again is enough.
    """
    file = _checked(path)
    give_up = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            with closing(_connect_store(file)) as connection:
                SqliteSaver(connection).setup()
                SqliteStore(connection).setup()
            return file
        except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
            if not _is_race(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def _is_race(error: sqlite3.Error) -> bool:
    # The low byte is the kind of error. `SQLITE_ERROR` is what a column gives that exists already.
    kind = error.sqlite_errorcode & 0xFF
    return kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT)


def _checked(path: str | os.PathLike[str]) -> str:
    if os.fspath(path) == ":memory:":
        raise ValueError(
            "open_sqlite needs the path of a file, not ':memory:'. "
            "To keep nothing, use InMemorySaver and InMemoryStore from langgraph."
        )
    file = os.path.abspath(path)
    if os.path.isdir(file):
        raise IsADirectoryError(f"{file} is a directory. Give the path of a file in it.")
    if not os.path.isdir(os.path.dirname(file)):
        raise FileNotFoundError(f"There is no directory {os.path.dirname(file)}. Create it first.")
    return file
