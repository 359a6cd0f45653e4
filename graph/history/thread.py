"""A thread as history sees it: its checkpoints, its mounts, and the files in each checkpoint."""

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import StateSnapshot

from langgraph_filesystem.guard import all_mounts
from langgraph_filesystem.state.backends.file_store import FileStore, MountContext
from langgraph_filesystem.state.entries import Entries
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import CONFLICTS, Files, ThreadFiles, file_bytes
from langgraph_filesystem.state.io import call_either, is_sync
from langgraph_filesystem.state.paths import ancestors, is_within, normalize_path
from langgraph_filesystem.state.workspace.mounts import Mount, Mounts
from langgraph_filesystem.state.workspace.overlay_changes import LOWER, OverlayChanges

__all__ = ("Graph", "Step", "Thread", "Tree", "Version")

Graph = CompiledStateGraph[Any, Any, Any, Any]
Checkpoint = str | RunnableConfig | StateSnapshot
"""A checkpoint: its id, its config, or a state of the thread."""


_UNREADABLE = b"\0"
"""Stands for the content of a file below that is large, or can't be read."""
_LARGE = 10 << 20
"""Bytes."""
_NEW_FILE = 0o644


class Version(NamedTuple):
    """What is at a path at one time."""

    kind: str
    """`file`, `link` or `directory`."""
    content: bytes = b""
    """Of a file; of a link, where it leads to."""
    mode: int | None = None


class Thread:
    """One thread of a graph."""

    def __init__(
        self, graph: Graph, config: RunnableConfig, context: Any = None, as_node: str = "model"
    ) -> None:
        if not (config.get("configurable") or {}).get("thread_id"):
            raise ValueError('History needs a thread: {"configurable": {"thread_id": ...}}.')
        self.graph = graph
        self.config: RunnableConfig = {"configurable": {**config["configurable"]}}
        self.runtime: Runtime[Any] = Runtime(context=context, store=graph.store)
        self._as_node = as_node
        self.mounts = self._mounts()

    async def state(self, checkpoint: Checkpoint | None = None) -> StateSnapshot:
        """Return a state of the thread; by default the one that the config names."""
        config = self.config if checkpoint is None else self._config_of(checkpoint)
        graph = self.graph
        found: StateSnapshot = await call_either(graph.get_state, graph.aget_state, config)
        if found.created_at is None:
            place = config["configurable"]
            named = f"checkpoint {place['checkpoint_id']}" if "checkpoint_id" in place else "state"
            raise ValueError(f"Thread {place['thread_id']!r} has no {named}.")
        return found

    async def checkpoints(self) -> list["Stored"]:
        """Return the checkpoint that the config names and those that led to it, newest first."""
        wanted: str | None = _id_of((await self.state()).config)
        chain = []
        for one in await self._stored():
            if one.id == wanted:
                wanted = one.parent
                chain.append(one)
        return chain

    async def steps(self) -> AsyncIterator["Step"]:
        """Yield each step that wrote files, the newest first."""
        after = self.tree(await self.state())
        for newer, older in pairwise(await self.checkpoints()):
            # To load a state takes a hundred times as long as to list its checkpoint.
            if newer.versions != older.versions:
                state = await self.state(older.id)
                before = self.tree(state)
                yield Step(newer, after, state, before)
                after = before

    async def update(self, values: Mapping[str, Any], author: str) -> None:
        """Write to the channels, in a new checkpoint whose metadata names the function."""
        graph = self.graph
        if self._as_node not in graph.nodes:
            raise ValueError(
                f"The graph has no node {self._as_node!r} to record the update as. Pass `as_node` "
                f"with one of its nodes: {', '.join(sorted(graph.nodes))}."
            )
        was_at_rest = not (await self.state()).tasks
        known = {k: v for k, v in values.items() if k in graph.channels}
        await self._write(known, self._as_node, author)
        if was_at_rest and (await self.state()).next:
            # An edge leads on from that node, such as to `respond`.
            await self._write(None, END, author)

    async def _stored(self) -> list["Stored"]:
        """Return all checkpoints of the thread, the newest first."""
        saver: Any = self.graph.checkpointer
        place = {k: v for k, v in self.config["configurable"].items() if k in _PLACE}
        config = {"configurable": {"checkpoint_ns": "", **place}}
        if is_sync():
            return [Stored.of(one) for one in saver.list(config)]
        return [Stored.of(one) async for one in saver.alist(config)]

    def tree(self, state: StateSnapshot) -> "Tree":
        """Return the files of a state."""
        values = state.values if isinstance(state.values, dict) else {}
        return Tree(
            ThreadFiles(values.get("files") or {}, values.get("overlay") or {}),
            self.mounts,
            self.runtime,
        )

    def check_paths(self, paths: Collection[str] | None, *, only_overlays: bool = False) -> None:
        """Raise for a path that has no history, or for a graph that has none."""
        if isinstance(paths, str):
            raise ValueError(f"`paths` must be a list of paths: [{paths!r}].")
        kept = self.mounts.overlays if only_overlays else [*self._recorded()]
        what = "in no overlay" if only_overlays else "in a mount that is written directly"
        if not kept:
            raise ValueError(
                f"All mounts of the graph are {what}, so there is no history. Mount a backend "
                "under an overlay to have one: `OverlayBackend(backend)`."
            )
        for path in map(normalize_path, paths or ()):
            mount = self.mounts.locate(path)
            if mount not in kept and not any(is_within(m.prefix, path) for m in kept):
                raise ValueError(
                    f"{path} is {what}, so it has no history. Mount the backend at "
                    f"{mount.prefix} under an overlay to have one: `OverlayBackend(backend)`."
                )

    def _recorded(self) -> Iterator[Mount]:
        return (mount for mount in self.mounts.all if not mount.reaches_outside)

    def _mounts(self) -> Mounts:
        """Return the mounts of the graph and of those inside it, made by their factories."""
        found: dict[str, Any] = {}
        for mounts in all_mounts(self.graph):
            found = {**{mount.prefix: mount.backend for mount in mounts.all}, **found}
        if not found:
            raise ValueError("The graph has no filesystem, so there is no history of files.")
        mounts = Mounts(found)
        while factory := next((mount for mount in mounts.all if mount.is_factory), None):
            mounts = mounts.with_made(factory, factory.backend(self.runtime))
        return mounts

    async def _write(self, values: Mapping[str, Any] | None, node: str, author: str) -> None:
        graph = self.graph
        config: RunnableConfig = {**self.config, "metadata": {_AUTHOR: author}}
        written = await call_either(graph.update_state, graph.aupdate_state, config, values, node)
        if "checkpoint_id" in self.config["configurable"]:
            self.config = written  # the tip of a branch

    def _config_of(self, checkpoint: Checkpoint) -> RunnableConfig:
        if isinstance(checkpoint, StateSnapshot):
            return checkpoint.config
        if isinstance(checkpoint, str):
            place = {**self.config["configurable"], "checkpoint_id": checkpoint}
            return {"configurable": place}
        return checkpoint


