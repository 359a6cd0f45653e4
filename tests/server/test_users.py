"""Users: memories and threads are their own, with authentication and without."""

import asyncio
import copy
import importlib
import json
import pkgutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from langgraph.store.memory import InMemoryStore
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError

import langgraph_filesystem
from langgraph_filesystem import deploy
from tests.server.driving import new_thread, run, typed
from tests.server.serving import Server, configuration, serving

USERS = ["ali", "alice", "a.b@example.com", "a%2Eb@example.com", "users", "../alice", "ALICE"]
"""Names that a store might mix up: one begins another, or has what a namespace can't hold."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server with authentication."""
    auth = {"path": "tests.server.auth:auth", "disable_studio_auth": True}
    with serving(tmp_path_factory.mktemp("guarded"), config=configuration(auth=auth)) as server:
        yield server


Clients = dict[str, LangGraphClient]


@pytest.fixture
async def clients(guarded: Server) -> AsyncIterator[Clients]:
    """Yield a client for each user."""
    async with AsyncExitStack() as stack:
        yield {
            user: await stack.enter_async_context(guarded.client(authorization=f"Bearer {user}"))
            for user in USERS
        }


def secret_of(user: str) -> str:
    return f"secret-{USERS.index(user)}-of"


LOOKS = """\
ls /
ls /memories
read_file /memories/me.txt
glob **
glob *.txt path=/memories
grep secret output_mode=content
grep secret path=/memories output_mode=content
ls /memories/..
read_file /memories/../me.txt
ls /users
"""


async def test_what_a_user_remembers_no_other_user_can_see(clients: Clients) -> None:
    async def remembered(user: str) -> None:
        thread = await new_thread(clients[user])
        await run(clients[user], thread, f'write_file /memories/me.txt "{secret_of(user)} {user}"')

    async def seen(user: str) -> str:
        state = await run(clients[user], await new_thread(clients[user]), LOOKS)
        return json.dumps(state)

    await asyncio.gather(*map(remembered, USERS))
    for user, text in zip(USERS, await asyncio.gather(*map(seen, USERS)), strict=True):
        assert secret_of(user) in text
        assert [other for other in USERS if secret_of(other) in text] == [user]


CHANGES = """\
write_file /memories/other.txt mine
delete /memories/me.txt

write_file /memories/me.txt again

edit_file /memories/me.txt again changed
move /memories/me.txt /memories/moved.txt
"""


async def test_what_a_user_changes_stays_as_it_was_for_the_others(clients: Clients) -> None:
    first, *others = USERS

    async def kept(user: str) -> None:
        thread = await new_thread(clients[user])
        await run(clients[user], thread, f"write_file /memories/kept.txt {secret_of(user)}")

    await asyncio.gather(*map(kept, USERS))
    await run(clients[first], await new_thread(clients[first]), CHANGES)
    await run(clients[first], await new_thread(clients[first]), "delete /memories/kept.txt")

    async def listed(user: str) -> str:
        thread = await new_thread(clients[user])
        state = await run(clients[user], thread, "ls /memories\nread_file /memories/kept.txt")
        return json.dumps([m["content"] for m in state["messages"] if m["type"] == "tool"])

    assert "moved.txt" in await listed(first)
    for user, text in zip(others, await asyncio.gather(*map(listed, others)), strict=True):
        assert secret_of(user) in text
        assert "moved.txt" not in text
        assert "other.txt" not in text


async def test_nobody_becomes_another_user_by_saying_so(clients: Clients) -> None:
    victim, thief = "alice", "ali"
    thread = await new_thread(clients[victim])
    await run(clients[victim], thread, f"write_file /memories/safe.txt {secret_of(victim)}")
    claims: list[dict[str, Any]] = [
        {"context": {"user_id": victim}},
        {"config": {"configurable": {"user_id": victim}}},
        {"config": {"configurable": {"langgraph_auth_user_id": victim}}},
        {"config": {"configurable": {"langgraph_auth_user": {"identity": victim}}}},
        {"config": {"metadata": {"user_id": victim}}},
        {"metadata": {"user_id": victim, "owner": victim}},
    ]

    async def tried(claim: dict[str, Any]) -> str:
        thread = await new_thread(clients[thief])
        looks = "ls /memories\nread_file /memories/safe.txt\ngrep secret output_mode=content"
        state: Any = await clients[thief].runs.wait(
            thread, "agent", input=typed(looks), raise_error=False, **claim
        )
        return json.dumps(state)

    for text in await asyncio.gather(*map(tried, claims)):
        assert "messages" in text
        assert secret_of(victim) not in text


