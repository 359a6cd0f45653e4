"""`Workspace`: every mount under its path. The one object that an operation works on.

A call goes through the same steps whatever it does: the path is resolved to a mount and checked
against the rules, a change is checked against what the agent has seen, an effect outside the state
gets the key of its call, and the store of the mount does the work. Errors and notes come back with
the paths that the model knows.
"""

import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from langgraph_filesystem.state.backends.file_store import (
    Capabilities,
    Confinement,
    FileStore,
    Inventory,
    Kind,
    MountContext,
    OnOutput,
    Query,
    Skip,
)
from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileInfo,
    GlobResult,
    GrepResult,
    LsResult,
    MoveResult,
    Outcome,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.errors import (
    CommandStarted,
    FilesystemError,
    IsDirectory,
    Unsupported,
)
from langgraph_filesystem.state.files import CONFLICTS, ThreadFiles
from langgraph_filesystem.state.io import attempt
from langgraph_filesystem.state.paths import is_within, normalize_path
from langgraph_filesystem.state.text import Note, PathPart
from langgraph_filesystem.state.workspace.access import Scope, confine
from langgraph_filesystem.state.workspace.lookup import find_files, find_lines, list_directory
from langgraph_filesystem.state.workspace.mounts import Mount, Mounts, open_store
from langgraph_filesystem.state.workspace.moving import move
from langgraph_filesystem.state.workspace.permissions import Permissions
from langgraph_filesystem.state.workspace.seen import Seen

__all__ = ("EVICTED", "HISTORY", "Limits", "Place", "Workspace")

EVICTED = "/large_tool_results"
"""Where results go that are too large for the conversation."""
HISTORY = "/conversation_history"
"""Where the turns go that a summary stands for."""


@dataclass(frozen=True)
class Limits:
    """How much one call may take or return."""

    characters: int = 100_000
    """How many characters a list, a page or a search may fill."""
    timeout: int = 3_600
    """The longest timeout, in seconds, that a command may ask for."""


class Place(NamedTuple):
    """A path with the mount and the store behind it."""

    mount: Mount
    store: FileStore
    path: str
    """The path that the model knows."""
    inner: str
    """The path within the store."""

    @contextlib.contextmanager
    def renaming(self) -> Iterator[None]:
        """Let errors of the store name the paths that the model knows."""
        try:
            yield
        except FilesystemError as error:
            raise error.renamed(self.mount.outer) from None

    def renamed(self, note: str | None) -> Note | None:
        """Return a note of the store with the paths that the model knows."""
        return None if note is None else Note(note).renamed(self.mount.outer)


class Workspace(FileStore):
    """All mounts of a graph in one run of a node, as one store.

    Calls of one task run one after the other on the same workspace, so each sees what the one
    before it changed. `updates` is what the node writes to the channels.
    """

    def __init__(
        self,
        mounts: Mounts,
        files: ThreadFiles | None = None,
        runtime: Any = None,
        *,
        seen: Seen | None = None,
        limits: Limits | None = None,
        before_effect: Callable[[], Awaitable[None]] | None = None,
        permissions: Permissions | None = None,
        prefix: str = "/",
    ) -> None:
        self._above = prefix.rstrip("/")
        self.mounts = mounts.with_conflicts if self._hides_conflicts(mounts, files) else mounts
        self._configured = mounts
        self.files = files
        self.seen = seen or Seen()
        self.limits = limits or Limits()
        self.permissions = Permissions() if permissions is None else permissions
        self.key: str | None = None
        """The key of the call that is being answered, for effects outside the state."""
        self.progress: Callable[[dict[str, Any]], None] = lambda _: None
        self._runtime = runtime
        self._before_effect = before_effect
        self._stores: dict[str, FileStore] = {}

    @cached_property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        """What the mounts can do together."""
        known = [mount.capabilities for mount in self.mounts.all]
        return Capabilities(
            in_state=not any(mount.reaches_outside for mount in self.mounts.all),
            lasting=any(one is not None and one.lasting for one in known),
            executes=bool(self.mounts.shells),
            journals=any(one is None or one.journals for one in known),
            on_machine=any(one is None or one.on_machine for one in known),
        )

    # Paths

    async def locate(self, path: str, operation: str | None = None) -> Place:
        """Return the place of a path, which may be one that a command printed.

        With an operation, raise if a rule denies it there.
        """
        if operation is None:
            return await self.place(await self.resolve_alias(path))
        return (await self._admit(operation, path))[1]

    async def locate_file(self, path: str, operation: str) -> Place:
        """Return the place of a path that should be a file."""
        place = await self.locate(path, operation)
        if place.inner == "/" or place.path in self.mounts.directories:
            raise IsDirectory(place.path)
        return place

    async def _admit(self, operation: str, path: str) -> tuple[Scope, Place]:
        """Return the place of a path, and what a call that names it may work on."""
        scope = self._scope(operation, path)
        place = await self.locate(path)
        await scope.check(place)
        return scope, place

    def _scope(self, operation: str, path: str) -> Scope:
        # Not of a mount that a factory has made: for its aliases the router has asked nobody.
        alias = self._configured.alias_of(path) if self.permissions else None
        return Scope(self.permissions, operation, path, alias and alias.resolve(path))

    async def scope(self, operation: str, path: str) -> tuple[Scope, str]:
        """Return what a list or a search may show, and the path of the graph to begin at."""
        scope = self._scope(operation, path)
        path = await self.resolve_alias(path)
        scope.check_path(path)
        return scope, path

    async def resolve(self, path: str) -> list[str]:
        """Return the links that a path goes by, and at last the real path that it leads to."""
        place = await self.locate(path)
        with place.renaming():
            return [place.mount.outer(one) for one in await place.store.resolve(place.inner)]

    async def resolve_alias(self, path: str) -> str:
        """Return the path of the graph for one that a command may have printed."""
        alias = self.mounts.alias_of(path)
        if alias is None:
            return path
        # A file or a directory that really has this path comes first; so does one that can't be
        # looked at, because it may exist.
        kind = await attempt(self._kind(alias.path), "look at ", PathPart(alias.path))
        return alias.resolve(path) if kind is None else path

    async def place(self, path: str) -> Place:
        """Return the place of a path of the graph."""
        mount = self.mounts.locate(path)
        if self._is_evicted(path, mount):
            kept = open_store(StateBackend(), MountContext(mount.prefix, self.files))
            return Place(mount, kept, path, mount.inner(path))
        while mount.is_factory:
            made = await attempt(self._call(mount), "open ", PathPart(mount.prefix))
            if isinstance(made, FilesystemError):
                raise made
            self.mounts = made
            mount = self.mounts.locate(path)
        if mount.prefix not in self._stores:
            opened = await attempt(self._open(mount), "open ", PathPart(mount.prefix))
            if isinstance(opened, FilesystemError):
                raise opened
            self._stores[mount.prefix] = opened
        place = Place(mount, self._stores[mount.prefix], path, mount.inner(path))
        if not place.store.capabilities.in_state:
            with place.renaming():
                # Without its mount, `/mount/c:x` is like a drive: it would be written, not listed.
                normalize_path(place.inner)
        return place

    async def kind(self, path: str) -> Kind | None:
        """Return what is at a path; a directory above a mount point is one too."""
        return await self._kind(await self.resolve_alias(path))

    async def _kind(self, path: str) -> Kind | None:
        if path in self.mounts.directories:
            return "directory"
        place = await self.place(path)
        with place.renaming():
            return await place.store.kind(place.inner)

    async def _call(self, mount: Mount) -> Mounts:
        return self.mounts.with_made(mount, mount.backend(self._runtime))

    async def _open(self, mount: Mount) -> FileStore:
        return mount.open(self.files, self._runtime, above=self._above)

    def _is_evicted(self, path: str, mount: Mount) -> bool:
        """Say whether a path is a text in the thread's files, because the mount refused it."""
        if self._above or not mount.reaches_outside:
            return False
        if not is_within(path, EVICTED) and not is_within(path, HISTORY):
            return False
        return self.files is not None and path in self.files.files

    def _hides_conflicts(self, mounts: Mounts, files: ThreadFiles | None) -> bool:
        """Say whether a mount hides the thread's own files with edits that did not fit."""
        if self._above or files is None or not mounts.locate(CONFLICTS).reaches_outside:
            return False
        return any(is_within(path, CONFLICTS) for path in files.files)

    # Reading

    async def ls(self, path: str) -> LsResult:
        """List what is directly below a directory, mount points included."""
        return await list_directory(self, path)

    async def read(
        self,
        file_path: str,
        offset: int = 0,
        limit: int = 2000,
        *,
        column: int = 0,
        max_characters: int | None = None,
    ) -> ReadResult:
        """Return lines of a text file, or a binary file whole as base64."""
        place = await self.locate_file(file_path, "read_file")
        with place.renaming():
            return await place.store.read(
                place.inner, offset, limit, column=column, max_characters=max_characters
            )

    async def glob(
        self, pattern: str, path: str | None = None, *, skips: Skip | None = None
    ) -> GlobResult:
        """Find files by a pattern in every mount at or below a directory."""
        return await find_files(self, pattern, path or "/")

    async def grep(
        self,
        query: Query,
        path: str | None = None,
        glob: str | None = None,
        *,
        skips: Skip | None = None,
    ) -> GrepResult:
        """Search the text files of every mount at or below a path."""
        return await find_lines(self, query, path or "/", glob)

    async def digest(self, file_path: str) -> str | None:
        """Return a digest of what a file holds now, or `None` if it can't be had."""
        place = await self.locate(file_path)
        with place.renaming():
            return await place.store.digest(place.inner)

    async def inventory(self, path: str) -> Inventory:
        """Return every file at or below a path where nothing is mounted."""
        place = await self.locate(path)
        self.mounts.refuse_mount_point(place.path)
        with place.renaming():
            found = await place.store.inventory(place.inner)
        for info in found.files:
            info["path"] = place.mount.outer(info["path"])
        return found

    async def tree(self, path: str) -> list[FileInfo]:
        """Return all entries below a directory in which nothing is mounted."""
        place = await self.locate(path)
        self.mounts.refuse_mount_point(place.path)
        with place.renaming():
            found = await place.store.tree(place.inner)
        for info in found:
            info["path"] = place.mount.outer(info["path"])
        return found

    async def fetch(self, paths: Sequence[str]) -> list[bytes | FilesystemError]:
        """Return the bytes of each file, or why they can't be had."""
        groups, failed = await self._by_mount(paths, "read_file")
        found: dict[str, bytes | FilesystemError] = {**failed}
        for places in groups:
            first, inner = next(iter(places.values())), [one.inner for one in places.values()]
            contents = await attempt(first.store.fetch(inner), "read ", PathPart(inner[0]))
            if isinstance(contents, FilesystemError):
                contents = [contents] * len(inner)
            for path, content in zip(places, contents, strict=True):
                found[path] = (
                    content if isinstance(content, bytes) else content.renamed(first.mount.outer)
                )
        return [found[path] for path in paths]

    async def mark_seen(self, path: str) -> None:
        """Remember what a file holds now as known to the agent."""
        await self._mark(await self.locate(path))

    # Changing

    async def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file, or replace one whose content is known."""
        place = await self.locate(file_path, "write_file")
        self.mounts.refuse_mount_point(place.path)
        key = await self.effect_key(place, once)
        if await self.outcome(place, key) is None:
            if overwrite:
                await self._check_seen(place)
            with place.renaming():
                await place.store.write(place.inner, content, overwrite=overwrite, once=key)
        await self._mark(place)
        return WriteResult(path=file_path)

    async def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        once: str | None = None,
    ) -> EditResult:
        """Replace exact text in a file whose content is known."""
        place = await self.locate_file(file_path, "edit_file")
        key = await self.effect_key(place, once)
        done = await self.outcome(place, key)
        if done is None:
            await self._check_seen(place)
            with place.renaming():
                result = await place.store.edit(
                    place.inner, old_string, new_string, replace_all, once=key
                )
        else:
            result = EditResult(occurrences=done.occurrences)
        await self._mark(place)
        result.path = file_path
        return result

    async def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or a directory with everything in it."""
        scope, place = await self._admit("delete", file_path)
        self.mounts.refuse_mount_point(place.path)
        await scope.check_below(place)
        key = await self.effect_key(place, once)
        if await self.outcome(place, key) is None:
            with place.renaming():
                await place.store.delete(place.inner, once=key)
        self.seen.forget(place.path)
        return DeleteResult(path=file_path)

    async def move(self, source: str, destination: str, *, once: str | None = None) -> MoveResult:
        """Move a file or a directory, within a mount or across two."""
        moved = await self.move_or_defer(source, destination, once=once, may_defer=False)
        assert moved is not None
        return moved

    async def move_or_defer(
        self, source: str, destination: str, *, once: str | None = None, may_defer: bool = True
    ) -> MoveResult | None:
        """Move; return `None` if the same call must come again when its copy is stored.

        A move into the thread's own files takes effect with the next checkpoint: only then may the
        source be deleted.
        """
        start_scope, start = await self._admit("move", source)
        end_scope, end = await self._admit("move", destination)
        for place in (start, end):
            self.mounts.refuse_mount_point(place.path)
        if is_within(end.path, start.path):
            raise FilesystemError(
                PathPart(start.path),
                ": can't be moved to ",
                PathPart(end.path),
                ", which is the same path or inside it. Choose another destination.",
            )
        await start_scope.check_below(start)
        await end_scope.check_landing(end, start)
        if self.files is not None:
            self.seen.settle(self.files)
        moved = await move(self, start, end, once or self.key, may_defer=may_defer)
        if moved is not None:
            self.seen.move(start.path, end.path)
            moved.path = destination
        return moved

    async def put(
        self, files: Mapping[str, bytes], *, overwrite: bool = True, once: str | None = None
    ) -> dict[str, FilesystemError]:
        """Write whole files, each in the mount that serves its path."""
        groups, failed = await self._by_mount(list(files), "write_file")
        for places in groups:
            first = next(iter(places.values()))
            contents = {place.inner: files[path] for path, place in places.items()}
            key = await self.effect_key(first, once)
            work = first.store.put(contents, overwrite=overwrite, once=key)
            problems = await attempt(work, "write ", PathPart(first.inner))
            for path, place in places.items():
                if isinstance(problems, FilesystemError):
                    failed[path] = problems.renamed(first.mount.outer)
                elif place.inner in problems:
                    failed[path] = problems[place.inner].renamed(first.mount.outer)
        return failed

    async def recall(self, once: str) -> Outcome | None:
        """Return what a mount knows of a call that it may have carried out before a crash."""
        for mount in self.mounts.all:
            # One that can't be opened has done nothing, and must not keep the others from work.
            place = await attempt(self.place(mount.prefix), "open ", PathPart(mount.prefix))
            if not isinstance(place, FilesystemError) and place.store.capabilities.journals:
                with place.renaming():
                    outcome = await place.store.recall(once)
                if outcome is not None:
                    return outcome
        return None

    async def execute(
        self,
        command: str,
        *,
        timeout: int | None = None,
        on_output: OnOutput | None = None,
        once: str | None = None,
        confinement: Confinement | None = None,
    ) -> ExecuteResponse:
        """Run a command in the first mount, from `/` down, that can; never one that has begun."""
        shell = await self._shell()
        kept_from = await confine(self, shell)
        key = await self.effect_key(shell, once, runs_command=True)
        with shell.renaming():
            if key is not None and shell.store.capabilities.journals:
                outcome = await shell.store.recall(key)
                if outcome is not None and outcome.response is not None:
                    return outcome.response
                if outcome is not None:
                    raise CommandStarted
            return await shell.store.execute(
                command,
                timeout=timeout,
                on_output=on_output,
                once=key,
                confinement=kept_from,
            )

    def updates(self) -> dict[str, Any]:
        """Return what the node writes to the channels."""
        assert self.files is not None
        updates = {
            "files": self.files.update,
            "overlay": self.files.overlay_update,
            "overlay_scratch": self.files.scratch_update,
            "seen": self.seen.update(self.files),
        }
        return {channel: update for channel, update in updates.items() if update}

    # Steps that every change goes through

    async def effect_key(
        self, place: Place, once: str | None, *, runs_command: bool = False
    ) -> str | None:
        """Wait until an effect outside the state may happen, and return the key of its call.

        A command has such effects even if the files that it changes are in the state.
        """
        if place.store.capabilities.in_state and not runs_command:
            return None
        if self._before_effect is not None:
            await self._before_effect()
        return once or self.key

    async def outcome(self, place: Place, key: str | None) -> Outcome | None:
        """Return what is known of this call from before a crash.

        What was half done, or done and changed by others since, is an error for the model to see.
        """
        if key is None or not place.store.capabilities.journals:
            return None
        with place.renaming():
            outcome = await place.store.recall(key)
        if outcome is not None and not outcome.finished:
            raise FilesystemError(
                PathPart(place.path),
                ": this call was interrupted and may have been carried out already; something "
                "else is there now. Nothing was changed again. Look at it first.",
            )
        return outcome

    async def _check_seen(self, place: Place) -> None:
        """Refuse to change a file that the agent has not read, or that has changed since."""
        if self.seen.needs_check(place.path):
            with place.renaming():
                now = await place.store.digest(place.inner)
            self.seen.check(place.path, now)

    async def _mark(self, place: Place) -> None:
        in_state = place.store.capabilities.in_state
        if in_state and self.files is not None and place.path in self.files.files:
            self.seen.mark_in_state(place.path)
            return
        # The work is done: if nobody can say what the file holds, it has to be read again.
        digest = await attempt(place.store.digest(place.inner), "read ", PathPart(place.inner))
        self.seen.mark(place.path, None if isinstance(digest, FilesystemError) else digest)

    async def _shell(self) -> Place:
        while mount := next(iter(self.mounts.shells), None):
            place = await self.place(mount.prefix)
            # A factory is replaced by what it made, which may not run commands.
            if not mount.is_factory:
                return place
        raise Unsupported("No mount can run commands. Use the file operations.")

    async def _by_mount(
        self, paths: Sequence[str], operation: str
    ) -> tuple[list[dict[str, Place]], dict[str, FilesystemError]]:
        """Return the places of files, those of one mount together, and why some have none."""
        groups: dict[int, dict[str, Place]] = defaultdict(dict)
        failed: dict[str, FilesystemError] = {}
        for path in paths:
            place = await attempt(self.locate_file(path, operation), "open ", PathPart(path))
            if isinstance(place, FilesystemError):
                failed[path] = place
            else:
                groups[id(place.store)][path] = place
        return list(groups.values()), failed
