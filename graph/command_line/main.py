"""The commands, their options and their help.

What a command does is imported when it runs: `lgfs --help` and the completion of a shell must not
wait for LangGraph.
"""

import os
import sqlite3
import sys
from collections.abc import Callable
from typing import Any, TypeVar

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

F = TypeVar("F", bound=Callable[..., Any])

_DATABASE = "LANGGRAPH_FILESYSTEM_DB"


class Commands(click.Group):
    """A group that lists its commands in their order, and ends each error with a sentence."""

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
            raise  # click ends with what they say
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
        "--memory", multiple=True, metavar="PATH", help="A file the model is always told."
    ),
    click.option("--skills", multiple=True, metavar="DIR", help="A directory with skills."),
    click.option(
        "--subagents",
        type=click.Path(exists=True, dir_okay=False, resolve_path=True),
        help="A JSON or TOML file that describes subagents.",
    ),
)


def _with(*options: Callable[[F], F]) -> Callable[[F], F]:
    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _where(options: dict[str, Any]) -> Any:
    from langgraph_filesystem.command_line.changes import Where

    return Where(options["db"], options["root"], options["thread"], options["as_json"])


_paths = click.argument("paths", nargs=-1, type=click.Path())


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


@cli.command()
@click.argument("task", nargs=-1, required=True)
@_with(*_SETUP, *_OPTIONS)
def run(task: tuple[str, ...], **options: Any) -> int:
    """Give a task to an agent, in a new thread.

    The agent sees the current directory at `/`. What it changes waits in the thread. With `-` as
    the task, the task is read from standard input.

    \b
    Examples:
      lgfs run "fix the typos in README.md" --model openai:gpt-5
      lgfs run 'edit_file /README.md teh the replace_all=true'
    """
    from langgraph_filesystem.command_line import run as running

    text = sys.stdin.read() if task == ("-",) else " ".join(task)
    record = _record(options, text, continues=options["thread"] is not None)
    return running.run(record, options["db"], text, as_json=options["as_json"])


@cli.command()
@click.option("--new", is_flag=True, help="Begin a new thread.")
@_with(*_SETUP, *_OPTIONS)
def chat(new: bool, **options: Any) -> int:
    """Talk with an agent, in the newest thread of this directory.

    Ctrl-C stops a step and keeps the thread, Ctrl-D ends. Calls that wait for your approval are
    asked about first.

    \b
    Example:
      lgfs chat --approve writes
    """
    from langgraph_filesystem.command_line import changes
    from langgraph_filesystem.command_line import run as running

    record = _record(options, "", continues=not new)
    where = changes.Where(options["db"], record.directory, record.thread, options["as_json"])
    commands = {
        "status": lambda: changes.status(where),
        "diff": lambda: changes.diff(where, (), since=None, until=None, patch=False),
        "log": lambda: changes.log(where),
        "undo": lambda: changes.undo(where, (), steps=1, to=None),
        "apply": lambda: changes.apply(where, (), force=False),
        "discard": lambda: changes.discard(where, ()),
    }
    return running.chat(record, options["db"], as_json=options["as_json"], commands=commands)


def _record(options: dict[str, Any], task: str, *, continues: bool) -> Any:
    from langgraph_filesystem.command_line import session

    return session.prepared_thread(
        options["db"],
        options["root"],
        options["thread"],
        task=task,
        continues=continues,
        given={
            "model": options["model"],
            "approve": options["approve"],
            "direct": options["direct"] or None,
            "execute": False if options["no_exec"] else None,
            "memory": options["memory"] or None,
            "skills": options["skills"] or None,
            "subagents": options["subagents"],
        },
    )


@cli.command()
@_with(*_OPTIONS)
def status(**options: Any) -> int:
    """List the changed files, as git does.

    \b
    Example:
      lgfs status
    """
    from langgraph_filesystem.command_line import changes

    return changes.status(_where(options))


@cli.command()
@_paths
@click.option("--since", metavar="STEP", help="Compare with a step of `lgfs log`, not the disk.")
@click.option("--until", metavar="STEP", help="Compare this step, not the newest.")
@click.option("--patch", is_flag=True, help="Print the bytes as they are, for `git apply`.")
@_with(*_OPTIONS)
def diff(
    paths: tuple[str, ...], since: str | None, until: str | None, patch: bool, **options: Any
) -> int:
    """Show what the thread changed, against what is on disk.

    \b
    Examples:
      lgfs diff src/
      lgfs diff --since 12 --until 20
      lgfs diff --patch > changes.patch
    """
    from langgraph_filesystem.command_line import changes

    return changes.diff(_where(options), paths, since=since, until=until, patch=patch)


@cli.command()
@_with(*_OPTIONS)
def log(**options: Any) -> int:
    """List each change with its step and the node that made it.

    \b
    Example:
      lgfs log
    """
    from langgraph_filesystem.command_line import changes

    return changes.log(_where(options))


@cli.command()
@_paths
@click.option("--steps", type=click.IntRange(min=1), default=1, help="How many steps to take back.")
@click.option("--to", metavar="STEP", help="Go back to the files after this step of `lgfs log`.")
@_with(*_OPTIONS)
def undo(paths: tuple[str, ...], steps: int, to: str | None, **options: Any) -> int:
    """Take back the last step that changed files.

    An undo is a step as well: another one takes it back.

    \b
    Examples:
      lgfs undo
      lgfs undo src/parser.py
      lgfs undo --to 12
    """
    from langgraph_filesystem.command_line import changes

    return changes.undo(_where(options), paths, steps=steps, to=to)


