"""What a command works on: a directory, the database with its threads, and the agent over it.

Each thread has a record in the store of the database, which says which directory it belongs to and
how its agent was set up. So `lgfs chat` continues with the settings of `lgfs run`.
"""

import hashlib
import json
import os
import tomllib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore

from langgraph_filesystem.agent import create_filesystem_agent
from langgraph_filesystem.command_line.database import create_database, open_database
from langgraph_filesystem.command_line.failure import Failure
from langgraph_filesystem.command_model import CommandModel
from langgraph_filesystem.nodes.model import load_model
from langgraph_filesystem.nodes.registry import OPERATIONS
from langgraph_filesystem.persistence import Persistence
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.execution.sandbox import (
    SandboxBackend,
    SandboxUnavailable,
)
from langgraph_filesystem.state.backends.objects.store import StoreBackend
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import current_time
from langgraph_filesystem.state.io import attempt, in_thread, run_sync
from langgraph_filesystem.state.workspace.overlay import OverlayBackend

__all__ = (
    "MODEL_VARIABLE",
    "Graph",
    "Record",
    "Where",
    "build_agent",
    "known_threads",
    "load_chat_model",
    "open_thread",
    "prepared_thread",
    "save_thread",
    "virtual_path",
)

Graph = CompiledStateGraph[Any, Any, Any, Any]

MODEL_VARIABLE = "LANGGRAPH_FILESYSTEM_MODEL"
"""The environment variable with the name of the model."""
_THREADS = ("lgfs", "threads")
_MEMORIES = ("lgfs", "memories")
_MANY = 10_000
_WRITES = ("write_file", "edit_file", "delete", "move", "execute")
_PROMPT = (
    "You work on the project of a person, whose directory is `/`. Look at the files before you "
    "change them, follow the style of the project, and change no more than the task needs. At the "
    "end say in a few sentences what you did. Put notes that should outlive this conversation "
    "below `/memories/`."
)


@dataclass(frozen=True)
class Record:
    """What is known about a thread, and how its agent was set up."""

    thread: str
    directory: str
    task: str = ""
    """The first message."""
    used: str = ""
    """When a person last sent a message."""
    model: str = ""
    """Its name; empty for `CommandModel`."""
    direct: bool = False
    """Whether files are written to the directory at once."""
    execute: bool = True
    approve: str = "none"
    memory: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    subagents: str = ""
    """The path of the file that describes them."""

    @property
    def config(self) -> RunnableConfig:
        """The config of a run in this thread."""
        return {"configurable": {"thread_id": self.thread}}

    @classmethod
    def from_value(cls, value: dict[str, Any]) -> "Record":
        """Return a stored record, without fields that only another version knows."""
        known = {field.name for field in fields(cls)}
        given: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}
        return cls(**{name: one for name, one in given.items() if name in known})


# Threads


class Where(NamedTuple):
    """Which thread a command is about, and who reads its answer."""

    database: str
    root: str
    thread: str | None
    as_json: bool


def known_threads(store: BaseStore, **wanted: str) -> list[Record]:
    """Return the threads whose records have these values, the last used first."""
    # Not `get`: in PostgreSQL it writes, even if the time to live is not refreshed.
    found = store.search(_THREADS, filter=wanted or None, limit=_MANY, refresh_ttl=False)
    records = [Record.from_value(item.value) for item in found]
    return sorted(records, key=lambda record: record.used, reverse=True)


def _newest(store: BaseStore, where: Where) -> Record | None:
    """Return the thread that was named, or else the newest one of the directory."""
    wanted = {"directory": where.root} if where.thread is None else {"thread": where.thread}
    return next(iter(known_threads(store, **wanted)), None)


def prepared_thread(where: Where, task: str, given: dict[str, Any], *, continues: bool) -> Record:
    """Return the thread to send a message to, new or known, with the options that were given."""
    root, thread = where.root, where.thread
    create_database(where.database)
    settings = {name: value for name, value in given.items() if value not in (None, False, ())}
    if settings.pop("no_exec", False):
        settings["execute"] = False
    for name in settings.keys() & {"memory", "skills"}:
        settings[name] = tuple(virtual_path(path, root) for path in settings[name])
    with open_database(where.database, changes=True) as opened:
        known = _newest(opened.store, where) if continues else None
        if known is None:
            if not continues and thread and known_threads(opened.store, thread=thread):
                raise Failure(f"There is a thread {thread} already: leave out --new.")
            settings.setdefault("model", os.environ.get(MODEL_VARIABLE, ""))
            settings.setdefault("approve", "writes" if settings.get("direct") else "none")
            known = Record(thread or uuid.uuid4().hex[:8], root)
        elif settings.get("direct") and not known.direct:
            raise Failure(
                f"Thread {known.thread} keeps its changes in an overlay. Begin another one with "
                "`lgfs run --direct`."
            )
        record = replace(known, **settings, task=known.task or task[:200])
        # Before it is saved: else a broken thread would be the newest one for every command.
        build_agent(record, load_chat_model(record.model), opened)
        return save_thread(opened.store, record)


