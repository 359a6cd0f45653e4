"""The history of a conversation as a file: turns that left the conversation, word for word.

It is a log. New turns are added in front of its last line, as an edit: in the state that costs as
much as the new turns, not as the whole file, and edits of parallel branches merge.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from langgraph_filesystem.nodes.answers import valid
from langgraph_filesystem.nodes.content import SUMMARY, media_lines, text_of
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileExists,
    FileNotFound,
    FilesystemError,
    FileTooLarge,
    IsDirectory,
    NotDirectory,
    NotText,
    PermissionDenied,
    TextNotFound,
    TextNotUnique,
    Unsupported,
)
from langgraph_filesystem.state.files import FileData, current_time
from langgraph_filesystem.state.io import attempt
from langgraph_filesystem.state.langgraph_internals import graph_namespace
from langgraph_filesystem.state.workspace.workspace import HISTORY, Workspace

__all__ = ("History", "rendered")

_LAST_LINE = "<!-- the end of the history so far -->"
_CUT = """\
## Cut in the conversation

The texts of these messages were too long to stay as they are.
"""
_REFUSALS = (BackendFailed, NotDirectory, PermissionDenied, Unsupported)
"""Errors with which a mount would answer for any other file too."""
_UNUSABLE = (FileExists, FileTooLarge, IsDirectory, NotText, TextNotFound, TextNotUnique)
"""Errors of a file that somebody has changed, or that is full: the next one takes over."""
_MOST_FILES = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_NEWLINE = "\n"
_FENCES = re.compile(r"^`{3,}", re.MULTILINE)


class History:
    """The history file of a thread."""

    def __init__(
        self, workspace: Workspace, once: Once, config: RunnableConfig, former: Sequence[str]
    ) -> None:
        self._workspace = workspace
        self._once = once
        self.former = former
        """The paths of files with earlier turns of this conversation."""
        self._name = _name_of(config)

    async def add(self, turns: Sequence[AnyMessage], long: Sequence[AnyMessage]) -> str:
        """Add messages that leave the conversation, and some that stay there but are cut.

        Return the path of the file that has them.
        """
        parts = [*map(rendered, turns), *([_CUT] if long else []), *map(rendered, long)]
        text = valid("\n".join(parts)).replace(_LAST_LINE, "<!-- the end of the history -->")
        taken = set(self.former)
        for number, path in enumerate(self._paths()):
            # The same text of the same thread is the same effect, made again after a crash.
            self._workspace.key = self._once.key(text, f"h{number}")
            problem = await self._added(path, text)
            if problem is None:
                return path
            if not isinstance(problem, _REFUSALS):
                taken.add(path)
            if not isinstance(problem, _UNUSABLE):
                break
        return self._kept_in_thread(text, taken)

    def updates(self) -> dict[str, Any]:
        """Return what the node writes to the channels."""
        return self._workspace.updates()

    async def _added(self, path: str, text: str) -> FilesystemError | None:
        more = f"{text}\n{_LAST_LINE}"
        edited = await attempt(self._workspace.edit(path, _LAST_LINE, more), "edit ", path)
        if not isinstance(edited, FileNotFound):
            return edited if isinstance(edited, FilesystemError) else None
        whole = f"# History of a conversation\n\n{more}\n"
        written = await attempt(self._workspace.write(path, whole), "write ", path)
        return written if isinstance(written, FilesystemError) else None

    def _kept_in_thread(self, text: str, taken: Collection[str]) -> str:
        """Write to the thread's own files, which refuse nothing.

        A file there hides that of a mount with the same path, so none is used that may exist.
        """
        files, now = self._workspace.files, current_time()
        assert files is not None
        held = {*files.files, *taken}
        path = next(path for path in self._paths(10**9) if path not in held)
        content = f"# History of a conversation\n\n{text}\n{_LAST_LINE}\n"
        file = FileData(content=content, encoding="utf-8", created_at=now, modified_at=now)
        files.change({path: file})
        return path

    def _paths(self, most: int = _MOST_FILES) -> Iterator[str]:
        yield from self.former[-1:]
        yield f"{HISTORY}/{self._name}.md"
        for number in range(2, most):
            yield f"{HISTORY}/{self._name}-{number}.md"


def _name_of(config: RunnableConfig) -> str:
    """Return a name that can't be a path, and that no other thread or graph inside it has."""
    thread = str((config.get("configurable") or {}).get("thread_id") or "")
    name, within = _UNSAFE.sub("_", thread)[:100].strip("_"), graph_namespace(config)
    if not within and name == thread:
        return name or "conversation"
    digest = hashlib.sha256(f"{thread}|{within}".encode()).hexdigest()[:8]
    return f"{name or 'conversation'}-{digest}"


def rendered(message: AnyMessage) -> str:
    """Return a message as Markdown."""
    if isinstance(message, ToolMessage):
        failed = ", an error" if message.status == "error" else ""
        head = f"## Answer of `{message.name or 'tool'}` ({message.tool_call_id}){failed}"
        return f"{head}\n\n{_fenced(_text_and_media(message))}\n"
    if isinstance(message, AIMessage):
        calls = [_call(call) for call in (*message.tool_calls, *message.invalid_tool_calls)]
        said = [message.text] if message.text else []
        return "\n\n".join([_heading("Agent", message), *said, *calls]) + "\n"
    head = "Summary of the turns before" if SUMMARY in message.additional_kwargs else "User"
    role = head if isinstance(message, HumanMessage) else message.type.capitalize()
    return f"{_heading(role, message)}\n\n{_text_and_media(message)}\n"


def _heading(role: str, message: AnyMessage) -> str:
    return f"## {role} ({message.name})" if message.name else f"## {role}"


def _text_and_media(message: AnyMessage) -> str:
    return "\n".join([text_of(message), *media_lines(message)]).strip("\n")


def _call(call: Any) -> str:
    args = call.get("args")
    named = args if isinstance(args, dict) else {"arguments": args}
    lines = [f"- {name}:{_value(value)}" for name, value in named.items()]
    return "\n".join([f"Calls `{call.get('name')}` ({call.get('id')}):", "", *lines])


def _value(value: Any) -> str:
    if isinstance(value, str):
        return f"\n\n{_fenced(value)}\n" if "\n" in value else f" {value}"
    return f" {json.dumps(value, ensure_ascii=False, default=str)}"


def _fenced(text: str) -> str:
    """Return a text between lines that it can't contain itself."""
    fence = "`" * max([3, *(len(found) + 1 for found in _FENCES.findall(text))])
    return f"{fence}\n{text.removesuffix(_NEWLINE)}\n{fence}"
