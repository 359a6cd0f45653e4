"""The deployed graph: importable by its module path, without a key, and without a checkpointer."""

import json
from pathlib import Path

import pytest

from langgraph_filesystem import deploy
from tests.scripted import answers

ROOT = Path(__file__).parent.parent.parent


def test_langgraph_json_names_the_graph_by_its_module() -> None:
    graphs = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert graphs == {"agent": "langgraph_filesystem.deploy:graph"}


def test_the_server_brings_checkpointer_and_store() -> None:
    assert deploy.graph.checkpointer is None
    assert deploy.graph.store is None


def test_without_a_model_named_it_takes_typed_commands() -> None:
    task = {"role": "user", "content": 'write_file /a.txt "hi"\nls /'}
    state = deploy.graph.invoke({"messages": [task]})
    assert [message.text for message in answers(state)][1] == "/a.txt"


def test_the_environment_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGGRAPH_FILESYSTEM_MODEL", "openai:gpt-5")
    assert deploy.chosen_model() == "openai:gpt-5"
