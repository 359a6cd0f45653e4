"""The filesystem as one node run sees it: every mount under its path, and what changes."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.node import Io
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.backends.protocol import (
    ExecuteResponse,
    FileInfo,
    GrepMatch,
    GrepResult,
    ReadResult,
)
from langgraph_filesystem.state.backends.state import BoundStateBackend
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FilesystemError,
    NotRead,
    Unsupported,
)
from langgraph_filesystem.state.files import FileData, FileEdit, Files, apply_write, merge_updates
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import is_within

__all__ = ("EVICTED", "Filesystem")

EVICTED = "/large_tool_results"
"""Where results go that are too large for the context."""


class Filesystem:
    """What an operation works on. Paths are those of the model; errors are raised and name them.

    Calls of one task run one after the other on the same view, so each sees what the one before it
    changed; `files_update` and `seen_update` are what the node returns.
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
        self.mounts = settings.mounts
        self.budget = settings.budget
        self.max_execute_timeout = settings.max_execute_timeout
        self.progress = progress
        self.files_update: dict[str, FileData | FileEdit | None] = {}
        self.seen_update: dict[str, str | None] = {}
        self._io = io
        self._files = files
        self._owned = False
        self._seen = seen
        self._runtime = runtime
        self._strict = settings.read_before_edit
        self._opened: dict[str, Any] = {}
        self._unmarked: set[str] = set()

    async def ls(self, path: str) -> list[FileInfo]:
        """Return what is directly below a directory, mount points included."""
        points = self._points_below(path)
        mount = self.mounts.locate(path)
        try:
            result = await self._call(mount, path, "ls", mount.inner(path))
        except FilesystemError:
            if not points:
                raise
            return points
        hidden = {point["path"] for point in points}
        found = [self._named(mount, info) for info in result.entries or ()]
        return [info for info in found if info["path"].rstrip("/") not in hidden] + points

    async def read(self, path: str, offset: int, limit: int) -> ReadResult:
        """Return lines of a file."""
        mount = self.mounts.locate(path)
        result: ReadResult = await self._call(mount, path, "read", mount.inner(path), offset, limit)
        return result

    async def write(self, path: str, content: str, *, overwrite: bool = False) -> None:
        """Create a file, or replace one whose content is known."""
        self._refuse_mount_point(path)
        mount = self.mounts.locate(path)
        if await self._known_now(mount, path) and not overwrite:
            raise FileExists(path, "Change it with `edit_file`, or set `overwrite` to replace it.")
        inner = mount.inner(path)
        await self._call(mount, path, "write", inner, content, overwrite=overwrite)
        await self.mark_seen(path)

    async def edit(self, path: str, old: str, new: str, replace_all: bool) -> int:
        """Replace exact text in a file whose content is known; return in how many places."""
        mount = self.mounts.locate(path)
        await self._known_now(mount, path)
        result = await self._call(mount, path, "edit", mount.inner(path), old, new, replace_all)
        await self.mark_seen(path)
        return int(result.occurrences or 1)

    async def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is below it."""
        self._refuse_mount_point(path)
        mount = self.mounts.locate(path)
        await self._call(mount, path, "delete", mount.inner(path))
        self._forget(path)

    async def move(self, source: str, destination: str) -> int:
        """Move a file or a directory; return how many files it was."""
        self._refuse_mount_point(source)
        self._refuse_mount_point(destination)
        if is_within(destination, source):
            raise FilesystemError(f"{source}: can't be moved to {destination}, which is itself.")
        known = {path: digest for path, digest in self._known().items() if is_within(path, source)}
        start, end = self.mounts.locate(source), self.mounts.locate(destination)
        if start is end and hasattr(self._backend(start), "move"):
            inner = start.inner(source), end.inner(destination)
            result = await self._call(start, source, "move", *inner)
            count = sum(value is None for value in (result.files_update or {}).values())
        else:
            count = await self._copy(start, source, end, destination)
            await self._call(start, source, "delete", start.inner(source))
        self._forget(source)
        self.seen_update.update(
            {destination + path[len(source) :]: digest for path, digest in known.items()}
        )
        return max(1, count)

    async def glob(self, pattern: str, path: str) -> tuple[list[FileInfo], list[str]]:
        """Return the files that match in every mount at or below a path, and notes on failures."""
        found: list[FileInfo] = []
        notes: list[str] = []
        matches = compile_glob(pattern)
        for mount, start, only in self._searched(path, pattern):
            try:
                result = await self._call(mount, path, "glob", only or "**/*", mount.inner(start))
            except FilesystemError as error:
                self._note_failure(mount, path, error, notes)
                continue
            named = (self._named(mount, info) for info in result.matches or ())
            found += [
                info
                for info in named
                if self._belongs(mount, info["path"])
                and (only or matches(_relative(info["path"], path)))
            ]
            if getattr(result, "truncated", False):
                notes.append(f"[{mount.prefix}: the list is not complete]")
        return found, notes

    async def grep(
        self, pattern: str, path: str, glob: str | None, **options: Any
    ) -> tuple[GrepResult, list[str]]:
        """Return the matches in every mount at or below a path, and notes on failures."""
        total, notes = GrepResult(matches=[], counts={}), list[str]()
        matches = compile_glob(glob) if glob else None
        for mount, start, only in self._searched(path, glob):
            inner = mount.inner(start)
            try:
                found = await self._call(mount, path, "grep", pattern, inner, only, **options)
            except FilesystemError as error:
                self._note_failure(mount, path, error, notes)
                continue
            keep = None if only == glob else matches
            self._add_matches(mount, found, total, partial(_is_kept, keep, path))
            if note := getattr(found, "note", None):
                notes.append(f"[{note}]")
        return total, notes

    async def execute(self, command: str, timeout: int | None, **options: Any) -> ExecuteResponse:
        """Run a command where a mount can."""
        mount = self.mounts.that_can("execute")
        if mount is None or not hasattr(self._backend(mount), "execute"):
            raise Unsupported("No mount can run commands. Work with the file operations.")
        if timeout is not None:
            options["timeout"] = timeout
        response: ExecuteResponse = await self._io.call(
            self._backend(mount), "execute", command, **options
        )
        return response

    async def mark_seen(self, path: str) -> None:
        """Remember what a file holds now as known to the agent."""
        mount = self.mounts.locate(path)
        if isinstance(self._backend_for(mount, path), BoundStateBackend):
            # This view is private to the task: one digest at the end serves any number of edits.
            self._unmarked.add(path)
        else:
            self.seen_update[path] = await self._digest(mount, path)

    async def updates(self) -> dict[str, Any]:
        """Return what the node writes to the channels."""
        for path in self._unmarked:
            self.seen_update[path] = await self._digest(self.mounts.locate(path), path)
        self._unmarked.clear()
        updates: dict[str, Any] = {}
        if self.files_update:
            updates["files"] = self.files_update
        if changed := {p: d for p, d in self.seen_update.items() if self._seen.get(p) != d}:
            updates["seen"] = changed
        return updates

    def put_in_state(self, path: str, file: FileData) -> None:
        """Keep a file in the thread's own files, whatever is mounted at its path."""
        self._take({path: file})

    def exists_in_state(self, path: str) -> bool:
        """Say whether the thread's own files have a path."""
        return path in self._files

    def _backend(self, mount: Mount) -> Any:
        if mount.prefix not in self._opened:
            self._opened[mount.prefix] = mount.open(self._files, self._runtime)
        return self._opened[mount.prefix]

    def _backend_for(self, mount: Mount, path: str) -> Any:
        """A result that a mount refused to take lies in the state, and is read from there."""
        backend = self._backend(mount)
        if not is_within(path, EVICTED) or isinstance(backend, BoundStateBackend):
            return backend
        return BoundStateBackend(self._files, mount.prefix) if path in self._files else backend

    async def _call(self, mount: Mount, path: str, method: str, *args: Any, **options: Any) -> Any:
        backend = self._backend_for(mount, path)
        if not callable(getattr(backend, method, None)):
            raise Unsupported(f"{path}: the backend mounted at {mount.prefix} can't {method}.")
        result = await self._io.call(backend, method, *args, **options)
        if error := getattr(result, "error", None):
            raise BackendFailed(error if path in error else f"{path}: {error}")
        if update := getattr(result, "files_update", None):
            self._take(update)
        return result

    def _take(self, update: Mapping[str, FileData | FileEdit | None]) -> None:
        """Apply an update to this view, so that the next call of the task sees it."""
        if not self._owned:
            self._files, self._owned = dict(self._files), True
            self._opened = {
                prefix: backend
                for prefix, backend in self._opened.items()
                if not isinstance(backend, BoundStateBackend)
            }
        for path, write in update.items():
            apply_write(self._files, path, write)
        self.files_update = merge_updates(self.files_update, update)

    async def _digest(self, mount: Mount, path: str) -> str | None:
        backend = self._backend_for(mount, path)
        if hasattr(backend, "digest"):
            digest: str | None = await self._io.call(backend, "digest", mount.inner(path))
            return digest
        if not hasattr(backend, "download_files"):
            return None
        try:
            [found] = await self._io.call(backend, "download_files", [mount.inner(path)])
        except NotImplementedError:
            return None
        if found.content is None:
            return None
        return hashlib.blake2b(found.content, digest_size=12).hexdigest()

    async def _known_now(self, mount: Mount, path: str) -> bool:
        """Say whether a file is there, and refuse to go on if its content is not known."""
        if path in self._unmarked:
            return True
        now = await self._digest(mount, path)
        if now is not None:
            self._check_seen(path, now)
        return now is not None

    async def _copy(self, start: Mount, source: str, end: Mount, destination: str) -> int:
        """Copy files to another mount, all of them or, after an error, none that counts."""
        if await self._digest(end, destination) is not None:
            raise FileExists(destination, "Delete it first, or choose another destination.")
        files = await self._files_under(start, source)
        inner = [start.inner(path) for path in files]
        found = await self._call(start, source, "download_files", inner)
        for path, download in zip(files, found, strict=True):
            if download.content is None:
                raise BackendFailed(f"{path}: could not be read ({download.error}).")
            target = destination + path[len(source) :]
            [arrived] = await self._call(
                end, target, "upload_files", [(end.inner(target), download.content)]
            )
            if arrived.error:
                raise BackendFailed(f"{target}: could not be written ({arrived.error}).")
            if update := getattr(arrived, "files_update", None):
                self._take(update)
        return len(files)

    async def _files_under(self, mount: Mount, path: str) -> list[str]:
        if await self._digest(mount, path) is not None:
            return [path]
        result = await self._call(mount, path, "glob", "**/*", mount.inner(path))
        return [mount.outer(info["path"]) for info in result.matches or ()]

    def _known(self) -> dict[str, str]:
        known = {**self._seen, **self.seen_update}
        return {path: digest for path, digest in known.items() if digest is not None}

    def _check_seen(self, path: str, now: str) -> None:
        if not self._strict:
            return
        seen = self.seen_update[path] if path in self.seen_update else self._seen.get(path)
        if seen is None:
            raise NotRead(path, "it has not been read in this conversation, so it was not changed")
        if seen != now:
            raise NotRead(
                path, "it has changed since it was last read, so it was not changed again"
            )

    def _forget(self, path: str) -> None:
        self.seen_update.update(dict.fromkeys(p for p in self._known() if is_within(p, path)))

    def _refuse_mount_point(self, path: str) -> None:
        for mount in self.mounts.all:
            if is_within(mount.prefix, path):
                what = "the root" if path == "/" else "a mount point, or above one"
                raise FilesystemError(f"{path}: is {what}, and can't be written, moved or deleted.")

    def _points_below(self, path: str) -> list[FileInfo]:
        start = path.rstrip("/") + "/"
        names = {mount.prefix[len(start) :].partition("/")[0] for mount in self.mounts.below(path)}
        return [FileInfo(path=start + name, is_dir=True) for name in sorted(names)]

    def _named(self, mount: Mount, info: FileInfo) -> FileInfo:
        return {**info, "path": mount.outer(info["path"])}

    def _searched(self, path: str, pattern: str | None) -> list[tuple[Mount, str, str | None]]:
        """Return each mount to search, where in it to begin, and the pattern to give it.

        A pattern with `/` is relative to `path`, so a mount below can't apply it: it is asked for
        all of its files, and the pattern is applied to what comes back.
        """
        names_only = pattern if pattern and "/" not in pattern else None
        below = [(mount, mount.prefix, names_only) for mount in self.mounts.below(path)]
        return [(self.mounts.locate(path), path, pattern), *below]

    def _belongs(self, mount: Mount, path: str) -> bool:
        """Say whether no other mount hides a path of this one."""
        return self.mounts.locate(path) is mount

    def _note_failure(
        self, mount: Mount, path: str, error: FilesystemError, notes: list[str]
    ) -> None:
        """One mount that fails is reported and the others still answer."""
        if not self.mounts.below(path):
            raise error
        notes.append(f"[{mount.prefix}: {error}]")

    def _add_matches(
        self, mount: Mount, found: Any, total: GrepResult, keep: Callable[[str], bool]
    ) -> None:
        assert total.matches is not None
        assert total.counts is not None
        counts = getattr(found, "counts", None) or Counter(m["path"] for m in found.matches or ())
        for inner, count in counts.items():
            path = mount.outer(inner)
            if self._belongs(mount, path) and keep(path):
                total.counts[path] = count
        for match in found.matches or ():
            path = mount.outer(match["path"])
            if path in total.counts:
                total.matches.append(cast("GrepMatch", {**match, "path": path}))
        total.truncated = total.truncated or bool(getattr(found, "truncated", False))


def _is_kept(matches: Callable[[str], bool] | None, directory: str, path: str) -> bool:
    return matches is None or matches(_relative(path, directory))


def _relative(path: str, directory: str) -> str:
    return path[len(directory.rstrip("/")) + 1 :]
