"""`model` and `respond`: what is bound, what is said, and that any answer can be stored."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, ValidationError

from langgraph_filesystem import Choices, create_filesystem_agent
from langgraph_filesystem.nodes.model import Models, after_model, load_model
from langgraph_filesystem.nodes.registry import OPERATIONS
from tests.nodes.backends import Shelf, Shell
from tests.scripted import ScriptedModel, answers, call, says

GIVEN: Any = {"messages": [HumanMessage("go")]}


@tool
def own() -> str:
    """Do something of one's own."""
    return "done"


def names(bound: list[Any]) -> list[str]:
    return [item["function"]["name"] if isinstance(item, dict) else item.name for item in bound]


class Report(BaseModel):
    """What was done."""

    files: int


FILE_OPERATIONS = [name for name in OPERATIONS if name != "execute"]


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({}, FILE_OPERATIONS),
        ({"operations": ["grep", "ls"]}, ["ls", "grep"]),
        ({"operations": ["execute", "ls"]}, ["ls"]),
        ({"operations": []}, []),
        ({"operations": [], "tools": [own]}, ["own"]),
        ({"tools": [own]}, [*FILE_OPERATIONS, "own"]),
        ({"mounts": {"/": Shell()}}, list(OPERATIONS)),
        ({"mounts": {"/w": Shell()}, "operations": ["execute"]}, ["execute"]),
    ],
)
def test_exactly_what_exists_is_bound(options: dict[str, Any], bound: list[str]) -> None:
    model = ScriptedModel()
    create_filesystem_agent(model, **options).invoke(GIVEN)
    assert names(model.bound) == bound


