"""Taking changes back: a new checkpoint with the files of an earlier one. Nothing is destroyed."""

from collections.abc import Callable, Collection
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from langgraph_filesystem.history.thread import Checkpoint, Graph, Thread, Tree
from langgraph_filesystem.state.paths import is_within

__all__ = ("discard", "selected", "undo")


async def undo(
    graph: Graph,
    config: RunnableConfig,
    steps: int = 1,
    *,
    paths: Collection[str] | None = None,
    to: Checkpoint | None = None,
    context: Any = None,
    as_node: str = "model",
) -> list[str]:
    """Take back the last changes of files, and return the paths that are different now.

    A step is a superstep that changed files. The result is a new checkpoint, so an `undo` is a step
    as well: another one takes it back. Changes that were applied are no longer in the thread: they
    are skipped. Messages stay as they are; an agent that wants to change a file again has to
    read it first.

    Args:
        graph: The graph of the thread.
        config: Names the thread, and a checkpoint to go on from if that is not the newest.
        steps: How many steps to take back.
        paths: Take back only changes at these paths or inside them, and count only steps with such
            changes. If a path is in a directory that was deleted as a whole, all of it is restored.
        to: The checkpoint whose files to restore, instead of a number of steps.
        context: The context of a run, for mounts that are made by factories.
        as_node: The node whose update the new checkpoint is recorded as.
    """
    thread = Thread(graph, config, context, as_node)
    thread.check_paths(paths)
    if steps < 1:
        raise ValueError(f"`steps` must be at least 1, not {steps!r}.")
    now = thread.tree(await thread.state())
    if to is not None:
        target = thread.tree(await thread.state(to))
    else:
        target = await _steps_back(thread, steps, selected(paths, now))
    chosen = selected(paths, now, target)
    changed = sorted(path for path in now.differing(target) if chosen(path))
    files = {path: target.files.get(path) for path in changed}
    entries = {path: entry for path, entry in now.entries.items() if not chosen(path)}
    entries |= {path: entry for path, entry in target.entries.items() if chosen(path)}
    if changed:
        await thread.update({"files": files, "overlay": Overwrite(entries)}, "undo")
    return changed


async def discard(
    graph: Graph,
    config: RunnableConfig,
    paths: Collection[str] | None = None,
    *,
    context: Any = None,
    as_node: str = "model",
) -> list[str]:
    """Drop changes that wait in overlays, and return their paths; `undo` brings them back.

    Args:
        graph: The graph of the thread.
        config: Names the thread, and a checkpoint to go on from if that is not the newest.
        paths: Drop only changes at these paths or inside them; by default all.
        context: The context of a run, for mounts that are made by factories.
        as_node: The node whose update the new checkpoint is recorded as.
    """
    thread = Thread(graph, config, context, as_node)
    thread.check_paths(paths, only_overlays=True)
    now = thread.tree(await thread.state())
    chosen = selected(paths, now)
    dropped = [path for path in now.waiting() if chosen(path)]
    if dropped:
        none = dict.fromkeys(dropped)
        await thread.update({"files": none, "overlay": none}, "discard")
    return dropped


def selected(paths: Collection[str] | None, *trees: Tree) -> Callable[[str], bool]:
    """Return a function that says whether a path is one of these paths, or inside one.

    A directory that one of the trees hides or replaces as a whole is selected as a whole.
    """
    if paths is None:
        return lambda path: True
    places = {place for tree in trees for place in tree.covering(paths)}
    return lambda path: any(is_within(path, place) for place in places)


async def _steps_back(thread: Thread, steps: int, chosen: Callable[[str], bool]) -> Tree:
    """Return the files before the last steps that changed some; at most back to the start."""
    target: Tree | None = None
    applied: set[str] = set()
    is_all_applied = False
    async for step in thread.steps():
        if (step.older.metadata or {}).get("step", 0) < 0:
            break  # what the thread was given is not a change
        if is_all_applied:
            # Those too that were gone before, such as a file that was made and deleted.
            applied |= {*step.before.waiting(), *step.after.waiting()}
        changed = {p for p in step.after.differing(step.before) if chosen(p) and p not in applied}
        if step.author == "apply":
            # Edits that were rebased, but could not be written, are in the thread still.
            applied |= {path for path in changed if not step.after.has(path)}
            is_all_applied = is_all_applied or not step.after.waiting()
        elif changed:
            steps -= 1
            target = step.before
        if steps == 0:
            break
    return thread.tree(await thread.state()) if target is None else target.without(applied)
