"""The `evict` node: messages that are too large for the context are moved to files.

It looks at the messages since the last AI message. A large one keeps its id and its place, and
holds its head and tail and the path where the whole text can be read. The answer of a subagent gets
a note here about changes that did not fit.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.answers import MAX_CHARACTERS, counted, valid
from langgraph_filesystem.nodes.calls import unanswered
from langgraph_filesystem.nodes.content import SUMMARY, block_text, text_of
from langgraph_filesystem.nodes.node import Edge, Node
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.nodes.operation import open_workspace, read_files
from langgraph_filesystem.nodes.registry import Operation
from langgraph_filesystem.nodes.settings import CHARACTERS_PER_TOKEN, Settings, offered_by
from langgraph_filesystem.nodes.task import tell_conflicts
from langgraph_filesystem.state.errors import FileExists, FilesystemError
from langgraph_filesystem.state.files import FileData, current_time
from langgraph_filesystem.state.io import attempt
from langgraph_filesystem.state.langgraph_internals import read_channels
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.workspace.workspace import EVICTED, Workspace

__all__ = ("after_evict", "evict_node", "preview", "ways_to_read")

_MARK = "evicted_to"
_WAYS = {"read_file": "page through it with `read_file`", "grep": "search it with `grep`"}
"""How an operation helps with a large file."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_PREVIEW_LINES = 10
"""Lines shown at either end."""
_PREVIEW_LINE = 1_000
"""Characters of a line that are shown."""
_LEAST_PREVIEW = 400


