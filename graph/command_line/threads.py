"""Threads as a whole: `threads`, `tree`, `cat`, `fork`, `compare`, `export`, `stats` and `draw`."""

import os
import shutil
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from rich.text import Text

from langgraph_filesystem.command_line.changes import checkpoint_of, compared, shown_path
from langgraph_filesystem.command_line.database import open_database
from langgraph_filesystem.command_line.failure import ERROR, OK, Failure
from langgraph_filesystem.command_line.screen import (
    Screen,
    diff_line,
    lines_of,
    plain,
    print_json,
)
from langgraph_filesystem.command_line.session import (
    Graph,
    Record,
    Where,
    known_threads,
    open_thread,
    save_thread,
    virtual_path,
)
from langgraph_filesystem.history.compare import unified
from langgraph_filesystem.history.thread import Thread, Tree, Version
from langgraph_filesystem.labels import draw_mermaid
from langgraph_filesystem.nodes.settings import CHARACTERS_PER_TOKEN
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError
from langgraph_filesystem.state.io import run_sync
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("cat", "compare", "draw", "export", "fork", "stats", "threads", "tree")

_COPIED = ("messages", "files", "overlay", "seen", "todos")
"""The channels that a fork begins with."""
_SLOWEST = 5


def threads(where: Where, *, everywhere: bool) -> int:
    """List the threads of the directory, or all."""
    with open_database(where.database) as (_, store):
        records = known_threads(store, **({} if everywhere else {"directory": where.root}))
    screen = Screen()
    if where.as_json:
        print_json(*map(asdict, records))
        return OK
    for record in records:
        first, _, _ = record.task.strip().partition("\n")
        screen.say(f"{record.thread}  {record.used[:16].replace('T', ' ')}  {first[:60]}")
        if everywhere:
            screen.say(f"  {record.directory}", "dim")
    if not records:
        screen.say(f"No agent has worked in {where.root} yet.")
    return OK


def tree(where: Where, path: str, *, hidden: bool) -> int:
    """List the files as the agent sees them."""
    with open_thread(where) as (graph, record):
        files, _ = _opened(graph, record)
        top = virtual_path(path, record.directory)
        kind = run_sync(files.kind(top))
        if kind is None:
            raise _missing(path)
        if kind == "file":
            raise Failure(f"{path} is a file: `lgfs cat {path}` prints it.")
        rows = (
            row
            for row in _listed(files, top, 0)
            if hidden or not any(part.startswith(".") for part in row.name.split("/"))
        )
        if where.as_json:
            for row in rows:
                print_json({"path": row.name, "directory": row.is_directory})
        else:
            Screen().page(rows, _Row.drawn)
    return OK


def cat(where: Where, path: str) -> int:
    """Print a file as the agent sees it; to a pipe its bytes as they are."""
    with open_thread(where) as (graph, record):
        files, _ = _opened(graph, record)
        [content] = run_sync(files.fetch([virtual_path(path, record.directory)]))
    if isinstance(content, FileNotFound):
        raise _missing(path)
    if isinstance(content, FilesystemError):
        raise content
    if where.as_json:
        print_json({"path": path, "content": content.decode(errors="replace")})
    elif sys.stdout.isatty():
        Screen().page(lines_of(content.decode(errors="replace")), plain)
    else:
        sys.stdout.buffer.write(content)
    return OK


def fork(where: Where, at: str | None) -> int:
    """Begin a thread with the conversation and the changes of another one."""
    with open_thread(where, changes=True) as (graph, record):
        config = record.config
        if at is not None:
            config["configurable"]["checkpoint_id"] = checkpoint_of(graph, record, at)
        state = graph.get_state(config)
        if state.created_at is None:
            named = f"checkpoint {at}" if at else "state yet"
            raise Failure(f"Thread {record.thread} has no {named}, so nothing can be forked.")
        copied = {name: state.values[name] for name in _COPIED if state.values.get(name)}
        forked = replace(record, thread=uuid.uuid4().hex[:8])
        graph.update_state(forked.config, copied, as_node="model")
        assert graph.store is not None
        save_thread(graph.store, forked)
    if where.as_json:
        print_json({"thread": forked.thread, "from": record.thread})
    else:
        Screen().say(f"Thread {forked.thread} begins where {record.thread} is: `lgfs chat`.")
    return OK


def compare(where: Where, first: str, second: str) -> int:
    """Show how the files of two threads differ."""
    with (
        open_thread(where._replace(thread=first)) as (one, record),
        open_thread(where._replace(thread=second)) as (two, other),
    ):
        (_, before), (_, after) = _opened(one, record), _opened(two, other)
        found = list(compared(before, after))
        if where.as_json:
            text = "".join(unified(*each) for each in found)
            print_json({"from": first, "to": second, "diff": text})
        elif found:
            lines = (line for each in found for line in lines_of(unified(*each)))
            Screen().page(lines, diff_line)
        else:
            Screen().say("Both threads have the same files.")
    return OK


def export(where: Where, directory: str) -> int:
    """Write the directory with all changes of the thread to another one, which must be empty."""
    place = Path(directory)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Failure(f"{directory} is not an empty directory: choose another one.")
    with open_thread(where) as (graph, record):
        if place.resolve().is_relative_to(record.directory):
            raise Failure(f"{directory} is inside of {record.directory}: choose another directory.")
        _, files = _opened(graph, record)
        skipped = _copy(record.directory, place)
        for path, _, version in compared(None, files):
            _write(place / path.removeprefix("/"), version)
    if where.as_json:
        print_json({"path": str(place.resolve()), "not_copied": skipped})
    else:
        screen = Screen()
        screen.say(f"Written to {place}: the files as the thread has them.")
        rows = [f"not copied  {path}: {reason}" for path, reason in skipped.items()]
        screen.files(rows, lambda row: plain(row, "red"))
    return ERROR if skipped else OK


