"""The deployed graph: importable by its module path, without a key, and without a checkpointer."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime, ServerInfo
from langgraph.store.memory import InMemoryStore
from langgraph_sdk.runtime import _ExecutionRuntime, _ReadRuntime
from pydantic import ValidationError

from langgraph_filesystem import deploy
from langgraph_filesystem.deploy import AgentContext, check_context, permitted_roots
from langgraph_filesystem.nodes.settings import Choices
from langgraph_filesystem.state.backends.state import StateBackend
from tests.scripted import answers

ROOT = Path(__file__).parent.parent.parent


def typed(commands: str) -> Any:
    return {"messages": [{"role": "user", "content": commands}]}


def test_langgraph_json_names_the_graph_by_its_module() -> None:
    graphs = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert graphs == {"agent": "langgraph_filesystem.deploy:agent"}


def test_the_server_brings_checkpointer_and_store() -> None:
    assert deploy.graph.checkpointer is None
    assert deploy.graph.store is None


def test_without_a_model_named_it_takes_typed_commands() -> None:
    state = deploy.graph.invoke(typed('write_file /a.txt "hi"\nread_file /a.txt'))
    assert "hi" in answers(state)[1].text


def test_the_environment_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGGRAPH_FILESYSTEM_MODEL", "openai:gpt-5")
    assert deploy.chosen_model() == "openai:gpt-5"


def test_no_mount_runs_commands() -> None:
    assert "execute" not in deploy.graph.get_graph().nodes


def test_the_server_always_gets_the_same_graph() -> None:
    store = InMemoryStore()
    for access in ("assistants.read", "threads.read", "threads.update"):
        assert deploy.agent(_ReadRuntime(access_context=access, store=store)) is deploy.graph
    for context in (None, {}, {"evict_over": 5}):
        runtime: Any = _ExecutionRuntime(
            access_context="threads.create_run", store=store, context=context
        )
        assert deploy.agent(runtime) is deploy.graph


def test_a_context_that_is_wrong_is_refused_before_the_run() -> None:
    runtime: Any = _ExecutionRuntime(
        access_context="threads.create_run", store=InMemoryStore(), context={"modle": "x"}
    )
    with pytest.raises(ValueError, match="`modle`: there is no such field"):
        deploy.agent(runtime)


class User(dict[str, Any]):
    """A user as the server gives it."""

    @property
    def identity(self) -> str:
        return str(self["identity"])


def runtime_of(identity: str = "", assistant: str = "", **context: Any) -> Runtime[Any]:
    user: Any = User(identity=identity) if identity else None
    server = ServerInfo(assistant_id=assistant, graph_id="agent", user=user)
    return Runtime(context=AgentContext(**context), server_info=server if assistant else None)


def test_memories_are_those_of_the_user_whichever_assistant_is_asked() -> None:
    one = deploy.memories_of(runtime_of("ann", "assistant-1"))
    assert one == deploy.memories_of(runtime_of("ann", "assistant-2", user_id="bob"))
    assert one != deploy.memories_of(runtime_of("bob", "assistant-1"))
    assert one == deploy.memories_of(runtime_of(user_id="ann"))
    assert deploy.memories_of(runtime_of()) == deploy.memories_of(runtime_of("", "assistant-1"))
    assert deploy.memories_of(Runtime()) == deploy.memories_of(runtime_of())


def test_workspace_is_there_when_the_deployment_permits_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LANGGRAPH_FILESYSTEM_ROOTS", raising=False)
    assert set(deploy.mounted()) == {"/", "/memories"}
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        root.mkdir()
    monkeypatch.setenv("LANGGRAPH_FILESYSTEM_ROOTS", os.pathsep.join(map(str, roots)))
    workspace = deploy.mounted()["/workspace"]
    for root in roots:
        (root / "own.txt").write_text(root.name)
        disk = workspace(runtime_of(root=str(root)))
        assert disk.read("/own.txt").file_data["content"] == root.name
    assert isinstance(workspace(runtime_of()), StateBackend)
    assert isinstance(workspace(Runtime()), StateBackend)


def test_a_root_that_is_not_there_is_noticed_at_the_start(tmp_path: Path) -> None:
    program = "import langgraph_filesystem.deploy"
    environment = {**os.environ, "LANGGRAPH_FILESYSTEM_ROOTS": str(tmp_path / "missing")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "missing" in done.stderr.splitlines()[-1]


# The context of a run.


def test_the_context_extends_the_choices_of_every_agent() -> None:
    assert issubclass(AgentContext, Choices)
    assert list(AgentContext.model_fields) == [*Choices.model_fields, "root", "user_id"]


@pytest.mark.parametrize("context", [None, {}, {"operations": ["ls"], "evict_over": 5}])
def test_a_context_that_is_right_passes(context: Any) -> None:
    check_context(context)


@pytest.mark.parametrize(
    "key", ["thread_id", "checkpoint_id", "checkpoint_ns", "__pregel_x", "langgraph_auth_user"]
)
def test_keys_that_langgraph_itself_sends_pass(key: str) -> None:
    check_context({key: "x"})


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"modle": "x"}, "`modle`: there is no such field. It takes: model, system_prompt"),
        ({"evict_over": -1}, "`evict_over`: Input should be greater than or equal to 1"),
        ({"user_id": 5}, "`user_id`: Input should be a valid string"),
        ({"a": 1, "b": 2}, "`a`: there is no such field; `b`: there is no such field"),
    ],
)
def test_a_field_that_is_wrong_is_named(context: Any, words: str) -> None:
    with pytest.raises(ValueError, match="The context is wrong") as refused:
        check_context(context)
    assert words in str(refused.value)
    assert "pydantic" not in str(refused.value)


def test_only_listed_roots_are_permitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    monkeypatch.delenv("LANGGRAPH_FILESYSTEM_ROOTS", raising=False)
    assert permitted_roots() == []
    with pytest.raises(ValidationError, match="LANGGRAPH_FILESYSTEM_ROOTS"):
        AgentContext(root=one)
    monkeypatch.setenv("LANGGRAPH_FILESYSTEM_ROOTS", os.pathsep.join([one, "", two]))
    assert permitted_roots() == [one, two]
    assert AgentContext(root=two).root == two
    for other in (f"{one}/below", f"{one}/../two", f"{one}/", "/", "."):
        with pytest.raises(ValidationError, match="does not permit"):
            AgentContext(root=other)
