"""One SQLite file that keeps the threads and the store of an agent.

    with open_sqlite("agent.db") as (checkpointer, store):
        agent = create_filesystem_agent(model, checkpointer=checkpointer, store=store)

The checkpointer is LangGraph's own, told to write less. A turn of an agent is four checkpoints and
about eight writes: measured over 1,000 small ones, 12.0 kB a turn as LangGraph stores it and 2.5 kB
as it is stored here, because

- what is stored is compressed (`compression.py`);
- versions of channels are whole numbers, not 50 characters for each channel of each checkpoint;
- a new file says every long id once (`compact.py`), where LangGraph's two tables repeat the thread,
  the checkpoint and the task in each row and again in each index.
"""

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any, NamedTuple

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import BaseStore, Op, PutOp, Result
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from langgraph_filesystem.compact import (
    CheckpointRow,
    Names,
    WriteRow,
    add_checkpoint,
    add_writes,
    layout,
)
from langgraph_filesystem.compression import CompressedSerializer

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
        yield SqlitePersistence(saver, store)


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


class CompactSqliteSaver(SqliteSaver):
    """LangGraph's saver on a prepared file, with whole numbers as versions."""

    def __init__(self, connection: sqlite3.Connection, *, serde: SerializerProtocol) -> None:
        super().__init__(connection, serde=serde)
        query = "SELECT 1 FROM sqlite_schema WHERE name = 'compact_names'"
        self._names = Names() if connection.execute(query).fetchone() else None

    def setup(self) -> None:
        """Do nothing: the file is prepared before it is opened."""
        self.is_setup = True

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint, with whole numbers as versions."""
        found = super().get_tuple(config)
        return found and _with_whole_versions(found)

    def list(self, *args: Any, **kwargs: Any) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints, with whole numbers as versions."""
        return map(_with_whole_versions, super().list(*args, **kwargs))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next whole number."""
        return BaseCheckpointSaver.get_next_version(self, current, channel)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        place = config["configurable"]
        details = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False)
        row = CheckpointRow(
            str(place["thread_id"]),
            place["checkpoint_ns"],
            checkpoint["id"],
            place.get("checkpoint_id"),
            *self.serde.dumps_typed(checkpoint),
            details.encode("utf-8", "ignore"),
        )
        if not self._stored(add_checkpoint, {row.type}, row):
            return super().put(config, checkpoint, metadata, new_versions)
        stored = {key: place[key] for key in ("thread_id", "checkpoint_ns")}
        return {"configurable": {**stored, "checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote."""
        keys = ("thread_id", "checkpoint_ns", "checkpoint_id")
        place = tuple(str(config["configurable"][key]) for key in keys)
        rows = [
            WriteRow(WRITES_IDX_MAP.get(name, idx), name, *self.serde.dumps_typed(value))
            for idx, (name, value) in enumerate(writes)
        ]
        replace = all(name in WRITES_IDX_MAP for name, _ in writes)
        names = {name for row in rows for name in (row.channel, row.type)}
        task = (task_id, task_path)
        if not self._stored(add_writes, names, place, task, rows, replace):
            super().put_writes(config, writes, task_id, task_path)

    def _stored(self, add: Callable[..., bool], names: set[str], *row: Any) -> bool:
        """Say whether the numbered tables took a row: they may not be there, or lack its parent."""
        if self._names is None:
            return False
        with self.cursor() as cursor:
            if not self._names.knows(*names):
                self._names.learn(self.conn)
            return add(cursor, self._names, *row)


class AsyncCompactSqliteSaver(AsyncSqliteSaver):
    """The same for graphs that are awaited."""

    async def setup(self) -> None:
        """Do nothing: the file is prepared before it is opened."""
        self.is_setup = True

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint, with whole numbers as versions."""
        found = await super().aget_tuple(config)
        return found and _with_whole_versions(found)

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints, with whole numbers as versions."""
        async for found in super().alist(*args, **kwargs):
            yield _with_whole_versions(found)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next whole number."""
        return BaseCheckpointSaver.get_next_version(self, current, channel)


def _with_whole_versions(found: CheckpointTuple) -> CheckpointTuple:
    """Return the checkpoint with versions as `SqliteSaver` writes them cut to their whole part.

    All at once, as LangGraph compares versions of one checkpoint and strings with numbers it can't.
    The fraction is random and decides nothing: a channel's next version is always a whole one up.
    """
    checkpoint = found.checkpoint
    versions = checkpoint.get("channel_versions") or {}
    if any(isinstance(version, str) for version in versions.values()):
        checkpoint["channel_versions"] = _whole(versions)
        checkpoint["versions_seen"] = {
            node: _whole(seen) for node, seen in checkpoint["versions_seen"].items()
        }
    return found


def _whole(versions: dict[str, Any]) -> dict[str, Any]:
    return {
        channel: int(version.partition(".")[0]) if isinstance(version, str) else version
        for channel, version in versions.items()
    }


class SharedSqliteStore(SqliteStore):
    """LangGraph's store, in a file that others write to as well.

    A transaction that reads first and writes later fails at once, without waiting, when another
    connection has written in between. So what is read and what is written are two transactions.
    Measured beside a busy checkpointer: as one, every second such batch failed.
    """

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the reads, then the writes."""
        ops = list(ops)
        reads = [op for op in ops if not isinstance(op, PutOp)]
        if not 0 < len(reads) < len(ops):
            return super().batch(ops)
        read = super().batch(reads)
        super().batch([op for op in ops if isinstance(op, PutOp)])
        return _in_order(ops, read)


class AsyncSharedSqliteStore(AsyncSqliteStore):
    """The same for graphs that are awaited, whose store gathers reads and writes into batches."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the reads, then the writes."""
        ops = list(ops)
        reads = [op for op in ops if not isinstance(op, PutOp)]
        if not 0 < len(reads) < len(ops):
            return await super().abatch(ops)
        read = await super().abatch(reads)
        await super().abatch([op for op in ops if isinstance(op, PutOp)])
        return _in_order(ops, read)


def _in_order(ops: list[Op], read: list[Result]) -> list[Result]:
    """Return the results of the reads where they were asked for; a write results in nothing."""
    results = iter(read)
    return [None if isinstance(op, PutOp) else next(results) for op in ops]


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
            for statement in layout():
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
