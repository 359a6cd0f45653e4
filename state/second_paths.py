"""Second paths: what a model means by an absolute path that a command printed.

A command on the host knows the directory of its mount by the host's path, and prints that: `pwd`, a
compiler. Such a path leads to the mount. It is another spelling and no more: what it means must
have a path in the graph, and a mount or a file that really is at the path goes first.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.mounts import Mount, Mounts
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.places import is_there
from langgraph_filesystem.state.shells import second_paths_of
from langgraph_filesystem.state.view import View

__all__ = ("meanings", "meant")


class _Meaning(NamedTuple):
    """What a path means if it is one that commands print."""

    start: str
    """Where commands find the directory."""
    path: str


async def meant(view: View, path: str) -> str:
    """Return the path that is meant by one that a command may have printed."""
    found = [*_known(view.mounts, path), *await _made(view, path)]
    if not found or view.mounts.below(path):
        return path
    longest = max(found, key=lambda meaning: len(meaning.start))
    is_taken = await is_there(view, view.mounts.locate(path), longest.start)
    return path if is_taken else longest.path


def meanings(mounts: Mounts, path: str) -> list[str]:
    """Return all that a path may mean, itself first; of what a factory makes, all of the mount."""
    known = [meaning.path for meaning in _known(mounts, path)]
    return [path, *known, *(mount.prefix for mount in mounts.shells if mount.may_print(path))]


def _known(mounts: Mounts, path: str) -> list[_Meaning]:
    return [
        meaning
        for mount in mounts.shells
        if not mount.is_factory
        for meaning in _of(mounts, mount, mount.backend, path)
    ]


async def _made(view: View, path: str) -> list[_Meaning]:
    """Return what a path means in backends that factories make, of those that may have it."""
    found: list[_Meaning] = []
    for mount in view.mounts.shells:
        if mount.may_print(path):
            backend, _ = await attempted(_opened(view, mount), "open")
            found += _of(view.mounts, mount, backend, path)
    return found


async def _opened(view: View, mount: Mount) -> Any:
    return view.backend(mount)


def _of(mounts: Mounts, mount: Mount, backend: Any, path: str) -> Iterator[_Meaning]:
    for start, inner in second_paths_of(backend, mount.prefix):
        if not is_within(path, start) or len(start) <= len(mounts.locate(path).prefix):
            continue
        meaning = mount.outer(inner.rstrip("/") + path[len(start) :])
        # What another mount hides has no path.
        if mounts.locate(meaning) is mount:
            yield _Meaning(start, meaning)
