"""A real `langgraph dev`: on a free port, in a directory of its own, stopped by its pid."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

ROOT = Path(__file__).parent.parent.parent
OFFLINE = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
}
"""The documented environment: with it the server connects to nobody."""
PATIENCE = 60.0


@dataclass
class Server:
    """A server that answers."""

    url: str
    directory: Path
    process: subprocess.Popen[bytes]

    def client(self, **headers: str) -> LangGraphClient:
        """Return a client, to be used in one event loop and closed there."""
        return get_client(url=self.url, api_key=None, headers=headers)

    @cached_property
    def sync(self) -> SyncLangGraphClient:
        """Return a client that blocks; it is closed with the server."""
        return get_sync_client(url=self.url, api_key=None)

    def log(self) -> str:
        """Return what the server has printed."""
        return (self.directory / "server.log").read_text(encoding="utf-8", errors="replace")

    def get(self, path: str) -> Any:
        """Return what the server answers to a plain request."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=30) as response:
            return json.load(response)


def configuration(**changes: Any) -> dict[str, Any]:
    """Return the `langgraph.json` of this repository, with changes."""
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    return {**config, **changes}


@contextmanager
def serving(
    directory: Path, *, config: Mapping[str, Any] | None = None, **environment: str
) -> Iterator[Server]:
    """Start a server with a configuration, wait until it answers, and stop it at the end."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "langgraph.json").write_text(json.dumps(config or configuration()))
    port = free_port()
    server = Server(f"http://127.0.0.1:{port}", directory, _started(directory, port, environment))
    try:
        _wait(server)
        yield server
    finally:
        if "sync" in vars(server):
            server.sync.close()
        stop(server.process)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process with all its children, kindly at first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                continue


def _started(directory: Path, port: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    command += ["--n-jobs-per-worker", "10", "--port", str(port)]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("LANG", "OPENAI"))}
    # Graphs of the tests are named by their modules.
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    with (directory / "server.log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=directory,
            env={**inherited, "PYTHONPATH": paths, **OFFLINE, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait(server: Server) -> None:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        if server.process.poll() is not None:
            raise RuntimeError(f"The server ended:\n{server.log()[-4_000:]}")
        try:
            if server.get("/ok")["ok"]:
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise TimeoutError(f"The server did not answer:\n{server.log()[-4_000:]}")
