"""PostgreSQL's savers: threads that they pruned can be read by LangGraph's own."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_filesystem.postgres import aopen_postgres, open_postgres
from langgraph_filesystem.postgres_savers import AsyncPrunablePostgresSaver, PrunablePostgresSaver
from tests.databases import uri_of
from tests.graph.runs import THREAD, agent
from tests.scripted import call

GO: Any = {"messages": [("user", "go")]}


def writing(saver: Any) -> Any:
    turns = [call("write_file", file_path=f"/f{n}", content=str(n)) for n in range(3)]
    return agent(*turns, checkpointer=saver)


@pytest.mark.parametrize("method", ["delete_thread", "delete_for_runs", "copy_thread", "prune"])
def test_every_method_that_langgraph_names_is_there(method: str) -> None:
    there = getattr(PrunablePostgresSaver, method)
    assert there is not getattr(BaseCheckpointSaver, method)
    awaited = getattr(AsyncPrunablePostgresSaver, f"a{method}")
    assert awaited is not getattr(BaseCheckpointSaver, f"a{method}")


def test_langgraphs_own_saver_goes_on_with_a_pruned_thread(tmp_path: Path) -> None:
    uri = uri_of(tmp_path)
    with open_postgres(uri) as (saver, _):
        assert isinstance(saver, PostgresSaver)
        writing(saver).invoke(GO, THREAD)
        before = writing(saver).get_state(THREAD).values
        saver.prune(["1"])
        assert len(list(saver.list(THREAD))) == 1
    with PostgresSaver.from_conn_string(uri) as plain:
        assert writing(plain).get_state(THREAD).values == before
        more = agent(call("write_file", file_path="/more", content="m"), checkpointer=plain)
        state = more.invoke(GO, THREAD)
    assert state["files"].keys() == {*before["files"], "/more"}


async def test_the_saver_that_is_awaited_lists_states_only(tmp_path: Path) -> None:
    async with aopen_postgres(uri_of(tmp_path)) as (saver, _):
        assert isinstance(saver, AsyncPostgresSaver)
        await writing(saver).ainvoke(GO, THREAD)
        await saver.aprune(["1"])
        [listed] = [found async for found in saver.alist(THREAD)]
        found = await saver.aget_tuple(THREAD)
    assert found == listed
