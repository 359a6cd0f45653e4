"""`FileStore`: the one internal interface of a backend.

Our backends implement it; every other backend is wrapped by `foreign.py`. Methods are
`async`, written for sync and async runs at once (see `state/io.py`), and raise `FilesystemError`s.
Results are those of `protocol.py` with `error` left out.

Paths are normalized (`normalize_path`) and absolute within the store. Errors and notes mark them as
`PathPart`s; the workspace renames them to the paths that the model knows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

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
    OutputMode,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.errors import FileChanged, FilesystemError, Unsupported
from langgraph_filesystem.state.files import ThreadFiles, digest_of
from langgraph_filesystem.state.paths import ancestors, is_within, normalize_path
from langgraph_filesystem.state.text import PathPart, Rename

__all__ = (
    "Access",
    "Capabilities",
    "Confinement",
    "Entry",
    "FileStore",
    "Inventory",
    "Kind",
    "MountContext",
    "OnOutput",
    "Query",
    "Skip",
    "batches",
    "tree_fingerprint",
)

Kind: TypeAlias = Literal["file", "directory"]
OnOutput: TypeAlias = Callable[[str], None]
Access: TypeAlias = Literal["full", "read-only", "none"]
Skip: TypeAlias = Callable[[str], bool]
"""Says which paths a search leaves out. A path that ends in `/` stands for a directory with
everything in it."""


@dataclass(frozen=True)
class Capabilities:
    """What a store can do, and other properties that its callers need."""

    in_state: bool = False
    """Its files are in the `files` channel: a change takes effect with the next checkpoint."""
    lasting: bool = False
    """Files outlive the thread."""
    deletes: bool = True
    moves: bool = True
    executes: bool = False
    journals: bool = False
    """It takes `once`, and after a crash `recall` returns what is known of a call."""
    directories: bool = False
    """A directory stays when the last file in it is deleted."""
    command_root: str | None = None
    """Where commands find `/` of the store; `None` if it runs none, or does not say."""
    confines: bool = False
    """Commands can be kept from files: `execute` takes a `Confinement`."""
    on_machine: bool = False
    """Its files are on a machine, perhaps one where commands of another store run."""


@dataclass(frozen=True)
class Query:
    """What `grep` looks for, and how it answers."""

    pattern: str
    regex: bool = False
    ignore_case: bool = False
    context: int = 0
    max_count: int | None = None
    output_mode: OutputMode = "content"

    @property
    def is_literal(self) -> bool:
        """Whether exactly the characters of the pattern are searched for."""
        return not (self.regex or self.ignore_case)


@dataclass(frozen=True)
class Confinement:
    """What a command may do with the files of its store."""

    access: Callable[[str], Access]
    may_differ_below: Callable[[str], bool]
    """Whether something below a directory may have another access than the directory."""


@dataclass
class Inventory:
    """Every file at or below a path, before it is moved to another mount."""

    files: list[FileInfo] = field(default_factory=list)
    """With their sizes."""
    empty: int = 0
    """Empty directories: most stores can't hold one."""
    links: int = 0
    """Files that are symbolic links: another mount gets what they point to."""


class Entry(NamedTuple):
    """What is at a path itself: a link is not followed."""

    path: str
    kind: Literal["file", "directory", "link"]
    size: int = 0
    modified: str = ""
    """Tells versions of a file apart, as far as the store knows."""
    mode: int | None = None
    """The permissions, where there are such."""
    target: str | None = None
    """Of a link: where it leads."""


def tree_fingerprint(path: str, entries: Sequence[Entry]) -> str:
    """Return what tells versions of a directory, or of a link, apart."""
    skip = len(path.rstrip("/"))
    listed = sorted(
        (one.path[skip:], one.kind, one.size, one.modified, one.target or "")
        for one in entries
        if one.kind != "directory"
    )
    return f"tree:{digest_of(repr(listed).encode())}"


def batches(files: Sequence[FileInfo], max_files: int, max_bytes: int) -> Iterator[list[str]]:
    """Yield the paths of files in batches that can be fetched at once."""
    batch: list[str] = []
    total = 0
    for info in files:
        size = info.get("size", 0)
        if batch and (len(batch) >= max_files or total + size > max_bytes):
            yield batch
            batch, total = [], 0
        batch.append(info["path"])
        total += size
    if batch:
        yield batch


@dataclass(frozen=True)
class MountContext:
    """What a backend is given when it is opened for a run of a node."""

    prefix: str = "/"
    """Where it is mounted."""
    files: ThreadFiles | None = None
    """The files of the thread; `None` outside of a graph."""
    runtime: Any = None
    """The `Runtime` of the node, for factories and namespaces; `None` outside of a graph."""


