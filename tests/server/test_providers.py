"""Real provider clients on our operations, against loopback servers with scripted replies."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anthropic
import jsonschema_rs
import openai
import pytest
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr
from typing_extensions import TypedDict

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.nodes.registry import OPERATIONS
from tests.scripted import answers
from tests.server.providers import Provider, Reply, Request, providing

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
GIVEN: Any = {"messages": [HumanMessage("go")]}
Maker = Callable[[Provider], BaseChatModel]


def with_openai(provider: Provider) -> BaseChatModel:
    return ChatOpenAI(
        model="gpt-4o",
        base_url=f"{provider.url}/v1",
        api_key=SecretStr("none"),
        max_retries=1,
        stream_usage=True,
    )


def with_anthropic(provider: Provider) -> BaseChatModel:
    return ChatAnthropic(
        model_name="claude-scripted",
        base_url=provider.url,
        api_key=SecretStr("none"),
        max_retries=1,
        timeout=None,
        stop=None,
    )


@pytest.fixture(params=[with_openai, with_anthropic])
def maker(request: pytest.FixtureRequest) -> Maker:
    made: Maker = request.param
    return made


def tools_of(request: Request) -> dict[str, Any]:
    """Return the schemas that a provider was sent, by name."""
    schemas = {}
    for tool in request["tools"]:
        function = tool.get("function") or tool
        schemas[function["name"]] = function.get("parameters") or function.get("input_schema")
        assert function["description"]
    return schemas


def test_every_schema_that_arrives_is_valid(maker: Maker) -> None:
    with providing([Reply("hello")]) as provider:
        agent = create_filesystem_agent(maker(provider), todos=True)
        assert agent.invoke(GIVEN)["messages"][-1].text == "hello"
    [request] = provider.requests
    schemas = tools_of(request)
    assert set(schemas) == {*OPERATIONS, "write_todos"} - {"execute"}
    for name, schema in schemas.items():
        jsonschema_rs.meta.validate(schema)
        assert schema["type"] == "object", name
        assert "$ref" not in str(schema), name
        for field in schema["properties"].values():
            assert field["description"], name
    system = str(request.get("system") or request["messages"][0])
    assert "## Files" in system
    assert provider.unknown == []


PARALLEL = [
    Reply(
        "Both at once.",
        [
            ("call_1", "write_file", {"file_path": "/a.txt", "content": "one"}),
            ("call_2", "write_file", {"file_path": "/b.txt", "content": "two"}),
            ("call_3", "read_file", {"file_path": "/a.txt"}),
            ("call_4", "read_file", {"file_path": "/missing.txt"}),
        ],
    ),
    Reply("done"),
]


def test_parallel_calls_are_answered_as_the_provider_wants_it(maker: Maker) -> None:
    with providing(PARALLEL) as provider:
        state = create_filesystem_agent(maker(provider)).invoke(GIVEN)
    assert {path: file["content"] for path, file in state["files"].items()} == {
        "/a.txt": "one",
        "/b.txt": "two",
    }
    assert state["messages"][-1].text == "done"
    assert answered_ids(provider.requests[1]) == ["call_1", "call_2", "call_3", "call_4"]


def answered_ids(request: Request) -> list[str]:
    """Return the ids of the answers that a provider was sent behind the calls."""
    ids = [m["tool_call_id"] for m in request["messages"] if m["role"] == "tool"]
    for message in request["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        ids += [b["tool_use_id"] for b in blocks if b.get("type") == "tool_result"]
    return sorted(ids)


async def test_words_and_calls_stream(maker: Maker) -> None:
    with providing(PARALLEL) as provider:
        agent = create_filesystem_agent(maker(provider))
        parts: Any = [p async for p in agent.astream(GIVEN, stream_mode=["messages", "values"])]
    assert all(request["stream"] for request in provider.requests)
    chunks = [data[0] for mode, data in parts if mode == "messages"]
    words = [c.text for c in chunks if isinstance(c, AIMessageChunk) and c.text]
    assert "".join(words) == "Both at once.done"
    assert len(words) > 2
    state = parts[-1][1]
    assert {m.tool_call_id: m.status for m in answers(state)} == {
        "call_1": "success",
        "call_2": "success",
        "call_3": "success",
        "call_4": "error",
    }
    assert state["files"]["/b.txt"]["content"] == "two"


def test_an_image_reaches_the_model_as_an_image(maker: Maker) -> None:
    look = Reply(calls=[("call_1", "read_file", {"file_path": "/dot.png"})])
    image = {"content": base64.b64encode(PNG).decode(), "encoding": "base64"}
    with providing([look, Reply("a dot")]) as provider:
        state = create_filesystem_agent(maker(provider)).invoke(
            {**GIVEN, "files": {"/dot.png": image}}
        )
    assert state["messages"][-1].text == "a dot"
    sent = str(provider.requests[1]["messages"])
    assert image["content"] in sent
    assert "image" in sent


@pytest.mark.parametrize("mode", ["invoke", "stream"])
async def test_what_the_provider_searched_itself_is_left_to_it(mode: str) -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    found = Reply(
        "Ants have six legs.",
        [("call_1", "write_file", {"file_path": "/a.txt", "content": "six"})],
        blocks=[
            {
                "type": "server_tool_use",
                "id": "srv_1",
                "name": "web_search",
                "input": {"query": "a"},
            },
            {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
        ],
    )
    with providing([found, Reply("done")]) as provider:
        agent = create_filesystem_agent(with_anthropic(provider), [search])
        if mode == "stream":
            parts: Any = [p async for p in agent.astream(GIVEN, stream_mode=["messages", "values"])]
            state = parts[-1][1]
        else:
            state = agent.invoke(GIVEN)
    assert search in provider.requests[0]["tools"]
    assert [(m.tool_call_id, m.status) for m in answers(state)] == [("call_1", "success")]
    sent = str(provider.requests[1]["messages"])
    assert "server_tool_use" in sent
    assert "web_search_tool_result" in sent


class Pydantic(BaseModel):
    """How many files there are."""

    files: int


@dataclass
class Plain:
    """How many files there are."""

    files: int


class Typed(TypedDict):
    """How many files there are."""

    files: int


JSON = {"type": "object", "properties": {"files": {"type": "integer"}}, "required": ["files"]}
FORMS: dict[str, tuple[Any, Any]] = {
    "pydantic": (Pydantic, Pydantic(files=2)),
    "dataclass": (Plain, Plain(2)),
    "TypedDict": (Typed, {"files": 2}),
    "JSON schema": (JSON, {"files": 2}),
    "tool": (ToolStrategy(Plain), Plain(2)),
    "provider": (ProviderStrategy(Pydantic), Pydantic(files=2)),
    "auto": (AutoStrategy(JSON), {"files": 2}),
}


@pytest.mark.parametrize(("form", "response"), FORMS.values(), ids=FORMS)
def test_a_response_comes_in_the_form_that_was_asked_for(
    maker: Maker, form: Any, response: Any, saver: Any
) -> None:
    def reply(request: Request) -> Reply:
        """Call the one tool that there is, or write JSON, if a form is asked for."""
        [*names] = tools_of(request) if request.get("tools") else []
        if "ls" in names:
            return Reply("two files")
        return Reply(calls=[("c", names[0], {"files": 2})]) if names else Reply('{"files": 2}')

    thread: Any = {"configurable": {"thread_id": "1"}}
    with providing(reply) as provider:
        agent = create_filesystem_agent(maker(provider), response_format=form, checkpointer=saver)
        assert agent.invoke(GIVEN, thread)["structured_response"] == response
        assert agent.get_state(thread).values["structured_response"] == response
    assert provider.requests[-1]["messages"][-1]["role"] == "user"


ERRORS: dict[int, Any] = {
    429: (openai.RateLimitError, anthropic.RateLimitError),
    500: (openai.InternalServerError, anthropic.InternalServerError),
    400: (openai.BadRequestError, anthropic.BadRequestError),
}


@pytest.mark.parametrize("status", ERRORS)
@pytest.mark.parametrize("mode", ["invoke", "stream"])
async def test_an_error_of_the_provider_ends_the_run_as_what_it_is(
    maker: Maker, status: int, mode: str
) -> None:
    with providing(lambda _: Reply("no luck", status=status)) as provider:
        agent = create_filesystem_agent(maker(provider))
        with pytest.raises(ERRORS[status], match="no luck"):
            await (agent.ainvoke(GIVEN) if mode == "invoke" else streamed(agent))
    assert len(provider.requests) == (1 if status == 400 else 2)


async def streamed(agent: Any) -> list[Any]:
    return [part async for part in agent.astream(GIVEN, stream_mode="messages")]


def test_what_passes_by_itself_is_not_noticed(maker: Maker) -> None:
    with providing([Reply("wait", status=429), *PARALLEL]) as provider:
        state = create_filesystem_agent(maker(provider)).invoke(GIVEN)
    assert state["messages"][-1].text == "done"
    assert len(provider.requests) == 3
