"""Where the contestants keep their threads."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Checkpointer

from langgraph_filesystem import open_sqlite

__all__ = (
    "Opener",
    "database_bytes",
    "open_no_saver",
    "open_our_sqlite",
    "open_plain_sqlite",
    "write_back",
)

Opener = Callable[[Path], AbstractContextManager[Checkpointer]]
"""Opens a saver on a database file."""


@contextmanager
def open_no_saver(path: Path) -> Iterator[Checkpointer]:
    """Keep nothing."""
    yield None


@contextmanager
def open_our_sqlite(path: Path) -> Iterator[Checkpointer]:
    """Open the saver that the package offers."""
    with open_sqlite(path) as (checkpointer, _):
        yield checkpointer


@contextmanager
def open_plain_sqlite(path: Path) -> Iterator[Checkpointer]:
    """Open LangGraph's saver with the pragmas that ours has: the default waits for the disk."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        yield SqliteSaver(connection)


def database_bytes(path: Path) -> int:
    """Return the size of a database, with its write-ahead log written back to it."""
    write_back(path)
    return path.stat().st_size


def write_back(path: Path) -> None:
    """Write the log of a database back to it."""
    with closing(sqlite3.connect(path)) as connection:
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not busy, f"{path} is in use"
