"""The filesystem as operations use it: every mount under its path, whatever serves it."""

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.command_paths import hint
from langgraph_filesystem.nodes.effects import Effects
from langgraph_filesystem.nodes.node import Io
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.nodes.seen import Seen
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state import search as searching
from langgraph_filesystem.state.backends.contents import is_text, not_text_of
from langgraph_filesystem.state.backends.protocol import (
    ExecuteResponse,
    FileInfo,
    GrepResult,
    ReadResult,
)
from langgraph_filesystem.state.deletion import delete
from langgraph_filesystem.state.errors import BackendFailed, FileExists, NotRead, Unsupported
from langgraph_filesystem.state.escapes import escaped
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.files import FileData, Files
from langgraph_filesystem.state.io import takes
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.moved import Moved
from langgraph_filesystem.state.moving import move
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.search import Query
from langgraph_filesystem.state.searches import find_files, find_lines, list_directory
from langgraph_filesystem.state.second_paths import meant
from langgraph_filesystem.state.view import View

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
        once: Once | None = None,
    ) -> None:
        self.budget = settings.budget
        self.max_execute_timeout = settings.max_execute_timeout
        self.progress: Callable[[dict[str, Any]], None] = lambda _: None
        self._mounts = settings.mounts
        self._shells = settings.shells
        self._view = View(settings.mounts, io, runtime, files)
        self._once = once or Once({}, io)
        self._effects = Effects(self._view, io, self._once)
        self._seen = Seen(self._view, seen, required=settings.read_before_edit)

    def begin(self, message: str, part: str) -> None:
        """Change things for another part of a message from here on, such as one of its calls."""
        key = self._effects.key = self._once.key(message, part)
        self._effects.copied = None if key is None else self._seen.copied(key)

    async def ls(self, path: str) -> tuple[list[FileInfo], list[str]]:
        """Return what is directly below a directory, with mount points, and notes on failures."""
        entries, notes, _ = await list_directory(self._view, await self._meant(path))
        return entries, _shown(notes)

    async def read(self, path: str, offset: int, limit: int, column: int = 0) -> tuple[Any, bool]:
        """Return lines of a file, and whether the first of them begins at the column."""
        mount, path = await self._located(path)
        read = getattr(self._view.backend_for(mount, path), "read", None)
        skips = read is not None and takes(read, "column")
        options = {"column": column, "max_characters": self.budget}
        inner = mount.inner(path)
        try:
            result = await self._view.call(mount, path, "read", inner, offset, limit, **options)
        except BackendFailed:
            # Others fail at what is no text, and don't say so.
            content = None if skips else await self._fetched(mount, path)
            if content is None or is_text(content):
                raise
            file = FileData(content=base64.b64encode(content).decode(), encoding="base64")
            result = ReadResult(file_data=file)
        return result, skips

    async def write(self, path: str, content: str, *, overwrite: bool = False) -> None:
        """Create a file, or replace one whose content is known."""
        mount, path = await self._located(path)
        self._mounts.refuse_point(path)
        if await self._effects.outcome(mount, path):
            await self._seen.mark(mount, path)
            return
        if overwrite:
            await self._seen.check(mount, path)
        elif self._seen.has_touched(path) or await self._view.digest(mount, path) is not None:
            raise FileExists(path, "Change it with `edit_file`, or set `overwrite` to replace it.")
        inner = mount.inner(path)
        await self._effects.change(mount, path, "write", inner, content, overwrite=overwrite)
        await self._seen.mark(mount, path)

    async def edit(self, path: str, old: str, new: str, replace_all: bool) -> int:
        """Replace exact text in a file whose content is known; return in how many places."""
        mount, path = await self._located(path)
        result: Any = await self._effects.outcome(mount, path)
        if result is None:
            await self._check_text(mount, path)
            change = mount.inner(path), old, new, replace_all
            result = await self._effects.change(mount, path, "edit", *change)
        await self._seen.mark(mount, path)
        return int(result.occurrences or 1)

    async def _fetched(self, mount: Mount, path: str) -> bytes | None:
        found, _ = await attempted(self._view.fetch(mount, path, [path]), f"read {path}")
        return found[0].content if found else None

    async def _check_text(self, mount: Mount, path: str) -> None:
        """Refuse to edit a file whose content is not known, or can't be because it is no text."""
        try:
            await self._seen.check(mount, path)
        except NotRead:
            file = (await self.read(path, 0, 1))[0].file_data
            if file and file.get("encoding") == "base64":
                raise not_text_of(path, file["content"]) from None
            raise

    async def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is below it."""
        path = await self._meant(path)
        await delete(self._view, self._effects, path)
        self._seen.forget(path)

    async def move(self, source: str, destination: str) -> Moved | None:
        """Move a file or a directory; return how much it was.

        `None` says that the call must come again, when what it has copied is stored.
        """
        source, destination = await self._meant(source), await self._meant(destination)
        key, mark = self._effects.key, _digest(source, destination)
        self._seen.mark_copied(key, None)
        count, _, what = (self._effects.copied or "").partition(" ")
        if self._effects.copied is not None:
            # The call may have been edited since: then nothing was copied for it.
            self._effects.copied = count if what == mark else ""
        moved = await move(self._view, self._effects, source, destination)
        if moved is None:
            self._seen.mark_copied(key, f"{self._effects.copied} {mark}")
        else:
            self._seen.move(source, destination)
        return moved

    async def glob(self, pattern: str, path: str) -> tuple[list[FileInfo], list[str]]:
        """Return the files that match in every mount at or below a path, and notes on failures."""
        found, notes = await find_files(self._view, pattern, await self._meant(path))
        return found.matches or [], _shown(notes)

    async def grep(
        self, pattern: str, path: str, glob: str | None, **options: Any
    ) -> tuple[GrepResult, list[str]]:
        """Return the matches in every mount at or below a path, and notes on failures."""
        start = await self._meant(path)
        found, notes = await find_lines(self._view, pattern, start, glob, options)
        return found, _shown(notes)

    async def locate(
        self, pattern: str, lines: list[str], *, regex: bool, ignore_case: bool
    ) -> list[int]:
        """Return where in lines that match the match begins, or -1 where that is not known."""
        query = Query(pattern, regex=regex, ignore_case=ignore_case)
        columns: list[int] = await self._view.run(searching, "locate", query, lines)
        return columns

    async def execute(
        self, command: str, timeout: int | None, **options: Any
    ) -> tuple[ExecuteResponse, str]:
        """Run a command where a mount can; return a hint too if it may have failed by a path."""
        shells = ((mount, self._view.backend(mount)) for mount in self._shells)
        able = next((shell for shell in shells if hasattr(shell[1], "execute")), None)
        if able is None:
            raise Unsupported("No mount can run commands. Work with the file operations.")
        mount, backend = able
        if timeout is not None:
            options["timeout"] = timeout
        response = await self._effects.execute(backend, command, **options)
        failed = response.exit_code not in (0, None)
        said = response.output
        return response, await hint(self._view, mount, command, said) if failed else ""

    async def mark_seen(self, path: str) -> None:
        """Remember what a file holds now as known to the agent."""
        await self._seen.mark(*await self._located(path))

    async def _located(self, path: str) -> tuple[Mount, str]:
        path = await self._meant(path)
        return self._mounts.locate(path), path

    async def _meant(self, path: str) -> str:
        return await meant(self._view, path)

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


def _digest(*paths: str) -> str:
    return hashlib.sha256("\0".join(paths).encode()).hexdigest()[:8]


def _shown(notes: list[str]) -> list[str]:
    return [f"[{escaped(note)}]" for note in notes]
