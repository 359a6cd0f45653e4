"""The state of the graph: what it keeps, and what people and servers see of it."""

import json
from typing import Annotated, Any, NotRequired

import pytest
from langchain_core.messages import AnyMessage
from langgraph.graph import START, StateGraph, add_messages
from langgraph.graph.state import CompiledStateGraph
from pydantic import create_model
from typing_extensions import TypedDict

from langgraph_filesystem.state.channels import FilesChannel, MessagesChannel, SeenChannel
from langgraph_filesystem.state.files import FileData
from langgraph_filesystem.state.schema import (
    CHANNELS,
    PRIVATE,
    FilesystemState,
    extended_schema,
    missing_channels,
    public_schema,
)


class Extended(FilesystemState):
    todos: list[str]


class Loose(FilesystemState, total=False):
    todos: list[str]
    done: Annotated[NotRequired[bool], "odd but allowed"]


class Foreign(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    files: dict[str, FileData]
    routes: list[Any]


class Empty(TypedDict):
    pass


def graph_of(state: type[Any], **schemas: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state, **schemas)
    builder.add_node("work", lambda state: {})
    builder.add_edge(START, "work")
    return builder.compile()


def agent_graph(state: type[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return a graph with the schemas that the agent has."""
    given, answered = public_schema(state, "Input"), public_schema(state, "Output")
    return graph_of(state, input_schema=given, output_schema=answered)


def file_schema(schema: Any) -> Any:
    """Return what a JSON schema says of one file in `files`."""
    files = schema["properties"]["files"]
    if "anyOf" in files:
        files = files["anyOf"][0]
    reference = files["additionalProperties"]["$ref"]
    return schema["$defs"][reference.rpartition("/")[2]]


@pytest.mark.parametrize("state", [FilesystemState, Extended, Loose])
@pytest.mark.parametrize("make", [graph_of, agent_graph])
def test_a_file_is_visible_in_the_schemas_of_input_and_output(make: Any, state: Any) -> None:
    graph = make(state)
    for schema in (graph.get_input_jsonschema(), graph.get_output_jsonschema()):
        file = file_schema(schema)
        assert set(file["properties"]) == {"content", "encoding", "created_at", "modified_at"}
        assert file["required"] == ["content"]
        assert file["properties"]["encoding"]["enum"] == ["utf-8", "base64"]


@pytest.mark.parametrize("state", [FilesystemState, Extended])
def test_a_file_is_visible_in_the_schema_of_the_state(state: Any) -> None:
    # As the server builds it: from the types that the channels say they take.
    graph: Any = agent_graph(state)
    fields: Any = {
        key: (graph.channels[key].UpdateType, None) for key in graph.stream_channels_list
    }
    state_schema: Any = create_model("State", **fields).model_json_schema()
    assert file_schema(state_schema)["required"] == ["content"]
    assert "HumanMessage" in json.dumps(state_schema["properties"]["messages"])
    assert state_schema["properties"]["seen"]["additionalProperties"] == {"type": "string"}


def test_what_the_graph_keeps_for_itself_is_neither_input_nor_output() -> None:
    graph = agent_graph(Extended)
    for schema in (graph.get_input_jsonschema(), graph.get_output_jsonschema()):
        assert set(schema["properties"]) == {"messages", "files", "todos"}
    assert set(PRIVATE) < set(CHANNELS)
    assert set(CHANNELS) <= set(graph.channels)


def test_only_what_is_required_is_required_of_a_client() -> None:
    assert agent_graph(FilesystemState).get_input_jsonschema()["required"] == ["messages"]
    assert agent_graph(Extended).get_input_jsonschema()["required"] == ["messages", "todos"]
    assert agent_graph(Loose).get_input_jsonschema()["required"] == ["messages"]


def test_the_channels_are_those_that_store_changes() -> None:
    channels = agent_graph(Extended).channels
    assert isinstance(channels["messages"], MessagesChannel)
    assert isinstance(channels["files"], FilesChannel)
    assert isinstance(channels["seen"], SeenChannel)


def test_an_extended_schema_has_its_own_keys_and_the_new_ones() -> None:
    extended: Any = extended_schema(Loose, structured_response=Any)
    assert extended.__name__ == "Loose"
    assert extended.__required_keys__ == {"messages", "structured_response"}
    assert {"todos", "done", *CHANNELS[1:]} == extended.__optional_keys__
    assert missing_channels(extended) == []


def test_a_public_schema_may_have_more_keys() -> None:
    public: Any = public_schema(FilesystemState, "Output", structured_response=dict)
    assert public.__name__ == "Output"
    assert set(public.__annotations__) == {"messages", "files", "structured_response"}


@pytest.mark.parametrize(
    ("schema", "missing"),
    [
        (FilesystemState, set()),
        (Extended, set()),
        (Loose, set()),
        (Foreign, {"messages", "files", "seen"}),
        (Empty, set(CHANNELS)),
        (dict, set(CHANNELS)),
    ],
)
def test_a_schema_without_our_channels_is_told_apart(schema: Any, missing: set[str]) -> None:
    assert set(missing_channels(schema)) == missing
