"""What the server keeps threads and memories in: the entries `checkpointer` and `store`.

A file of SQLite by default, at `LANGGRAPH_FILESYSTEM_SQLITE` or beside what the development server
writes itself. With `LANGGRAPH_FILESYSTEM_POSTGRES`, the URI of a database, it is PostgreSQL.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from langgraph_filesystem.postgres import aopen_postgres
from langgraph_filesystem.served import ServedSqliteSaver
from langgraph_filesystem.sqlite import aopen_sqlite

__all__ = ("checkpointer", "store")

_DEFAULT = ".langgraph_api/filesystem.sqlite"
"""Below the directory of the server's process, where `langgraph dev` keeps its own files."""


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Yield the checkpointer that the environment asks for, with its tables made."""
    async with _opened() as (saver, _):
        yield saver


@asynccontextmanager
async def store() -> AsyncIterator[BaseStore]:
    """Yield the store that the environment asks for, with its tables made."""
    async with _opened() as (_, kept):
        yield kept


@asynccontextmanager
async def _opened() -> AsyncIterator[tuple[BaseCheckpointSaver[Any], BaseStore]]:
    if uri := os.environ.get("LANGGRAPH_FILESYSTEM_POSTGRES"):
        async with aopen_postgres(uri) as (saver, kept):
            from langgraph_filesystem.served_postgres import ServedPostgresSaver

            yield ServedPostgresSaver.over(saver), kept
    else:
        file = await asyncio.to_thread(_file)
        async with aopen_sqlite(file) as (saver, kept):
            yield ServedSqliteSaver.over(saver), kept


def _file() -> Path:
    """Return the path of the database, in a directory that is there."""
    file = Path(os.environ.get("LANGGRAPH_FILESYSTEM_SQLITE") or _DEFAULT).expanduser()
    file.parent.mkdir(parents=True, exist_ok=True)
    return file
