"""Commands in an overlay.

The changes of the thread are written to an upper directory, the command runs on the mounted
overlay, and the differences are read back. The upper directory is written anew for each command, so
forks and time travel need nothing more. Only scratch files, which are not part of the thread, stay
in it for the next command: those that git ignores, or that are too large. The state of the thread
names the layer that has them, so no other branch finds them.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from langgraph_filesystem.state.backends.disk.jail import RESERVED
from langgraph_filesystem.state.backends.execution.layers import (
    CommandRun,
    Node,
    Signature,
    UpperDirectory,
    data_directory,
)
from langgraph_filesystem.state.backends.execution.sandbox import SandboxStore
from langgraph_filesystem.state.backends.file_store import (
    Confinement,
    Entry,
    FileStore,
    MountContext,
    OnOutput,
)
from langgraph_filesystem.state.backends.protocol import ExecuteResponse
from langgraph_filesystem.state.entries import OverlayEntry
from langgraph_filesystem.state.errors import FilesystemError, PathRefused
from langgraph_filesystem.state.files import (
    FileData,
    FileEdit,
    ThreadFiles,
    digest_of,
    file_bytes,
)
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.io import change_in_thread, in_thread
from langgraph_filesystem.state.paths import ancestors, is_within
from langgraph_filesystem.state.text import escaped
from langgraph_filesystem.state.workspace.overlay_changes import OverlayChanges, binary_or_text
from langgraph_filesystem.state.workspace.overlay_view import MergedView

__all__ = ("OverlayCommands",)

_USUAL_SCRATCH = (
    *("node_modules", "__pycache__", ".venv", "venv", ".tox", ".pytest_cache", ".mypy_cache"),
    *(".ruff_cache", ".cache", "build", "dist", "target"),
)
"""Names of scratch files where there is no git."""
_MAX_BYTES = 64 << 20
"""Bytes that one command may add to the thread."""
_MAX_NAMED = 10
_MAX_IGNORED = 64 << 20
"""Bytes of the list of ignored paths."""
_NEW_FILE, _NEW_DIRECTORY = 0o644, 0o755
_CHECK_IGNORE = (
    "git -c safe.directory='*' check-ignore -z --stdin <'{}' "
    ">/tmp/ignored 2>/dev/null; echo $?; tr '\\0' '\\n' </tmp/ignored"
)


class OverlayCommands:
    """Runs commands over one overlay mount, in one run of a node."""

    def __init__(
        self,
        shell: SandboxStore,
        open_lower: Callable[[], FileStore],
        context: MountContext,
        limit: int,
        scratch: Sequence[str] | None,
    ) -> None:
        self._shell = shell
        self._open_lower = open_lower
        self._context = context
        self._limit = limit
        self._scratch = scratch

    async def execute(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        once: str | None = None,
        confinement: Confinement | None = None,
    ) -> ExecuteResponse:
        """Run a command, unless this call has been made before, and change the thread."""
        thread = self._context.files
        assert thread is not None
        layer = OverlayChanges(thread, self._context.prefix)
        run = CommandRun(once, await in_thread(_version, layer))
        await change_in_thread(run.begin)
        if run.is_begun:
            raise FilesystemError(
                "This command was started before the run was interrupted, so it was not run "
                "again. No file that it changed was kept. Run it again unless it does something "
                "elsewhere that must not happen twice."
            )
        if run.result is None:
            await self._run(run, command, timeout, on_output, confinement)
        assert run.result is not None
        thread.change(run.result["files"])
        thread.change_overlay(run.result["overlay"])
        thread.change_scratch({self._context.prefix: run.result["scratch"]})
        return ExecuteResponse(**run.result["response"])

    async def _run(
        self,
        run: CommandRun,
        command: str,
        timeout: float | None,
        on_output: OnOutput | None,
        confinement: Confinement | None,
    ) -> None:
        thread = self._context.files
        assert thread is not None
        upper = UpperDirectory(run.upper, self._shell.jail)
        trial = ThreadFiles(thread.files, thread.overlay)
        view = MergedView(self._open_lower, replace(self._context, files=trial))
        token = thread.scratch.get(self._context.prefix)
        layout = _Layout(upper, view.layer, confinement)
        try:
            hidden = await _hidden(view, confinement)
            await change_in_thread(layout.make, await change_in_thread(run.claim, token), hidden)
            shell = self._shell.over(run.upper, run.work)
            response = await shell.execute(command, timeout=timeout, on_output=on_output)
            harvest = _Harvest(view, upper, layout, confinement, self._limit)
            await harvest.take(lambda paths, nodes: self._ignored(run, view, paths, nodes))
            scratch = {path: _version_at(view.layer, path) for path in harvest.scratch}
            await change_in_thread(upper.strip, harvest.scratch)
            await change_in_thread(upper.finish)
            run.result = {
                "response": asdict(_noted(response, harvest, self._context.prefix)),
                "files": trial.update,
                "overlay": trial.overlay_update,
                "scratch": run.token if scratch else None,
            }
            await change_in_thread(run.end, run.result, scratch)
        except BaseException:
            run.abandon(upper, layout.scratch)
            raise

    async def _ignored(
        self, run: CommandRun, view: MergedView, paths: Collection[str], nodes: Mapping[str, Node]
    ) -> set[str]:
        """Return which of these paths are scratch by their names. Directories end in `/`."""
        node = nodes.get("/.git")
        has_git = await view.exists("/.git") if node is None else node.kind != "whiteout"
        if self._scratch is None and has_git and paths:
            # A name that begins with `:` would be a pattern.
            names = [f".{path}" for path in paths if not is_within(path.rstrip("/"), "/.git")]
            listed = await change_in_thread(run.write_list, names)
            git = self._shell.over(run.upper, read_only=[listed], max_output_bytes=_MAX_IGNORED)
            said = await git.execute(_CHECK_IGNORE.format(listed.replace("'", "'\\''")))
            status, *ignored = said.output.split("\n")
            if status in ("0", "1"):
                return {path[1:] for path in ignored} & {*paths}
        patterns = _USUAL_SCRATCH if self._scratch is None else self._scratch
        matchers = [compile_glob(pattern) for pattern in patterns]
        return {
            path
            for path in paths
            if any(
                matches(one[1:])
                for one in (path.rstrip("/"), *ancestors(path.rstrip("/")))
                for matches in matchers
            )
        }


class _Layout:
    """The content of a layer before the command runs."""

    def __init__(
        self, upper: UpperDirectory, layer: OverlayChanges, confinement: Confinement | None
    ) -> None:
        self._upper = upper
        self._layer = layer
        self._confinement = confinement
        self.scratch: set[str] = set()
        """Scratch paths of an earlier command."""
        self.pruned: set[str] = set()
        """Scratch paths with no change of the thread inside; not walked."""
        self.laid: dict[str, Signature] = {}
        """The signatures of all entries just before the command runs."""
        self.hidden: Collection[str] = ()

    def make(self, scratch: Mapping[str, str], hidden: Collection[str]) -> None:
        """Write the changes of the thread to the upper directory, beside scratch that is left."""
        layer, upper = self._layer, self._upper
        self.hidden = hidden
        self.scratch = {
            path for path, version in scratch.items() if _version_at(layer, path) == version
        }
        upper.strip(self.scratch)
        changed = layer.changed()
        self.pruned = {
            path for path in self.scratch if not any(is_within(one, path) for one in changed)
        }
        if self._confinement is not None:
            paths = [*upper.nodes()]
            self.hidden = {*hidden, *(p for p in paths if self._confinement.access(p) == "none")}
        for path in changed:
            if path not in self.scratch and not self.is_hidden(path):
                self._put(path)
        for path in (*self.hidden, f"/{RESERVED}", *self._own_data()):
            upper.hide(path)
        upper.finish()
        self.laid = {path: node.signature for path, node in upper.nodes(self.pruned).items()}
        upper.finish()

    def is_hidden(self, path: str) -> bool:
        """Say whether a command must not see what is at a path."""
        return bool(self.hidden) and any(o in self.hidden for o in (path, *ancestors(path)))

    def _put(self, path: str) -> None:
        layer, upper = self._layer, self._upper
        file, entry = layer.file(path), layer.entry(path)
        mode = None if entry is None else entry.get("mode")
        if file is not None:
            own = _usual_mode(layer, upper, path) if mode is None else mode
            upper.put_file(path, file_bytes(file), own, _timestamp(file))
        elif entry is not None and entry["kind"] == "link":
            upper.put_link(path, entry["target"])
        elif layer.kind(path) == "directory":
            upper.put_directory(path, _NEW_DIRECTORY if mode is None else mode)
        else:
            upper.hide(path)

    def _own_data(self) -> Iterator[str]:
        """Yield the path of our own data, if it is inside the directory."""
        root = self._upper.lower_root()
        if is_within(data_directory(), root):
            yield data_directory()[len(root.rstrip("/")) :]


class _Harvest:
    """Reads what a command changed in its layer back into the thread."""

    def __init__(
        self,
        view: MergedView,
        upper: UpperDirectory,
        layout: _Layout,
        confinement: Confinement | None,
        limit: int,
    ) -> None:
        self._view = view
        self._layer = view.layer
        self._upper = upper
        self._layout = layout
        self._confinement = confinement
        self._limit = limit
        self.scratch: set[str] = set()
        """Paths that stay in the layer, each with everything inside."""
        self.aside: list[str] = []
        """Those of them that are new."""
        self.refused: list[str] = []
        """Paths at which rules don't allow a change."""
        self.modes: list[str] = []
        """Directories whose mode can't be changed in an overlay."""
        # Written at once: each change of the thread copies what it has changed before.
        self._files: dict[str, FileData | FileEdit | None] = {}
        self._entries: dict[str, OverlayEntry | None] = {}

    async def take(self, ignored: Callable[[Collection[str], Mapping[str, Node]], Any]) -> None:
        """Change the thread: first deletions, then new and changed entries."""
        nodes = await change_in_thread(self._upper.nodes, self._layout.pruned)
        self.scratch = {p for p in self._layout.pruned if p in nodes}
        touched = {
            path: node
            for path, node in nodes.items()
            if self._layout.laid.get(path) != node.signature
            and path not in self.scratch
            and not self._is_merged(path, node)
        }
        asked = {self._slashed(path, node): path for path, node in touched.items()}
        found = {asked[one] for one in await ignored([*asked], nodes)}
        await self._set_aside(touched, found)
        for path in self._gone(nodes, touched):
            await self._remove(path)
        for path, node in touched.items():
            if node.kind == "whiteout" or self._is_aside(path):
                continue
            if self._confinement is not None and self._confinement.access(path) != "full":
                self.refused.append(path)
            else:
                await self._put(path, node)
        self._layer.change(self._files, self._entries)

    def _is_merged(self, path: str, node: Node) -> bool:
        """Say whether a directory is in the layer only as a parent of other entries."""
        if node.kind != "directory" or node.opaque or self._layer.hides(path):
            return False
        if not self._upper.has_lower_directory(path):
            return False
        if node.mode != self._upper.lower_mode(path):
            self.modes.append(path)
        return True

    def _slashed(self, path: str, node: Node) -> str:
        is_gone = node.kind == "whiteout" and self._upper.has_lower_directory(path)
        return f"{path}/" if node.kind == "directory" or is_gone else path

    async def _set_aside(self, touched: Mapping[str, Node], ignored: Collection[str]) -> None:
        """Choose what stays in the layer."""
        left = _MAX_BYTES
        thread = {above for path in self._layer.changed() for above in (path, *ancestors(path))}
        for path, node in touched.items():
            if self._is_aside(path):
                continue
            size = node.status.st_size if node.kind == "file" else 0
            is_scratch = path in ignored and path not in thread
            is_unfit = node.kind == "special" or not self._can_hold(path, node)
            if is_scratch or is_unfit or size > min(self._limit, left):
                self.scratch.add(path)
                # Deleted scratch, and scratch of earlier commands, are not reported.
                is_news = node.kind != "whiteout" or is_unfit
                if is_news and path not in self._layout.scratch:
                    self.aside.append(self._slashed(path, node))
            else:
                left -= size

    def _can_hold(self, path: str, node: Node) -> bool:
        try:
            node.target.encode()
            return self._view.lower.normal(path) == path
        except (PathRefused, UnicodeEncodeError):
            return False

    def _is_aside(self, path: str) -> bool:
        return path in self.scratch or any(above in self.scratch for above in ancestors(path))

    def _gone(self, nodes: Mapping[str, Node], touched: Mapping[str, Node]) -> list[str]:
        """Return the deleted paths; each stands for everything inside."""

        def is_gone(path: str) -> bool:
            return path not in nodes or nodes[path].kind == "whiteout"

        gone = {path for path, node in touched.items() if node.kind == "whiteout"}
        for path in self._layer.changed():
            if self._layer.kind(path) is None or self._layout.is_hidden(path) or not is_gone(path):
                continue
            if any(above in self._layout.pruned for above in ancestors(path)):
                continue
            gone.add(next((a for a in reversed([*ancestors(path)]) if is_gone(a)), path))
        return sorted(path for path in gone if not self._is_aside(path))

    async def _remove(self, path: str) -> None:
        allowed = self._confinement
        if not await self._view.exists(path):
            return
        if allowed is None or (
            allowed.access(path) == "full" and not allowed.may_differ_below(path)
        ):
            await self._view.remove(path)
            return
        tree = sorted(await self._view.tree(path))
        kept = {one for one in tree if allowed.access(one) != "full"}
        self.refused += [one for one in sorted(kept) if allowed.access(one) == "read-only"]
        kept |= {above for one in kept for above in ancestors(one)}
        removed: set[str] = set()
        for one in tree:
            if one not in kept and not any(above in removed for above in ancestors(one)):
                removed.add(one)
                await self._view.remove(one)

    async def _put(self, path: str, node: Node) -> None:
        now = await self._entry(path)
        if now is not None and now.kind != node.kind:
            await self._remove(path)
            now = None
        if node.kind == "file":
            await self._put_file(path, node, now)
        elif node.kind == "link":
            if now is None or now.target != node.target:
                entry = await self._view.based("link", path)
                self._entries[path] = {**entry, "target": node.target}
        else:
            entry = await self._view.based("directory", path)
            if node.mode != _NEW_DIRECTORY:
                entry["mode"] = node.mode
            # The new directory hides the whole lower directory, so entries for deletions inside it
            # are redundant.
            below = self._layer.changed() if self._upper.has_lower_directory(path) else ()
            gone = [
                one
                for one in below
                if one != path and is_within(one, path) and self._layer.kind(one) is None
            ]
            self._layer.change({}, {**dict.fromkeys(gone), path: entry})

    async def _put_file(self, path: str, node: Node, now: Entry | None) -> None:
        content = await in_thread(self._upper.read, path, node)
        usual = _usual_mode(self._layer, self._upper, path)
        has_mode = now is not None and node.mode == (usual if now.mode is None else now.mode)
        if has_mode and await self._content(path) == content:
            return  # it was only touched, or opened for writing
        entry = await self._view.based("file", path)
        # In a directory that was replaced by the same files only the mode is left to apply.
        if {node.mode} != {usual, self._upper.lower_file_mode(path, usual)}:
            entry["mode"] = node.mode
        file = self._layer.dated(path, binary_or_text(content))
        modified = datetime.fromtimestamp(node.status.st_mtime_ns // 10**6 / 1000, UTC)
        file["modified_at"] = modified.isoformat(timespec="milliseconds")
        self._files[path], self._entries[path] = file, entry

    async def _entry(self, path: str) -> Entry | None:
        """Return what the thread sees at a path itself."""
        if self._layer.kind(path) is not None:
            return self._layer.as_entry(path, None)
        if self._layer.hides(path):
            return None
        return next(iter(await self._view.lower.entries(path, below=False)), None)

    async def _content(self, path: str) -> bytes | None:
        file = self._layer.file(path)
        if file is not None:
            return file_bytes(file)
        [content] = await self._view.lower.fetch([path])
        return content if isinstance(content, bytes) else None


async def _hidden(view: MergedView, confinement: Confinement | None) -> set[str]:
    """Return the paths that a command must not see, each with everything inside."""
    if confinement is None:
        return set()
    listed = [info["path"] for info in (await view.lower.ls("/")).entries or ()]
    tops = {*listed, *(f"/{path.split('/')[1]}" for path in view.layer.changed())}
    paths = [path for top in sorted(tops) for path in await view.tree(top)]
    denied = {path for path in paths if confinement.access(path) == "none"}
    # A directory is visible if anything in it is.
    seen = {above for path in paths if path not in denied for above in ancestors(path)}
    return {
        path
        for path in denied - seen
        if not any(above in denied and above not in seen for above in ancestors(path))
    }


def _usual_mode(layer: OverlayChanges, upper: UpperDirectory, path: str) -> int:
    """Return the mode of a file whose entry has none."""
    return upper.lower_file_mode(path, _NEW_FILE) if layer.keeps_mode(path) else _NEW_FILE


def _version(layer: OverlayChanges) -> str:
    """Return a digest of all changes of the thread."""
    return digest_of("".join(_version_at(layer, path) for path in layer.changed()).encode())[:16]


def _version_at(layer: OverlayChanges, path: str) -> str:
    """Return a digest of the change of the thread at a path, or at a parent that hides it."""
    top = layer.top_hidden(path)
    found = [path, layer.file(path), layer.entry(path), top, layer.entry(top) if top else None]
    return digest_of(json.dumps(found, sort_keys=True).encode())


def _timestamp(file: FileData) -> float | None:
    try:
        return datetime.fromisoformat(file["modified_at"]).timestamp()
    except (KeyError, ValueError):
        return None


def _noted(response: ExecuteResponse, harvest: _Harvest, prefix: str) -> ExecuteResponse:
    """Return a response with notes on changes that the thread does not have."""
    notes = {
        "left out of the changes, but there for the next command": harvest.aside,
        "not kept, because the rules of this agent don't allow it": sorted({*harvest.refused}),
        "not kept, because an overlay keeps no modes of directories below it": harvest.modes,
    }
    lines = [f"[{what}: {_named(paths, prefix)}]\n" for what, paths in notes.items() if paths]
    if not lines:
        return response
    output = response.output
    if output and not output.endswith("\n"):
        output += "\n"
    return replace(response, output=output + "".join(lines))


def _named(paths: Sequence[str], prefix: str) -> str:
    shown = ", ".join(escaped(prefix.rstrip("/") + path) for path in paths[:_MAX_NAMED])
    more = len(paths) - _MAX_NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown
