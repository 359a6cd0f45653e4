"""What one node run sees and changes: the mounts, opened once, over one copy of the files."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from langgraph_filesystem.state.backends.protocol import GlobResult, GrepResult
from langgraph_filesystem.state.backends.state import BoundStateBackend, OverFiles
from langgraph_filesystem.state.errors import BackendFailed, Unsupported
from langgraph_filesystem.state.failures import reworded
from langgraph_filesystem.state.fetching import Fetched, fetch
from langgraph_filesystem.state.files import (
    FileData,
    FileEdit,
    Files,
    apply_write,
    checked_update,
    merge_updates,
)
from langgraph_filesystem.state.io import Io
from langgraph_filesystem.state.mounts import Mount, Mounts
from langgraph_filesystem.state.paths import ancestors, is_within
from langgraph_filesystem.state.shells import host_root_of

__all__ = ("EVICTED", "View", "renamed", "without_root")

EVICTED = "/large_tool_results"
"""Where results go that are too large for the context."""
_LISTED = r"(?<=\n- )/[^\s:]+"
"""A path at the beginning of an item: so a search of others says which files it could not read."""


class View:
    """The backends of a task's mounts, and the thread's files as the task leaves them.

    What a call changes is in `files` for the next one, and in `update` for the channel.
    """

    def __init__(self, mounts: Mounts, io: Io, runtime: Runtime[Any], files: Files) -> None:
        self.mounts = mounts
        self.files = files
        self.update: dict[str, FileData | FileEdit | None] = {}
        self._io = io
        self._runtime = runtime
        self._opened: dict[str, Any] = {}
        self._owned = False

    def backend(self, mount: Mount) -> Any:
        """Return the backend of a mount, opened when it is first asked for."""
        if mount.prefix not in self._opened:
            self._opened[mount.prefix] = mount.open(self.files, self._runtime)
        return self._opened[mount.prefix]

    def backend_for(self, mount: Mount, path: str) -> Any:
        """Return what has a path: a result that a mount refused to take lies in the state."""
        if is_within(path, EVICTED) and path in self.files:
            return BoundStateBackend(self.files, mount.prefix)
        return self.backend(mount)

    async def call(self, mount: Mount, path: str, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of what has a path; raise its error, and take what it changed."""
        backend = self.backend_for(mount, path)
        if not self.can(mount, path, method):
            raise _unsupported(mount, path, method)
        work = self._io.call(backend, method, *args, **options)
        try:
            result = await reworded(work, path, lambda said: without_root(said, mount, backend))
        except NotImplementedError:  # how others say that a method is there in name only
            raise _unsupported(mount, path, method) from None
        if error := getattr(result, "error", None):
            if not isinstance(backend, BoundStateBackend):
                # Others begin with a word that the reply has already.
                error = renamed(error.removeprefix("Error: "), mount, path)
                error = without_root(error, mount, backend)
            error = error if path in error else f"{path}: {error}"
            if not getattr(result, "matches", None):
                raise BackendFailed(error)
            # A search of others that could not read all files: it has found something all the same.
            return _partial(result, method, error)
        if update := getattr(result, "files_update", None):
            self.take(update if isinstance(backend, BoundStateBackend) else checked_update(update))
        return result

    def can(self, mount: Mount, path: str, method: str) -> bool:
        """Say whether what has a path has a method."""
        return callable(getattr(self.backend_for(mount, path), method, None))

    async def run(self, target: object, method: str, *args: Any, **options: Any) -> Any:
        """Call a method that takes time and is not that of a mount."""
        return await self._io.call(target, method, *args, **options)

    async def digest(self, mount: Mount, path: str) -> str | None:
        """Return a digest of what a file holds now, or `None` where none can be had."""
        backend = self.backend_for(mount, path)
        if hasattr(backend, "digest"):
            digest: str | None = await self._io.call(backend, "digest", mount.inner(path))
            return digest
        [found] = await fetch(self._io, backend, [mount.inner(path)])
        return None if found.content is None else hashlib.sha256(found.content).hexdigest()[:24]

    async def fetch(self, mount: Mount, path: str, files: Sequence[str]) -> list[Fetched]:
        """Return what files hold that are at or below a path."""
        inner = [mount.inner(file) for file in files]
        return await fetch(self._io, self.backend_for(mount, path), inner)

    def take(self, update: Mapping[str, FileData | FileEdit | None]) -> None:
        """Apply an update to this view, so that the next call of the task sees it."""
        if not self._owned:
            self._own_files()
        for path, write in update.items():
            apply_write(self.files, path, write)
        self.update = merge_updates(self.update, update)

    def _own_files(self) -> None:
        """Copy the files before the first change: the channel's own may not change."""
        self.files, self._owned = dict(self.files), True
        for prefix, backend in self._opened.items():
            if isinstance(backend, OverFiles):
                self._opened[prefix] = backend.rebound(self.files)


def _partial(result: Any, method: str, problem: str) -> GlobResult | GrepResult:
    made = GlobResult if method == "glob" else GrepResult
    cut = bool(getattr(result, "truncated", False))
    return made(matches=result.matches, truncated=cut, note=problem)


def _unsupported(mount: Mount, path: str, method: str) -> Unsupported:
    return Unsupported(f"{path}: the backend mounted at {mount.prefix} can't {method}.")


def without_root(text: str, mount: Mount, backend: Any) -> str:
    """Call files as the model does where a backend made by others calls them as the host does."""
    root = host_root_of(backend)
    if root is None:
        return text
    path = rf"(?<![\w/.-]){re.escape(root)}(/[^\s'\",:]*)?(?![\w/-])"
    return re.sub(path, lambda found: mount.outer(found[1] or "/"), text)


def renamed(text: str, mount: Mount, path: str) -> str:
    """Call a path, those above it and those in a list of files as the model calls them."""
    if mount.prefix == "/":
        return text
    inner = mount.inner(path)
    # Of a thousand names above a path few are in the text: only those go into the pattern.
    whole = _with_ends(text)
    names = {name for name in (inner, *ancestors(inner)) if _with_ends(name) in whole} - {"/"}
    longest_first = sorted(names, key=len, reverse=True)
    found = [rf"(?<![\w/.-]){re.escape(name)}(?![\w/-])" for name in longest_first] + [_LISTED]
    return re.sub("|".join(found), lambda m: mount.outer(m[0]), text)


def _with_ends(text: str) -> str:
    """Mark in a text where a path can begin or end."""
    return re.sub(r"(?<![\w/.-])(?=/)|(?![\w/-])", "\0", text)
