"""`lgfs doctor`: what is installed and works on this machine, and what to do about the rest."""

import importlib.metadata
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from langgraph_filesystem.command_line.database import data_directory, is_postgres, open_database
from langgraph_filesystem.command_line.failure import ERROR, OK, Failure, explained
from langgraph_filesystem.command_line.screen import Screen, print_json
from langgraph_filesystem.command_line.session import MODEL_VARIABLE, Where
from langgraph_filesystem.state.backends.disk.ripgrep import find_ripgrep
from langgraph_filesystem.state.backends.execution.bubblewrap import find_bubblewraps
from langgraph_filesystem.state.backends.execution.layers import overlay_support
from langgraph_filesystem.state.backends.execution.sandbox import (
    SandboxBackend,
    SandboxUnavailable,
)
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import attempt, in_thread, run_sync

__all__ = ("Check", "doctor")

_PACKAGES = ("langgraph-filesystem", "langgraph", "langgraph-checkpoint-sqlite", "langchain-core")
_EXTRAS = {
    "models": ("langchain", "choose a model by its name"),
    "postgres": ("psycopg", "keep threads in PostgreSQL"),
    "remote": ("obstore", "mount buckets"),
}
_KEYS = (
    *("ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY"),
    *("MISTRAL_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"),
)
_UNTRIED = "it could not be tried, because bubblewrap does not work"


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: str
    """`ok`, `missing` (something works less well) or `broken` (nothing works)."""
    found: str
    fix: str = ""


def doctor(where: Where) -> int:
    """Print every check; the exit code is 1 if something that is needed does not work."""
    screen = Screen()
    checks = list(_checks(where))
    for check in checks:
        if where.as_json:
            print_json(check._asdict())
            continue
        style = {"ok": "green", "missing": "yellow", "broken": "red"}[check.state]
        screen.say(f"{check.state:<8} {check.name}: {check.found}", style)
        if check.fix:
            screen.say(f"         {check.fix}", "dim")
    return ERROR if any(check.state == "broken" for check in checks) else OK


def _checks(where: Where) -> Iterator[Check]:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)
    yield Check("packages", "ok", f"Python {sys.version.split()[0]}, {versions}")
    for extra, (module, purpose) in _EXTRAS.items():
        if importlib.util.find_spec(module):
            yield Check(f"extra {extra}", "ok", "installed")
        else:
            fix = f"To {purpose}: pip install 'langgraph-filesystem[{extra}]'"
            yield Check(f"extra {extra}", "missing", "not installed", fix)
    program = find_ripgrep()
    if program:
        yield Check("rg", "ok", str(program))
    else:
        fix = "For fast searches: install ripgrep, or pip install 'langgraph-filesystem[search]'"
        yield Check("rg", "missing", "not found, searches run in Python", fix)
    yield from _sandbox()
    yield from _places(where)
    yield from _models()


def _sandbox() -> Iterator[Check]:
    """Try to run a command in a sandbox, then in one over an overlay of the kernel."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            ran = run_sync(attempt(in_thread(SandboxBackend(directory).execute, "true"), "It"))
        except SandboxUnavailable as error:
            yield Check("commands in a sandbox", "missing", "not possible", str(error))
            yield Check("overlay of the kernel", "missing", _UNTRIED)
            return
        if isinstance(ran, FilesystemError) or ran.exit_code != 0:
            yield Check("commands in a sandbox", "missing", f"a try failed: {ran}")
        else:
            yield Check("commands in a sandbox", "ok", ", ".join(find_bubblewraps()))
    # This mounts a real one: whether it works depends on kernel, user and file system.
    problem = overlay_support()
    yield Check("overlay of the kernel", "missing" if problem else "ok", problem or "works")


def _places(where: Where) -> Iterator[Check]:
    home = data_directory()
    if not is_postgres(where.database):
        home = Path(where.database).absolute().parent
    try:
        existing = next(one for one in (home, *home.parents) if one.is_dir())
        with tempfile.TemporaryFile(dir=existing):
            yield Check("data directory", "ok", f"{home} can be written")
    except OSError as error:
        fix = "Set XDG_DATA_HOME to a directory of yours, or use --db."
        yield Check("data directory", "broken", explained(error, where.database), fix)
    shown = "PostgreSQL" if is_postgres(where.database) else where.database
    if is_postgres(where.database) or os.path.exists(where.database):
        opened = run_sync(attempt(in_thread(_try_database, where.database), shown))
        if isinstance(opened, FilesystemError):
            yield Check("database", "broken", str(opened), "Choose another one with --db.")
        else:
            yield Check("database", "ok", shown)
    else:
        yield Check("database", "ok", f"{shown} is made by the first `lgfs run`")
    free = shutil.disk_usage(where.root).free
    if os.access(where.root, os.W_OK):
        yield Check("directory", "ok", f"{where.root} can be written, {free >> 20:,} MB are free")
    else:
        fix = "Agents can work on it, but `lgfs apply` can't write: change its permissions."
        yield Check("directory", "missing", f"{where.root} is read-only for you", fix)


def _try_database(database: str) -> None:
    try:
        with open_database(database):
            pass
    except Failure as failure:
        raise ValueError(str(failure)) from None


def _models() -> Iterator[Check]:
    keys = [name for name in _KEYS if os.environ.get(name)]
    chosen = os.environ.get(MODEL_VARIABLE)
    if chosen:
        yield Check("model", "ok", f"{MODEL_VARIABLE} is {chosen}")
    else:
        fix = f"Set {MODEL_VARIABLE}, or use --model provider:name."
        yield Check("model", "missing", "none is chosen, so typed commands are carried out", fix)
    if keys:
        yield Check("keys", "ok", f"set: {', '.join(keys)}")
    else:
        fix = f"Set the key of your provider, such as {_KEYS[-2]}."
        yield Check("keys", "missing", "no key of a known provider is set", fix)
    if os.environ.get("LANGSMITH_TRACING", os.environ.get("LANGCHAIN_TRACING_V2")) == "true":
        fix = "Unset LANGSMITH_TRACING to keep them here."
        yield Check("tracing", "ok", "conversations are sent to LangSmith", fix)
