"""Memories of the deployed graph: of one user, in all threads, in the store of a real database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem import deploy
from langgraph_filesystem.deploy import AgentContext
from tests import databases
from tests.databases import aopen_database, open_database
from tests.graph.runs import Runs
from tests.scripted import answers


class Users:
    """People who type commands to the deployed graph."""

    def __init__(self, persistence: Any, awaited: bool) -> None:
        update = {"checkpointer": persistence.checkpointer, "store": persistence.store}
        self.graph = deploy.graph.copy(update=update)
        self.store = persistence.store
        self._runs = Runs(persistence.checkpointer, awaited)

    async def memory(self, thread: str) -> dict[str, Any]:
        """Return what the model is told of memory in a thread."""
        config = {"configurable": {"thread_id": thread}}
        state = await self._runs.state(self.graph, config)
        return dict(state.values["memory"])

    async def types(self, user: str, thread: str, commands: str) -> list[str]:
        """Return the answers to the commands."""
        given = {"messages": [{"role": "user", "content": commands}]}
        config = {"configurable": {"thread_id": thread}}
        before = (await self._runs.state(self.graph, config)).values
        context = AgentContext(user_id=user)
        after = await self._runs.invoke(self.graph, given, config, context=context)
        known = len(answers(before)) if before else 0
        return [str(answer.text) for answer in answers(after)][known:]


@asynccontextmanager
async def opened(path: Path, awaited: bool) -> AsyncIterator[Users]:
    if awaited:
        async with aopen_database(path) as persistence:
            yield Users(persistence, awaited)
    else:
        with open_database(path) as persistence:
            yield Users(persistence, awaited)


@pytest.fixture(params=databases.BOTH_WAYS, ids=" on ".join)
async def users(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Users]:
    how, kind = request.param
    with databases.choose(kind):
        path = databases.emptied(tmp_path / "db")
        async with opened(path, how == "awaited") as found:
            yield found


async def test_what_a_user_keeps_is_in_all_threads_of_that_user_only(users: Users) -> None:
    await users.types("ann", "1", "write_file /memories/likes.md tea\nwrite_file /note.md here")
    await users.types("bob", "2", "write_file /memories/likes.md coffee")
    assert await users.types("ann", "3", "ls /memories\nls /") == [
        "/memories/likes.md",
        "/memories/",
    ]
    [ann] = await users.types("ann", "3", "read_file /memories/likes.md")
    [bob] = await users.types("bob", "4", "read_file /memories/likes.md")
    assert ("tea" in ann, "coffee" in ann) == (True, False)
    assert ("tea" in bob, "coffee" in bob) == (False, True)
    [searched, tea] = await users.types("bob", "4", "grep coffee /memories\ngrep tea /memories")
    assert "/memories/likes.md" in searched
    assert "/memories/likes.md" not in tea
    assert await users.types("eve", "5", "ls /memories") == ["/memories is empty."]


async def test_the_model_is_told_what_its_user_keeps_in_every_thread(users: Users) -> None:
    path = "/memories/AGENTS.md"
    await users.types("ann", "1", f"write_file {path} tea")
    await users.types("ann", "2", f"ls /\n\nedit_file {path} tea milk")
    await users.types("bob", "3", "ls /")
    await users.types("ann", "4", "ls /")
    told = [await users.memory(thread) for thread in "1234"]
    assert told == [{path: {"text": "tea"}}, {path: {"text": "milk"}}, {path: {}}, told[1]]


async def test_each_operation_does_to_memories_what_it_does_to_files(users: Users) -> None:
    await users.types("ann", "1", 'write_file /memories/deep/er/a.md "one\\ntwo\\nthree"')
    await users.types("ann", "2", "read_file /memories/deep/er/a.md")
    [edited] = await users.types("ann", "2", "edit_file /memories/deep/er/a.md two TWO")
    assert "/memories/deep/er/a.md" in edited
    found = await users.types(
        "ann", "3", "grep TWO /memories\nglob /memories/**/*.md\nls /memories\nls /memories/deep"
    )
    assert found == [
        "/memories/deep/er/a.md",
        "/memories/deep/er/a.md",
        "/memories/deep/",
        "/memories/deep/er/",
    ]
    # Into the thread and back, under other names.
    await users.types("ann", "3", "move /memories/deep/er/a.md /b.md")
    await users.types("ann", "3", "move /b.md /memories/c.md")
    [read] = await users.types("ann", "4", "read_file /memories/c.md")
    assert ["one" in read, "TWO" in read, "three" in read] == [True] * 3
    await users.types("ann", "4", "delete /memories/c.md")
    assert await users.types("ann", "5", "ls /memories") == ["/memories is empty."]


async def test_calls_of_one_message_all_land(users: Users) -> None:
    writes = "\n".join(f"write_file /memories/f{n:02}.md {n}-ü" for n in range(12))
    edits = "\n".join(f"edit_file /memories/f00.md {n}-ü {n + 1}-ü" for n in range(5))
    await users.types("ann", "1", f"{writes}\n\n{edits}")
    [listed] = await users.types("ann", "2", "ls /memories")
    assert listed.splitlines() == [f"/memories/f{n:02}.md" for n in range(12)]
    [read] = await users.types("ann", "2", "read_file /memories/f00.md")
    assert "5-ü" in read


async def test_a_memory_that_changed_in_another_thread_must_be_read_again(users: Users) -> None:
    await users.types("ann", "1", "write_file /memories/a.md one")
    await users.types("ann", "2", "read_file /memories/a.md\n\nedit_file /memories/a.md one two")
    [refused] = await users.types("ann", "1", "edit_file /memories/a.md one three")
    assert "changed since" in refused
    [read] = await users.types("ann", "1", "read_file /memories/a.md")
    assert "two" in read


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("awaited", [False, True])
async def test_memories_are_there_when_the_database_is_opened_again(
    tmp_path: Path, awaited: bool
) -> None:
    path = databases.emptied(tmp_path / "db")
    async with opened(path, awaited) as users:
        await users.types("ann", "1", "write_file /memories/a.md kept")
    async with opened(path, not awaited) as users:
        [read] = await users.types("ann", "2", "read_file /memories/a.md")
        assert "kept" in read