def evict_node(built: Settings, operations: Mapping[str, Operation]) -> Node:
    """Return the node that moves large messages to files, for a graph with these operations."""
    # A page of `read_file` in a file would only make the model read it again.
    exempt = frozenset(name for name, operation in operations.items() if operation.is_bounded)
    has_tasks = "task" in operations

    async def act(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        settings = built.of_run(runtime)
        recent = _recent(state["messages"])
        told: list[AnyMessage] = []
        if has_tasks and any(message.name == "task" for message in recent):
            told = tell_conflicts(recent, read_channels(config, "files").get("files") or {})
            changed = {message.id: message for message in told}
            recent = [changed.get(message.id, message) for message in recent]
        update = {"messages": told} if told else {}
        if settings.evict_over is None:
            return update
        large = [m for m in recent if _is_large(m, settings, exempt)]
        if not large:
            return update
        how = ways_to_read(operations, runtime)
        seen = read_channels(config, "seen").get("seen")
        once, files = Once(config), read_files(config, settings.mounts)
        workspace = open_workspace(settings, runtime, files, seen, once)
        name_of = _name_among_branches if once.is_nested else _name_of
        replaced = [
            await _evicted(message, name_of, workspace, once, settings, how) for message in large
        ]
        return {"messages": [*told, *replaced], **workspace.updates()}

    # It writes where the operations write, and every graph with a filesystem has it.
    return Node("evict", act, mounts=built.mounts)


def ways_to_read(operations: Collection[str], runtime: Runtime[Any]) -> str:
    """Return how the model can look into a large file, or an empty string."""
    ways = {name: words for name, words in _WAYS.items() if name in operations}
    return " or ".join(offered_by(ways, runtime).values())


def after_evict(then: str, end: str, return_direct: Collection[str] = ()) -> Edge:
    """Return the edge behind `evict`: back to the router while calls are open, else onwards."""

    def choose(state: Any) -> str:
        messages = state["messages"]
        if unanswered(messages):
            return "router"
        if return_direct and messages and isinstance(messages[-1], ToolMessage):
            answers = [m for m in _recent(messages) if isinstance(m, ToolMessage)]
            if all(m.name in return_direct and m.status != "error" for m in answers):
                return end
        return then

    return Edge("after_evict", choose)


def _recent(messages: list[AnyMessage]) -> list[AnyMessage]:
    """Return what came since the last AI message."""
    recent: list[AnyMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            break
        recent.append(message)
    return recent[::-1]


def _is_large(message: AnyMessage, settings: Settings, exempt: Collection[str]) -> bool:
    if not isinstance(message, ToolMessage | HumanMessage):
        return False
    if _MARK in message.additional_kwargs or SUMMARY in message.additional_kwargs:
        return False
    if isinstance(message, ToolMessage) and message.name in exempt:
        return False
    over = settings.evict_over or 0
    size = len(text_of(message))
    if settings.token_counter is not None:
        return size > MAX_CHARACTERS or settings.token_counter([message]) > over
    return size > min(over * CHARACTERS_PER_TOKEN, MAX_CHARACTERS)


async def _evicted(
    message: AnyMessage,
    name_of: Callable[[AnyMessage, str], str],
    workspace: Workspace,
    once: Once,
    settings: Settings,
    how: str,
) -> AnyMessage:
    text = valid(text_of(message))
    path = await _kept(message, name_of(message, text), text, workspace, once)
    lines = text.count("\n") + (not text.endswith("\n"))
    shown = preview(text, (settings.evict_over or 0) * CHARACTERS_PER_TOKEN // 2)
    notice = (
        f"[too large for the conversation: {len(text):,} characters in {counted(lines, 'line')} "
        f"are kept in {path}{'; ' + how if how else ''}. Its head and tail:]"
    )
    content: str | list[Any] = f"{notice}\n{shown}"
    if not isinstance(message.content, str):
        media = [block for block in message.content if block_text(block) is None]
        content = [{"type": "text", "text": content}, *media] if media else content
    marked = {**message.additional_kwargs, _MARK: path}
    return message.model_copy(update={"content": content, "additional_kwargs": marked})


def _name_of(message: AnyMessage, _: str) -> str:
    """Return a name that can't be a path: ids come from models and clients."""
    id = message.tool_call_id if isinstance(message, ToolMessage) else message.id or ""
    return _UNSAFE.sub("_", id)[:100].strip("_") or "result"


def _name_among_branches(message: AnyMessage, text: str) -> str:
    """Return a name that another branch has only for the same text.

    Branches of a parent run at the same time and don't see each other's files, and the ids of calls
    that some models give are the same in each of them.
    """
    return f"{_name_of(message, text)}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


async def _kept(message: AnyMessage, name: str, text: str, workspace: Workspace, once: Once) -> str:
    """Write the text under a name that is free, and return its path."""
    files = workspace.files
    assert files is not None
    number = 0
    while True:
        number += 1
        path = f"{EVICTED}/{name}" if number == 1 else f"{EVICTED}/{name}-{number}"
        if any(is_within(key, path) for key in files.files):
            continue
        workspace.key = once.key(message.id or name, f"e{number}")
        written = await attempt(workspace.write(path, text), "evict")
        if isinstance(written, FileExists):
            continue
        if isinstance(written, FilesystemError):
            # The mount refused: the thread's own files never do, so nothing is lost.
            now = current_time()
            file = FileData(content=text, encoding="utf-8", created_at=now, modified_at=now)
            files.change({path: file})
        return path


def preview(text: str, budget: int) -> str:
    """Return numbered lines from both ends of a text, in about `budget` characters."""
    lines = text.split("\n")
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    cut = min(_PREVIEW_LINE, max(_LEAST_PREVIEW, budget) // (2 * _PREVIEW_LINES))
    if len(lines) == 1:
        return _ends(lines[0], max(cut, min(_PREVIEW_LINE, budget // 2)))
    head = lines[:_PREVIEW_LINES]
    tail_start = max(len(head), len(lines) - _PREVIEW_LINES)
    rows = [_row(number, line, cut) for number, line in enumerate(head, 1)]
    if tail_start > len(head):
        rows.append(f"[... {tail_start - len(head):,} lines left out ...]")
    tail = enumerate(lines[tail_start:], tail_start + 1)
    return "\n".join([*rows, *(_row(number, line, cut) for number, line in tail)])


def _row(number: int, line: str, cut: int) -> str:
    shown = line if len(line) <= cut else f"{line[:cut]} [... {len(line):,} characters]"
    return f"{number:>6}\t{shown}"


def _ends(line: str, cut: int) -> str:
    if len(line) <= 2 * cut:
        return f"{1:>6}\t{line}"
    left_out = len(line) - 2 * cut
    return f"{1:>6}\t{line[:cut]}\n[... {left_out:,} characters left out ...]\n\t{line[-cut:]}"
