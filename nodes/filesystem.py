"""The filesystem as one node run sees it: every mount under its path, and what changes."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.answers import escaped
from langgraph_filesystem.nodes.failures import attempted
from langgraph_filesystem.nodes.node import Io, takes
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.backends.protocol import (
    ExecuteResponse,
    FileInfo,
    GrepMatch,
    GrepResult,
    ReadResult,
)
from langgraph_filesystem.state.backends.state import BoundStateBackend, StateBackend
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FilesystemError,
    NotRead,
    Unsupported,
)
from langgraph_filesystem.state.files import (
    FileData,
    FileEdit,
    Files,
    apply_write,
    checked_update,
    merge_updates,
)
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import is_within

__all__ = ("EVICTED", "Filesystem")

EVICTED = "/large_tool_results"
"""Where results go that are too large for the context."""
_MAX_DIRECTORIES = 10_000
"""Directories that a move from one mount to another walks through: links may go in circles."""


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
        self._shells = settings.shells
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

    async def ls(self, path: str) -> tuple[list[FileInfo], list[str]]:
        """Return what is directly below a directory, with mount points, and notes on failures."""
        points = self._points_below(path)
        if points and self._is_only_above_mounts(path):
            return points, []
        mount = self.mounts.locate(path)
        work = self._call(mount, path, "ls", mount.inner(path))
        result, problem = await attempted(work, f"ls {path}")
        if result is None:
            if not points:
                raise BackendFailed(problem)
            return points, [_note(mount.prefix, problem or "no answer")]
        hidden = {point["path"] for point in points}
        found = [self._named(mount, info) for info in result.entries or ()]
        return [info for info in found if info["path"].rstrip("/") not in hidden] + points, []

    async def read(self, path: str, offset: int, limit: int) -> ReadResult:
        """Return lines of a file."""
        mount = self.mounts.locate(path)
        result: ReadResult = await self._call(mount, path, "read", mount.inner(path), offset, limit)
        return result

    async def write(self, path: str, content: str, *, overwrite: bool = False) -> None:
        """Create a file, or replace one whose content is known."""
        self._refuse_mount_point(path)
        mount = self.mounts.locate(path)
        if overwrite:
            await self._check_known(mount, path)
        elif path in self._unmarked or await self._digest(mount, path) is not None:
            raise FileExists(path, "Change it with `edit_file`, or set `overwrite` to replace it.")
        inner = mount.inner(path)
        await self._call(mount, path, "write", inner, content, overwrite=overwrite)
        await self.mark_seen(path)

    async def edit(self, path: str, old: str, new: str, replace_all: bool) -> int:
        """Replace exact text in a file whose content is known; return in how many places."""
        mount = self.mounts.locate(path)
        await self._check_known(mount, path)
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
            work = self._call(start, source, "delete", start.inner(source))
            _, problem = await attempted(work, f"delete {source}")
            if problem is not None:
                raise BackendFailed(f"Copied to {destination}, but the source is left: {problem}")
        self._forget(source)
        self.seen_update.update(
            {destination + path[len(source) :]: digest for path, digest in known.items()}
        )
        return max(1, count)

    async def glob(self, pattern: str, path: str) -> tuple[list[FileInfo], list[str]]:
        """Return the files that match in every mount at or below a path, and notes on failures."""
        found: list[FileInfo] = []
        notes: list[str] = []
        failures: dict[str, str] = {}
        matches = compile_glob(pattern)
        searched = self._searched(path, pattern)
        for mount, start, only in searched:
            work = self._call(mount, start, "glob", only or "**/*", mount.inner(start))
            result, problem = await attempted(work, f"glob {start}")
            if result is None:
                failures[mount.prefix] = problem or "no answer"
                continue
            named = (self._named(mount, info) for info in result.matches or ())
            found += [
                info
                for info in named
                if self._belongs(mount, info["path"])
                and (only or matches(_relative(info["path"], path)))
            ]
            if getattr(result, "truncated", False):
                notes.append(_note(mount.prefix, "the list is not complete"))
        return found, notes + _notes_on(failures, len(searched))

    async def grep(
        self, pattern: str, path: str, glob: str | None, **options: Any
    ) -> tuple[GrepResult, list[str]]:
        """Return the matches in every mount at or below a path, and notes on failures."""
        total, notes = GrepResult(matches=[], counts={}), list[str]()
        failures: dict[str, str] = {}
        matches = compile_glob(glob) if glob else None
        searched = self._searched(path, glob)
        for mount, start, only in searched:
            work = self._grep(mount, start, pattern, only, options)
            found, problem = await attempted(work, f"grep {start}")
            if found is None:
                failures[mount.prefix] = problem or "no answer"
                continue
            keep = None if only == glob else matches
            self._add_matches(mount, found, total, partial(_is_kept, keep, path))
            if note := getattr(found, "note", None):
                notes.append(f"[{escaped(note)}]")
        _cut_matches(total, options.get("max_count"))
        return total, notes + _notes_on(failures, len(searched))

    async def execute(self, command: str, timeout: int | None, **options: Any) -> ExecuteResponse:
        """Run a command where a mount can."""
        backends = map(self._backend, self._shells)
        able = next((backend for backend in backends if hasattr(backend, "execute")), None)
        if able is None:
            raise Unsupported("No mount can run commands. Work with the file operations.")
        if timeout is not None:
            options["timeout"] = timeout
        response: ExecuteResponse = await self._io.call(able, "execute", command, **options)
        return response

    async def mark_seen(self, path: str) -> None:
        """Remember what a file holds now as known to the agent."""
        mount = self.mounts.locate(path)
        if isinstance(self._backend_for(mount, path), BoundStateBackend):
            # This view is private to the task: one digest at the end serves any number of edits.
            self._unmarked.add(path)
        else:
            self.seen_update[path] = await self._digest(mount, path)

    def updates(self) -> dict[str, Any]:
        """Return what the node writes to the channels."""
        state = BoundStateBackend(self._files)
        self.seen_update.update({path: state.digest(path) for path in self._unmarked})
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
        if is_within(path, EVICTED) and path in self._files:
            return BoundStateBackend(self._files, mount.prefix)
        return self._backend(mount)

    async def _call(self, mount: Mount, path: str, method: str, *args: Any, **options: Any) -> Any:
        backend = self._backend_for(mount, path)
        if not callable(getattr(backend, method, None)):
            raise Unsupported(f"{path}: the backend mounted at {mount.prefix} can't {method}.")
        result = await self._io.call(backend, method, *args, **options)
        if error := getattr(result, "error", None):
            raise BackendFailed(error if path in error else f"{path}: {error}")
        if update := getattr(result, "files_update", None):
            self._take(update if isinstance(backend, BoundStateBackend) else checked_update(update))
        return result

    def _take(self, update: Mapping[str, FileData | FileEdit | None]) -> None:
        """Apply an update to this view, so that the next call of the task sees it."""
        if not self._owned:
            self._files, self._owned = dict(self._files), True
            for prefix, backend in self._opened.items():
                if isinstance(backend, BoundStateBackend):
                    self._opened[prefix] = BoundStateBackend(self._files, prefix)
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
        return hashlib.sha256(found.content).hexdigest()[:24]

    async def _check_known(self, mount: Mount, path: str) -> None:
        """Refuse to go on if a file is there whose content is not known."""
        if path in self._unmarked or not self._strict:
            return
        now = await self._digest(mount, path)
        if now is not None:
            self._check_seen(path, now)

    async def _copy(self, start: Mount, source: str, end: Mount, destination: str) -> int:
        """Copy files to another mount: all of them or, after an error, none."""
        work = self._call(end, destination, "ls", end.inner(destination))
        listed, _ = await attempted(work, f"ls {destination}")
        taken = listed is not None and listed.entries
        if taken or await self._digest(end, destination) is not None:
            raise FileExists(destination, "Delete it first, or choose another destination.")
        files = await self._files_under(start, source)
        inner = [start.inner(path) for path in files]
        found = await self._call(start, source, "download_files", inner)
        contents: dict[str, bytes] = {}
        for path, download in zip(files, found, strict=True):
            if download.content is None:
                raise BackendFailed(f"{path}: could not be read ({download.error}).")
            contents[destination + path[len(source) :]] = download.content
        for target, content in contents.items():
            _, problem = await attempted(self._upload(end, target, content), f"write {target}")
            if problem is not None:
                for copied in contents:
                    if copied == target:
                        break
                    work = self._call(end, copied, "delete", end.inner(copied))
                    await attempted(work, f"delete {copied}")
                raise BackendFailed(problem)
        return len(files)

    async def _upload(self, mount: Mount, path: str, content: bytes) -> None:
        files = [(mount.inner(path), content)]
        [arrived] = await self._call(mount, path, "upload_files", files)
        if arrived.error:
            raise BackendFailed(f"{path}: could not be written ({arrived.error}).")
        if update := getattr(arrived, "files_update", None):
            self._take(checked_update(update))

    async def _files_under(self, mount: Mount, path: str) -> list[str]:
        """Return a file, or every file below a directory: what is missed here would be lost."""
        if await self._digest(mount, path) is not None:
            return [path]
        files: list[str] = []
        directories = [path]
        for directory in directories:
            result = await self._call(mount, directory, "ls", mount.inner(directory))
            for info in result.entries or ():
                found = directories if info.get("is_dir") else files
                found.append(mount.outer(info["path"]))
            if len(directories) > _MAX_DIRECTORIES:
                raise BackendFailed(
                    f"{path}: more than {_MAX_DIRECTORIES:,} directories are below it, which is "
                    "too much for one move. Move parts of it."
                )
        if not files:
            raise BackendFailed(f"{path}: no file that can be read is there, so nothing was moved.")
        return files

    async def _grep(
        self, mount: Mount, path: str, pattern: str, glob: str | None, options: dict[str, Any]
    ) -> Any:
        method = getattr(self._backend_for(mount, path), "grep", None)
        for option in ("regex", "ignore_case"):
            if options.get(option) and method is not None and not takes(method, option):
                raise Unsupported(
                    f"{path}: the backend mounted at {mount.prefix} can't search with `{option}`. "
                    "Search without it."
                )
        return await self._call(mount, path, "grep", pattern, mount.inner(path), glob, **options)

    def _known(self) -> dict[str, str]:
        known = {**self._seen, **self.seen_update}
        return {path: digest for path, digest in known.items() if digest is not None}

    def _check_seen(self, path: str, now: str) -> None:
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
        if below and self._is_only_above_mounts(path):
            return below
        return [(self.mounts.locate(path), path, pattern), *below]

    def _is_only_above_mounts(self, path: str) -> bool:
        """Say whether a path is a directory only because mounts are below it."""
        mount = self.mounts.locate(path)
        if not isinstance(mount.backend, StateBackend) or path == mount.prefix:
            return False
        return not any(is_within(key, path) for key in self._files)

    def _belongs(self, mount: Mount, path: str) -> bool:
        """Say whether no other mount hides a path of this one."""
        return self.mounts.locate(path) is mount

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


def _note(prefix: str, problem: str) -> str:
    return f"[{escaped(f'{prefix}: {problem}')}]"


def _notes_on(failures: Mapping[str, str], searched: int) -> list[str]:
    """One mount that fails is reported and the others still answer; if all fail, it is an error."""
    if failures and len(failures) == searched:
        raise BackendFailed(next(iter(failures.values())))
    return [_note(prefix, problem) for prefix, problem in failures.items()]


def _cut_matches(total: GrepResult, most: int | None) -> None:
    """Keep so many matching lines in all: each mount was asked for as many."""
    counts, left = total.counts or {}, most
    if left is None or sum(counts.values()) <= left:
        return
    kept: dict[str, int] = {}
    for path, count in counts.items():
        kept[path] = min(count, left)
        left -= kept[path]
    matches: list[GrepMatch] = []
    room = Counter(kept)
    for match in total.matches or ():
        if room[match["path"]] > 0:
            room[match["path"]] -= 1
            matches.append(match)
    total.counts = {path: count for path, count in kept.items() if count}
    total.matches, total.truncated = matches, True


def _is_kept(matches: Callable[[str], bool] | None, directory: str, path: str) -> bool:
    return matches is None or matches(_relative(path, directory))


def _relative(path: str, directory: str) -> str:
    return path[len(directory.rstrip("/")) + 1 :]