def save_thread(store: BaseStore, record: Record) -> Record:
    """Keep the record of a thread, as the newest one."""
    used = replace(record, used=current_time())
    store.put(_THREADS, used.thread, asdict(used), index=False)
    return used


@contextmanager
def open_thread(where: Where, *, changes: bool = False) -> Iterator[tuple[Graph, Record]]:
    """Open a thread with its agent; without `changes` the database is opened read-only."""
    with open_database(where.database, changes=changes) as opened:
        record = _newest(opened.store, where)
        if record is None and where.thread is not None:
            raise Failure(f"There is no thread {where.thread}: `lgfs threads --all` lists them.")
        if record is None:
            raise Failure(
                f'No agent has worked in {where.root} yet: begin with `lgfs run "task"`, or see '
                "the threads of other directories with `lgfs threads --all`."
            )
        # The agent does not run here, so it needs no model, nor its subagents.
        looked_at = replace(record, memory=(), skills=(), subagents="")
        yield build_agent(looked_at, CommandModel(), opened), record


def virtual_path(given: str, root: str) -> str:
    """Return the path in the agent's filesystem for a path that a person typed.

    That is a path on this machine, absolute or relative to the current directory, or already a
    path in the agent's filesystem, such as `/src/a.py` for `src/a.py` in the root.
    """
    typed = os.path.normpath(os.path.join(os.getcwd(), given))
    for base in {root, os.path.realpath(root)}:
        if typed == base or typed.startswith(base.rstrip("/") + "/"):
            return os.path.normpath("/" + os.path.relpath(typed, base))
    if os.path.isabs(given):
        return os.path.normpath(given)
    raise Failure(f"{given} is outside of {root}, the directory of the thread.")


# The agent


def load_chat_model(name: str) -> BaseChatModel:
    """Return the model with a name, or `CommandModel` without one."""
    if not name:
        return CommandModel()
    # Each provider has errors of its own for a key that is missing.
    loaded = run_sync(attempt(in_thread(load_model, name), "Loading it"))
    if isinstance(loaded, FilesystemError):
        raise Failure(
            f"The model {name} can't be used. {loaded} Without --model and {MODEL_VARIABLE}, lgfs "
            "takes typed commands and needs no key."
        )
    return loaded


def build_agent(record: Record, model: BaseChatModel, opened: Persistence) -> Graph:
    """Return the agent of a thread."""
    if not os.path.isdir(record.directory):
        raise Failure(
            f"The directory {record.directory} of thread {record.thread} is gone. Its changes are "
            "still in the thread: bring the directory back to use them."
        )
    directory = _directory_backend(record)
    key = hashlib.sha256(record.directory.encode(errors="surrogateescape")).hexdigest()[:16]
    mounts: dict[str, Any] = {
        "/": directory if record.direct else OverlayBackend(directory),
        # Mounts of their own, so that nothing of them is ever applied to the directory.
        "/memories": StoreBackend((*_MEMORIES, key)),
        "/large_tool_results": StateBackend(),
        "/conversation_history": StateBackend(),
    }
    return create_filesystem_agent(
        model,
        mounts=mounts,
        operations=None if record.execute else [n for n in OPERATIONS if n != "execute"],
        interrupt_on=_reviewed(record),
        subagents=_subagents(record.subagents) if record.subagents else (),
        memory=record.memory,
        skills=record.skills,
        # `CommandModel` can't write a summary.
        summarize=True if record.model else None,
        todos=True,
        system_prompt=_PROMPT,
        checkpointer=opened.checkpointer,
        store=opened.store,
        name="lgfs",
    )


def _directory_backend(record: Record) -> FilesystemBackend:
    if record.execute and record.directory != "/":
        try:
            return SandboxBackend(record.directory)
        except SandboxUnavailable:
            pass  # `doctor` says why
    return FilesystemBackend(record.directory)


def _reviewed(record: Record) -> dict[str, bool] | None:
    if record.approve == "none":
        return None
    names = _WRITES if record.approve == "writes" else (*OPERATIONS, "task")
    absent = {"execute": not record.execute, "task": not record.subagents}
    return {name: True for name in names if not absent.get(name)}


def _subagents(file: str) -> list[dict[str, Any]]:
    """Return the subagents that a JSON or TOML file describes."""
    try:
        text = Path(file).read_text(encoding="utf-8")
        read = tomllib.loads(text) if file.endswith(".toml") else json.loads(text)
    except (OSError, ValueError) as error:
        raise Failure(f"{file} can't be read as a list of subagents: {error}") from None
    listed = read.get("subagents") if isinstance(read, dict) else read
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise Failure(
            f"{file} must have a list of subagents: a JSON list, or [[subagents]] in TOML, each "
            "with `name` and `description`."
        )
    return listed
