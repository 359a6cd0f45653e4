"""The changes that wait in a thread: `status`, `diff`, `log`, `undo`, `apply` and `discard`."""

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from rich.text import Text

from langgraph_filesystem import history
from langgraph_filesystem.command_line.failure import CONFLICTS, ERROR, OK, Failure
from langgraph_filesystem.command_line.screen import (
    LISTED,
    FileChange,
    Screen,
    change_line,
    diff_line,
    lines_of,
    plain,
    print_json,
)
from langgraph_filesystem.command_line.session import (
    Graph,
    Record,
    Where,
    open_thread,
    virtual_path,
)
from langgraph_filesystem.history.compare import changed_paths, line_counts, unified
from langgraph_filesystem.history.thread import Thread, Tree, Version
from langgraph_filesystem.nodes.answers import counted
from langgraph_filesystem.state.backends.text_files import is_text
from langgraph_filesystem.state.io import run_sync
from langgraph_filesystem.state.paths import ancestors, is_within

__all__ = (
    "apply",
    "checkpoint_of",
    "compared",
    "diff",
    "discard",
    "log",
    "shown_path",
    "status",
    "summarize",
    "undo",
    "versions",
    "waiting_changes",
)


_Changed = tuple[str, Version | None, Version | None]
"""A path with its old and its new version."""


def status(where: Where) -> int:
    """List the changed files as git does."""
    with _open_history(where) as (graph, record):
        changes = _changes(graph, record)
        state = graph.get_state(record.config)
    if where.as_json:
        print_json(*(change._asdict() for change in changes))
        return OK
    screen = Screen()
    summarize(screen, record, changes, all_files=True)
    if state.interrupts:
        screen.warn(f"Calls wait for your approval: `lgfs chat --thread {record.thread}` asks.")
    elif state.next:
        screen.say("A run is under way, or was stopped: the next message goes on.", "dim")
    return OK


def summarize(
    screen: Screen, record: Record, changes: Sequence[FileChange], *, all_files: bool = False
) -> None:
    """Print the changed files, all or the first ones, and what can be done with them."""
    if record.direct:
        screen.say(f"Changes were written to {record.directory} at once.", "dim")
        return
    if not changes:
        screen.say(f"No changes wait in thread {record.thread}.")
        return
    files = counted(len(changes), "changed file")
    screen.say(f"{files} in thread {record.thread}, not on disk yet:", "bold")
    shown = [change for change in changes if not change.path.startswith(".git/")]
    screen.files(shown, change_line, None if all_files else LISTED)
    if len(shown) < len(changes):
        screen.say(
            f"  [{counted(len(changes) - len(shown), 'file')} in .git: lgfs diff .git]", "dim"
        )
    screen.say(
        "See them: lgfs diff. Undo a step: lgfs undo. Write them to disk: lgfs apply.", "dim"
    )


def diff(
    where: Where, paths: Sequence[str], *, since: str | None, until: str | None, patch: bool
) -> int:
    """Show the changes that wait, or those between two steps."""
    with _open_history(where) as (graph, record):
        chosen = _chosen(paths, record)
        steps = [step and checkpoint_of(graph, record, step) for step in (since, until)]
        found = (
            one
            for one in versions(graph, record, *steps)
            if chosen is None or any(is_within(one[0], top) for top in chosen)
        )
        first = next(found, None)
        if first is None:
            if paths:
                raise Failure(f"No changes{_at(paths)}.")
            return OK
        changed = itertools.chain([first], found)
        if where.as_json:
            for one in changed:
                print_json({"path": one[0], "diff": unified(*one)})
        elif patch:
            return _write_patch(changed)
        else:
            Screen().page(_diff_lines(changed, shows_git=bool(paths)), diff_line)
    return OK


def _diff_lines(changed: Iterable[_Changed], *, shows_git: bool) -> Iterator[str]:
    hidden = 0
    for path, old, new in changed:
        if is_within(path, "/.git") and not shows_git:
            hidden += not _is_directory(old, new)
        else:
            yield from lines_of(unified(path, old, new))
    if hidden:
        yield f"[{counted(hidden, 'file')} in .git: lgfs diff .git]"


def _write_patch(changed: Iterable[_Changed]) -> int:
    """Print the bytes of a patch, and fail if it lacks a binary file."""
    left_out = []
    for path, old, new in changed:
        sys.stdout.buffer.write(unified(path, old, new).encode(errors="surrogateescape"))
        if not all(one is None or is_text(one.content) for one in (old, new)):
            left_out.append(shown_path(path))
    if left_out:
        raise Failure(
            f"The patch lacks the content of binary files: {', '.join(left_out)}. `lgfs apply` and "
            "`lgfs export` write them."
        )
    return OK


def log(where: Where) -> int:
    """List each change of the thread with its step and node."""
    with _open_history(where) as (graph, record):
        changes = history.changes(graph, record.config)
    screen = Screen()
    if where.as_json:
        print_json(*map(asdict, changes))
    elif changes:
        screen.page(changes, _logged)
    else:
        screen.say(f"Nothing has changed in thread {record.thread}.")
    return OK


def _logged(change: history.Change) -> Text:
    facts = FileChange(shown_path(change.path), change.kind, change.added, change.removed)
    return change_line(facts, f"{change.step:>4} {change.node:<11}")


