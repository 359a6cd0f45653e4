"""The database with the threads: a SQLite file of the user, or what `--db` names.

Read-only commands open it read-only, and don't wait for an agent that is running.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore

from langgraph_filesystem.command_line.failure import Failure
from langgraph_filesystem.persistence import Persistence
from langgraph_filesystem.persistence.postgres import aopen_postgres, open_postgres
from langgraph_filesystem.persistence.sqlite import aopen_sqlite, open_sqlite
from langgraph_filesystem.state.backends.execution import layers

__all__ = (
    "aopen_database",
    "create_database",
    "data_directory",
    "default_database",
    "is_postgres",
    "open_database",
)

_BUSY_SECONDS = 10
_TABLES = {"checkpoints", "store"}


def data_directory() -> Path:
    """Return the directory for data of this user."""
    return Path(layers.data_directory())


def default_database() -> str:
    """Return the path of the database with all threads of this user."""
    return str(data_directory() / "threads.db")


def is_postgres(database: str) -> bool:
    """Say whether a database is a PostgreSQL address, not a path."""
    return database.startswith(("postgres://", "postgresql://"))


@contextmanager
def open_database(database: str, *, changes: bool = False) -> Iterator[Persistence]:
    """Open a database that exists; without `changes` it is read-only."""
    _check(database)
    if changes:
        with (open_postgres if is_postgres(database) else open_sqlite)(database) as opened:
            yield opened
    elif is_postgres(database):
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.store.postgres import PostgresStore

        with _connect_postgres(database) as connection:
            yield Persistence(PostgresSaver(connection), PostgresStore(connection))
    else:
        with closing(_connect_sqlite(database)) as one, closing(_connect_sqlite(database)) as two:
            saver, store = SqliteSaver(one), SqliteStore(two)
            saver.is_setup = store.is_setup = True  # they must not create tables
            yield Persistence(saver, store)


def aopen_database(database: str) -> AbstractAsyncContextManager[Persistence]:
    """Open a database that exists, for an agent that runs."""
    return (aopen_postgres if is_postgres(database) else aopen_sqlite)(database)


def create_database(database: str) -> None:
    """Create a database, unless it is there."""
    if is_postgres(database) or os.path.exists(database):
        _check(database, is_new=True)
    elif database == default_database():
        try:
            data_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Failure(
                f"The directory {data_directory()} for threads can't be made: {error.strerror}. "
                "Set XDG_DATA_HOME to a directory of yours, or choose a database with --db."
            ) from None
    with (open_postgres if is_postgres(database) else open_sqlite)(database):
        pass


def _check(database: str, *, is_new: bool = False) -> None:
    """Raise for a database that is not there, has no threads, or is from a newer version."""
    if is_postgres(database):
        tables, versions = _look_at_postgres(database)
        shown = "The PostgreSQL database"
    elif os.path.exists(database):
        tables, versions = _look_at_sqlite(database)
        shown = f"The database {database}"
    else:
        raise Failure(
            f"There is no database {database}: `lgfs run` makes it, or choose one with --db."
        )
    if not is_new and not tables >= _TABLES:
        raise Failure(f"{shown} has no threads of agents: choose another one with --db.")
    if any(newest >= known for newest, known in versions):
        raise Failure(
            f"{shown} was written by a newer version of LangGraph than the one that is installed. "
            "Update that: pip install --upgrade langgraph-checkpoint-sqlite "
            "langgraph-checkpoint-postgres"
        )


def _look_at_sqlite(database: str) -> tuple[set[str], list[tuple[int, int]]]:
    """Return the names of the tables, and each newest migration with how many are known here."""
    with closing(_connect_sqlite(database)) as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {row[0] for row in rows}
        if "store_migrations" not in tables:
            return tables, []
        (newest,) = connection.execute("SELECT max(v) FROM store_migrations").fetchone()
        return tables, [(newest or 0, len(SqliteStore.MIGRATIONS))]


def _look_at_postgres(database: str) -> tuple[set[str], list[tuple[int, int]]]:
    with _connect_postgres(database) as connection:
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.store.postgres import PostgresStore

        known: Mapping[str, Any] = {
            "checkpoint_migrations": PostgresSaver,
            "store_migrations": PostgresStore,
        }
        rows = connection.execute("SELECT tablename FROM pg_tables").fetchall()
        tables = {row["tablename"] for row in rows}
        versions = []
        for table in known.keys() & tables:
            row = connection.execute(f"SELECT max(v) AS newest FROM {table}").fetchone()
            versions.append((row["newest"] or 0, len(known[table].MIGRATIONS)))
        return tables, versions


def _connect_sqlite(database: str) -> sqlite3.Connection:
    address = f"file:{quote(os.path.abspath(database))}?mode=ro"
    return sqlite3.connect(
        address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def _connect_postgres(database: str) -> Any:
    """Return a connection that can't write."""
    try:
        import psycopg
        from psycopg.rows import dict_row
    except ImportError:
        raise Failure(
            "PostgreSQL needs the extra: pip install 'langgraph-filesystem[postgres]'"
        ) from None
    return psycopg.connect(
        database,
        autocommit=True,
        prepare_threshold=0,
        row_factory=dict_row,
        connect_timeout=_BUSY_SECONDS,
        options="-c default_transaction_read_only=on",
    )
