"""What the server keeps things in: a file by default, PostgreSQL if it is named."""

import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_filesystem.persistence import checkpointer, store
from langgraph_filesystem.served import ServedSqliteSaver
from langgraph_filesystem.served_postgres import ServedPostgresSaver
from tests.databases import uri_of
from tests.graph.served_savers import agent_on, asked, config_of, writes


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a directory of our own, without what the machine has set."""
    monkeypatch.chdir(tmp_path)
    for name in ("SQLITE", "POSTGRES"):
        monkeypatch.delenv(f"LANGGRAPH_FILESYSTEM_{name}", raising=False)


async def test_by_default_it_is_a_file_beside_those_of_the_server(tmp_path: Path) -> None:
    async with checkpointer() as saver, store() as kept:
        assert isinstance(saver, ServedSqliteSaver)
        await agent_on(saver, writes("a")).ainvoke(asked("x"), config_of())
        await kept.aput(("notes",), "k", {"is": "kept"})
    assert (tmp_path / ".langgraph_api" / "filesystem.sqlite").exists()
    async with checkpointer() as saver, store() as kept:
        found = await agent_on(saver).aget_state(config_of())
        assert "/a" in found.values["files"]
        item = await kept.aget(("notes",), "k")
        assert item
        assert item.value == {"is": "kept"}


async def test_the_file_can_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "far" / "away" / "threads.sqlite"
    monkeypatch.setenv("LANGGRAPH_FILESYSTEM_SQLITE", str(file))
    async with checkpointer():
        assert file.exists()
    assert not (tmp_path / ".langgraph_api").exists()


async def test_a_database_that_is_named_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGGRAPH_FILESYSTEM_POSTGRES", uri_of(tmp_path))
    async with checkpointer() as saver, store() as kept:
        assert isinstance(saver, ServedPostgresSaver)
        await agent_on(saver, writes("a")).ainvoke(asked("x"), config_of())
        await kept.aput(("notes",), "k", {"is": "kept"})
    async with checkpointer() as saver, store() as kept:
        found = await agent_on(saver).aget_state(config_of())
        assert "/a" in found.values["files"]
        assert await kept.aget(("notes",), "k")
    assert not list(tmp_path.rglob("*.sqlite"))


def test_without_the_extra_an_error_names_it(tmp_path: Path) -> None:
    program = """
import asyncio, os, sys
os.environ["LANGGRAPH_FILESYSTEM_POSTGRES"] = "postgresql://"
sys.modules["psycopg_pool"] = None
from langgraph_filesystem.persistence import checkpointer
async def main():
    async with checkpointer(): pass
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'langgraph-filesystem[postgres]'" in done.stderr