def _copy(directory: str, place: Path) -> dict[str, str]:
    """Copy a directory, and return the paths that could not be copied, with reasons."""
    try:
        shutil.copytree(directory, place, symlinks=True, dirs_exist_ok=True)
    except shutil.Error as error:
        return {os.path.relpath(one, directory): str(why) for one, _, why in error.args[0]}
    return {}


def stats(where: Where) -> int:
    """Say how large a thread is, and which nodes took the longest."""
    with open_thread(where) as (graph, record):
        saver: Any = graph.checkpointer
        sizes: Counter[str] = Counter()
        checkpoints = 0
        for one in saver.list(record.config):
            checkpoints += 1
            for _, channel, value in one.pending_writes or ():
                sizes[channel] += len(saver.serde.dumps_typed(value)[1])
        values = graph.get_state(record.config).values
        seconds = _durations(graph, record)[:_SLOWEST]
    messages = values.get("messages", [])
    facts = {
        "thread": record.thread,
        "turns": sum(isinstance(message, HumanMessage) for message in messages),
        "messages": len(messages),
        "checkpoints": checkpoints,
        "bytes": {
            name: size for name, size in sizes.most_common() if not name.startswith("branch")
        },
        "tokens_saved_by_eviction": _saved(values),
        "seconds": {name: round(spent, 3) for name, spent in seconds},
    }
    if where.as_json:
        print_json(facts)
        return OK
    screen = Screen()
    for name, fact in facts.items():
        title = name.replace("_", " ")
        if not isinstance(fact, dict):
            screen.say(f"{title}: {fact:,}" if isinstance(fact, int) else f"{title}: {fact}")
            continue
        screen.say(f"{title}:")
        for key, number in fact.items():
            screen.say(f"  {key}: {number:,}")
    return OK


def draw(where: Where, svg: str | None) -> int:
    """Print the graph as mermaid text, or draw it with the renderer of mermaid."""
    with open_thread(where) as (graph, _):
        text = draw_mermaid(graph.get_graph())
    if svg is None:
        print(text)
        return OK
    renderer = shutil.which("mmdc")
    if renderer is None:
        raise Failure(
            "To draw an SVG, install the renderer: npm install -g @mermaid-js/mermaid-cli. Without "
            "--svg you get the text, which GitHub and others draw."
        )
    subprocess.run([renderer, "-i", "-", "-o", svg], input=text, text=True, check=True)
    return OK


# Shared by the commands


def _opened(graph: Graph, record: Record) -> tuple[Workspace, Tree]:
    """Return all files as the agent sees them, and those of the thread."""
    thread = Thread(graph, record.config)
    files = thread.tree(run_sync(thread.state()))
    return Workspace(thread.mounts, files.thread, thread.runtime), files


def _missing(path: str) -> Failure:
    return Failure(f"The agent sees no {path}: `lgfs tree` lists what it sees.")


class _Row(NamedTuple):
    """A file or a directory in a tree."""

    depth: int
    name: str
    is_directory: bool

    def drawn(self) -> Text:
        shown = self.name.rpartition("/")[2] + "/" * self.is_directory
        return plain("  " * self.depth + shown, "bold" if self.is_directory else "")


def _listed(files: Workspace, path: str, depth: int) -> Iterator[_Row]:
    found = run_sync(files.ls(path)).entries or []
    for info in sorted(found, key=lambda one: one["path"]):
        inner = info["path"].rstrip("/")
        is_directory = bool(info.get("is_dir")) and not info.get("is_link")
        is_mount = files.mounts.locate(inner).prefix == inner
        if is_mount and not run_sync(files.ls(inner)).entries:
            continue  # such as `/memories` while it is empty
        yield _Row(depth, shown_path(inner), is_directory)
        if is_directory and not inner.endswith("/.git"):
            yield from _listed(files, inner, depth + 1)


def _write(place: Path, version: Version | None) -> None:
    """Write a version in the place of whatever is there."""
    is_directory = place.is_dir() and not place.is_symlink()
    if is_directory and (version is None or version.kind != "directory"):
        shutil.rmtree(place)
    elif not is_directory:
        with suppress(FileNotFoundError, NotADirectoryError):
            place.unlink()
    if version is None:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if version.kind == "link":
        os.symlink(os.fsdecode(version.content), place)
        return
    if version.kind == "directory":
        place.mkdir(exist_ok=True)
    else:
        place.write_bytes(version.content)
    if version.mode is not None:
        place.chmod(version.mode)


def _durations(graph: Graph, record: Record) -> list[tuple[str, float]]:
    """Return how long each node took in all, the slowest first.

    Each node of a step counts with the time of the whole step.
    """
    spent: dict[str, float] = {}
    newer: tuple[datetime, Any] | None = None
    for state in graph.get_state_history(record.config):
        began = datetime.fromisoformat(state.created_at or "")
        if newer is not None and newer[1].get("source") == "loop":
            for name in set(state.next):
                spent[name] = spent.get(name, 0) + (newer[0] - began).total_seconds()
        newer = began, state.metadata or {}
    return sorted(spent.items(), key=lambda one: one[1], reverse=True)


def _saved(values: dict[str, Any]) -> int:
    """Estimate how many tokens of the conversation eviction saved."""
    files = values.get("files") or {}
    saved = 0
    for message in values.get("messages", []):
        for path in message.additional_kwargs.values():
            if isinstance(path, str) and path.startswith("/large_tool_results/") and path in files:
                saved += len(files[path]["content"]) - len(message.text)
    return saved // CHARACTERS_PER_TOKEN
