"""Review over a real server, with the replies that web interfaces send."""

from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from tests.server.driving import new_thread, run, typed

APPROVE = {"type": "approve"}


async def asked(client: LangGraphClient, thread: str) -> list[Any]:
    """Return the calls that the person is asked about."""
    state: Any = await client.threads.get_state(thread)
    (interrupt,) = (i for task in state["tasks"] for i in task["interrupts"])
    assert set(interrupt["value"]) == {"action_requests", "review_configs"}
    return list(interrupt["value"]["action_requests"])


async def resume(
    client: LangGraphClient, thread: str, graph: str, value: Any, **options: Any
) -> dict[str, Any]:
    """Reply to the request, and return the state."""
    state = await client.runs.wait(thread, graph, command={"resume": value}, **options)
    assert isinstance(state, dict)
    return state


def contents(state: Any) -> dict[str, str]:
    return {path: file["content"] for path, file in state.get("files", {}).items()}


@pytest.mark.parametrize("graph", ["reviewed", "reviewed_parent"])
async def test_deep_agents_ui_sends_one_decision_at_a_time(
    client: LangGraphClient, graph: str
) -> None:
    """It finds the request of a call by the name of its tool, and always sends one decision."""
    thread = await new_thread(client)
    await run(client, thread, "write_file /a one\nwrite_file /b two\ndelete /old", graph)
    assert len(await asked(client, thread)) == 3
    state = await resume(client, thread, graph, {"decisions": [{"type": "approve"}]})
    assert contents(state) == {}
    replies: list[Any] = [
        {"decisions": [{"type": "approve"}]},
        {
            "decisions": [
                {
                    "type": "edit",
                    "edited_action": {
                        "name": "write_file",
                        # Its text fields turn every argument that is not a list into text.
                        "args": {"file_path": "/c", "content": "three", "overwrite": "false"},
                    },
                }
            ]
        },
        {"decisions": [{"type": "reject", "message": "Keep it."}]},
    ]
    for reply in replies:
        assert len(await asked(client, thread)) == 1
        state = await resume(client, thread, graph, reply)
    assert contents(state) == {"/a": "one", "/c": "three"}
    told = [m["content"] for m in state["messages"] if m["type"] == "tool"]
    assert sum("They say: Keep it." in text for text in told) == 1
    assert sum("A person changed this call" in text for text in told) == 1


async def test_agent_chat_ui_sends_all_decisions_beside_an_empty_input(
    client: LangGraphClient,
) -> None:
    thread = await new_thread(client)
    await run(client, thread, "write_file /a one\nwrite_file /b two\nls /x", "reviewed")
    assert [action["args"]["file_path"] for action in await asked(client, thread)] == ["/a", "/b"]
    edited = {"name": "write_file", "args": {"file_path": "/b", "content": "2"}}
    reply = {"decisions": [APPROVE, {"type": "edit", "edited_action": edited}]}
    state = await resume(client, thread, "reviewed", reply, input={})
    assert contents(state) == {"/a": "one", "/b": "2"}


async def test_files_edited_in_the_interface_while_a_request_is_open_are_kept(
    client: LangGraphClient,
) -> None:
    thread = await new_thread(client)
    await run(client, thread, "write_file /a one", "reviewed")
    await client.threads.update_state(thread, {"files": {"/by-hand": "h"}})
    state = await resume(client, thread, "reviewed", {"decisions": [APPROVE]})
    assert contents(state) == {"/a": "one", "/by-hand": "h"}


async def test_a_thread_that_is_marked_as_resolved_takes_a_new_message(
    client: LangGraphClient,
) -> None:
    thread = await new_thread(client)
    await run(client, thread, "write_file /a one", "reviewed")
    await client.runs.wait(thread, "reviewed", command={"goto": "__end__"})
    state = await run(client, thread, "ls /", "reviewed")
    assert contents(state) == {}
    cancelled = [m for m in state["messages"] if m["type"] == "tool" and m["status"] == "error"]
    assert len(cancelled) == 1


async def test_an_assistant_can_ask_for_reviews(client: LangGraphClient) -> None:
    context: Any = {"interrupt_on": ["write_file"]}
    made: Any = await client.assistants.create("agent", context=context, name="careful")
    careful = str(made["assistant_id"])
    thread = await new_thread(client)
    await client.runs.wait(thread, careful, input=typed("write_file /a.txt one\nls /memories"))
    assert "+one" in (await asked(client, thread))[0]["description"]
    state = await resume(client, thread, careful, {"decisions": [APPROVE]})
    assert contents(state) == {"/a.txt": "one"}
    plain = await run(client, await new_thread(client), "write_file /a.txt one")
    assert contents(plain) == {"/a.txt": "one"}
