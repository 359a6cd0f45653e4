"""One server for most of the tests: to start one takes seconds."""

import json
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from tests.server.providers import Provider, Reply, Request, providing
from tests.server.serving import Server, configuration, serving

ROOTS = ("root-one", "root-two")
OWN = (
    "disk",
    "shell",
    "parent",
    "reviewed",
    "reviewed_parent",
    "stopping_parent",
    "summarizing",
    "team",
)
GRAPHS = {
    **configuration()["graphs"],
    **{name: f"tests.server.graphs:{name}" for name in OWN},
}


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    """Yield a provider whose models say what they were told and offered."""
    with providing(lambda request: Reply(json.dumps(_heard(request)))) as started:
        yield started


def _heard(request: Request) -> dict[str, Any]:
    tools = [tool["function"]["name"] for tool in request.get("tools") or ()]
    said = [str(m["content"]) for m in request["messages"] if m["role"] == "system"]
    return {"model": request["model"], "system": "".join(said), "tools": tools}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Server]:
    """Yield the deployed graph on a server, beside graphs of the tests."""
    directory = tmp_path_factory.mktemp("server")
    (directory / "disk").mkdir()
    for root in ROOTS:
        (directory / root).mkdir()
    with serving(
        directory,
        config=configuration(graphs=GRAPHS),
        TEST_DISK=str(directory / "disk"),
        LANGGRAPH_FILESYSTEM_ROOTS=os.pathsep.join(str(directory / root) for root in ROOTS),
        OPENAI_API_KEY="none",
        OPENAI_BASE_URL=f"{provider.url}/v1",
    ) as started:
        yield started


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    """Yield a client of the server, for one test."""
    async with server.client() as opened:
        yield opened