class Recording(ScriptedModel):
    """A model that says which tools it was asked with."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(offered=names(list(tools)))

    def _generate(self, messages: Any, *args: Any, offered: Any = (), **kwargs: Any) -> Any:
        self.bound[:] = offered
        return super()._generate(messages, *args, **kwargs)


@pytest.mark.parametrize("backend", [Shell, Shelf, None])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_of_a_factory_it_is_decided_when_it_runs(backend: Any, mode: str) -> None:
    def factory(runtime: Any) -> Any:
        if backend is None:
            raise ConnectionError("no route")
        return backend()

    model = Recording(script=[])
    agent = create_filesystem_agent(model, mounts={"/": factory})
    state = await agent.ainvoke(GIVEN) if mode == "async" else agent.invoke(GIVEN)
    assert state["messages"][-1].text == "done"
    assert ("execute" in model.bound) is (backend is Shell)
    assert ("`execute`" in model.asked[0][0].text) is (backend is Shell)


def test_tools_are_described_in_words_of_ones_own() -> None:
    model = ScriptedModel()
    create_filesystem_agent(model, tool_descriptions={"ls": "Look around."}).invoke(GIVEN)
    assert model.bound[0]["function"]["description"] == "Look around."


def test_the_system_message_comes_first_and_is_not_kept() -> None:
    model = ScriptedModel([says(call("ls"))])
    own_prompt = SystemMessage([{"type": "text", "text": "Be kind.", "cache_control": {}}])
    state = create_filesystem_agent(model, system_prompt=own_prompt).invoke(GIVEN)
    for asked in model.asked:
        assert isinstance(asked[0], SystemMessage)
        [first, second] = list(asked[0].content)
        assert first == {"type": "text", "text": "Be kind.", "cache_control": {}}
        assert isinstance(second, dict)
        assert second["text"].startswith("## Files")
        assert not any(isinstance(message, SystemMessage) for message in asked[1:])
    assert not any(isinstance(message, SystemMessage) for message in state["messages"])


def test_without_operations_the_prompt_is_the_users_alone() -> None:
    model = ScriptedModel()
    create_filesystem_agent(model, operations=[], system_prompt="Be kind.").invoke(GIVEN)
    assert model.asked[0][0].content == "Be kind."


def test_a_model_is_made_from_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert isinstance(load_model("openai:gpt-5"), ChatOpenAI)
    assert "model" in create_filesystem_agent("openai:gpt-5").get_graph().nodes


def test_without_the_extra_a_name_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(ImportError, match=r"langgraph-filesystem\[models\]"):
        create_filesystem_agent("openai:gpt-5")


@pytest.mark.parametrize("model", [None, 5, object()])
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(ValueError, match="`model` must be a chat model or its name"):
        create_filesystem_agent(model)


@pytest.mark.parametrize("id", ["same", "", None])
def test_messages_with_the_same_id_are_all_kept(id: str | None) -> None:
    script = [
        AIMessage("", id=id, tool_calls=[call("write_file", "a", file_path=f"/{n}", content="")])
        for n in range(3)
    ]
    state = create_filesystem_agent(ScriptedModel([*script, AIMessage("end", id=id)])).invoke(GIVEN)
    assert [message.type for message in state["messages"]] == [
        "human",
        *["ai", "tool"] * 3,
        "ai",
    ]
    assert sorted(state["files"]) == ["/0", "/1", "/2"]
    ids = [message.id for message in state["messages"]]
    assert len(set(ids)) == len(ids)
    assert all(ids)


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


ODD_ARGS: dict[str, Any] = {
    "a huge number": 10**30,
    "a number of 20,000 digits": 10**20_000,
    "a negative one": -(2**63) - 1,
    "nested lists": nested(300),
    "a lone surrogate": "\ud800",
    "surrogates in keys": {"\udfff": "\ud800"},
    "not a number": float("nan"),
    "infinity": float("inf"),
    "NUL": "a\0b",
}


@pytest.mark.parametrize("value", ODD_ARGS.values(), ids=ODD_ARGS)
def test_arguments_that_no_checkpoint_holds_do_not_end_the_run(value: Any, saver: Any) -> None:
    args = {"ls": {"path": value}, "own": {"odd": value}, "write_file": {"content": value}}
    made = [{"name": n, "args": a, "id": n, "type": "tool_call"} for n, a in args.items()]
    agent = create_filesystem_agent(ScriptedModel([says(*made)]), [own], checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    state = agent.invoke(GIVEN, config)
    assert state["messages"][-1].text == "done"
    assert len(answers(state)) == 3
    kept = agent.get_state(config).values["messages"]
    assert [message.type for message in kept] == ["human", "ai", *["tool"] * 3, "ai"]


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("\ud800"),
        AIMessage([{"type": "text", "text": "\ud800"}]),
        AIMessage("", tool_calls=[call("ls\ud800", "a")]),
        AIMessage("", tool_calls=[call("ls", "a\ud800")]),
        AIMessage(
            "",
            invalid_tool_calls=[
                {
                    "name": "ls",
                    "args": "{\ud800",
                    "id": "a",
                    "error": "\ud800",
                    "type": "invalid_tool_call",
                }
            ],
        ),
    ],
    ids=["text", "block", "name", "id", "malformed"],
)
def test_text_that_no_checkpoint_holds_does_not_end_the_run(message: AIMessage, saver: Any) -> None:
    agent = create_filesystem_agent(ScriptedModel([message]), checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    state = agent.invoke(GIVEN, config)
    assert isinstance(state["messages"][-1], AIMessage)
    assert agent.get_state(config).values["messages"][0].text == "go"


class Speaking(ScriptedModel):
    """A model that speaks word by word."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for word in ("one ", "two ", "three"):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word, id="spoken"))


async def test_tokens_stream_as_they_are_spoken() -> None:
    agent = create_filesystem_agent(Speaking(script=[]))
    said: Any = list(agent.stream(GIVEN, stream_mode="messages"))
    words = [chunk.text for chunk, _ in said]
    assert list(filter(None, words)) == ["one ", "two ", "three"]
    said = [part async for part in agent.astream(GIVEN, stream_mode="messages")]
    words = [chunk.text for chunk, _ in said]
    assert list(filter(None, words)) == ["one ", "two ", "three"]
    parts: Any = list(agent.stream(GIVEN, stream_mode=["messages", "values"]))
    state = parts[-1][1]
    assert type(state["messages"][-1]) is AIMessage
    assert state["messages"][-1].text == "one two three"


