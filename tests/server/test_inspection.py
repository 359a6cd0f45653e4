"""Inspection: what the server's endpoints give Studio to draw, to edit and to follow."""

import json
from collections import Counter
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from langgraph_filesystem import deploy
from langgraph_filesystem.nodes.registry import OPERATIONS
from tests.server.driving import assistant, new_thread, run, typed

LIMIT: Any = {"recursion_limit": 100}


async def test_every_node_says_what_it_is_for_and_whether_it_changes_anything(
    client: LangGraphClient,
) -> None:
    drawn = await client.assistants.get_graph(await assistant(client), xray=True)
    nodes = {node["id"]: node.get("metadata") or {} for node in drawn["nodes"]}
    assert set(nodes) == set(deploy.graph.get_graph().nodes)
    for name in nodes.keys() - {"__start__", "__end__"}:
        assert nodes[name]["purpose"].endswith("."), name
        assert "\n" not in nodes[name]["purpose"]
        assert nodes[name]["effect"] in ("read-only", "changing")
    for name in nodes.keys() & OPERATIONS.keys():
        changes = nodes[name]["effect"] == "changing"
        assert changes is OPERATIONS[name].changes, name
    assert nodes["write_todos"]["effect"] == "read-only", "it changes no file"


async def test_every_edge_is_drawn_with_its_condition(client: LangGraphClient) -> None:
    drawn = await client.assistants.get_graph(await assistant(client), xray=True)
    edges = {(edge["source"], edge["target"]): edge.get("data") for edge in drawn["edges"]}
    local = deploy.graph.get_graph().edges
    assert set(edges) == {(edge.source, edge.target) for edge in local}
    conditional = {(e["source"], e["target"]) for e in drawn["edges"] if e.get("conditional")}
    operations = {node["id"] for node in drawn["nodes"]} & {*OPERATIONS, "write_todos"}
    # Every operation works in every mount here, and goes on to one node.
    assert {pair for pair in conditional if not edges[pair]} == {
        (source, name) for source in ("router", "review") for name in operations
    }
    assert edges["router", "review"] == "needs a person"
    assert {edge for edge in edges if edge[0] in operations} == {(n, "evict") for n in operations}
    assert edges["model", "router"] == "tool calls"
    assert edges["model", "__end__"] == "no tool calls"


async def test_the_input_is_a_chat_with_files_that_can_be_typed_in(
    client: LangGraphClient,
) -> None:
    schemas: Any = await client.assistants.get_schemas(await assistant(client))
    for given in (schemas["input_schema"], schemas["output_schema"]):
        assert set(given["properties"]) == {"messages", "files", "todos"}
        assert_typed_files(given)
    assert schemas["input_schema"]["required"] == ["messages"]
    items = schemas["input_schema"]["properties"]["messages"]["items"]
    kinds = json.dumps(items)
    assert "HumanMessage" in kinds
    assert "ToolMessage" in kinds


async def test_files_can_be_edited_in_the_state(client: LangGraphClient) -> None:
    schemas: Any = await client.assistants.get_schemas(await assistant(client))
    state = schemas["state_schema"]
    # What the agent knows and plans is shown; what LangGraph keeps for itself is not.
    channels = {"messages", "files", "seen", "routes", "decisions", "memory", "todos"}
    assert set(state["properties"]) == channels
    assert_typed_files(state)


def assert_typed_files(schema: dict[str, Any]) -> None:
    files = schema["properties"]["files"]
    assert files["type"] == "object"
    assert files["additionalProperties"] == {"$ref": "#/$defs/FileData"}
    file = schema["$defs"]["FileData"]
    assert file["required"] == ["content"]
    assert file["properties"]["content"]["type"] == "string"
    assert file["properties"]["encoding"]["enum"] == ["utf-8", "base64"]


async def test_subgraphs_are_listed(client: LangGraphClient) -> None:
    flat = await client.assistants.get_subgraphs(await assistant(client), recurse=True)
    assert flat == {}
    nested: Any = await client.assistants.get_subgraphs(
        await assistant(client, "parent"), recurse=True
    )
    assert "files" in nested["worker"]["state_schema"]["properties"]
    drawn = await client.assistants.get_graph(await assistant(client, "parent"), xray=True)
    assert {"worker:router", "worker:write_file"} <= {node["id"] for node in drawn["nodes"]}


COMMANDS = 'write_file /a.txt "one two"\ngrep one path=/ output_mode=content\n\nls /\nread_file /no'


async def test_updates_name_the_node_and_carry_small_values(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    big = {f"/big{n}.txt": "x" * 100_000 for n in range(10)}
    given = {**typed(COMMANDS), "files": big}
    nodes, sizes = [], []
    async for part in client.runs.stream(thread, "agent", input=given, stream_mode="updates"):
        if part.event == "updates":
            nodes += list(part.data)
            sizes.append(len(json.dumps(part.data)))
    assert nodes[:4] == ["prepare", "evict", "model", "router"]
    assert {"write_file", "grep", "ls", "read_file"} <= set(nodes)
    assert max(sizes) < 3_000


async def test_tokens_stream_and_every_answer_has_an_id(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    modes: Any = ["messages-tuple", "updates", "values", "debug", "tasks"]
    words: Counter[str] = Counter()
    answers: dict[str, set[str]] = {}
    async for part in client.runs.stream(thread, "agent", input=typed(COMMANDS), stream_mode=modes):
        if part.event == "messages":
            message, metadata = part.data
            if message["type"] == "AIMessageChunk" and message["content"]:
                assert metadata["langgraph_node"] == "model"
                words[message["id"]] += 1
        for message in tool_messages(part.data):
            answers.setdefault(part.event, set()).add(message["id"])
    assert max(words.values()) > 5
    assert set(answers) == {"messages", "updates", "values", "debug", "tasks"}
    assert all(len(ids) == 4 and None not in ids for ids in answers.values()), answers


def tool_messages(data: Any) -> list[dict[str, Any]]:
    """Return the tool messages in an event, wherever they are."""
    if isinstance(data, dict):
        if data.get("type") == "tool" and "tool_call_id" in data:
            return [data]
        return [found for value in data.values() for found in tool_messages(value)]
    if isinstance(data, list):
        return [found for value in data for found in tool_messages(value)]
    return []


async def test_progress_is_on_the_custom_stream(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    command = typed('execute "echo one; sleep 0.3; echo two"')
    stream = client.runs.stream(thread, "shell", input=command, stream_mode="custom")
    heard = [part.data async for part in stream if part.event == "custom"]
    assert {event["operation"] for event in heard} == {"execute"}
    assert "one" in json.dumps(heard[0])
    assert "two" in json.dumps(heard)


@pytest.mark.parametrize("graph", ["agent", "parent"])
async def test_45_turns_fit_into_a_limit_of_100(client: LangGraphClient, graph: str) -> None:
    turns = "\n\n".join(f"write_file /{n}.txt x" for n in range(45))
    state = await run(client, await new_thread(client), turns, graph, config=LIMIT)
    assert len(tool_messages(state["messages"])) == 45
    assert len(state["files"]) == 45
