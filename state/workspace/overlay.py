"""`OverlayBackend`: reads from another backend, and keeps every change in the thread.

The content of changed files is in the `files` channel. The `overlay` channel (`state/entries.py`)
records which lower entries are hidden. Lists and searches ask the lower backend, leave out hidden
entries, and add those of the thread.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph_filesystem.state.backends.execution.layers import overlay_support
from langgraph_filesystem.state.backends.execution.sandbox import SandboxBackend, SandboxStore
from langgraph_filesystem.state.backends.file_store import (
    Capabilities,
    Confinement,
    Entry,
    FileStore,
    Inventory,
    Kind,
    MountContext,
    OnOutput,
    Query,
    Skip,
    batches,
)
from langgraph_filesystem.state.backends.protocol import (
    Backend,
    BackendFactory,
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileInfo,
    GlobResult,
    GrepResult,
    LsResult,
    MoveResult,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.backends.text_files import encoded, not_text, size_of
from langgraph_filesystem.state.edits import edited_size, plan_edit
from langgraph_filesystem.state.entries import OverlayEntry
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    FileTooLarge,
    IsDirectory,
    NotDirectory,
    Unsupported,
)
from langgraph_filesystem.state.files import FileData, FileEdit, current_time, digest_of, file_bytes
from langgraph_filesystem.state.paths import ancestors, is_within, normalize_path
from langgraph_filesystem.state.text import PathPart
from langgraph_filesystem.state.workspace.mounts import Composed, Overlaid, open_store
from langgraph_filesystem.state.workspace.overlay_changes import LOWER, binary_or_text
from langgraph_filesystem.state.workspace.overlay_commands import OverlayCommands
from langgraph_filesystem.state.workspace.overlay_view import MergedView, renamed, renaming

__all__ = ("OverlayBackend", "OverlayStore")

_MAX_FILES, _MAX_BYTES = 1_000, 64 << 20
_BATCH_FILES, _BATCH_BYTES = 200, 16 << 20
_TAKEN = "Delete it first, or choose another destination."


class OverlayBackend(Overlaid):
    """Shows the files of another backend, and keeps every change in the thread.

    Nothing is written to the other backend until `history.apply` does it. Until then the changes
    are part of the checkpoints: they can be seen, undone, forked and thrown away.

    ```python
    agent = create_filesystem_agent(model, mounts={"/": OverlayBackend(FilesystemBackend("."))})
    ```

    Args:
        lower: The backend to read from, or a function of the runtime that makes it.
        max_file_size_mb: Size up to which operations write a file, as for `StateBackend`. Larger
            files of commands are left out of the changes, as `scratch` is.
        scratch: Over a `SandboxBackend`: patterns of files that commands write and that are left
            out of the changes, such as caches. They stay on this machine for the next command of
            the thread. By default it is what git ignores, or the usual names without git.
    """

    def __init__(
        self,
        lower: Backend | BackendFactory,
        max_file_size_mb: float = 10,
        *,
        scratch: Sequence[str] | None = None,
    ) -> None:
        if isinstance(lower, type) or not (hasattr(lower, "ls") or callable(lower)):
            raise ValueError(
                "`lower` must be a backend, or a function that makes one, such as "
                f"`OverlayBackend(FilesystemBackend('.'))`, not {lower!r}."
            )
        below: Any = lower
        mounted = [m.backend for m in below.mounts.all] if isinstance(below, Composed) else [below]
        if any(isinstance(backend, Overlaid) for backend in mounted):
            raise ValueError(
                "`lower` must not be an overlay, or have one among its mounts: its changes could "
                "not be applied. Mount overlays beside each other."
            )
        if max_file_size_mb <= 0:
            raise ValueError(f"`max_file_size_mb` must be more than 0, not {max_file_size_mb!r}.")
        self.lower = lower
        if isinstance(scratch, str):
            raise ValueError(f"`scratch` must be a list of patterns: [{scratch!r}].")
        self._limit = int(max_file_size_mb * (1 << 20))
        self._scratch = scratch

    def open(self, context: MountContext) -> "OverlayStore":
        """Return the merged view for one run of a node."""

        def open_lower() -> FileStore:
            return self.open_lower(context)

        store = OverlayStore(open_lower, context, self._limit)
        shell = self._shell(context)
        if shell is not None:
            store.allow_commands(
                OverlayCommands(shell, open_lower, context, self._limit, self._scratch),
                shell.capabilities.command_root,
            )
        return store

    def open_lower(self, context: MountContext) -> FileStore:
        """Return the lower store, for one run of a node."""
        lower: Any = self.lower
        made = lower if hasattr(lower, "ls") else lower(context.runtime)
        # If its files are in the state too, they need keys of their own.
        prefix = (LOWER + context.prefix).rstrip("/")
        return open_store(made, MountContext(prefix, context.files, context.runtime))

    def _shell(self, context: MountContext) -> SandboxStore | None:
        """Return what runs commands, if `lower` is a sandbox and the kernel has overlays."""
        lower = self.lower
        if not isinstance(lower, SandboxBackend) or type(lower).overridden:
            return None
        store = lower.open(context)
        return store if overlay_support() is None else None


class OverlayStore(FileStore):
    """The merged view of one mount in one run of a node.

    A path without links is called real here.
    """

    capabilities = Capabilities(in_state=True, on_machine=True)

    def __init__(
        self, open_lower: Callable[[], FileStore], context: MountContext, limit: int
    ) -> None:
        self._view = MergedView(open_lower, context)
        self._layer = self._view.layer
        self._limit = limit
        self._commands: OverlayCommands | None = None

    def allow_commands(self, commands: OverlayCommands, root: str | None) -> None:
        """Let commands run here; they find `/` at the path `root`."""
        self._commands = commands
        self.capabilities = replace(
            self.capabilities, executes=True, confines=True, command_root=root
        )

    def normal(self, path: str) -> str:
        """Return the normalized form of a path."""
        return self._view.lower.normal(path)

    # Reading

    async def kind(self, path: str) -> Kind | None:
        """Return what is at a path, links followed; `None` where nothing is."""
        return await self._view.kind(await self._view.real(path))

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
        real = await self._view.real(file_path)
        with renaming(real, file_path):
            return await self._view.holder(real).read(
                real, offset, limit, column=column, max_characters=max_characters
            )

    async def digest(self, file_path: str) -> str | None:
        """Return a digest of the content of a file, or `None` if it can't be read."""
        try:
            real = await self._view.real(file_path)
            return await self._view.holder(real).digest(real)
        except FilesystemError:
            return None

    async def fetch(self, paths: Sequence[str]) -> list[bytes | FilesystemError]:
        """Return the bytes of each file, or the error."""
        found: dict[str, bytes | FilesystemError] = {}
        below: dict[str, str] = {}
        for path in paths:
            try:
                real = await self._view.real(path)
                holder = self._view.holder(real)
                if holder is self._view.lower:
                    below[path] = real
                else:
                    [found[path]] = await holder.fetch([real])
            except FilesystemError as error:
                found[path] = error
        contents = await self._view.lower.fetch(list(below.values())) if below else []
        found.update(zip(below, contents, strict=True))
        return [found[path] for path in paths]

    async def ls(self, path: str) -> LsResult:
        """List what is directly in a directory."""
        return await self._view.ls(path)

    async def glob(
        self, pattern: str, path: str | None = None, *, skips: Skip | None = None
    ) -> GlobResult:
        """Find files in a directory by a pattern, except some."""
        return await self._view.glob(pattern, path, skips)

    async def grep(
        self,
        query: Query,
        path: str | None = None,
        glob: str | None = None,
        *,
        skips: Skip | None = None,
    ) -> GrepResult:
        """Search the text files in a directory, or one file, except some."""
        return await self._view.grep(query, path, glob, skips)

    async def inventory(self, path: str) -> Inventory:
        """Return every file at a path or inside it; raise if another mount can't hold one."""
        tree = await self._view.tree(await self._view.real(path, last=False))
        if not tree:
            raise FileNotFound(path)
        found = Inventory()
        above = {one.rpartition("/")[0] for one in tree}
        for one in tree.values():
            if one.kind == "directory":
                found.empty += one.path not in above
                continue
            size = one.size
            if one.kind == "link":
                found.links += 1
                size = await self._view.linked_size(one.path)
            found.files.append(FileInfo(path=one.path, size=size))
        return found

    async def resolve(self, path: str) -> list[str]:
        """Return the links on a path, and at last the real path that it leads to."""
        links: list[str] = []
        try:
            real = await self._view.real(path, links=links)
            return [*links, real]
        except FilesystemError:  # one leads outside, or in a circle
            return [*links, path]

    async def tree(self, path: str) -> list[FileInfo]:
        """Return all entries in a directory, at any depth: files, directories and links."""
        real = await self._view.real(path, last=False)
        found = [one for one in (await self._view.tree(real)).values() if one.path != real]
        return [
            FileInfo(
                path=renamed(one.path, real, path),
                is_dir=one.kind == "directory",
                is_link=one.kind == "link",
            )
            for one in found
        ]

    # Changing

    async def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file with its parents, or with `overwrite` replace one."""
        raw = encoded(file_path, content)
        await self._put(
            file_path, raw, overwrite, "Change it with `edit_file`, or set `overwrite`."
        )
        return WriteResult(path=file_path)

    async def put(
        self, files: Mapping[str, bytes], *, overwrite: bool = True, once: str | None = None
    ) -> dict[str, FilesystemError]:
        """Write whole files with their parents; return why some of them were not written."""
        failed: dict[str, FilesystemError] = {}
        for path, content in files.items():
            try:
                await self._put(path, content, overwrite, "Choose another path.")
            except FilesystemError as error:
                failed[path] = error
        return failed

    async def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        once: str | None = None,
    ) -> EditResult:
        """Replace exact text in a file: the first change stores the file, later ones the edit."""
        real = await self._view.real(file_path)
        with renaming(real, file_path):
            file, known = self._layer.file(real), self._layer.entry(real)
            entry: OverlayEntry = {"kind": "file"}
            base = None
            if file is None:
                file = base = await self._lower_file(real)
            digest = digest_of(file_bytes(file))
            if base is not None:
                entry["base"] = digest
            if file.get("encoding", "utf-8") == "base64":
                raise not_text(real, file_bytes(file))
            encoded(real, new_string)
            plan = plan_edit(real, file["content"], old_string, new_string, replace_all)
            self._check_size(real, edited_size(size_of(file), plan))
            change = FileEdit(edits=[plan.edit], modified_at=current_time())
            if base is not None:
                change["base"] = base
            entry["edits"] = [plan.edit]
            if known is not None and known.get("result", digest) != digest:
                # A client has written the file since, so the edits alone don't make it.
                entry = {**known, "kind": "file"}
                entry.pop("edits", None)
                entry.pop("result", None)
            self._layer.change({real: change}, {})
            edited = self._layer.file(real)
            if "edits" in entry and edited is not None:
                entry["result"] = digest_of(file_bytes(edited))
            # A file that a client put here has no entry, so nobody knows what it is based on.
            if base is not None or known is not None:
                self._layer.change({}, {real: entry})
        return EditResult(path=file_path, occurrences=plan.count, first_line=plan.first_line)

    async def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or a directory with everything in it; of a link, the link."""
        real = await self._view.real(file_path, last=False)
        if real == "/":
            raise FilesystemError(PathPart("/"), ": is the root, and can't be moved or deleted.")
        with renaming(real, file_path):
            if not await self._view.exists(real):
                raise FileNotFound(real)
            await self._view.remove(real)
        return DeleteResult(path=file_path)

    async def move(self, source: str, destination: str, *, once: str | None = None) -> MoveResult:
        """Rename a file or a directory, to where nothing is."""
        start = await self._view.real(source, last=False)
        end = await self._view.real(self._view.lower.normal(destination), last=False)
        if is_within(end, start) or start == "/":
            raise FilesystemError(
                *(PathPart(source), ": can't be moved to ", PathPart(destination)),
                ", which is the same path or inside it. Choose another destination.",
            )
        tree = await self._view.tree(start)
        if not tree:
            raise FileNotFound(source)
        if await self._view.exists(end):
            raise FileExists(destination, _TAKEN)
        await self._check_parents(destination)
        contents = await self._contents(tree)
        files: dict[str, FileData | FileEdit | None] = {}
        entries: dict[str, OverlayEntry | None] = {}
        for one in tree.values():
            # Paths inside a directory may be too long at the destination, or be no paths at all.
            path = normalize_path(end + one.path[len(start) :])
            if one.kind == "file":
                files[path] = contents[one.path]
            if one.kind != "directory" or self._view.lower.capabilities.directories:
                entries[path] = self._layer.entry_like(one, path)
        await self._view.remove(start)
        self._layer.change(files, entries)
        count = sum(one.kind != "directory" for one in tree.values())
        return MoveResult(path=destination, files=count)

    async def execute(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        once: str | None = None,
        confinement: Confinement | None = None,
    ) -> ExecuteResponse:
        """Run a command over the merged view, and take what it changed into the thread."""
        if self._commands is None:
            raise Unsupported("Commands can't be run here. Use the file operations.")
        return await self._commands.execute(
            command, timeout=timeout, on_output=on_output, once=once, confinement=confinement
        )

    # Steps of a change

    async def _put(self, path: str, content: bytes, overwrite: bool, hint: str) -> None:
        self._check_size(path, len(content))
        real = await self._view.real(self._view.lower.normal(path))
        kind = await self._view.kind(real)
        if kind == "directory":
            raise IsDirectory(path)
        if kind == "file" and not overwrite:
            raise FileExists(path, hint)
        if kind is None:
            if await self._view.real(path, last=False) != real:
                raise _dangling(path, path)
            await self._check_parents(path)
        old = self._layer.entry(real)
        entry = await self._view.based("file", real)
        if old is not None and old["kind"] == "file" and "mode" in old:
            entry["mode"] = old["mode"]
        self._layer.change({real: self._layer.dated(real, binary_or_text(content))}, {real: entry})

    async def _check_parents(self, path: str) -> None:
        """Raise if a parent of a path is a file, or a link that leads nowhere."""
        for above in ancestors(path):
            kind = await self.kind(above)
            if kind == "directory":
                return
            if kind == "file":
                raise NotDirectory(path, above)
            if await self._view.exists(await self._view.real(above, last=False)):
                raise _dangling(path, above)

    def _check_size(self, path: str, size: int) -> None:
        if size > self._limit:
            raise FileTooLarge(path, size, self._limit)

    async def _lower_file(self, real: str) -> FileData:
        """Return the lower file that is about to be changed for the first time."""
        assert self._view.holder(real) is self._view.lower  # or it raises
        for one in await self._view.lower.entries(real, below=False):
            self._check_size(real, one.size)
        [content] = await self._view.lower.fetch([real])
        if isinstance(content, FilesystemError):
            raise content
        return self._layer.dated(real, binary_or_text(content))

    async def _contents(self, tree: Mapping[str, Entry]) -> dict[str, FileData]:
        """Return the files of a tree; lower files are read into memory."""
        files = {
            one.path: file
            for one in tree.values()
            if one.kind == "file" and (file := self._layer.file(one.path)) is not None
        }
        below = [
            FileInfo(path=one.path, size=one.size)
            for one in tree.values()
            if one.kind == "file" and one.path not in files
        ]
        total = sum(info["size"] for info in below)
        if len(below) > _MAX_FILES or total > _MAX_BYTES:
            raise FilesystemError(
                PathPart(next(iter(tree))),
                f": has {len(below):,} files and {total:,} bytes. In an overlay one move takes up "
                f"to {_MAX_FILES:,} files and {_MAX_BYTES >> 20} MB. Move parts of it.",
            )
        for paths in batches(below, _BATCH_FILES, _BATCH_BYTES):
            for path, content in zip(paths, await self._view.lower.fetch(paths), strict=True):
                if isinstance(content, FilesystemError):
                    raise content
                self._check_size(path, len(content))
                files[path] = self._layer.dated(path, binary_or_text(content))
        return files


def _dangling(path: str, link: str) -> FileNotFound:
    missing = FileNotFound(path)
    FilesystemError.__init__(
        missing,
        *(PathPart(path), ": no such file or directory. ", PathPart(link)),
        " is a symbolic link, and its target does not exist. Delete the link, or choose another "
        "path.",
    )
    return missing
