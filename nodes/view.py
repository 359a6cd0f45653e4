"""What one node run sees and changes: the mounts, opened once, over one copy of the files."""

import contextlib
import hashlib
import re
import sys
from collections.abc import Mapping
from typing import Any, cast

from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.node import Io
from langgraph_filesystem.state.backends.state import BoundStateBackend
from langgraph_filesystem.state.errors import BackendFailed, Unsupported
from langgraph_filesystem.state.files import (
    FileData,
    FileEdit,
    Files,
    apply_write,
    checked_update,
    file_bytes,
    merge_updates,
)
from langgraph_filesystem.state.mounts import Mount, Mounts
from langgraph_filesystem.state.paths import ancestors, is_within

__all__ = ("EVICTED", "View", "renamed")

EVICTED = "/large_tool_results"
"""Where results go that are too large for the context."""


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
        if not callable(getattr(backend, method, None)):
            raise Unsupported(f"{path}: the backend mounted at {mount.prefix} can't {method}.")
        result = await self._io.call(backend, method, *args, **options)
        if error := getattr(result, "error", None):
            known = error if isinstance(backend, BoundStateBackend) else renamed(error, mount, path)
            raise BackendFailed(known if path in known else f"{path}: {known}")
        if update := getattr(result, "files_update", None):
            self.take(update if isinstance(backend, BoundStateBackend) else checked_update(update))
        return result

    async def digest(self, mount: Mount, path: str) -> str | None:
        """Return a digest of what a file holds now, or `None` where none can be had."""
        backend = self.backend_for(mount, path)
        if hasattr(backend, "digest"):
            digest: str | None = await self._io.call(backend, "digest", mount.inner(path))
            return digest
        content = await self._content(backend, mount.inner(path))
        return None if content is None else hashlib.sha256(content).hexdigest()[:24]

    async def _content(self, backend: Any, inner: str) -> bytes | None:
        """Return what a file holds: downloaded, or read where nothing can be downloaded."""
        if hasattr(backend, "download_files"):
            with contextlib.suppress(NotImplementedError):
                [found] = await self._io.call(backend, "download_files", [inner])
                return cast("bytes | None", found.content)
        if not hasattr(backend, "read"):
            return None
        read = await self._io.call(backend, "read", inner, 0, sys.maxsize)
        file = getattr(read, "file_data", None)
        return None if file is None else file_bytes(file)

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
            if isinstance(backend, BoundStateBackend):
                self._opened[prefix] = BoundStateBackend(self.files, prefix)


def renamed(text: str, mount: Mount, path: str) -> str:
    """Call a path, and those above it, in words of a backend as the model calls them."""
    inner = mount.inner(path)
    if mount.prefix == "/" or inner == "/":
        return text
    names = sorted({inner, *ancestors(inner)} - {"/"}, key=len, reverse=True)
    either = "|".join(re.escape(name) for name in names)
    return re.sub(rf"(?<![\w/.-])(?:{either})(?![\w/-])", lambda m: mount.outer(m[0]), text)
