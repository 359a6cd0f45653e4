"""The example `deployable`: a folder that `langgraph dev` serves as it stands."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.examples.running import EXAMPLES
from tests.server.driving import typed
from tests.server.serving import serving

FOLDER = EXAMPLES / "deployable"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the folder, far from this repository."""
    return Path(shutil.copytree(FOLDER, tmp_path / "deployable"))


def test_a_server_runs_it(folder: Path) -> None:
    config = json.loads((folder / "langgraph.json").read_text())
    with serving(folder, config=config) as server:
        thread = server.sync.threads.create()["thread_id"]
        for commands in ("write_file /notes/a.md hello", "ls /inbox\nls /notes"):
            state: Any = server.sync.runs.wait(thread, "inbox", input=typed(commands))
        contents = {path: file["content"] for path, file in state["files"].items()}
        assert contents == {
            "/inbox/0001.md": "write_file /notes/a.md hello",
            "/notes/a.md": "hello",
            "/inbox/0002.md": "ls /inbox\nls /notes",
        }
        answers = [m["content"] for m in state["messages"] if m["type"] == "tool"]
        assert answers[1:] == ["/inbox/0001.md\n/inbox/0002.md", "/notes/a.md"]
        [assistant] = server.sync.assistants.search(graph_id="inbox")
        drawn: Any = server.sync.assistants.get_graph(assistant["assistant_id"], xray=True)
        assert {"keep", "agent:router", "agent:write_file"} <= {n["id"] for n in drawn["nodes"]}
        inside: Any = server.sync.assistants.get_subgraphs(assistant["assistant_id"])
        assert list(inside) == ["agent"]


def test_an_image_can_be_made_of_it(folder: Path) -> None:
    command = [sys.executable, "-m", "langgraph_cli", "dockerfile", "Dockerfile"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    text = (folder / "Dockerfile").read_text()
    assert "inbox_agent.graph:graph" in text
    assert "/deps/deployable" in text


def test_its_package_lists_what_its_graph_needs() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())
    config = json.loads((FOLDER / "langgraph.json").read_text())
    module = config["graphs"]["inbox"].partition(":")[0]
    assert module.split(".")[0] in project["tool"]["setuptools"]["packages"]
    assert (FOLDER / f"{module.replace('.', '/')}.py").exists()
    assert project["project"]["dependencies"] == ["langgraph-filesystem"]