AI, CALLS = AIMessage("x"), says(call("ls", "a"))


@pytest.mark.parametrize(
    ("messages", "goes_to"),
    [
        ([AI], "end"),
        ([CALLS], "router"),
        ([CALLS, ToolMessage("x", tool_call_id="a")], "router"),
        ([CALLS, ToolMessage("x", tool_call_id="a"), AI], "end"),
        ([AI, HumanMessage("x")], "end"),
        ([], "end"),
    ],
)
def test_the_edge_behind_it_is_a_function_of_the_state(
    messages: list[AnyMessage], goes_to: str
) -> None:
    assert after_model("end").invoke({"messages": messages}) == goes_to


def test_an_id_whose_answers_are_still_there_is_not_used_again() -> None:
    left = ToolMessage("", tool_call_id="a", id="m:0")
    script = [AIMessage("", id="m", tool_calls=[call("ls", path="/", id="a")])]
    agent = create_filesystem_agent(ScriptedModel(script))
    state = agent.invoke({"messages": [left, HumanMessage("go")]}, {"recursion_limit": 30})
    assert state["messages"][-1].text == "done"
    assert len(answers(state)) == 2


# Models that runs choose by name.


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make chat models from names, as `langchain` does, and return the names that were asked for.

    Each model says its own name; those that begin with `bad` can't be made.
    """
    names: list[str] = []

    def init_chat_model(name: str) -> ScriptedModel:
        names.append(name)
        if name.startswith("bad"):
            raise ConnectionError("no such provider")
        return ScriptedModel([AIMessage(name)], structured={"files": len(name)})

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init_chat_model)
    return names


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_runs_choose_among_models_and_each_is_made_once(mode: str, loaded: list[str]) -> None:
    default = ScriptedModel([AIMessage("default")], structured={"files": 0})
    agent = create_filesystem_agent(default, context_schema=Choices, response_format=Report)
    for name in ("one", "three", "", "one"):
        context = {"model": name} if name else {}
        if mode == "async":
            state = await agent.ainvoke(GIVEN, context=context)
        else:
            state = agent.invoke(GIVEN, context=context)
        assert state["messages"][-1].text == (name or "default")
        assert state["structured_response"] == Report(files=len(name))
    assert loaded == ["one", "three"]


async def test_the_models_that_were_used_last_stay_loaded(loaded: list[str]) -> None:
    models = Models(ScriptedModel())
    for number in range(100):
        await models.get(f"m{number}")
    await models.get("m99")
    assert len(loaded) == 100
    await models.get("m0")
    assert loaded[-1] == "m0"


def test_a_model_that_can_not_be_made_is_an_error_with_the_reason(loaded: list[str]) -> None:
    agent = create_filesystem_agent(ScriptedModel(), context_schema=Choices)
    with pytest.raises(ValueError, match=r"The model 'bad' can't be used: .*no such provider"):
        agent.invoke(GIVEN, context={"model": "bad"})
    assert loaded == ["bad"]


# The answer in the form of a schema.


class Structured(ScriptedModel):
    """A scripted model that fills in a schema from what it was told."""

    told: list[Sequence[BaseMessage]]

    def with_structured_output(self, schema: Any, **_: Any) -> Runnable[Any, Any]:
        def fill(messages: Sequence[BaseMessage]) -> Any:
            self.told.append(messages)
            return {"files": 2} if isinstance(schema, dict) else schema(files=2)

        return RunnableLambda(fill)


@pytest.mark.parametrize(
    ("response_format", "response", "prompt"),
    [
        (Report, Report(files=2), None),
        (("Count the files.", Report), Report(files=2), "Count the files."),
        ({"title": "Report", "type": "object"}, {"files": 2}, None),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_response_has_the_form_that_was_asked_for(
    response_format: Any, response: Any, prompt: str | None, mode: str
) -> None:
    model = Structured(script=[says(call("ls"))], told=[])
    agent = create_filesystem_agent(model, response_format=response_format)
    given: Any = {"messages": [HumanMessage("go")]}
    state = await agent.ainvoke(given) if mode == "async" else agent.invoke(given)
    assert state["structured_response"] == response
    [told] = model.told
    systems = [message.text for message in told if isinstance(message, SystemMessage)]
    assert systems == ([prompt] if prompt else [])
    assert isinstance(told[-2], AIMessage)
    assert told[-2].text == "done"
    assert isinstance(told[-1], HumanMessage), "providers want a person to have the last word"
    assert [m.type for m in state["messages"]] == ["human", "ai", "tool", "ai"]


def test_without_a_form_there_is_no_node() -> None:
    assert "respond" not in create_filesystem_agent(ScriptedModel()).get_graph().nodes


def test_the_answer_of_a_tool_that_returns_directly_gets_the_form_too() -> None:
    @tool(return_direct=True)
    def final() -> str:
        """Give the last word."""
        return "the last word"

    model = Structured(script=[says(call("final"))], told=[])
    agent = create_filesystem_agent(model, [final], response_format=Report)
    state = agent.invoke({"messages": [HumanMessage("go")]})
    assert state["structured_response"] == Report(files=2)
    assert model.told[0][-2].text == "the last word"


class Stubborn(ScriptedModel):
    """A scripted model whose first answers don't have the form."""

    wrong: list[Any]
    told: list[Sequence[BaseMessage]]
    options: list[dict[str, Any]]

    def with_structured_output(self, schema: Any, **options: Any) -> Runnable[Any, Any]:
        def fill(messages: Sequence[BaseMessage]) -> Any:
            self.told.append(messages)
            return Report.model_validate(self.wrong.pop(0) if self.wrong else {"files": 2})

        self.options.append(options)
        return RunnableLambda(fill)


