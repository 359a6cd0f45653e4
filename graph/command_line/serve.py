"""`lgfs serve`: the LangGraph server for one directory, to look at the graph in Studio.

The server keeps its own threads, with the changes that wait in them, in the data directory.
"""

import asyncio
import functools
import hashlib
import json
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

from langgraph_filesystem.command_line.database import data_directory
from langgraph_filesystem.command_line.failure import Failure
from langgraph_filesystem.command_line.screen import Screen
from langgraph_filesystem.command_line.session import (
    MODEL_VARIABLE,
    Graph,
    Record,
    Where,
    build_agent,
    load_chat_model,
)
from langgraph_filesystem.persistence import Persistence

__all__ = ("agent", "serve")

_ROOT = "LANGGRAPH_FILESYSTEM_ROOT"
_STUDIO = "https://smith.langchain.com/studio/?baseUrl="


def serve(where: Where, port: int | None) -> int:
    """Replace this process with the server. It connects to nobody, unless tracing is turned on."""
    beside = Path(sys.executable).with_name("langgraph")
    program = str(beside) if beside.exists() else shutil.which("langgraph")
    if program is None:
        raise Failure("The server is not installed: pip install 'langgraph-cli[inmem]'")
    name = hashlib.sha256(where.root.encode(errors="surrogateescape")).hexdigest()[:16]
    address = f"http://127.0.0.1:{_bound_port(port or 0)}"
    place = data_directory() / "servers" / name
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    graphs = {"lgfs": "langgraph_filesystem.command_line.serve:agent"}
    config = place / "langgraph.json"
    config.write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    Screen().say(f"server: {address}\nStudio: {_STUDIO}{address}")
    environment = {
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
        **os.environ,
        _ROOT: where.root,
    }
    options = ["--no-browser", "--no-reload", "--config", str(config), "--port"]
    os.chdir(place)
    sys.stdout.flush()
    os.execve(program, [program, "dev", *options, address.rpartition(":")[2]], environment)


async def agent() -> Graph:
    """Return the graph to the server, which brings the checkpointer and the store."""
    # The server calls this for each run in its event loop, which trying a sandbox would block.
    return await asyncio.to_thread(_built)


@functools.cache
def _built() -> Graph:
    record = Record("", os.environ[_ROOT], model=os.environ.get(MODEL_VARIABLE, ""))
    none: Any = None
    return build_agent(record, load_chat_model(record.model), Persistence(none, none))


def _bound_port(wanted: int) -> int:
    """Return a port that is free: if it is not, the server silently takes another one."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", wanted))
        except OSError as error:
            raise Failure(f"Port {wanted} can't be used: {error.strerror}.") from None
        port: int = one.getsockname()[1]
        return port