@cli.command()
@_paths
@click.option("--force", is_flag=True, help="Where both changed, take ours and keep theirs beside.")
@_with(*_OPTIONS)
def apply(paths: tuple[str, ...], force: bool, **options: Any) -> int:
    """Write the changes to disk, all or those at some paths. It does not ask.

    A file that was changed on disk meanwhile is a conflict, unless the edits still fit: it is
    reported, left alone, and the exit code is 3.

    \b
    Examples:
      lgfs apply
      lgfs apply src/parser.py
    """
    from langgraph_filesystem.command_line import changes

    return changes.apply(_where(options), paths, force=force)


@cli.command()
@_paths
@_with(*_OPTIONS)
def discard(paths: tuple[str, ...], **options: Any) -> int:
    """Drop the changes, all or those at some paths.

    `lgfs undo` brings them back.

    \b
    Example:
      lgfs discard src/parser.py
    """
    from langgraph_filesystem.command_line import changes

    return changes.discard(_where(options), paths)


@cli.command()
@click.option("--all", "everywhere", is_flag=True, help="Those of other directories as well.")
@_with(*_OPTIONS)
def threads(everywhere: bool, **options: Any) -> int:
    """List the threads of this directory, the newest first.

    \b
    Example:
      lgfs threads --all
    """
    from langgraph_filesystem.command_line import threads as listing

    return listing.threads(_where(options), everywhere=everywhere)


@cli.command()
@click.argument("path", default="/")
@click.option("-a", "--hidden", is_flag=True, help="Names that begin with a dot as well.")
@_with(*_OPTIONS)
def tree(path: str, hidden: bool, **options: Any) -> int:
    """List the files as the agent sees them, with its changes.

    \b
    Example:
      lgfs tree src
    """
    from langgraph_filesystem.command_line import threads as listing

    return listing.tree(_where(options), path, hidden=hidden)


@cli.command()
@click.argument("path")
@_with(*_OPTIONS)
def cat(path: str, **options: Any) -> int:
    """Print a file as the agent sees it, with its changes.

    \b
    Example:
      lgfs cat src/parser.py
    """
    from langgraph_filesystem.command_line import threads as listing

    return listing.cat(_where(options), path)


@cli.command()
@click.option("--at", metavar="STEP", help="Fork at a step of `lgfs log`, not at the newest.")
@_with(*_OPTIONS)
def fork(at: str | None, **options: Any) -> int:
    """Begin a thread with the conversation and the changes of this one.

    \b
    Example:
      lgfs fork --at 12
    """
    from langgraph_filesystem.command_line import threads as listing

    return listing.fork(_where(options), at)


@cli.command()
@click.argument("first", shell_complete=_threads)
@click.argument("second", shell_complete=_threads)
@_with(*_OPTIONS)
def compare(first: str, second: str, **options: Any) -> int:
    """Show how the files of two threads differ.

    \b
    Example:
      lgfs compare 3f2a9c1d 8ee33426
    """
    from langgraph_filesystem.command_line import threads as listing

    return listing.compare(_where(options), first, second)


@cli.command()
@click.argument("directory", type=click.Path())
@_with(*_OPTIONS)
def export(directory: str, **options: Any) -> int:
    """Write the files of the thread to an empty directory.

    They are those of this directory, with the changes of the thread.

    \b
    Example:
      lgfs export /tmp/try
    """
    from langgraph_filesystem.command_line import threads as listing

    return listing.export(_where(options), directory)


@cli.command()
@_with(*_OPTIONS)
def stats(**options: Any) -> int:
    """Count turns, bytes, tokens and seconds of a thread.

    The bytes are those of its channels, the tokens those that eviction saved, the seconds those
    of its slowest nodes.

    \b
    Example:
      lgfs stats
    """
    from langgraph_filesystem.command_line import threads as listing

    return listing.stats(_where(options))


@cli.command()
@click.option("--svg", type=click.Path(dir_okay=False), help="Draw it to a file, with `mmdc`.")
@_with(*_OPTIONS)
def draw(svg: str | None, **options: Any) -> int:
    """Print the graph as mermaid text.

    \b
    Example:
      lgfs draw --svg graph.svg
    """
    from langgraph_filesystem.command_line import threads as listing

    return listing.draw(_where(options), svg)


@cli.command()
@click.option(
    "--port", type=click.IntRange(1, 65_535), help="The port, instead of one that is free."
)
@_with(*_OPTIONS)
def serve(port: int | None, **options: Any) -> int:
    """Start the LangGraph server for this directory.

    It prints the address to open in Studio, and keeps its threads itself.

    \b
    Example:
      lgfs serve --port 2024
    """
    from langgraph_filesystem.command_line import serve as serving

    return serving.serve(_where(options), port)


@cli.command()
@_with(*_OPTIONS)
def doctor(**options: Any) -> int:
    """Say what works here, and what to do about the rest.

    \b
    Example:
      lgfs doctor
    """
    from langgraph_filesystem.command_line import doctor as checks

    return checks.doctor(_where(options))
