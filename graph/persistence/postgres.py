"""`open_postgres`: a PostgreSQL database that keeps the threads and the store of an agent.

    with open_postgres("postgresql://...") as (checkpointer, store):
        agent = create_filesystem_agent(model, checkpointer=checkpointer, store=store)

Both are LangGraph's own, `PostgresSaver` and `PostgresStore`, on a pool of connections and with
their tables set up. Use it for graphs that run in many processes or on many machines: a SQLite file
has one writer at a time. It needs the extra `postgres`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from langgraph_filesystem.persistence import Persistence

__all__ = ("aopen_postgres", "open_postgres")

_CONNECTIONS = 10
"""At most, for each process. PostgreSQL itself accepts 100 by default."""

_TRY = "SELECT pg_try_advisory_lock(7234982310) AS first"
_RELEASE = "SELECT pg_advisory_unlock(7234982310)"
_PAUSE = 0.05
"""Processes that start at the same time create the tables one after the other. They poll for the
lock: a process that waited for it in the database would block `CREATE INDEX CONCURRENTLY` there."""


@contextmanager
def open_postgres(uri: str, *, connections: int = _CONNECTIONS) -> Iterator[Persistence]:
    """Open the database, and yield a checkpointer and a store for `invoke` and `stream`."""
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.store.postgres import PostgresStore
        from psycopg import Connection
        from psycopg_pool import ConnectionPool
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
        saver, store = PostgresSaver(pool), PostgresStore(pool)
        with pool.connection() as connection:
            while not _is_first(connection.execute(_TRY).fetchone()):
                time.sleep(_PAUSE)
            try:
                saver.setup()
                store.setup()
            finally:
                connection.execute(_RELEASE)
        yield Persistence(saver, store)


@asynccontextmanager
async def aopen_postgres(
    uri: str, *, connections: int = _CONNECTIONS
) -> AsyncIterator[Persistence]:
    """Do the same as `open_postgres`, for `ainvoke` and `astream`."""
    try:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from langgraph.store.postgres import AsyncPostgresStore
        from psycopg import AsyncConnection
        from psycopg_pool import AsyncConnectionPool
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
        saver, store = AsyncPostgresSaver(pool), AsyncPostgresStore(pool)
        async with pool.connection() as connection:
            while not _is_first(await (await connection.execute(_TRY)).fetchone()):
                await asyncio.sleep(_PAUSE)
            try:
                await saver.setup()
                await store.setup()
            finally:
                await connection.execute(_RELEASE)
        yield Persistence(saver, store)


def _options() -> dict[str, Any]:
    """Return the connection options that LangGraph's saver and store require."""
    from psycopg.rows import dict_row

    return {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}


def _is_first(row: dict[str, Any] | None) -> bool:
    return bool(row and row["first"])


def _needs_extra(missing: ImportError) -> ImportError:
    return ImportError(
        f"PostgreSQL needs the extra: pip install 'langgraph-filesystem[postgres]' ({missing})"
    )