class Stored(NamedTuple):
    """What is known of a checkpoint without loading its state."""

    id: str
    parent: str | None
    metadata: Mapping[str, Any]
    versions: tuple[Any, ...]
    """They differ if files were written."""

    @classmethod
    def of(cls, found: CheckpointTuple) -> "Stored":
        """Return what is needed of a checkpoint, without its writes."""
        versions = found.checkpoint["channel_versions"]
        metadata: Any = found.metadata
        parent = None if found.parent_config is None else _id_of(found.parent_config)
        written = tuple(versions.get(name) for name in ("files", "overlay"))
        return cls(found.checkpoint["id"], parent, metadata, written)


class Step(NamedTuple):
    """Two checkpoints, one after the other, between which files were written."""

    newer: Stored
    after: "Tree"
    """The files of the newer one."""
    older: StateSnapshot
    before: "Tree"
    """The files of the older one."""

    @property
    def author(self) -> str | None:
        """Which function of `history` made it: `undo`, `discard` or `apply`."""
        return self.newer.metadata.get(_AUTHOR)


class Tree:
    """The files of a thread in one checkpoint, with what lies below its overlays now."""

    def __init__(self, thread: ThreadFiles, mounts: Mounts, runtime: Runtime[Any]) -> None:
        self.thread = thread
        self._mounts = mounts
        self._runtime = runtime
        self._lower: dict[str, FileStore] = {}

    @property
    def files(self) -> Files:
        """The `files` channel."""
        return self.thread.files

    @property
    def entries(self) -> Entries:
        """The `overlay` channel."""
        return self.thread.overlay or {}

    def has(self, path: str) -> bool:
        """Say whether a path has a file or an entry of its own."""
        return path in self.files or path in self.entries

    def hides(self, path: str) -> bool:
        """Say whether the thread hides what lies below an overlay at a path."""
        mount = self._mounts.locate(path)
        return mount.overlay is not None and self.layer(mount).hides(mount.inner(path))

    def differing(self, other: "Tree") -> set[str]:
        """Return the paths at which the channels of two checkpoints differ."""
        return {*_differing(self.files, other.files), *_differing(self.entries, other.entries)}

    async def differing_files(self, other: "Tree") -> set[str]:
        """Return the same with every lower file under a directory that one of them hides."""
        paths = self.differing(other)
        for path in [*paths]:
            mount = self._mounts.locate(path)
            if mount.overlay is not None and (path in self.entries or path in other.entries):
                found = await self.lower(mount).entries(mount.inner(path))
                paths |= {mount.outer(one.path) for one in found}
        return paths

    def without_changes(self, start: "Tree | None" = None) -> "Tree":
        """Return the files without the changes that wait in overlays.

        The thread's own files are those of the start, if it is given; what is below is as it is.
        """
        given = self if start is None else start
        waiting = {*given.waiting()}
        files = {path: file for path, file in given.files.items() if path not in waiting}
        files |= {path: file for path, file in self.files.items() if is_within(path, LOWER)}
        return Tree(ThreadFiles(files, {}), self._mounts, self._runtime)

    def without(self, paths: Collection[str]) -> "Tree":
        """Return the files without those at some paths."""
        files = {path: file for path, file in self.files.items() if path not in paths}
        entries = {path: entry for path, entry in self.entries.items() if path not in paths}
        return Tree(ThreadFiles(files, entries), self._mounts, self._runtime)

    def waiting(self) -> list[str]:
        """Return the paths of changes that wait in overlays."""
        paths = [path for path in {*self.files, *self.entries} if not self._is_own(path)]
        return sorted(path for path in paths if self._mounts.locate(path).overlay is not None)

    def _is_own(self, path: str) -> bool:
        """Say whether a file is none of an overlay's: of a store below, or an edit not made."""
        return is_within(path, LOWER) or (is_within(path, CONFLICTS) and path not in self.entries)

    def mount_of(self, path: str) -> Mount:
        """Return the mount that serves a path."""
        return self._mounts.locate(path)

    def lower(self, mount: Mount) -> FileStore:
        """Return the store below an overlay."""
        assert mount.overlay is not None
        if mount.prefix not in self._lower:
            context = MountContext(mount.prefix, self.thread, self._runtime)
            self._lower[mount.prefix] = mount.overlay.open_lower(context)
        return self._lower[mount.prefix]

    def layer(self, mount: Mount) -> OverlayChanges:
        """Return what the thread changed in an overlay."""
        return OverlayChanges(self.thread, mount.prefix)

    async def version(self, path: str) -> Version | None:
        """Return what is at a path; `None` where nothing is."""
        mount = self._mounts.locate(path)
        file, entry = self.files.get(path), self.entries.get(path)
        if file is not None and mount.overlay is None:
            return Version("file", file_bytes(file))
        if mount.overlay is None:
            return None
        if file is not None:
            return Version("file", file_bytes(file), await self._mode(mount, path))
        if entry is not None and entry["kind"] != "deleted":
            return Version(entry["kind"], entry.get("target", "").encode(), entry.get("mode"))
        if self.hides(path):
            # A directory that was deleted is there again if something was written to it.
            is_directory = self.layer(mount).kind(mount.inner(path)) == "directory"
            return Version("directory") if is_directory else None
        return await self.below(path)

    async def below(self, path: str) -> Version | None:
        """Return what lies below an overlay at a path."""
        mount = self._mounts.locate(path)
        lower, inner = self.lower(mount), mount.inner(path)
        for found in await lower.entries(inner, below=False):
            if found.kind != "file":
                return Version(found.kind, (found.target or "").encode(errors="surrogateescape"))
            [content] = await lower.fetch([inner]) if found.size <= _LARGE else [_UNREADABLE]
            if isinstance(content, FilesystemError):
                content = _UNREADABLE
            return Version("file", content, found.mode)
        return None

    async def fingerprint(self, path: str) -> str | None:
        """Return what tells versions of what lies below an overlay apart."""
        mount = self._mounts.locate(path)
        return await self.lower(mount).fingerprint(mount.inner(path))

    async def _mode(self, mount: Mount, path: str) -> int | None:
        """Return the mode of a file of the thread: its own, or that of the file that it hides."""
        entry = self.entries.get(path)
        if entry is not None and "mode" in entry:
            return entry["mode"]
        inner = mount.inner(path)
        below = await self.lower(mount).entries(inner, below=False)
        mode = next((one.mode for one in below if one.kind == "file"), None)
        return mode if mode is None or self.layer(mount).keeps_mode(inner) else _NEW_FILE

    def covering(self, paths: Iterable[str]) -> set[str]:
        """Return the paths, each replaced by its topmost parent that hides a lower entry."""
        return {
            next((one for one in [*ancestors(path)][::-1] if self._hides_below(one)), path)
            for path in map(normalize_path, paths)
        }

    def _hides_below(self, path: str) -> bool:
        """Say whether what is at a path and below it goes together; not so for a new directory."""
        entry: Any = self.entries.get(path, {})
        return path in self.files or "base" in entry or entry.get("kind") == "link"


_PLACE = ("thread_id", "checkpoint_ns")
_AUTHOR = "langgraph_filesystem"
"""The key in the metadata of a checkpoint."""


def _id_of(config: RunnableConfig) -> str:
    found: str = config["configurable"]["checkpoint_id"]
    return found


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {
        path
        for path in one.keys() | other.keys()
        # Unchanged files are often the same objects, so contents are seldom compared.
        if one.get(path) is not other.get(path) and one.get(path) != other.get(path)
    }
