"""Configuration per assistant: what can be chosen, what is refused, and that choices differ."""

import asyncio
import json
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from langgraph_filesystem.deploy import AgentContext
from tests.server.driving import assistant, new_thread, run, typed
from tests.server.serving import Server

FIELDS = ["model", "system_prompt", "evict_over", "operations", "interrupt_on", "todos"]
FIELDS += ["root", "user_id"]


async def test_studio_is_told_what_can_be_chosen(client: LangGraphClient) -> None:
    schemas: Any = await client.assistants.get_schemas(await assistant(client))
    for schema in (schemas["context_schema"], AgentContext.model_json_schema()):
        fields = schema["properties"]
        assert list(fields) == FIELDS
        assert "required" not in schema
        for name, field in fields.items():
            assert field["title"], name
            assert field["description"].endswith("."), name
            assert field["langgraph_nodes"], name
        assert fields["system_prompt"]["langgraph_type"] == "prompt"
        assert fields["system_prompt"]["langgraph_nodes"] == ["model"]
        assert fields["system_prompt"]["type"] == "string"


async def made(client: LangGraphClient, **context: Any) -> str:
    """Make an assistant with choices of its own."""
    created: Any = await client.assistants.create("agent", context=context, name="chosen")
    return str(created["assistant_id"])


async def test_two_assistants_of_one_graph_differ(client: LangGraphClient) -> None:
    pirate = await made(
        client,
        model="openai:gpt-pirate",
        system_prompt="Talk like a pirate.",
        operations=["ls", "read_file"],
        todos=False,
    )
    poet = await made(client, model="openai:gpt-poet", system_prompt="Answer in verse.")

    async def heard(graph: str) -> Any:
        state = await run(client, await new_thread(client), "hello", graph)
        return json.loads(state["messages"][-1]["content"])

    one, other, again = await asyncio.gather(heard(pirate), heard(poet), heard(pirate))
    assert one == again
    assert one["model"] == "gpt-pirate"
    assert "Talk like a pirate." in one["system"]
    assert one["tools"] == ["ls", "read_file"]
    assert "`grep`" not in one["system"]
    assert other["model"] == "gpt-poet"
    assert "Answer in verse." in other["system"]
    assert "pirate" not in other["system"]
    assert {"grep", "write_file", "edit_file"} < set(other["tools"])


async def test_a_run_may_choose_differently_from_its_assistant(client: LangGraphClient) -> None:
    reader = await made(client, operations=["ls"])
    thread = await new_thread(client)
    refused = await run(client, thread, "write_file /a.txt x", reader)
    assert "there is no command `write_file`" in refused["messages"][-1]["content"]
    given = {"operations": ["write_file"]}
    state = await run(client, thread, "write_file /a.txt x", reader, context=given)
    assert "/a.txt" in state["files"]


async def test_an_assistant_keeps_a_list_of_steps_unless_it_is_told_not_to(
    client: LangGraphClient,
) -> None:
    command = """write_todos '[{"content": "plan", "status": "pending"}]'"""
    state = await run(client, await new_thread(client), command)
    assert state["todos"] == [{"content": "plan", "status": "pending"}]
    without = await made(client, todos=False)
    refused = await run(client, await new_thread(client), command, without)
    assert "there is no command `write_todos`" in refused["messages"][-1]["content"]


async def test_an_operation_that_was_not_allowed_is_refused_if_it_is_called(
    client: LangGraphClient,
) -> None:
    reader = await made(client, operations=["ls"])
    calls = [{"id": "c1", "name": "write_file", "args": {"file_path": "/a.txt", "content": "x"}}]
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    thread = str((await client.threads.create(graph_id="agent"))["thread_id"])
    await client.threads.update_state(thread, {"messages": [message]}, as_node="evict")
    state: Any = await client.runs.wait(thread, reader, input=None)
    [answer] = [m for m in state["messages"] if m["type"] == "tool"]
    assert answer["status"] == "error"
    assert "There are: ls, write_todos." in answer["content"]
    assert state.get("files", {}) == {}


async def test_the_eviction_limit_is_the_assistants(client: LangGraphClient) -> None:
    strict, words = await made(client, evict_over=200), "x " * 2_000

    async def evicted(graph: str) -> list[str]:
        given = typed(f"ls /\n{words}")
        thread = await new_thread(client)
        state: Any = await client.runs.wait(thread, graph, input=given)
        return [path for path in state.get("files", {}) if "/large_tool_results/" in path]

    assert await evicted("agent") == []
    assert len(await evicted(strict)) == 1


async def test_a_root_that_is_permitted_is_mounted_at_workspace(
    client: LangGraphClient, server: Server
) -> None:
    one = await made(client, root=str(server.directory / "root-one"))
    two = await made(client, root=str(server.directory / "root-two"))
    thread = await new_thread(client)
    await run(client, thread, "write_file /workspace/a.txt one", one)
    await run(client, thread, "write_file /workspace/b.txt two", two)
    state = await run(client, thread, "write_file /workspace/c.txt three\n\nls /workspace")
    assert (server.directory / "root-one" / "a.txt").read_text() == "one"
    assert (server.directory / "root-two" / "b.txt").read_text() == "two"
    assert set(state["files"]) == {"/workspace/c.txt"}, "without a root it is in the thread"
    listed = await run(client, thread, "ls /workspace", one)
    assert "/workspace/a.txt" in listed["messages"][-1]["content"]
    assert str(server.directory) not in json.dumps(listed["messages"])


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"modle": "openai:gpt-5"}, "`modle`: there is no such field"),
    ({"evict_over": 0}, "`evict_over`: Input should be greater than or equal to 1"),
    ({"evict_over": "many"}, "`evict_over`: Input should be a valid integer"),
    ({"evict_over": True}, "`evict_over`: it must be a number of tokens"),
    ({"operations": ["fly"]}, "`operations.0`: Input should be 'ls'"),
    ({"operations": "ls"}, "`operations`: Input should be a valid tuple"),
    ({"operations": ["execute"]}, "operations that this graph does not have: execute"),
    ({"model": "nonsense"}, "The model 'nonsense' can't be used"),
    ({"model": 5}, "`model`: Input should be a valid string"),
    ({"system_prompt": ["x"]}, "`system_prompt`: Input should be a valid string"),
    ({"root": "/"}, "`root`: this deployment does not permit '/'"),
    ({"root": "../root-one"}, "`root`: this deployment does not permit"),
    ({"user_id": "x" * 201}, "`user_id`: String should have at most 200 characters"),
]


async def test_what_is_unknown_or_wrong_is_refused_at_the_start(client: LangGraphClient) -> None:
    async def error_of(context: dict[str, Any], by: str) -> str:
        thread = await new_thread(client)
        options: Any = {"context": context} if by == "run" else {}
        graph = "agent" if by == "run" else await made(client, **context)
        given = typed("write_file /a.txt x")
        state: Any = await client.runs.wait(
            thread, graph, input=given, raise_error=False, **options
        )
        [run] = await client.runs.list(thread)
        assert run["status"] == "error"
        assert "files" not in state
        return f"{state['__error__']['error']}: {state['__error__']['message']}"

    for by in ("run", "assistant"):
        errors = await asyncio.gather(*(error_of(context, by) for context, _ in WRONG))
        for (context, expected), error in zip(WRONG, errors, strict=True):
            assert error.startswith("ValueError"), (context, error)
            assert expected in error, (context, error)


@pytest.mark.parametrize("given", [{"operations": ["ls"]}, {"opperations": ["ls"]}])
async def test_older_clients_that_send_configurable_are_checked_too(
    client: LangGraphClient, given: dict[str, Any]
) -> None:
    thread = await new_thread(client)
    state: Any = await client.runs.wait(
        thread,
        "agent",
        input=typed("write_file /a.txt x"),
        config={"configurable": {**given, "thread_id": thread}},
        raise_error=False,
    )
    if "operations" in given:
        assert "there is no command `write_file`" in state["messages"][-1]["content"]
    else:
        assert "`opperations`: there is no such field" in state["__error__"]["message"]
