"""The SQLite checkpointer of a server: it rolls back, copies and prunes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_filesystem.served import ServedSqliteSaver
from langgraph_filesystem.sqlite import aopen_sqlite, open_sqlite
from tests.graph.served_savers import ServedSaverSuite, agent_on, asked, config_of, writes


@asynccontextmanager
async def served(path: Path) -> AsyncIterator[ServedSqliteSaver]:
    async with aopen_sqlite(path) as (saver, _):
        yield ServedSqliteSaver.over(saver)


class TestOnSqlite(ServedSaverSuite):
    def opened(self, path: Path) -> Any:
        return served(path)


class TestOnAFileOfLangGraphs(ServedSaverSuite):
    """A file that LangGraph's own saver made has other tables."""

    @asynccontextmanager
    async def opened(self, path: Path) -> AsyncIterator[Any]:
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(str(path)) as saver:
            saver.setup()
        async with served(path) as opened:
            yield opened


@pytest.mark.parametrize("method", ["adelete_thread", "adelete_for_runs", "acopy_thread", "aprune"])
def test_the_server_finds_every_method_that_it_looks_for(method: str) -> None:
    assert getattr(ServedSqliteSaver, method) is not getattr(BaseCheckpointSaver, method)


async def test_versions_are_text_outside_and_numbers_in_the_file(tmp_path: Path) -> None:
    async with served(tmp_path / "db") as saver:
        await agent_on(saver, writes("a")).ainvoke(asked("x"), config_of())
        found = await saver.aget_tuple(config_of())
        assert found
        versions = found.checkpoint["channel_versions"].values()
        assert all(isinstance(version, str) for version in versions)
    with open_sqlite(tmp_path / "db") as (plain, _):
        stored = plain.get_tuple(config_of())
        assert stored
        versions = stored.checkpoint["channel_versions"].values()
        assert all(isinstance(version, int) for version in versions)
        text = str(plain.serde.dumps_typed(stored.checkpoint))
        assert "000000" not in text


@pytest.mark.parametrize("first", ["served", "plain"])
async def test_a_thread_goes_on_with_and_without_a_server(tmp_path: Path, first: str) -> None:
    async def here(name: str) -> Any:
        async with served(tmp_path / "db") as saver:
            return await agent_on(saver, writes(name)).ainvoke(asked(name), config_of())

    def there(name: str) -> Any:
        with open_sqlite(tmp_path / "db") as (saver, _):
            return agent_on(saver, writes(name)).invoke(asked(name), config_of())

    if first == "plain":
        there("zero")
    await here("one")
    there("two")
    state = await here("three")
    expected = {"/one", "/two", "/three"} | ({"/zero"} if first == "plain" else set())
    assert set(state["files"]) == expected
    assert len(state["messages"]) == 4 * len(expected)
