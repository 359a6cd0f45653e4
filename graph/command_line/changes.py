"""What waits in a thread: `status`, `diff`, `log`, `undo`, `apply` and `discard`."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from langgraph_filesystem import history
from langgraph_filesystem.command_line.failure import CONFLICTS, ERROR, OK, Failure
from langgraph_filesystem.command_line.screen import Screen, print_json
from langgraph_filesystem.command_line.session import Graph, Record, open_thread, virtual_path
from langgraph_filesystem.history.compare import line_counts, unified, versions
from langgraph_filesystem.history.thread import Thread, Tree, Version
from langgraph_filesystem.nodes.answers import counted
from langgraph_filesystem.state.io import run_sync
from langgraph_filesystem.state.paths import is_within

__all__ = (
    "FileChange",
    "Where",
    "apply",
    "changed_versions",
    "checkpoint_of",
    "diff",
    "discard",
    "log",
    "shown_path",
    "status",
    "summarize",
    "undo",
    "waiting_changes",
    "waiting_versions",
)


class Where(NamedTuple):
    """Which thread a command is about, and who reads its answer."""

    database: str
    root: str
    thread: str | None
    as_json: bool


class FileChange(NamedTuple):
    """A file that the thread changed, compared with what is on disk."""

    path: str
    kind: str
    """`added`, `changed` or `deleted`."""
    added: int
    removed: int


def status(where: Where) -> int:
    """List the changed files as git does."""
    with open_thread(where.database, where.root, where.thread) as (graph, record):
        _check_overlay(record)
        changes = _changes(graph, record)
        state = graph.get_state(record.config)
    if where.as_json:
        for change in changes:
            print_json(change._asdict())
        return OK
    screen = Screen()
    summarize(screen, record, changes)
    if state.interrupts:
        screen.warn(f"Calls wait for your approval: `lgfs chat --thread {record.thread}` asks.")
    elif state.next:
        screen.say("A run is under way, or was stopped: the next message goes on.", "dim")
    return OK


def summarize(
    screen: Screen, record: Record, changes: Sequence[FileChange], limit: int | None = None
) -> None:
    """Print the changed files, and what can be done with them."""
    if record.direct:
        screen.say(f"Changes were written to {record.directory} at once.", "dim")
        return
    if not changes:
        screen.say(f"No changes wait in thread {record.thread}.")
        return
    files = counted(len(changes), "changed file")
    screen.say(f"{files} in thread {record.thread}, not on disk yet:", "bold")
    for change in changes[:limit]:
        screen.change(*change)
    if limit is not None and len(changes) > limit:
        screen.say(f"  and {len(changes) - limit:,} more: lgfs status", "dim")
    screen.say(
        "See them: lgfs diff. Undo a step: lgfs undo. Write them to disk: lgfs apply.", "dim"
    )


def diff(
    where: Where, paths: Sequence[str], *, since: str | None, until: str | None, patch: bool
) -> int:
    """Show what waits, or what changed between two steps."""
    with open_thread(where.database, where.root, where.thread) as (graph, record):
        _check_overlay(record)
        if since or until:
            steps = [step and checkpoint_of(graph, record, step) for step in (since, until)]
            texts = {"": history.diff(graph, record.config, *steps)}
        else:
            chosen = _chosen(paths, record)
            texts = {
                path: unified(path, old, new)
                for path, old, new in waiting_versions(graph, record)
                if _is_chosen(path, chosen)
            }
            if paths and not texts:
                raise Failure(f"No changes at {', '.join(paths)}.")
    if where.as_json:
        for path, text in texts.items():
            print_json({"path": path, "diff": text})
    elif patch:
        sys.stdout.buffer.write("".join(texts.values()).encode(errors="surrogateescape"))
    else:
        screen = Screen()
        for text in texts.values():
            if text:
                screen.diff(text)
    return OK


def log(where: Where) -> int:
    """List each change of the thread with its step and node."""
    with open_thread(where.database, where.root, where.thread) as (graph, record):
        _check_overlay(record)
        changes = history.changes(graph, record.config)
    screen = Screen()
    for change in changes:
        if where.as_json:
            print_json(asdict(change))
        else:
            before = f"{change.step:>4} {change.node:<11}"
            screen.change(
                shown_path(change.path), change.kind, change.added, change.removed, before
            )
    if not changes and not where.as_json:
        screen.say(f"Nothing has changed in thread {record.thread}.")
    return OK


def undo(where: Where, paths: Sequence[str], *, steps: int, to: str | None) -> int:
    """Take changes back, in a new checkpoint."""
    with open_thread(where.database, where.root, where.thread, changes=True) as (graph, record):
        _check_overlay(record)
        chosen = _chosen(paths, record) or None
        target = None if to is None else checkpoint_of(graph, record, to)
        done = history.undo(graph, record.config, steps, paths=chosen, to=target)
    return _report(where, done, "undone", "Nothing to undo", paths)


def discard(where: Where, paths: Sequence[str]) -> int:
    """Drop changes that wait."""
    with open_thread(where.database, where.root, where.thread, changes=True) as (graph, record):
        _check_overlay(record)
        done = history.discard(graph, record.config, _chosen(paths, record) or None)
    return _report(where, done, "discarded", "Nothing to discard", paths)


def apply(where: Where, paths: Sequence[str], *, force: bool) -> int:
    """Write what waits to the directory."""
    with open_thread(where.database, where.root, where.thread, changes=True) as (graph, record):
        _check_overlay(record)
        on_conflict: Any = "force" if force else "report"
        result = history.apply(
            graph, record.config, paths=_chosen(paths, record) or None, on_conflict=on_conflict
        )
    code = CONFLICTS if result.conflicts else ERROR if result.failed else OK
    if where.as_json:
        for path in result.applied:
            print_json({"path": path, "result": "applied", "kept": result.kept.get(path)})
        for one in result.conflicts:
            print_json({"path": one.path, "result": "conflict", "reason": one.reason})
        for path, reason in result.failed.items():
            print_json({"path": path, "result": "failed", "reason": reason})
        return code
    screen = Screen()
    if not (result.applied or result.conflicts or result.failed):
        if paths:
            raise Failure(f"Nothing to apply at {', '.join(paths)}.")
        screen.say("Nothing to apply.")
        return OK
    for path in result.applied:
        kept = result.kept.get(path)
        beside = f"; what was there is now {shown_path(kept)}" if kept else ""
        screen.say(f"applied   {shown_path(path)}{beside}", "green")
    for one in result.conflicts:
        screen.say(f"conflict  {shown_path(one.path)}: {one.reason}", "red")
        sides = [None if side is None else Version("file", side) for side in (one.theirs, one.ours)]
        screen.diff(unified(one.path, *sides))
    for path, reason in result.failed.items():
        screen.say(f"failed    {shown_path(path)}: {reason}", "red")
    if result.conflicts:
        screen.warn(
            "Conflicts were left alone, on disk and in the thread. Take the thread's version with "
            "`lgfs apply --force`, which keeps the other one beside it, or drop it with `lgfs "
            "discard PATH`."
        )
    if result.failed:
        screen.warn("What failed is still in the thread: `lgfs apply` tries it again.")
    return code


# What they share


def waiting_changes(database: str, record: Record) -> list[FileChange]:
    """Return the changed files of a thread."""
    if record.direct:
        return []
    with open_thread(database, record.directory, record.thread) as (graph, _):
        return _changes(graph, record)


def waiting_versions(
    graph: Graph, record: Record
) -> Iterator[tuple[str, Version | None, Version | None]]:
    """Yield each changed path with what is on disk and what is in the thread."""
    thread = Thread(graph, record.config)
    if graph.get_state(record.config).created_at is None:
        return  # the first run was stopped before it began
    tree = thread.tree(run_sync(thread.state()))
    yield from changed_versions(tree.without_changes(), tree)


def changed_versions(before: Tree, after: Tree) -> list[tuple[str, Version | None, Version | None]]:
    """Return each path that looks different, with both versions."""

    async def listed() -> list[tuple[str, Version | None, Version | None]]:
        return [one async for one in versions(before, after)]

    return run_sync(listed())


def checkpoint_of(graph: Graph, record: Record, given: str) -> str:
    """Return the id of a checkpoint that is given by its id, or by its step as in `lgfs log`."""
    if not given.isdigit():
        return given
    for state in graph.get_state_history(record.config, filter={"step": int(given)}, limit=1):
        found: str = state.config["configurable"]["checkpoint_id"]
        return found
    raise Failure(f"Thread {record.thread} has no step {given}: `lgfs log` lists them.")


def shown_path(path: str) -> str:
    """Return a path as git shows it, from the root of the directory."""
    return path.removeprefix("/") or "/"


def _changes(graph: Graph, record: Record) -> list[FileChange]:
    found = []
    for path, old, new in waiting_versions(graph, record):
        kind = "added" if old is None else "deleted" if new is None else "changed"
        is_directory = "directory" in (old and old.kind, new and new.kind)
        counts = (0, 0) if is_directory else line_counts(old, new)
        found.append(FileChange(shown_path(path) + "/" * is_directory, kind, *counts))
    return found


def _chosen(paths: Sequence[str], record: Record) -> list[str]:
    return [virtual_path(path, record.directory) for path in paths]


def _is_chosen(path: str, chosen: Sequence[str]) -> bool:
    return not chosen or any(is_within(path, one) for one in chosen)


def _check_overlay(record: Record) -> None:
    if record.direct:
        raise Failure(
            f"Thread {record.thread} writes to {record.directory} at once (--direct), so it has no "
            "history: use that of your version control."
        )


def _report(where: Where, paths: Sequence[str], done: str, none: str, asked: Sequence[str]) -> int:
    if not paths:
        raise Failure(f"{none}{' at ' + ', '.join(asked) if asked else ''}.")
    screen = Screen()
    for path in paths:
        if where.as_json:
            print_json({"path": path, "result": done})
        else:
            screen.say(f"{done}  {shown_path(path)}")
    return OK
