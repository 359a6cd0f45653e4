"""PostgreSQL: an agent's threads and store, from many processes at once."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.persistence.postgres import aopen_postgres, open_postgres
from tests import forked
from tests.databases import uri_of
from tests.scripted import ScriptedModel, answers, call, says

PROCESSES, THREADS, EDITS = 4, 10, 3


def script(name: str) -> list[Any]:
    """Write a file of the thread's own, and edit it several times."""
    edits = [
        call("edit_file", f"e{n}", file_path="/f", old_string="<", new_string=f"{n}<")
        for n in range(EDITS)
    ]
    return [says(call("write_file", "w", file_path="/f", content=f"{name}:<")), says(*edits)]


def begin(uri: str) -> None:
    with open_postgres(uri):
        pass


def work(uri: str, process: int) -> None:
    """Run all threads of one process at once."""
    asyncio.run(awork(uri, process))


async def awork(uri: str, process: int) -> None:
    async with aopen_postgres(uri, connections=4) as (checkpointer, store):

        async def one(thread: str) -> None:
            agent = create_filesystem_agent(
                ScriptedModel(script(thread)), checkpointer=checkpointer, store=store
            )
            config: Any = {"configurable": {"thread_id": thread}}
            await agent.ainvoke({"messages": [HumanMessage(thread)]}, config)

        await asyncio.gather(*(one(f"{process}-{thread}") for thread in range(THREADS)))


def test_processes_that_begin_at_once_on_an_empty_database_all_find_its_tables(
    tmp_path: Path,
) -> None:
    uri = uri_of(tmp_path, template="template0")
    forked.run_at_once(begin, *[(uri,)] * PROCESSES)


def test_processes_with_many_threads_each_lose_and_mix_nothing(tmp_path: Path) -> None:
    uri = uri_of(tmp_path)
    forked.run_at_once(work, *((uri, number) for number in range(PROCESSES)))
    with open_postgres(uri) as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(), checkpointer=checkpointer)
        for name in (f"{p}-{t}" for p in range(PROCESSES) for t in range(THREADS)):
            state = agent.get_state({"configurable": {"thread_id": name}})
            assert state.next == ()
            assert state.values["messages"][0].text == name
            assert state.values["files"]["/f"]["content"] == f"{name}:012<"
            assert len(answers(state.values)) == 1 + EDITS


def test_a_thread_goes_on_after_the_database_is_opened_again(tmp_path: Path) -> None:
    uri = uri_of(tmp_path)
    config: Any = {"configurable": {"thread_id": "1"}}
    for content in ("one", "two"):
        turn = says(call("write_file", file_path=f"/{content}", content=content))
        with open_postgres(uri) as (checkpointer, store):
            agent = create_filesystem_agent(
                ScriptedModel([turn]), checkpointer=checkpointer, store=store
            )
            state = agent.invoke({"messages": [HumanMessage("go")]}, config)
    assert set(state["files"]) == {"/one", "/two"}


async def test_the_store_keeps_what_it_is_given(tmp_path: Path) -> None:
    uri = uri_of(tmp_path)
    async with aopen_postgres(uri) as (_, store):
        await store.aput(("users", "1"), "name", {"is": "Ada"})
    with open_postgres(uri) as (_, store):
        item = store.get(("users", "1"), "name")
        assert item is not None
        assert item.value == {"is": "Ada"}


@pytest.mark.parametrize("function", ["open_postgres", "aopen_postgres"])
def test_without_the_extra_an_error_names_it(function: str) -> None:
    program = f"""
import sys, json, asyncio
sys.modules["psycopg_pool"] = None
from langgraph_filesystem.persistence import postgres
async def aopen():
    async with postgres.aopen_postgres("postgresql://"): pass
try:
    if "{function}" == "open_postgres":
        with postgres.open_postgres("postgresql://"): pass
    else:
        asyncio.run(aopen())
except ImportError as error:
    print(json.dumps(str(error)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "langgraph-filesystem[postgres]" in json.loads(done.stdout)