class FileStore(ABC):
    """The files of one mount.

    `once` is the key of the call that makes a change; a store that journals notes its intent under
    this key before the effect.
    """

    capabilities: Capabilities

    def normal(self, path: str) -> str:
        """Return the normalized form of a path that a caller outside of a graph gives."""
        return normalize_path(path)

    @abstractmethod
    async def kind(self, path: str) -> Kind | None:
        """Return what is at a path, links followed; `None` where nothing is."""

    async def resolve(self, path: str) -> list[str]:
        """Return the links that a path goes by, and at last the real path that it leads to.

        What does not exist has the path that it would get. Most stores have no links.
        """
        return [path]

    @abstractmethod
    async def ls(self, path: str) -> LsResult:
        """List what is directly below a directory."""

    @abstractmethod
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

    @abstractmethod
    async def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file with its parents, or with `overwrite` replace one."""

    @abstractmethod
    async def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        once: str | None = None,
    ) -> EditResult:
        """Replace exact text in a file."""

    @abstractmethod
    async def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or a directory with everything in it; of a link, the link."""

    @abstractmethod
    async def move(self, source: str, destination: str, *, once: str | None = None) -> MoveResult:
        """Rename a file or a directory within the store, to where nothing is."""

    @abstractmethod
    async def glob(
        self, pattern: str, path: str | None = None, *, skips: Skip | None = None
    ) -> GlobResult:
        """Find files at or below a directory by a pattern, except some.

        A store that can't leave files out while it searches may ignore `skips`, as in `grep`: the
        caller leaves them out of the result.
        """

    @abstractmethod
    async def grep(
        self,
        query: Query,
        path: str | None = None,
        glob: str | None = None,
        *,
        skips: Skip | None = None,
    ) -> GrepResult:
        """Search the text files at or below a path, except some."""

    @abstractmethod
    async def digest(self, file_path: str) -> str | None:
        """Return a digest of the content of a file (`digest_of`), or `None` if it can't be read."""

    @abstractmethod
    async def inventory(self, path: str) -> Inventory:
        """Return every file at or below a path; raise if another mount can't hold one of them."""

    async def tree(self, path: str) -> list[FileInfo]:
        """Return all entries below a directory: files, directories and links."""
        files = (await self.inventory(path)).files
        below = [info for info in files if info["path"] != path]
        above = {
            one
            for info in below
            for one in ancestors(info["path"])
            if one != path and is_within(one, path)
        }
        return [*below, *(FileInfo(path=one, is_dir=True) for one in sorted(above))]

    @abstractmethod
    async def fetch(self, paths: Sequence[str]) -> list[bytes | FilesystemError]:
        """Return the bytes of each file, or the error."""

    @abstractmethod
    async def put(
        self, files: Mapping[str, bytes], *, overwrite: bool = True, once: str | None = None
    ) -> dict[str, FilesystemError]:
        """Write whole files with their parents; return why some of them were not written.

        Without `overwrite` a path that is taken is `FileExists`.
        """

    async def delete_copied(
        self, path: str, digests: Mapping[str, str], *, once: str | None = None
    ) -> list[str]:
        """Delete files that were copied elsewhere, unless they have changed since.

        `digests` has the digests of the copied files below `path`. Returns the paths of files that
        stay because they are new or have changed. A store that can compare and delete in one step
        should override this.
        """
        inventory = await self.inventory(path)
        paths = [info["path"] for info in inventory.files]
        contents = await self.fetch(paths)
        stay = [
            one
            for one, content in zip(paths, contents, strict=True)
            if isinstance(content, FilesystemError) or digest_of(content) != digests.get(one)
        ]
        if not stay:
            await self.delete(path, once=once)
            return []
        for one in paths:
            if one not in stay:
                await self.delete(one)
        return stay

    async def receive(
        self,
        other: "FileStore",
        source: str,
        destination: str,
        *,
        once: str | None = None,
        name_source: Rename = str,
    ) -> MoveResult | None:
        """Move from another store directly; `None` if the two stores can't do that.

        `name_source` turns paths of the other store into those that the model knows, for errors.
        """
        return None

    # What an overlay needs to know of the store below it, and how its changes are applied.

    async def entries(self, path: str, *, below: bool = True) -> list[Entry]:
        """Return what is at a path and, if asked for, all that is below it; nothing if missing.

        Of a store with links or permissions; this is for those that have neither.
        """
        kind = await self.kind(path)
        if kind is None or not below:
            return [] if kind is None else [Entry(path, kind)]
        top = [] if kind == "file" else [Entry(path, kind)]
        return top + [
            Entry(info["path"], "file", info.get("size", 0), info.get("modified_at", ""))
            for info in (await self.inventory(path)).files
        ]

    async def fingerprint(self, path: str) -> str | None:
        """Return what tells versions of an entry apart; `None` where nothing is.

        Of a file that is a digest of its content, of a directory one digest of the paths, sizes and
        times of all that is below it.
        """
        kind = await self.kind(path)
        if kind == "directory":
            return tree_fingerprint(path, await self.entries(path))
        return None if kind is None else await self.digest(path) or "unreadable"

    async def replace(
        self, path: str, new: Entry | None, content: bytes, before: str | None
    ) -> None:
        """Put an entry at a path, or nothing, if the fingerprint of what is there is `before`.

        Whole or not at all. Without a `mode` a file keeps that of the file which it replaces.
        """
        if new is not None and new.kind == "link":
            raise Unsupported(PathPart(path), ": the backend has no symbolic links.")
        if await self.fingerprint(path) != before:
            raise FileChanged(path)
        is_file_now = before is not None and not before.startswith("tree:")
        if before is not None and not (is_file_now and new is not None and new.kind == "file"):
            await self.delete(path)
        if new is not None and new.kind == "file":
            failed = await self.put({path: content})
            if path in failed:
                raise failed[path]

    async def tidy(self, directories: Collection[str]) -> None:
        """Remove what a killed `replace` may have left in directories."""
        return

    async def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call that was begun before a crash."""
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
        """Run a command, if the store can, and keep it from files where the store `confines`."""
        raise Unsupported("Commands can't be run here. Use the file operations.")
