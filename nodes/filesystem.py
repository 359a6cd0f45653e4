"""The filesystem as operations use it: every mount under its path, whatever serves it."""

from collections.abc import Callable, Mapping
from typing import Any

from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.node import Io
from langgraph_filesystem.nodes.searches import find_files, find_lines, list_directory
from langgraph_filesystem.nodes.seen import Seen
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.nodes.transfer import transfer
from langgraph_filesystem.nodes.view import View
from langgraph_filesystem.state.backends.protocol import (
    ExecuteResponse,
    FileInfo,
    GrepResult,
    ReadResult,
)
from langgraph_filesystem.state.errors import FileExists, FilesystemError, Unsupported
from langgraph_filesystem.state.files import FileData, Files
from langgraph_filesystem.state.paths import is_within

__all__ = ("Filesystem",)


class Filesystem:
    """What an operation works on. Paths are those of the model; errors are raised and name them.

    Calls of one task run one after the other on the same view, so each sees what the one before it
    changed; `updates` is what the node returns.
    """

    def __init__(
        self,
        settings: Settings,
        io: Io,
        runtime: Runtime[Any],
        *,
        files: Files,
        seen: Mapping[str, str],
        progress: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self.budget = settings.budget
        self.max_execute_timeout = settings.max_execute_timeout
        self.progress = progress
        self._io = io
        self._mounts = settings.mounts
        self._shells = settings.shells
        self._view = View(settings.mounts, io, runtime, files)
        self._seen = Seen(self._view, seen, required=settings.read_before_edit)

    async def ls(self, path: str) -> tuple[list[FileInfo], list[str]]:
        """Return what is directly below a directory, with mount points, and notes on failures."""
        return await list_directory(self._view, path)

    async def read(self, path: str, offset: int, limit: int) -> ReadResult:
        """Return lines of a file."""
        mount = self._mounts.locate(path)
        inner = mount.inner(path)
        result: ReadResult = await self._view.call(mount, path, "read", inner, offset, limit)
        return result

    async def write(self, path: str, content: str, *, overwrite: bool = False) -> None:
        """Create a file, or replace one whose content is known."""
        self._refuse_mount_point(path)
        mount = self._mounts.locate(path)
        if overwrite:
            await self._seen.check(mount, path)
        elif self._seen.has_touched(path) or await self._view.digest(mount, path) is not None:
            raise FileExists(path, "Change it with `edit_file`, or set `overwrite` to replace it.")
        inner = mount.inner(path)
        await self._view.call(mount, path, "write", inner, content, overwrite=overwrite)
        await self._seen.mark(mount, path)

    async def edit(self, path: str, old: str, new: str, replace_all: bool) -> int:
        """Replace exact text in a file whose content is known; return in how many places."""
        mount = self._mounts.locate(path)
        await self._seen.check(mount, path)
        inner = mount.inner(path)
        result = await self._view.call(mount, path, "edit", inner, old, new, replace_all)
        await self._seen.mark(mount, path)
        return int(result.occurrences or 1)

    async def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is below it."""
        self._refuse_mount_point(path)
        mount = self._mounts.locate(path)
        await self._view.call(mount, path, "delete", mount.inner(path))
        self._seen.forget(path)

    async def move(self, source: str, destination: str) -> int:
        """Move a file or a directory; return how many files it was."""
        self._refuse_mount_point(source)
        self._refuse_mount_point(destination)
        if is_within(destination, source):
            raise FilesystemError(f"{source}: can't be moved to {destination}, which is itself.")
        start, end = self._mounts.locate(source), self._mounts.locate(destination)
        if start is end and hasattr(self._view.backend(start), "move"):
            inner = start.inner(source), end.inner(destination)
            result = await self._view.call(start, source, "move", *inner)
            count = sum(value is None for value in (result.files_update or {}).values())
        else:
            count = await transfer(self._view, start, source, end, destination)
        self._seen.move(source, destination)
        return max(1, count)

    async def glob(self, pattern: str, path: str) -> tuple[list[FileInfo], list[str]]:
        """Return the files that match in every mount at or below a path, and notes on failures."""
        return await find_files(self._view, pattern, path)

    async def grep(
        self, pattern: str, path: str, glob: str | None, **options: Any
    ) -> tuple[GrepResult, list[str]]:
        """Return the matches in every mount at or below a path, and notes on failures."""
        return await find_lines(self._view, pattern, path, glob, options)

    async def execute(self, command: str, timeout: int | None, **options: Any) -> ExecuteResponse:
        """Run a command where a mount can."""
        backends = map(self._view.backend, self._shells)
        able = next((backend for backend in backends if hasattr(backend, "execute")), None)
        if able is None:
            raise Unsupported("No mount can run commands. Work with the file operations.")
        if timeout is not None:
            options["timeout"] = timeout
        response: ExecuteResponse = await self._io.call(able, "execute", command, **options)
        return response

    async def mark_seen(self, path: str) -> None:
        """Remember what a file holds now as known to the agent."""
        await self._seen.mark(self._mounts.locate(path), path)

    def updates(self) -> dict[str, Any]:
        """Return what the node writes to the channels."""
        updates = {"files": self._view.update, "seen": self._seen.update()}
        return {channel: update for channel, update in updates.items() if update}

    def put_in_state(self, path: str, file: FileData) -> None:
        """Keep a file in the thread's own files, whatever is mounted at its path."""
        self._view.take({path: file})

    def exists_in_state(self, path: str) -> bool:
        """Say whether the thread's own files have a path, as a file or as a directory."""
        return any(is_within(key, path) for key in self._view.files)

    def _refuse_mount_point(self, path: str) -> None:
        for mount in self._mounts.all:
            if is_within(mount.prefix, path):
                what = "the root" if path == "/" else "a mount point, or above one"
                raise FilesystemError(f"{path}: is {what}, and can't be written, moved or deleted.")