async def test_the_threads_of_a_user_are_not_there_for_the_others(clients: Clients) -> None:
    mine, theirs = clients["alice"], clients["ali"]
    thread = await new_thread(mine)
    await run(mine, thread, "write_file /a.txt hidden")
    [made] = await mine.runs.list(thread)
    tries: list[Callable[[], Awaitable[Any]]] = [
        lambda: theirs.threads.get(thread),
        lambda: theirs.threads.get_state(thread),
        lambda: theirs.threads.get_history(thread),
        lambda: theirs.threads.copy(thread),
        lambda: theirs.threads.update(thread, metadata={"owner": "ali"}),
        lambda: theirs.threads.update_state(thread, {"files": {"/a.txt": None}}),
        lambda: theirs.threads.delete(thread),
        lambda: theirs.runs.get(thread, made["run_id"]),
        lambda: theirs.runs.join(thread, made["run_id"]),
        lambda: theirs.runs.cancel(thread, made["run_id"]),
        lambda: theirs.runs.wait(thread, "agent", input=typed("read_file /a.txt")),
    ]
    for attempt in tries:
        with pytest.raises((APIStatusError, httpx.HTTPStatusError)) as refused:
            await attempt()
        assert refused.value.response.status_code in (403, 404, 409)
    found = await theirs.threads.search(limit=1_000)
    assert thread not in [item["thread_id"] for item in found]
    assert "hidden" not in json.dumps(found)
    kept: Any = await mine.threads.get_state(thread)
    assert kept["values"]["files"]["/a.txt"]["content"] == "hidden"


async def test_whoever_is_not_signed_in_sees_nothing(guarded: Server) -> None:
    async with guarded.client() as stranger:
        with pytest.raises((APIStatusError, httpx.HTTPStatusError)) as refused:
            await new_thread(stranger)
    assert refused.value.response.status_code == 401


async def test_without_authentication_the_context_says_whose_memories_they_are(
    client: LangGraphClient,
) -> None:
    async def remembered(user: str) -> None:
        context = {"user_id": user} if user else {}
        text = f'write_file /memories/me.txt "memories of <{user}>"'
        await run(client, await new_thread(client), text, context=context)

    async def recalled(user: str) -> str:
        context = {"user_id": user} if user else {}
        looks = "read_file /memories/me.txt\ngrep memories output_mode=content"
        state = await run(client, await new_thread(client), looks, context=context)
        return json.dumps([m["content"] for m in state["messages"] if m["type"] == "tool"])

    users = [*USERS, ""]
    await asyncio.gather(*map(remembered, users))
    for user, text in zip(users, await asyncio.gather(*map(recalled, users)), strict=True):
        assert [other for other in users if f"<{other}>" in text] == [user]


async def test_memories_are_the_users_whichever_assistant_is_asked(
    client: LangGraphClient,
) -> None:
    context = {"user_id": "traveller"}
    created: Any = await client.assistants.create("agent", context=context, name="other")
    await run(client, await new_thread(client), "write_file /memories/x.txt here", context=context)
    state = await run(
        client, await new_thread(client), "read_file /memories/x.txt", created["assistant_id"]
    )
    assert "here" in state["messages"][-1]["content"]


async def test_a_run_leaves_nothing_behind_in_the_process() -> None:
    graph = deploy.graph.copy(update={"store": InMemoryStore()})
    before = module_state()

    async def ran(number: int) -> Any:
        context = {"user_id": f"user-{number}", "evict_over": 1_000 + number}
        words = f"write_file /memories/me.txt {number}\n\nread_file /memories/me.txt\nls /"
        return await graph.ainvoke(typed(words), context=context)

    for number, state in enumerate(await asyncio.gather(*map(ran, range(20)))):
        [read] = [m for m in state["messages"] if getattr(m, "name", "") == "read_file"]
        assert str(number) in read.content
    assert module_state() == before


def module_state() -> dict[str, Any]:
    """Return what the modules of the package hold that could change."""
    held: dict[str, Any] = {}
    for found in pkgutil.walk_packages(langgraph_filesystem.__path__, "langgraph_filesystem."):
        if ".testing" in found.name or found.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(found.name)).items():
            if isinstance(value, dict | list | set) and not name.startswith("__"):
                held[f"{found.name}.{name}"] = copy.copy(value)
    return held
