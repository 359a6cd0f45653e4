"""Deployment: `langgraph.json` on a real server, its databases, `make dev`, and the image."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.databases import uri_of
from tests.server.driving import typed
from tests.server.serving import OFFLINE, ROOT, Server, configuration, serving, stop

ROOMS = ("graph", "nodes", "state")


def do(server: Server, thread: str, commands: str) -> dict[str, Any]:
    """Run commands in a thread and return the state."""
    state = server.sync.runs.wait(thread, "agent", input=typed(commands))
    assert isinstance(state, dict)
    assert "__error__" not in state, state
    return state


def test_a_thread_outlives_the_server_in_one_file_of_sqlite(tmp_path: Path) -> None:
    database = tmp_path / "kept" / "threads.sqlite"
    with serving(tmp_path / "work", LANGGRAPH_FILESYSTEM_SQLITE=str(database)) as server:
        thread = server.sync.threads.create()["thread_id"]
        do(server, thread, "write_file /a.txt one")
        server.sync.store.put_item(("notes",), "k", {"is": "kept"})
    with serving(tmp_path / "work", LANGGRAPH_FILESYSTEM_SQLITE=str(database)) as server:
        state = do(server, thread, "edit_file /a.txt one two\nread_file /a.txt")
        item = server.sync.store.get_item(("notes",), "k")
        log = server.log()
    assert state["files"]["/a.txt"]["content"] == "two"
    assert item["value"] == {"is": "kept"}
    assert "Using custom checkpointer: ServedSqliteSaver" in log
    assert "Custom checkpointer missing" not in log
    with sqlite3.connect(database) as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM checkpoints")
    connection.close()
    assert count > 10
    left = {path.name for path in (tmp_path / "work").iterdir()}
    assert left == {"langgraph.json", "server.log", ".langgraph_api"}
    assert not list((tmp_path / "work").rglob("*.sqlite"))


def test_one_variable_switches_to_postgresql(tmp_path: Path) -> None:
    uri = uri_of(tmp_path)
    with serving(tmp_path / "work", LANGGRAPH_FILESYSTEM_POSTGRES=uri) as server:
        thread = server.sync.threads.create()["thread_id"]
        do(server, thread, "write_file /a.txt one")
        state = do(server, thread, "edit_file /a.txt one two\n\nls /")
        server.sync.store.put_item(("notes",), "k", {"is": "kept"})
        threads: Any = server.sync.threads
        copied = threads.get_state(threads.copy(thread)["thread_id"])
    assert state["files"]["/a.txt"]["content"] == "two"
    assert copied["values"]["files"] == state["files"]
    with psycopg.connect(uri) as connection:
        for table in ("checkpoints", "checkpoint_writes", "store"):
            found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert found
            assert found[0] > 0, table
    assert not list((tmp_path / "work").rglob("*.sqlite"))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run `make dev` in a directory of its own, with the Python of the tests."""
    directory = tmp_path / "served"
    directory.mkdir()
    variables = ["DEV=", f"BIN={Path(sys.executable).parent}", f"SERVE_IN={directory}"]
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
    # The server splits this one at the last dot.
    assert config["checkpointer"] == {"path": "langgraph_filesystem.persistence.checkpointer"}
    assert config["store"] == {"path": "langgraph_filesystem.persistence.store"}
    checked = subprocess.run(
        [sys.executable, "-m", "langgraph_cli", "validate", "-c", str(ROOT / "langgraph.json")],
        env={**os.environ, **OFFLINE},
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr
    assert "warning" not in (checked.stdout + checked.stderr).lower()


def test_the_image_can_be_switched_to_postgresql() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = {re.split(r"[~><=]", line)[0] for line in project["optional-dependencies"]["postgres"]}
    listed = {re.split(r"[~><=]", line)[0] for line in configuration()["dependencies"]}
    assert extra <= listed
    # The generated Dockerfile hands them to a shell without quotes.
    assert not [line for line in configuration()["dependencies"] if re.search(r"[<>|&; ]", line)]


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
        "LANGGRAPH_CHECKPOINTER": {"path": "langgraph_filesystem.persistence.checkpointer"},
        "LANGGRAPH_STORE": {"path": "langgraph_filesystem.persistence.store"},
    }


def test_the_steps_of_the_image_leave_a_package_that_imports(
    copied: Path, dockerfile: str, tmp_path: Path
) -> None:
    steps = re.findall(r"^RUN (.*uv pip (?:un)?install .*)$", dockerfile, re.MULTILINE)
    # The image's own server is not ours to install.
    steps = [step for step in steps if not step.endswith("-e /api")]
    assert len(steps) == 3, steps
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
    program = "import langgraph_filesystem.deploy as d, langgraph_filesystem.persistence as p, "
    program += "langgraph_filesystem.served_postgres; print(d.graph.name, p.checkpointer.__name__)"
    python = tmp_path / "venv" / "bin" / "python"
    done = subprocess.run([python, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["filesystem", "checkpointer"], done.stderr


def _at_home(step: str, copied: Path) -> str:
    """Return a step of the image with the places of this test."""
    pins = ROOT / "constraints.txt"
    step = step.replace("/api/constraints.txt", f"'{pins}'").replace("/deps/*", f"'{copied}'")
    # Downloads may be kept, and the tool itself stays.
    step = step.replace(" --no-cache-dir", "").partition(" && rm ")[0]
    return step.replace(" --system", "")
