"""A conversation that is summarized, on a real server."""

from typing import Any

from langgraph_sdk.client import LangGraphClient

from tests.server.driving import new_thread, run


async def test_a_long_run_is_summarized_and_its_history_is_kept(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    state = await run(client, thread, "Do every step.", "summarizing")
    path = f"/conversation_history/{thread}.md"
    first = state["messages"][0]
    assert first["additional_kwargs"]["summarized_to"] == [path]
    assert "Notes: everything up to c" in first["content"]
    history = state["files"][path]["content"]
    assert "Do every step." in history
    assert "Calls `write_file` (c1):" in history
    states: Any = await client.threads.get_history(thread, limit=1_000)
    begun = next(
        s for s in states if s["next"] == ["summarize"] and path not in s["values"]["files"]
    )
    texts = [str(message["content"]) for message in begun["values"]["messages"]]
    assert texts[0] == "Do every step.", "what a checkpoint before it held is still there"


async def test_the_summary_is_a_node_of_the_drawing(client: LangGraphClient) -> None:
    found: Any = await client.assistants.search(graph_id="summarizing")
    drawn: Any = await client.assistants.get_graph(found[0]["assistant_id"])
    edges = {(edge["source"], edge["target"]) for edge in drawn["edges"]}
    assert {("evict", "summarize"), ("summarize", "model")} <= edges
    assert ("evict", "model") not in edges
