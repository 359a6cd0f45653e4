"""Where to look: which mounts have to do with a path, and what each of them is asked for."""

from typing import NamedTuple

from langgraph_filesystem.state.backends.protocol import FileInfo
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import ancestors, is_within
from langgraph_filesystem.state.view import View

__all__ = (
    "Place",
    "belongs",
    "first_missing",
    "is_only_above_mounts",
    "is_there",
    "places",
    "points_below",
)


class Place(NamedTuple):
    """One mount to search."""

    mount: Mount
    start: str
    """The path in it at which to begin."""
    pattern: str | None
    """What to give it of the pattern for files."""


async def places(view: View, path: str, pattern: str | None) -> list[Place]:
    """Return each mount to search.

    A pattern with `/` is relative to `path`, so a mount below can't apply it: it is asked for all
    of its files, and the pattern is applied to what comes back.
    """
    names_only = pattern if pattern and "/" not in pattern else None
    below = [Place(mount, mount.prefix, names_only) for mount in view.mounts.below(path)]
    if below and await is_only_above_mounts(view, path):
        return below
    return [Place(view.mounts.locate(path), path, pattern), *below]


async def is_only_above_mounts(view: View, path: str) -> bool:
    """Say of a path with mounts below it whether it is a directory for no other reason."""
    mount = view.mounts.locate(path)
    if path == mount.prefix:
        return False
    if isinstance(mount.backend, StateBackend):
        return not any(is_within(key, path) for key in view.files)
    return not await is_there(view, mount, path)


def points_below(view: View, path: str) -> list[FileInfo]:
    """Return the entries of a directory that are there because of mounts below it."""
    start = path.rstrip("/") + "/"
    names = {mount.prefix[len(start) :].partition("/")[0] for mount in view.mounts.below(path)}
    return [FileInfo(path=start + name, is_dir=True) for name in sorted(names)]


def belongs(view: View, mount: Mount, path: str) -> bool:
    """Say whether no other mount hides a path of this one."""
    return view.mounts.locate(path) is mount


async def is_there(view: View, mount: Mount, path: str) -> bool:
    """Say whether a mount has something at a path, or can't say."""
    return await first_missing(view, mount, path) is None


async def first_missing(view: View, mount: Mount, path: str) -> str | None:
    """Return the topmost of a path and those above it that a mount lacks.

    `None` says that all are there, or that the mount can't say.
    """
    above = mount.prefix
    steps = [step for step in (path, *ancestors(path)) if step != above and is_within(step, above)]
    for step in reversed(steps):
        work = view.call(mount, above, "ls", mount.inner(above))
        listed, _ = await attempted(work, f"ls {above}")
        if listed is None:  # then what is asked for next will say what is wrong
            return None
        if not any(mount.outer(entry["path"]) == step for entry in listed.entries or ()):
            return step
        above = step
    return None
