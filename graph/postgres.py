"""A PostgreSQL database that keeps the threads and the store of an agent (extra `postgres`).

    with open_postgres("postgresql://...") as (checkpointer, store):
        agent = create_filesystem_agent(model, checkpointer=checkpointer, store=store)

They are LangGraph's own saver and store, on a pool of connections, with their tables set up; the
saver can prune threads too (`postgres_savers.py`). For graphs that run in many processes, or on
many machines: one file of SQLite has one writer at a time.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

__all__ = ("PostgresPersistence", "aopen_postgres", "open_postgres")

_CONNECTIONS = 10
"""At most, for each process: PostgreSQL itself takes 100 unless it is told otherwise."""


_TRY = "SELECT pg_try_advisory_lock(7234982310) AS first"
_LET = "SELECT pg_advisory_unlock(7234982310)"
_PAUSE = 0.05
"""Processes that begin at once make the tables one after the other. They ask again and again: one
that waits in the database would keep an index from being built there."""


class PostgresPersistence(NamedTuple):
    """What a graph is compiled with."""

    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore


@contextmanager
def open_postgres(uri: str, *, connections: int = _CONNECTIONS) -> Iterator[PostgresPersistence]:
    """Open the database and yield a checkpointer and a store for graphs that are invoked."""
    try:
        from langgraph.store.postgres import PostgresStore
        from psycopg import Connection
        from psycopg_pool import ConnectionPool

        from langgraph_filesystem.postgres_savers import PrunablePostgresSaver
    except ImportError as missing:
        raise _needs_extra(missing) from missing
    with ConnectionPool(
        uri,
        min_size=1,
        max_size=max(2, connections),
        open=True,
        connection_class=Connection[dict[str, Any]],
        kwargs=_options(),
    ) as pool:
        saver, store = PrunablePostgresSaver(pool), PostgresStore(pool)
        with pool.connection() as connection:
            while not _is_first(connection.execute(_TRY).fetchone()):
                time.sleep(_PAUSE)
            try:
                saver.setup()
                store.setup()
            finally:
                connection.execute(_LET)
        yield PostgresPersistence(saver, store)


@asynccontextmanager
async def aopen_postgres(
    uri: str, *, connections: int = _CONNECTIONS
) -> AsyncIterator[PostgresPersistence]:
    """Do what `open_postgres` does, for graphs that are awaited."""
    try:
        from langgraph.store.postgres import AsyncPostgresStore
        from psycopg import AsyncConnection
        from psycopg_pool import AsyncConnectionPool

        from langgraph_filesystem.postgres_savers import AsyncPrunablePostgresSaver
    except ImportError as missing:
        raise _needs_extra(missing) from missing
    async with AsyncConnectionPool(
        uri,
        min_size=1,
        max_size=max(2, connections),
        open=False,
        connection_class=AsyncConnection[dict[str, Any]],
        kwargs=_options(),
    ) as pool:
        saver, store = AsyncPrunablePostgresSaver(pool), AsyncPostgresStore(pool)
        async with pool.connection() as connection:
            while not _is_first(await (await connection.execute(_TRY)).fetchone()):
                await asyncio.sleep(_PAUSE)
            try:
                await saver.setup()
                await store.setup()
            finally:
                await connection.execute(_LET)
        yield PostgresPersistence(saver, store)


def _options() -> dict[str, Any]:
    """Return what LangGraph's saver and store ask of their connections."""
    from psycopg.rows import dict_row

    return {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}


def _is_first(row: dict[str, Any] | None) -> bool:
    return bool(row and row["first"])


def _needs_extra(missing: ImportError) -> ImportError:
    return ImportError(
        f"PostgreSQL needs the extra: pip install 'langgraph-filesystem[postgres]' ({missing})"
    )
