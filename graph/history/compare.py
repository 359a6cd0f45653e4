"""What differs between two checkpoints, and what each step of a thread changed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig

from langgraph_filesystem.history.thread import Checkpoint, Graph, Step, Thread, Tree, Version
from langgraph_filesystem.state.backends.text_files import is_text
from langgraph_filesystem.state.files import file_bytes
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.text import escaped
from langgraph_filesystem.state.workspace.overlay_changes import LOWER

__all__ = ("Change", "Changes", "changed_paths", "changes", "diff", "line_counts", "unified")

_MATCHED_LINES = 3_000
"""Lines up to which the smallest difference is looked for. The time grows with their square:
measured, 0.6 s for 3,000 lines of which each second one was changed."""
_UNKNOWN = Version("unknown")
"""A lower file that has changed since, so its old lines are not known."""
_NOTHING = "/dev/null"
_NO_NEWLINE = "\n\\ No newline at end of file\n"


@dataclass(frozen=True)
class Change:
    """What one step did to one path."""

    step: int
    checkpoint: str
    """The id of the first checkpoint that has it."""
    node: str
    """The node that made it, or else `input`, `update`, `fork`, `undo`, `discard` or `apply`."""
    call: str | None
    """The id of the tool call that made it."""
    path: str
    kind: Literal["added", "changed", "deleted"]
    added: int = 0
    removed: int = 0
    """Lines; none for a directory, or if what the change was based on is gone."""

    def __str__(self) -> str:
        """Return the change as one line."""
        lines = f"+{self.added} -{self.removed}"
        return f"{self.step:>5}  {self.node:<12} {lines:<12} {self.kind:<8} {escaped(self.path)}"


class Changes(list[Change]):
    """Changes, the oldest first; printed as one line each."""

    def __str__(self) -> str:
        """Return one line for each change."""
        return "\n".join(map(str, self))


async def diff(
    graph: Graph,
    config: RunnableConfig,
    a: Checkpoint | None = None,
    b: Checkpoint | None = None,
    *,
    context: Any = None,
) -> str:
    """Return the difference between two checkpoints as a unified diff; empty if there is none.

    It has the form of git, so `git apply` understands it: modes, links and odd names too. The
    content of binary files is left out; a directory that is new or gone has a line of its own.

    Args:
        graph: The graph of the thread.
        config: Names the thread, and a checkpoint if it is not about the newest.
        a: The older checkpoint: its id, its config or a state. By default the files as they were
            when the thread started, and the lower files of overlays as they are now.
        b: The newer checkpoint; by default the one that the config names.
        context: The context of a run, for mounts that are made by factories.
    """
    thread = Thread(graph, config, context)
    thread.check_paths(None)
    after = thread.tree(await thread.state(b))
    before = await _start(thread, after) if a is None else thread.tree(await thread.state(a))
    texts = [
        unified(path, await before.version(path), await after.version(path))
        for path in await changed_paths(before, after)
    ]
    return "".join(texts)


async def changes(graph: Graph, config: RunnableConfig, *, context: Any = None) -> Changes:
    """Return each change of the thread with its step, node, call, path and lines; oldest first.

    Args:
        graph: The graph of the thread.
        config: Names the thread, and a checkpoint if it is not about the newest.
        context: The context of a run, for mounts that are made by factories.
    """
    thread = Thread(graph, config, context)
    thread.check_paths(None)
    found: list[list[Change]] = []
    async for step in thread.steps():
        paths = _shown(step.before.differing(step.after))
        made = [await _change(step, path) for path in paths]
        found.append([change for change in made if change is not None])
    return Changes(change for step in reversed(found) for change in step)


async def changed_paths(before: Tree, after: Tree) -> list[str]:
    """Return the paths at which two checkpoints may look different.

    For a directory that was deleted or replaced, these are all files in it.
    """
    return _shown(await before.differing_files(after))


def _shown(paths: Iterable[str]) -> list[str]:
    """Return the paths, sorted, without internal ones: those of a lower backend in the state."""
    return sorted(path for path in paths if not is_within(path, LOWER))


async def _start(thread: Thread, now: Tree) -> Tree:
    """Return the files at the start of the thread, over the lower files as they are now."""
    first = [one.id for one in await thread.checkpoints() if one.metadata.get("step", 0) >= 0]
    return now.without_changes(thread.tree(await thread.state(first[-1] if first else None)))


async def _change(step: Step, path: str) -> Change | None:
    node, call = _author(step, path)
    before, after = step.before, step.after
    if node == "apply" and not after.has(path):
        return None  # the lower backend has it now, so the path looks the same as before
    old = _edited(step, path) or await _recorded(before, after, path)
    new = await _recorded(after, before, path)
    # A directory in the place of another one hides what is in that.
    entry: Any = after.entries.get(path) or before.entries.get(path) or {}
    is_replaced = _kind(new) == "directory" and "base" in entry
    if old == new and not is_replaced:
        return None
    is_known = _UNKNOWN not in (old, new)
    added, removed = line_counts(old, new) if is_known else (0, 0)
    kind: Any = "added" if old is None else "deleted" if new is None else "changed"
    return Change(
        step.newer.metadata["step"], step.newer.id, node, call, path, kind, added, removed
    )


async def _recorded(tree: Tree, other: Tree, path: str) -> Version | None:
    """Return what was at a path in one of the two checkpoints of a step.

    If the thread had nothing there, it was the lower file, which may have changed since.
    """
    entry = other.entries.get(path)
    if tree.has(path) or entry is None or tree.hides(path):
        return await tree.version(path)
    if "base" not in entry:
        return None
    found = await tree.below(path)
    if found is not None and found.kind == "directory":
        return found
    if found is None or await tree.fingerprint(path) != entry["base"]:
        return _UNKNOWN
    # If it has the new mode already, that was applied.
    return found._replace(mode=None) if found.mode == entry.get("mode") else found


def _edited(step: Step, path: str) -> Version | None:
    """Return the file that the first edit of it was made to."""
    for task in step.older.tasks if step.author is None else ():
        write = _written(task.result, "files").get(path)
        if isinstance(write, dict) and "base" in write:
            return Version("file", file_bytes(write["base"]))
    return None


def _author(step: Step, path: str) -> tuple[str, str | None]:
    """Return the node that changed a path, and its call."""
    source = step.author or str(step.newer.metadata.get("source", ""))
    for task in step.older.tasks if source == "loop" else ():
        for channel in ("files", "overlay"):
            write = _written(task.result, channel)
            if path in write:
                name = "input" if task.name == "__start__" else task.name
                return name, _call_of(task.result, write[path])
    return source, None


def _call_of(result: Any, write: Any) -> str | None:
    edits = write.get("edits") if isinstance(write, dict) else None
    if edits and edits[-1].get("call"):
        return str(edits[-1]["call"])
    messages = result.get("messages") if isinstance(result, dict) else None
    calls = [m.tool_call_id for m in messages or () if isinstance(m, ToolMessage)]
    return calls[-1] if calls else None


def _written(result: Any, channel: str) -> dict[str, Any]:
    written = result.get(channel) if isinstance(result, dict) else None
    return written if isinstance(written, dict) else {}


# Unified diffs, as git writes them


def unified(path: str, old: Version | None, new: Version | None) -> str:
    """Return the difference between two versions as a part of a unified diff."""
    if old == new:
        return ""
    if "directory" in (_kind(old), _kind(new)):
        parts = [_directory(path, "deleted", old), _directory(path, "new", new)]
        files = [None if one is None or one.kind == "directory" else one for one in (old, new)]
        return "".join(parts) + (unified(path, *files) if any(files) else "")
    if old is not None and new is not None and old.kind != new.kind:
        return unified(path, old, None) + unified(path, None, new)
    before, after = _quoted(f"a{path}"), _quoted(f"b{path}")
    head = f"diff --git {before} {after}\n{_modes(old, new)}"
    if _content(old) == _content(new):
        return head
    names = before if old else _NOTHING, after if new else _NOTHING
    if not (is_text(_content(old)) and is_text(_content(new))):
        return f"{head}Binary files {names[0]} and {names[1]} differ\n"
    # Names with spaces end in a tab, or `patch` would cut them.
    names = names[0] + "\t" * (" " in names[0]), names[1] + "\t" * (" " in names[1])
    lines = [f"--- {names[0]}\n", f"+++ {names[1]}\n", *_hunks(_lines(old), _lines(new))]
    return head + "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)


def line_counts(old: Version | None, new: Version | None) -> tuple[int, int]:
    """Return how many lines were added and removed."""
    if not (is_text(_content(old)) and is_text(_content(new))):
        return 0, 0
    codes = _Matcher(_lines(old), _lines(new)).get_opcodes()
    changed = [code for code in codes if code[0] != "equal"]
    return sum(c[4] - c[3] for c in changed), sum(c[2] - c[1] for c in changed)


class _Matcher(SequenceMatcher[str]):
    """Finds the lines that differ, in a time that people will wait for."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__(None, old, new)
        self._sides = old, new

    def get_opcodes(self) -> list[Any]:
        """Return the smallest difference; of long texts, one block from the first to the last."""
        a, b = self._sides
        start = _equal(a, b)
        end = _equal(a[start:][::-1], b[start:][::-1])
        if min(len(a), len(b)) - start - end <= _MATCHED_LINES:
            return super().get_opcodes()
        codes = [
            ("equal", 0, start, 0, start),
            ("replace", start, len(a) - end, start, len(b) - end),
            ("equal", len(a) - end, len(a), len(b) - end, len(b)),
        ]
        return [code for code in codes if code[1] < code[2]]


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines at the start are equal."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the lines of a unified diff, with three lines of context."""
    for group in _Matcher(old, new).get_grouped_opcodes():
        (_, a, _, b, _), (_, _, c, _, d) = group[0], group[-1]
        yield f"@@ -{_range(a, c)} +{_range(b, d)} @@\n"
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[i:j])
            else:
                yield from (f"-{line}" for line in old[i:j])
                yield from (f"+{line}" for line in new[k:m])


