"""What tests need to drive the graphs of a server."""

from typing import Any

from langgraph_sdk.client import LangGraphClient


def typed(commands: str) -> dict[str, Any]:
    """Return the input of a run on `CommandModel`."""
    return {"messages": [{"role": "user", "content": commands}]}


async def assistant(client: LangGraphClient, graph: str = "agent") -> str:
    """Return the id of the assistant that the server makes for a graph."""
    found: Any = await client.assistants.search(graph_id=graph, metadata={"created_by": "system"})
    return str(found[0]["assistant_id"])


async def new_thread(client: LangGraphClient) -> str:
    """Make a thread and return its id."""
    return str((await client.threads.create())["thread_id"])


async def run(
    client: LangGraphClient, thread: str, commands: str, graph: str = "agent", **options: Any
) -> dict[str, Any]:
    """Run commands in a thread and return the state; raise if the run fails."""
    state = await client.runs.wait(thread, graph, input=typed(commands), **options)
    assert isinstance(state, dict)
    return state