def undo(where: Where, paths: Sequence[str], *, steps: int, to: str | None) -> int:
    """Take changes back, in a new checkpoint."""
    with _open_history(where, changes=True) as (graph, record):
        chosen = _chosen(paths, record)
        target = None if to is None else checkpoint_of(graph, record, to)
        done = history.undo(graph, record.config, steps, paths=chosen, to=target)
    if not done:
        raise Failure(f"Nothing to undo{_at(paths)}. Changes that were applied stay on disk.")
    return _report(where, done, "undone")


def discard(where: Where, paths: Sequence[str]) -> int:
    """Drop changes that wait."""
    with _open_history(where, changes=True) as (graph, record):
        done = history.discard(graph, record.config, _chosen(paths, record))
    if not done:
        raise Failure(f"Nothing to discard{_at(paths)}.")
    return _report(where, done, "discarded")


def apply(where: Where, paths: Sequence[str], *, force: bool) -> int:
    """Write the changes to the directory."""
    with _open_history(where, changes=True) as (graph, record):
        on_conflict: Any = "force" if force else "report"
        result = history.apply(
            graph, record.config, paths=_chosen(paths, record), on_conflict=on_conflict
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
            raise Failure(f"Nothing to apply{_at(paths)}.")
        screen.say("Nothing to apply.")
        return OK
    applied = []
    for path in result.applied:
        kept = result.kept.get(path)
        beside = f"; what was there is now {shown_path(kept)}" if kept else ""
        applied.append(f"applied   {shown_path(path)}{beside}")
    screen.files(applied, lambda row: plain(row, "green"))
    for one in result.conflicts:
        screen.say(f"conflict  {shown_path(one.path)}: {one.reason}", "red")
        sides = [None if side is None else Version("file", side) for side in (one.theirs, one.ours)]
        screen.show(lines_of(unified(one.path, *sides)), diff_line)
    for path, reason in result.failed.items():
        screen.say(f"failed    {shown_path(path)}: {reason.removeprefix(f'{path}: ')}", "red")
    if result.conflicts:
        screen.warn(
            "Conflicts were left alone, on disk and in the thread. Take the thread's version with "
            "`lgfs apply --force`, which keeps the other one beside it, or drop it with `lgfs "
            "discard PATH`."
        )
    if result.failed:
        screen.warn("What failed is still in the thread: `lgfs apply` tries it again.")
    return code


# Shared by the commands


def waiting_changes(where: Where) -> list[FileChange]:
    """Return the changed files of a thread."""
    with open_thread(where) as (graph, record):
        return _changes(graph, record)


def versions(
    graph: Graph, record: Record, since: str | None = None, until: str | None = None
) -> Iterator[_Changed]:
    """Yield each path that differs from a checkpoint, or else from the disk; with both versions."""
    thread = Thread(graph, record.config)
    if graph.get_state(record.config).created_at is None:
        return  # the first run was stopped before it began
    after = thread.tree(run_sync(thread.state(until)))
    before = None if since is None else thread.tree(run_sync(thread.state(since)))
    yield from compared(before, after)


def compared(before: Tree | None, after: Tree) -> Iterator[_Changed]:
    """Yield each path that differs from another tree, or else from the disk; with both versions."""
    before = after.without_changes() if before is None else before
    for path in run_sync(changed_paths(before, after)):
        old, new = run_sync(before.version(path)), run_sync(after.version(path))
        if old != new and after.mount_of(path).overlay is not None:
            yield path, old, new


def checkpoint_of(graph: Graph, record: Record, given: str) -> str:
    """Return the id of a checkpoint, given the id itself or its step in `lgfs log`."""
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
    for path, old, new in versions(graph, record):
        kind = "added" if old is None else "deleted" if new is None else "changed"
        is_directory = _is_directory(old, new)
        counts = (0, 0) if is_directory else line_counts(old, new)
        found.append(FileChange(shown_path(path) + "/" * is_directory, kind, *counts))
    # A directory is told by what is in it, as in git; one that has nothing in it by its own row.
    told = {above[1:] + "/" for one in found for above in ancestors("/" + one.path.rstrip("/"))}
    return [one for one in found if one.path not in told]


def _is_directory(old: Version | None, new: Version | None) -> bool:
    return any(one is not None and one.kind == "directory" for one in (old, new))


def _chosen(paths: Sequence[str], record: Record) -> list[str] | None:
    return [virtual_path(path, record.directory) for path in paths] or None


@contextmanager
def _open_history(where: Where, *, changes: bool = False) -> Iterator[tuple[Graph, Record]]:
    with open_thread(where, changes=changes) as (graph, record):
        if record.direct:
            raise Failure(
                f"Thread {record.thread} writes to {record.directory} at once (--direct), so it "
                "has no history: use that of your version control."
            )
        yield graph, record


def _at(paths: Sequence[str]) -> str:
    return f" at {', '.join(paths)}" if paths else ""


def _report(where: Where, paths: Sequence[str], done: str) -> int:
    if where.as_json:
        print_json(*({"path": path, "result": done} for path in paths))
    else:
        Screen().files([f"{done}  {shown_path(path)}" for path in paths], plain)
    return OK
