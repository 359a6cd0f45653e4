"""The commands, their options and their help.

The function that carries a command out has its name, and is in the module that `_command` names. It
is imported when the command runs: `lgfs --help` and the completion of a shell must not wait for
LangGraph.
"""

import os
import sqlite3
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from langgraph_filesystem.command_line.failure import (
    DEBUG_VARIABLE,
    ERROR,
    INTERRUPTED,
    Failure,
    explained,
)
from langgraph_filesystem.state.text import escaped_message

__all__ = ("cli",)

_DATABASE = "LANGGRAPH_FILESYSTEM_DB"


class Commands(click.Group):
    """A group that lists its commands in their order, and reports each error in a sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they are defined."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and exit with its code."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            ctx.exit(super().invoke(ctx) or 0)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise  # click handles these
        except Exception as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            sentence = escaped_message(explained(error, ctx.obj or "of the threads"))
            click.echo(f"{ctx.info_name}: {sentence}", err=True)
            ctx.exit(error.code if isinstance(error, Failure) else ERROR)


# Options


def _threads(ctx: click.Context, _: Any, incomplete: str) -> list[Any]:
    """Return the threads that a shell can complete."""
    from langgraph_filesystem.command_line.database import default_database, open_database
    from langgraph_filesystem.command_line.session import known_threads

    try:
        with open_database(ctx.params.get("db") or default_database()) as (_, store):
            found = known_threads(store)
    except (Failure, OSError, sqlite3.Error):
        return []
    return [
        click.shell_completion.CompletionItem(one.thread, help=one.task)
        for one in found
        if one.thread.startswith(incomplete)
    ]


def _remember_database(ctx: click.Context, _: Any, given: str | None) -> str:
    from langgraph_filesystem.command_line.database import default_database

    ctx.find_root().obj = given or default_database()
    return str(ctx.find_root().obj)


_OPTIONS = (
    click.option(
        "--root",
        default=".",
        type=click.Path(exists=True, file_okay=False),
        callback=lambda _, __, given: os.path.realpath(given),
        help="The directory to work on, instead of the current one.",
    ),
    click.option("--thread", shell_complete=_threads, help="The thread, instead of the newest."),
    click.option(
        "--db",
        envvar=_DATABASE,
        callback=_remember_database,
        is_eager=True,
        help="The database: a SQLite file, or a postgres:// address.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line."),
)
_SETUP = (
    click.option("--model", help="The model, as provider:name; needs the extra `models`."),
    click.option(
        "--approve",
        type=click.Choice(["writes", "all", "none"]),
        help="Which calls to ask about first. [default: none; writes with --direct]",
    ),
    click.option("--direct", is_flag=True, help="Write to disk at once, without an overlay."),
    click.option("--no-exec", is_flag=True, help="Don't let the agent run commands."),
    click.option(
        "--memory", multiple=True, metavar="PATH", help="A file that is always in the prompt."
    ),
    click.option("--skills", multiple=True, metavar="DIR", help="A directory with skills."),
    click.option(
        "--subagents",
        type=click.Path(exists=True, dir_okay=False, resolve_path=True),
        help="A JSON or TOML file that describes subagents.",
    ),
)


_PATHS = click.argument("paths", nargs=-1, type=click.Path())


# Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="langgraph-filesystem")
def cli() -> None:
    """An agent works on your directory, and its changes wait until you apply them.

    \b
    lgfs run "add a test for the parser"   let an agent work
    lgfs diff                              see what it changed
    lgfs undo                              take the last step back
    lgfs apply                             write the changes to disk
    """


def _command(module: str, *options: Callable[..., Any]) -> Callable[[Callable[[], None]], None]:
    """Add a command to `cli`, with its own options and those that all have."""

    def add(described: Callable[[], None]) -> None:
        name = described.__name__

        def call(db: str, root: str, thread: str | None, as_json: bool, **own: Any) -> int:
            from langgraph_filesystem.command_line.session import Where

            function = getattr(import_module(f"langgraph_filesystem.command_line.{module}"), name)
            return int(function(Where(db, root, thread, as_json), **own))

        command: Any = call
        for option in reversed((*options, *_OPTIONS)):
            command = option(command)
        cli.command(name, help=described.__doc__)(command)

    return add


@_command("run", click.argument("task", nargs=-1, required=True), *_SETUP)
def run() -> None:
    """Give a task to an agent, in a new thread.

    The agent sees the current directory at `/`. Its changes wait in the thread. With `-` as the
    task, the task is read from standard input.

    \b
    Examples:
      lgfs run "fix the typos in README.md" --model openai:gpt-5
      lgfs run 'edit_file /README.md teh the replace_all=true'
    """


@_command("run", click.option("--new", is_flag=True, help="Begin a new thread."), *_SETUP)
def chat() -> None:
    """Talk with an agent, in the newest thread of this directory.

    Ctrl-C stops a step and keeps the thread, Ctrl-D ends. Calls that wait for your approval are
    asked about first.

    \b
    Example:
      lgfs chat --approve writes
    """


@_command("changes")
def status() -> None:
    """List the changed files, as git does.

    \b
    Example:
      lgfs status
    """


@_command(
    "changes",
    _PATHS,
    click.option(
        "--since", metavar="STEP", help="Compare with a step of `lgfs log`, not the disk."
    ),
    click.option("--until", metavar="STEP", help="Compare this step, not the newest."),
    click.option("--patch", is_flag=True, help="Print the bytes as they are, for `git apply`."),
)
def diff() -> None:
    """Show what the thread changed, against what is on disk.

    \b
    Examples:
      lgfs diff src/
      lgfs diff --since 12 --until 20
      lgfs diff --patch > changes.patch
    """


@_command("changes")
def log() -> None:
    """List each change with its step and the node that made it.

    \b
    Example:
      lgfs log
    """


@_command(
    "changes",
    _PATHS,
    click.option(
        "--steps", type=click.IntRange(min=1), default=1, help="How many steps to take back."
    ),
    click.option(
        "--to", metavar="STEP", help="Go back to the files after this step of `lgfs log`."
    ),
)
def undo() -> None:
    """Take back the last step that changed files.

    An undo is a step as well: another one takes it back.

    \b
    Examples:
      lgfs undo
      lgfs undo src/parser.py
      lgfs undo --to 12
    """


@_command(
    "changes",
    _PATHS,
    click.option(
        "--force", is_flag=True, help="Where both changed, take ours and keep theirs beside."
    ),
)
def apply() -> None:
    """Write the changes to disk, all or those at some paths. It does not ask.

    A file that was changed on disk meanwhile is a conflict, unless the edits still fit: it is
    reported, left alone, and the exit code is 3.

    \b
    Examples:
      lgfs apply
      lgfs apply src/parser.py
    """


@_command("changes", _PATHS)
def discard() -> None:
    """Drop the changes, all or those at some paths.

    `lgfs undo` brings them back.

    \b
    Example:
      lgfs discard src/parser.py
    """


@_command(
    "threads",
    click.option("--all", "everywhere", is_flag=True, help="Those of other directories as well."),
)
def threads() -> None:
    """List the threads of this directory, the newest first.

    \b
    Example:
      lgfs threads --all
    """


@_command(
    "threads",
    click.argument("path", default="/"),
    click.option("-a", "--hidden", is_flag=True, help="Names that begin with a dot as well."),
)
def tree() -> None:
    """List the files as the agent sees them, with its changes.

    \b
    Example:
      lgfs tree src
    """


@_command("threads", click.argument("path"))
def cat() -> None:
    """Print a file as the agent sees it, with its changes.

    \b
    Example:
      lgfs cat src/parser.py
    """


@_command(
    "threads",
    click.option("--at", metavar="STEP", help="Fork at a step of `lgfs log`, not at the newest."),
)
def fork() -> None:
    """Begin a thread with the conversation and the changes of this one.

    \b
    Example:
      lgfs fork --at 12
    """


@_command(
    "threads",
    click.argument("first", shell_complete=_threads),
    click.argument("second", shell_complete=_threads),
)
def compare() -> None:
    """Show how the files of two threads differ.

    \b
    Example:
      lgfs compare 3f2a9c1d 8ee33426
    """


@_command("threads", click.argument("directory", type=click.Path()))
def export() -> None:
    """Write the files of the thread to an empty directory.

    The result is this directory with the changes of the thread.

    \b
    Example:
      lgfs export /tmp/try
    """


@_command("threads")
def stats() -> None:
    """Count turns, bytes, tokens and seconds of a thread.

    The bytes are those of its channels, the tokens those that eviction saved, the seconds those
    of its slowest nodes.

    \b
    Example:
      lgfs stats
    """


@_command(
    "threads",
    click.option("--svg", type=click.Path(dir_okay=False), help="Draw it to a file, with `mmdc`."),
)
def draw() -> None:
    """Print the graph as mermaid text.

    \b
    Example:
      lgfs draw --svg graph.svg
    """


@_command(
    "serve",
    click.option(
        "--port", type=click.IntRange(1, 65_535), help="The port, instead of one that is free."
    ),
)
def serve() -> None:
    """Start the LangGraph server for this directory.

    It prints the address to open in Studio. Its threads are in a database of its own.

    \b
    Example:
      lgfs serve --port 2024
    """


@_command("doctor")
def doctor() -> None:
    """Say what works here, and what to do about the rest.

    \b
    Example:
      lgfs doctor
    """
