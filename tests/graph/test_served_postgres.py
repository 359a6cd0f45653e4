"""The PostgreSQL checkpointer of a server: it rolls back, copies and prunes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_filesystem.postgres import aopen_postgres
from langgraph_filesystem.served_postgres import ServedPostgresSaver
from tests.databases import uri_of
from tests.graph.served_savers import ServedSaverSuite, agent_on, asked, config_of, writes


class TestOnPostgres(ServedSaverSuite):
    @asynccontextmanager
    async def opened(self, path: Path) -> AsyncIterator[Any]:
        async with aopen_postgres(uri_of(path)) as (saver, _):
            yield ServedPostgresSaver.over(saver)


@pytest.mark.parametrize("method", ["adelete_thread", "adelete_for_runs", "acopy_thread", "aprune"])
def test_the_server_finds_every_method_that_it_looks_for(method: str) -> None:
    assert getattr(ServedPostgresSaver, method) is not getattr(BaseCheckpointSaver, method)


async def test_values_that_nothing_refers_to_are_deleted_too(tmp_path: Path) -> None:
    uri = uri_of(tmp_path)
    async with aopen_postgres(uri) as (saver, _):
        served = ServedPostgresSaver.over(saver)
        await agent_on(served, writes("a")).ainvoke(asked("x"), config_of(run="r1"))
        with psycopg.connect(uri) as connection:
            kept = connection.execute("SELECT count(*) FROM checkpoint_blobs").fetchone()
        await agent_on(served, writes("b")).ainvoke(asked("y"), config_of(run="r2"))
        await served.adelete_for_runs(["r2"])
        with psycopg.connect(uri) as connection:
            left = connection.execute("SELECT count(*) FROM checkpoint_blobs").fetchone()
    assert kept
    assert left
    assert left[0] <= kept[0]
