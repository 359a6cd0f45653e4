"""Deployment: `langgraph.json` on a real server, a restart, `make dev`, and the image."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.driving import typed
from tests.server.serving import OFFLINE, ROOT, Server, configuration, serving, stop

ROOMS = ("graph", "nodes", "state")


def do(server: Server, thread: str, commands: str) -> dict[str, Any]:
    """Run commands in a thread and return the state."""
    state = server.sync.runs.wait(thread, "agent", input=typed(commands))
    assert isinstance(state, dict)
    assert "__error__" not in state, state
    return state


def test_threads_and_memories_outlive_the_server(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        thread = server.sync.threads.create()["thread_id"]
        do(server, thread, "write_file /a.txt one\n\nwrite_file /memories/b.txt kept")
        server.sync.store.put_item(("notes",), "k", {"is": "kept"})
        before = server.sync.threads.get_history(thread, limit=100)
    with serving(tmp_path) as server:
        assert server.sync.threads.get_history(thread, limit=100) == before
        state = do(server, thread, "edit_file /a.txt one two\n\nread_file /memories/b.txt")
        item = server.sync.store.get_item(("notes",), "k")
        assert "custom checkpointer" not in server.log().lower()
    assert state["files"]["/a.txt"]["content"] == "two"
    assert "kept" in state["messages"][-2]["content"]
    assert item["value"] == {"is": "kept"}
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"langgraph.json", "server.log", ".langgraph_api"}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run `make dev` in a directory of its own, with the Python of the tests."""
    directory = tmp_path / "served"
    directory.mkdir()
    variables = ["SERVER=", f"BIN={Path(sys.executable).parent}", f"SERVE_IN={directory}"]
    log = tmp_path / "make.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["make", "-s", "-C", str(ROOT), "dev", *variables],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    yield process, log
    stop(process)


def test_make_dev_says_where_studio_finds_the_server(
    made: tuple[subprocess.Popen[bytes], Path],
) -> None:
    process, log = made
    url = ""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up and process.poll() is None:
        said = log.read_text()
        if found := re.search(r"^server: (http://127\.0\.0\.1:\d+)$", said, re.MULTILINE):
            url = found[1]
        try:
            with urllib.request.urlopen(f"{url or 'http://127.0.0.1:1'}/ok", timeout=5) as answer:
                assert json.load(answer)["ok"]
                break
        except OSError:
            time.sleep(0.2)
    said = log.read_text()
    assert f"Studio: https://smith.langchain.com/studio/?baseUrl={url}" in said
    assert url in said.partition("Welcome")[2], "the server took the port that was announced"
    assert process.poll() is None


def test_the_configuration_is_valid_and_names_modules() -> None:
    config = configuration()
    assert config["graphs"] == {"agent": "langgraph_filesystem.deploy:agent"}
    # The server brings its own, which on the Platform is a database that all replicas share.
    assert not config.keys() & {"checkpointer", "store"}
    checked = subprocess.run(
        [sys.executable, "-m", "langgraph_cli", "validate", "-c", str(ROOT / "langgraph.json")],
        env={**os.environ, **OFFLINE},
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr
    assert "warning" not in (checked.stdout + checked.stderr).lower()


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what an image is built from."""
    target = tmp_path_factory.mktemp("deps") / "langgraph-filesystem"
    target.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "langgraph.json"):
        shutil.copy(ROOT / name, target)
    for room in ROOMS:
        shutil.copytree(ROOT / room, target / room, ignore=shutil.ignore_patterns("__pycache__"))
    return target


@pytest.fixture(scope="module")
def dockerfile(copied: Path) -> str:
    """Return the Dockerfile that `langgraph build` works with."""
    subprocess.run(
        [sys.executable, "-m", "langgraph_cli", "dockerfile", "made.Dockerfile"],
        cwd=copied,
        env={**os.environ, **OFFLINE},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return (copied / "made.Dockerfile").read_text()


def test_the_image_installs_the_package_and_names_its_modules(dockerfile: str) -> None:
    assert "ADD . /deps/langgraph-filesystem" in dockerfile
    assert re.search(r"uv pip install --system .* -e \.\)", dockerfile)
    variables = dict(re.findall(r"^ENV (\w+)='(.*)'$", dockerfile, re.MULTILINE))
    assert {name: json.loads(value) for name, value in variables.items()} == {
        "LANGSERVE_GRAPHS": {"agent": "langgraph_filesystem.deploy:agent"},
    }


def test_the_steps_of_the_image_leave_a_package_that_imports(
    copied: Path, dockerfile: str, tmp_path: Path
) -> None:
    steps = re.findall(r"^RUN (.*uv pip (?:un)?install .*)$", dockerfile, re.MULTILINE)
    # The image's own server is not ours to install.
    steps = [step for step in steps if not step.endswith("-e /api")]
    assert len(steps) == 2, steps
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": tools, "VIRTUAL_ENV": str(tmp_path / "venv")}
    subprocess.run(
        ["uv", "venv", "-q", "--python", sys.executable, str(tmp_path / "venv")],
        env=environment,
        check=True,
    )
    for step in steps:
        done = subprocess.run(
            ["sh", "-ec", _at_home(step, copied)], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    assert not list(site.glob("setuptools*"))
    program = "import langgraph_filesystem.deploy as d; print(d.graph.name)"
    python = tmp_path / "venv" / "bin" / "python"
    done = subprocess.run([python, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["filesystem"], done.stderr


def _at_home(step: str, copied: Path) -> str:
    """Return a step of the image with the places of this test."""
    pins = ROOT / "constraints.txt"
    step = step.replace("/api/constraints.txt", f"'{pins}'").replace("/deps/*", f"'{copied}'")
    # Downloads may be kept, and the tool itself stays.
    step = step.replace(" --no-cache-dir", "").partition(" && rm ")[0]
    return step.replace(" --system", "")