def _range(start: int, end: int) -> str:
    count = end - start
    first = start + bool(count)
    return f"{first}" if count == 1 else f"{first},{count}"


def _kind(version: Version | None) -> str:
    return "" if version is None else version.kind


def _content(version: Version | None) -> bytes:
    return b"" if version is None else version.content


def _directory(path: str, what: str, version: Version | None) -> str:
    is_directory = version is not None and version.kind == "directory"
    return f"{what} directory {escaped(path)}\n" if is_directory else ""


def _modes(old: Version | None, new: Version | None) -> str:
    if old is None or new is None:
        return f"{'new' if new else 'deleted'} file mode {_mode(new or old)}\n"
    if _mode(old) == _mode(new):
        return ""
    return f"old mode {_mode(old)}\nnew mode {_mode(new)}\n"


def _mode(version: Version | None) -> str:
    if version is not None and version.kind == "link":
        return "120000"
    return f"100{0o644 if version is None or version.mode is None else version.mode:o}"


def _quoted(name: str) -> str:
    """Return a name as git writes it: in quotes, if it has unusual characters."""
    if escaped(name) == name and not {'"', "\\"} & {*name}:
        return name
    codes = name.encode(errors="surrogateescape")
    plain = (chr(c) if 32 <= c < 127 and chr(c) not in '"\\' else f"\\{c:03o}" for c in codes)
    return f'"{"".join(plain)}"'


def _lines(version: Version | None) -> list[str]:
    """Return the lines with their ends: only `\\n` ends a line."""
    *lines, last = _content(version).decode().split("\n")
    return [f"{line}\n" for line in lines] + [last] * bool(last)
