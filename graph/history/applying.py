"""Applying the changes that wait in overlays to their lower backends.

First each change is judged: done already, ready, or in conflict, because the lower file is not the
one that the change was based on. If a lower file has changed, but all edits of the thread still
fit, the change is rebased, and the rebased change is stored in a checkpoint before anything is
written. So the thread itself is the journal: a process that is killed leaves changes that are done
and changes that are ready, and the same call made again continues.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_core.runnables import RunnableConfig

from langgraph_filesystem.history.restore import selected
from langgraph_filesystem.history.thread import Graph, Thread, Tree
from langgraph_filesystem.state.backends.file_store import Entry, FileStore
from langgraph_filesystem.state.backends.text_files import decoded
from langgraph_filesystem.state.edits import apply_edits
from langgraph_filesystem.state.entries import OverlayEntry
from langgraph_filesystem.state.errors import FileChanged, FilesystemError, NotText
from langgraph_filesystem.state.files import FileData, digest_of, file_bytes
from langgraph_filesystem.state.io import attempt
from langgraph_filesystem.state.paths import ancestors
from langgraph_filesystem.state.text import PathPart, escaped
from langgraph_filesystem.state.workspace.mounts import Mount
from langgraph_filesystem.state.workspace.overlay_changes import OverlayChanges

__all__ = ("ApplyResult", "Conflict", "OnConflict", "apply")

OnConflict: TypeAlias = Literal["report", "force"]
_ABOVE = "the directory above it is in conflict"
_WAITS = " is deleted when the new files of the thread are all there. Apply again then."


@dataclass(frozen=True)
class Conflict:
    """A change that does not fit the lower file as it is now."""

    path: str
    reason: str
    ours: bytes | None
    """The file of the thread; `None` where it has none."""
    theirs: bytes | None
    """The lower file; `None` where there is none."""


@dataclass
class ApplyResult:
    """What was applied, and what was not. It can be printed."""

    applied: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    """Left alone, in the thread and in the lower backend."""
    failed: dict[str, str] = field(default_factory=dict)
    """Paths that could not be written, and why. They stay in the thread."""
    kept: dict[str, str] = field(default_factory=dict)
    """With `force`: paths, and where the version of the others is now."""
    config: RunnableConfig | None = None
    """The checkpoint without what was applied."""

    def __str__(self) -> str:
        """Return a line for each path."""
        lines = [f"applied   {escaped(path)}" for path in self.applied]
        lines += [f"kept      {escaped(path)} as {escaped(at)}" for path, at in self.kept.items()]
        lines += [f"conflict  {escaped(one.path)}: {one.reason}" for one in self.conflicts]
        lines += [f"failed    {escaped(reason)}" for reason in self.failed.values()]
        return "\n".join(lines) or "Nothing to apply."


async def apply(
    graph: Graph,
    config: RunnableConfig,
    *,
    paths: Collection[str] | None = None,
    on_conflict: OnConflict = "report",
    context: Any = None,
    as_node: str = "model",
) -> ApplyResult:
    """Write changes in overlays to their lower backends, and remove them from the thread.

    Each file is written whole or not at all, and keeps its mode. If the process is killed, the same
    call made again finishes the work. It has to run where the lower files are.

    Args:
        graph: The graph of the thread.
        config: Names the thread, and a checkpoint if it is not about the newest.
        paths: Apply only changes at these paths or inside them; by default all. If a path is in a
            directory that was deleted or replaced as a whole, that whole change is applied.
        on_conflict: What to do if the lower file is not the one that a change was based on, and
            its edits don't fit any more: `report` leaves both alone, `force` takes the file of the
            thread and keeps the other one beside it, with `.theirs` at the end of its name.
        context: The context of a run, for mounts that are made by factories.
        as_node: The node whose update the new checkpoint is recorded as.
    """
    if on_conflict not in ("report", "force"):
        raise ValueError(f"`on_conflict` must be 'report' or 'force', not {on_conflict!r}.")
    thread = Thread(graph, config, context, as_node)
    thread.check_paths(paths, only_overlays=True)
    tree = thread.tree(await thread.state())
    chosen = _with_parents(tree, [*filter(selected(paths, tree), tree.waiting())])
    result = ApplyResult()
    works = [
        _MountApply(tree, mount, chosen, on_conflict, result) for mount in thread.mounts.overlays
    ]
    for work in works:
        await work.judge()
    rebased = {path: one for work in works for path, one in work.rebased.items()}
    known = tree
    if rebased:
        await thread.update(
            {
                "files": {path: file for path, (file, _) in rebased.items()},
                "overlay": {path: entry for path, (_, entry) in rebased.items()},
            },
            "apply",
        )
        known = thread.tree(await thread.state())
    for work in works:
        await work.carry_out()
    # A deletion may be where a file was moved from: nothing on disk would have it then.
    waits = any(work.lacks_files() for work in works)
    for work in works:
        await work.clear_away(waits)
    undone = {*result.failed, *(one.path for one in result.conflicts)}
    # Below an entry that stays in the thread nothing of the directory can be seen.
    done = {path for path in result.applied if undone.isdisjoint((path, *ancestors(path)))}
    result.applied = sorted(done)
    await _forget(thread, tree, known, result.applied)
    result.config = (await thread.state()).config
    return result


def _with_parents(tree: Tree, paths: Collection[str]) -> set[str]:
    """Return the paths with the new directories that they are in."""
    parents = {above for path in paths for above in ancestors(path) if above in tree.entries}
    return {*paths, *(one for one in parents if tree.entries[one]["kind"] == "directory")}


async def _forget(thread: Thread, tree: Tree, known: Tree, paths: Collection[str]) -> None:
    """Remove what was applied from the thread, unless it was changed there meanwhile."""
    now = thread.tree(await thread.state())
    changed = now.differing(known)
    gone = dict.fromkeys(path for path in paths if path not in changed)
    # A lower store may have its files in the state as well.
    update = {
        "files": {**tree.thread.update, **gone},
        "overlay": {**tree.thread.overlay_update, **gone},
    }
    if gone:
        await thread.update(update, "apply")


class _Write(NamedTuple):
    """A change that is to be written."""

    path: str
    """The path within the mount."""
    new: Entry | None
    content: bytes
    before: str | None
    """The fingerprint of what it replaces."""
    forced: bool = False


class _MountApply:
    """The changes of one overlay mount."""

    def __init__(
        self,
        tree: Tree,
        mount: Mount,
        paths: Collection[str],
        on_conflict: OnConflict,
        result: ApplyResult,
    ) -> None:
        self._mount = mount
        self._lower: FileStore = tree.lower(mount)
        self._layer: OverlayChanges = tree.layer(mount)
        self._tree = tree
        self._forces = on_conflict == "force"
        self._result = result
        outer = [path for path in paths if tree.mount_of(path) is mount]
        self._changes = {mount.inner(path): self._change_at(path) for path in outer}
        self._steps: list[_Write] = []
        self._opaque: set[str] = set()
        """Paths that are removed first, so the lower store has nothing inside them then."""
        self._left: set[str] = set()
        """Paths that are left alone."""
        self.rebased: dict[str, tuple[FileData, OverlayEntry]] = {}
        """Files and entries based on the lower files as they are now, by paths in the graph."""

    async def judge(self) -> None:
        """Find out which changes can be made."""
        for path in sorted(self._changes):
            judged = await attempt(self._judge(path), "apply ", PathPart(path))
            if isinstance(judged, FilesystemError):
                self._fail(path, judged)
            else:
                self._steps += judged

    async def carry_out(self) -> None:
        """Write new things and changed files, where nothing has to be removed first."""
        for step in sorted(self._steps, key=self._order):
            if self._order(step)[0] == 0:
                await self._try(step)

    async def clear_away(self, waits: bool) -> None:
        """Make the rest: replace directories, then delete, then set modes of directories.

        If it waits, nothing is removed.
        """
        for step in sorted(self._steps, key=self._order):
            if waits and step.new is None:
                self._fail(step.path, FilesystemError(PathPart(step.path), _WAITS))
            elif self._order(step)[0] > 0:
                await self._try(step)
        above = {path.rpartition("/")[0] or "/" for path in self._changes}
        await self._lower.tidy(above)

    def lacks_files(self) -> bool:
        """Say whether a whole file or link of the thread could not be written."""
        left = [self._changes[path] for path in self._left if path in self._changes]
        return any(one["kind"] in ("file", "link") and "edits" not in one for one in left)

    async def _try(self, step: _Write) -> None:
        if any(above in self._left for above in ancestors(step.path)):
            self._conflict(step.path, _ABOVE, None)
            return
        done = await attempt(self._carry_out(step), "apply ", PathPart(step.path))
        if isinstance(done, FileChanged):
            self._conflict(step.path, "it was changed below at this moment", None)
        elif isinstance(done, FilesystemError):
            self._fail(step.path, done)
        else:
            self._result.applied.append(self._mount.outer(step.path))

    def _change_at(self, path: str) -> OverlayEntry:
        # A file that a client wrote to `files` has no entry.
        return self._tree.entries.get(path) or OverlayEntry(kind="file")

    def _order(self, step: _Write) -> tuple[int, int, str]:
        if step.new is not None and step.new.kind == "directory":
            return 3, -len(step.path), step.path  # from the bottom up
        if step.new is None and next(self._layer.below(step.path), None) is None:
            return 2, 0, step.path
        is_replaced = any(one in self._opaque for one in (step.path, *ancestors(step.path)))
        return (1 if is_replaced else 0), 0, step.path

    async def _judge(self, path: str) -> list[_Write]:
        """Return the steps of a change; none if it is done, or in conflict."""
        change = self._changes[path]
        new, content = self._wanted(path, change)
        if any(above in self._opaque for above in ancestors(path)):
            return [_Write(path, new, content, None)]
        if any(above in self._left for above in ancestors(path)):
            self._conflict(path, _ABOVE, None)
            return []
        now, base = await self._lower.fingerprint(path), change.get("base")
        if await self._is_done(path, new, content, now):
            self._result.applied.append(self._mount.outer(path))
            return []
        # What becomes something of another kind is removed first: a kill leaves nothing there.
        is_other = base is not None and (base.startswith("tree:") or (new and new.kind != "file"))
        has_content = new is not None and new.kind == "file" and now == digest_of(content)
        is_ready = now == base or (now is None and is_other) or has_content
        is_kept = not is_ready and new is not None and new.kind == "directory"
        if is_kept and await self._has_only_ours(path):
            return [_Write(path, new, content, None)]  # its mode is left to be set
        if not is_ready and (fitted := await self._fitted(path, change, now)) is not None:
            is_ready, content = True, fitted
        if not is_ready and not self._forces:
            self._conflict(path, _reason(change, now), await self._theirs(path, now))
            return []
        removal = _Write(path, None, b"", now, forced=not is_ready)
        if now is not None and (new is None or new.kind == "directory"):
            self._opaque.add(path)
            return [removal] if new is None else [removal, _Write(path, new, b"", None)]
        return [_Write(path, new, content, now, forced=not is_ready)]

    def _wanted(self, path: str, change: OverlayEntry) -> tuple[Entry | None, bytes]:
        """Return what should be at a path."""
        file = self._layer.file(path)
        if file is not None:
            return Entry(path, "file", mode=change.get("mode")), file_bytes(file)
        if change["kind"] == "link":
            return Entry(path, "link", target=change.get("target")), b""
        if change["kind"] == "directory":
            return Entry(path, "directory", mode=change.get("mode")), b""
        return None, b""

    async def _is_done(self, path: str, new: Entry | None, content: bytes, now: str | None) -> bool:
        """Say whether a change has been applied already."""
        if now is None:
            return new is None
        if new is None:
            return next(self._layer.below(path), None) is not None and await self._has_only_ours(
                path
            )
        for there in await self._at(path):
            is_same = (there.kind, there.target) == (new.kind, new.target)
            if is_same and (new.mode is None or there.mode in (None, new.mode)):
                if new.kind == "file":
                    return now == digest_of(content) or (
                        # Of a large file the fingerprint is not a digest of its content.
                        there.size == len(content) and await self._theirs(path, now) == content
                    )
                return new.kind == "link" or await self._has_only_ours(path)
        return False

    async def _has_only_ours(self, path: str) -> bool:
        """Say whether all that the lower store has at a path and inside it is from the thread."""
        for one in await self._lower.entries(path):
            kind, entry = self._layer.kind(one.path), self._layer.entry(one.path)
            if one.path != path and kind != one.kind:
                return False
            file = self._layer.file(one.path)
            if file is not None and await self._theirs(one.path, "") != file_bytes(file):
                return False
            if kind == "link" and entry is not None and entry.get("target") != one.target:
                return False
        return await self._is_directory(path)

    async def _is_directory(self, path: str) -> bool:
        return [one.kind for one in await self._at(path)] == ["directory"]

    async def _fitted(self, path: str, change: OverlayEntry, now: str | None) -> bytes | None:
        """Return the lower file with the edits of the thread, if each of them fits."""
        edits, file = change.get("edits"), self._layer.file(path)
        if not edits or file is None or now is None:
            return None
        theirs = await self._theirs(path, now)
        if theirs is None:
            return None
        if change.get("result") not in (None, digest_of(file_bytes(file))):
            return None  # a client has written it
        try:
            below = decoded(path, theirs)
        except NotText:
            return None
        text, rejected = apply_edits(below, edits)
        # An edit that adds to a text fits again where it is made already.
        if rejected or any(one["old"] in one["new"] and one["new"] in below for one in edits):
            return None
        entry = OverlayEntry(kind="file", base=now)
        if "mode" in change:
            entry["mode"] = change["mode"]
        self.rebased[self._mount.outer(path)] = ({**file, "content": text}, entry)
        return text.encode()

    async def _carry_out(self, step: _Write) -> None:
        before = step.before
        if step.forced and before is not None:
            before = await self._keep_theirs(step.path, before)
        if step.new is None and before is None:
            return
        await self._lower.replace(step.path, step.new, step.content, before)

    async def _keep_theirs(self, path: str, before: str) -> str | None:
        """Keep what is at a path beside it; return the fingerprint of what is there then."""
        beside = await self._beside(path, before)
        self._result.kept[self._mount.outer(path)] = self._mount.outer(beside)
        [there] = await self._at(path)
        if there.kind != "file":
            await self._lower.move(path, beside)
            return None
        if await self._lower.fingerprint(beside) != before:
            [content] = await self._lower.fetch([path])
            if isinstance(content, FilesystemError):
                raise content
            await self._lower.replace(beside, Entry(beside, "file", mode=there.mode), content, None)
        return before

    async def _beside(self, path: str, content: str) -> str:
        """Return a path beside another one that is free, or has this content already."""
        beside, number = f"{path}.theirs", 1
        while await self._lower.fingerprint(beside) not in (None, content):
            number += 1
            beside = f"{path}.theirs-{number}"
        return beside

    async def _at(self, path: str) -> list[Entry]:
        return await self._lower.entries(path, below=False)

    async def _theirs(self, path: str, now: str | None) -> bytes | None:
        if now is None or now.startswith("tree:"):
            return None
        [content] = await self._lower.fetch([path])
        return content if isinstance(content, bytes) else None

    def _conflict(self, path: str, reason: str, theirs: bytes | None) -> None:
        file = self._layer.file(path)
        ours = None if file is None else file_bytes(file)
        self._left.add(path)
        self._result.conflicts.append(Conflict(self._mount.outer(path), reason, ours, theirs))

    def _fail(self, path: str, error: FilesystemError) -> None:
        self._left.add(path)
        self._result.failed[self._mount.outer(path)] = str(error.renamed(self._mount.outer))


def _reason(change: OverlayEntry, now: str | None) -> str:
    if now is None:
        return "it was deleted below"
    if "base" not in change:
        return "it was created below as well"
    if change["kind"] == "deleted":
        return "it was changed below, and is deleted in the thread"
    if "edits" in change:
        return "it was changed below, and the edits of the thread don't fit any more"
    return "it was changed below"
