"""The operations: the schemas a model sees, and what wrong arguments are told."""

import json
from typing import Any

import pytest

from langgraph_filesystem.nodes.operations import OPERATIONS, chosen_operations, tool_schemas
from langgraph_filesystem.state.errors import InvalidCall, PathRefused
from tests.snapshots import assert_snapshot


def test_schemas_are_as_a_model_sees_them() -> None:
    schemas = json.dumps(tool_schemas(OPERATIONS), indent=2, ensure_ascii=False)
    assert_snapshot("operations.json", schemas + "\n")


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_argument_is_described(operation: Any) -> None:
    function = operation.tool()["function"]
    assert function["name"] == operation.name
    assert len(function["description"]) <= 1_024  # what OpenAI takes
    properties = function["parameters"]["properties"]
    assert [name for name, field in properties.items() if not field.get("description")] == []


def test_descriptions_of_ones_own_take_the_place_of_ours() -> None:
    schemas = tool_schemas(chosen_operations(["ls", "grep"]), {"ls": "List."})
    descriptions = [schema["function"]["description"] for schema in schemas]
    assert descriptions[0] == "List."
    assert descriptions[1].startswith("Search the text of files")


def test_chosen_operations_keep_their_order() -> None:
    assert list(chosen_operations(["grep", "ls", "grep"])) == ["ls", "grep"]
    assert list(chosen_operations(iter(["grep"]))) == ["grep"]
    assert chosen_operations(None) == OPERATIONS
    assert chosen_operations([]) == {}


@pytest.mark.parametrize("names", [["rm"], "ls", ["ls", "LS"], [""], [None]], ids=repr)
def test_operations_that_there_are_not_are_refused(names: Any) -> None:
    with pytest.raises(ValueError, match=r"There is no operation|must be a list"):
        chosen_operations(names)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (None, "must be a JSON object"),
        ("text", "must be a JSON object"),
        ([], "must be a JSON object"),
        ({}, "`file_path`: Field required"),
        ({"file_path": 1}, "`file_path`: Input should be a valid string"),
        ({"file_path": "/a", "x\ny": 1}, "Extra inputs are not permitted"),
        ({"file_path": "/a", "offset": "many"}, "`offset`: Input should be a valid integer"),
        ({"file_path": "/a", "offset": 1.5}, "`offset`: Input should be a valid integer"),
    ],
)
def test_wrong_arguments_are_explained(args: Any, problem: str) -> None:
    with pytest.raises(InvalidCall) as refused:
        OPERATIONS["read_file"].parse(args)
    assert problem in str(refused.value)


def test_an_explanation_stays_short() -> None:
    with pytest.raises(InvalidCall) as refused:
        OPERATIONS["ls"].parse({f"{number}{'x' * 5_000}": number for number in range(500)})
    assert len(str(refused.value)) < 2_000


def test_a_refused_path_is_refused_in_its_own_words() -> None:
    with pytest.raises(PathRefused):
        OPERATIONS["ls"].parse({"path": "/.."})


@pytest.mark.parametrize(
    ("name", "args", "paths"),
    [
        ("ls", {}, ("/",)),
        ("read_file", {"file_path": "a"}, ("/a",)),
        ("move", {"source": "a", "destination": "b"}, ("/a", "/b")),
        ("grep", {"pattern": "x", "path": "/d"}, ("/d",)),
        ("execute", {"command": "x"}, ()),
    ],
)
def test_the_paths_of_a_call_are_known(
    name: str, args: dict[str, Any], paths: tuple[str, ...]
) -> None:
    operation = OPERATIONS[name]
    assert operation.paths(operation.parse(args)) == paths