def stubborn(*wrong: Any) -> Any:
    return Stubborn(script=[], wrong=list(wrong), told=[], options=[])


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_response_of_another_form_is_asked_for_again_with_the_reason(mode: str) -> None:
    model = stubborn({"files": "many"}, {})
    agent = create_filesystem_agent(model, response_format=Report)
    state = await agent.ainvoke(GIVEN) if mode == "async" else agent.invoke(GIVEN)
    assert state["structured_response"] == Report(files=2)
    assert "valid integer" in model.told[1][-1].text
    assert "Field required" in model.told[2][-1].text
    with pytest.raises(ValidationError):
        create_filesystem_agent(stubborn({}, {}, {}), response_format=Report).invoke(GIVEN)


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        (AutoStrategy(Report), {}),
        (ToolStrategy(Report), {"method": "function_calling"}),
        (ProviderStrategy(Report), {"method": "json_schema"}),
        (ProviderStrategy(Report, strict=True), {"method": "json_schema", "strict": True}),
        (("Count.", ToolStrategy(Report)), {"method": "function_calling"}),
    ],
    ids=["auto", "tool", "provider", "strict", "with a prompt"],
)
def test_the_strategies_of_langchain_are_followed(strategy: Any, options: Any) -> None:
    model = stubborn()
    state = create_filesystem_agent(model, response_format=strategy).invoke(GIVEN)
    assert state["structured_response"] == Report(files=2)
    assert model.options == [options]


def test_a_strategy_may_say_that_the_first_error_counts() -> None:
    strategy = ToolStrategy(Report, handle_errors=False)
    with pytest.raises(ValidationError):
        create_filesystem_agent(stubborn({}), response_format=strategy).invoke(GIVEN)


class Other(BaseModel):
    """Another form."""


@pytest.mark.parametrize(
    "wrong",
    [
        ToolStrategy(Report | Other),
        Report | Other,
        {"oneOf": []},
        list[str],
        "Report",
        Report(files=1),
    ],
    ids=["strategy", "union", "oneOf", "list", "name", "instance"],
)
def test_what_is_not_one_schema_is_refused_when_the_graph_is_built(wrong: Any) -> None:
    with pytest.raises(ValueError, match="must be one schema"):
        create_filesystem_agent(ScriptedModel(), response_format=wrong)
