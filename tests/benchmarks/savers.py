"""Where the contestants keep their threads."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from langgraph.types import Checkpointer

from langgraph_filesystem import open_sqlite

__all__ = (
    "Opener",
    "database_bytes",
    "open_no_saver",
    "open_saver",
    "write_back",
)

Opener = Callable[[Path], AbstractContextManager[Checkpointer]]
"""Opens a saver on a database file."""


@contextmanager
def open_no_saver(path: Path) -> Iterator[Checkpointer]:
    """Keep nothing."""
    yield None


@contextmanager
def open_saver(path: Path) -> Iterator[Checkpointer]:
    """Open LangGraph's `SqliteSaver`, tuned as `open_sqlite` tunes it, for every contestant."""
    with open_sqlite(path) as (checkpointer, _):
        yield checkpointer


def database_bytes(path: Path) -> int:
    """Return the size of a database, with its write-ahead log written back to it."""
    write_back(path)
    return path.stat().st_size


def write_back(path: Path) -> None:
    """Write the log of a database back to it."""
    with closing(sqlite3.connect(path)) as connection:
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not busy, f"{path} is in use"
