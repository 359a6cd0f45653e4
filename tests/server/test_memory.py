"""Memory and skills over the server: each user's own, told to the model in every thread."""

import json
from typing import Any

from langgraph_sdk.client import LangGraphClient

from tests.server.driving import new_thread, run


async def heard(client: LangGraphClient, user: str) -> str:
    """Return the system message of a model that the deployed graph asks for a user."""
    context = {"user_id": user, "model": "openai:gpt-listener"}
    state = await run(client, await new_thread(client), "hello", context=context)
    return str(json.loads(state["messages"][-1]["content"])["system"])


async def test_the_deployed_graph_tells_the_model_what_its_user_keeps(
    client: LangGraphClient,
) -> None:
    for user in ("mia", "leo"):
        text = f'write_file /memories/AGENTS.md "My name is {user}."'
        await run(client, await new_thread(client), text, context={"user_id": user})
    for user, other in (("mia", "leo"), ("leo", "mia")):
        system = await heard(client, user)
        assert f"My name is {user}." in system
        assert f"My name is {other}." not in system
    assert "`/memories/AGENTS.md` does not exist yet." in await heard(client, "nobody")


async def test_a_thread_shows_its_memory_and_skills_in_studio_and_does_not_return_them(
    client: LangGraphClient,
) -> None:
    context, thread = {"user_id": "zoe"}, await new_thread(client)
    await run(client, thread, "write_file /memories/AGENTS.md tea", context=context)
    state = await run(client, thread, "edit_file /memories/AGENTS.md tea milk", context=context)
    assert "memory" not in state
    kept: Any = await client.threads.get_state(thread)
    assert kept["values"]["memory"] == {"/memories/AGENTS.md": {"text": "milk"}}
    head = "---\\nname: tidy\\ndescription: Tidies up.\\n---\\n"
    thread = await new_thread(client)
    await run(client, thread, f'write_file /disk/skills/tidy/SKILL.md "{head}"', "disk")
    state = await run(client, thread, "ls /", "disk")
    assert "skills" not in state
    kept = await client.threads.get_state(thread)
    assert kept["values"]["skills"] == [
        {"name": "tidy", "description": "Tidies up.", "path": "/disk/skills/tidy/SKILL.md"}
    ]
