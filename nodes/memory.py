"""Memory: files whose text the model is always told, and in which it keeps what it learns.

`prepare` reads them at the start of each run. `model` reads them again after calls that may have
changed them. In between, the channel `memory` holds what the model is told, so a run that is
resumed or forked goes on with the same text.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, NotRequired

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from langgraph_filesystem.nodes.answers import valid
from langgraph_filesystem.nodes.calls import calls_of, last_ai_message
from langgraph_filesystem.nodes.operation import read_files
from langgraph_filesystem.nodes.registry import OPERATIONS, WRITE_TODOS
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.channels import StateChannel, latest
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, PathRefused
from langgraph_filesystem.state.files import FileData, digest_of
from langgraph_filesystem.state.io import attempt, gather_limited
from langgraph_filesystem.state.langgraph_internals import read_channels
from langgraph_filesystem.state.paths import normalize_path
from langgraph_filesystem.state.text import PathPart, escaped
from langgraph_filesystem.state.workspace.seen import Seen
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("Memory", "MemoryFile", "checked_paths", "may_have_changed", "shown_error")

_MAX_CHARACTERS = 40_000
"""Of one file, in every request to the model: about 10,000 tokens."""
_ERROR_CHARACTERS = 500

_READING = frozenset(
    operation.name for operation in (*OPERATIONS.values(), WRITE_TODOS) if not operation.changes
)
"""Operations that change no file."""

_INTRODUCTION = """\
## Memory

The files below are your memory: what was learned earlier, and how to work here. Follow them \
unless the user says otherwise. The text of each file stands between fences."""
_KEEPING = """\
To remember something, such as a correction or a preference, change these files with {}: from your \
next turn on the new text stands here. Never keep passwords or keys in them."""


class MemoryFile(TypedDict, total=False):
    """What is known of one file. Without `text` and `problem`, it does not exist."""

    text: str
    next_offset: int
    """Where `read_file` goes on, if the text is only the head of the file."""
    problem: str
    """Why it can't be read."""


class Memory:
    """The files that are told to the model in the system message."""

    channel: ClassVar[str] = "memory"
    hint: ClassVar[Any] = NotRequired[Annotated[dict[str, MemoryFile], StateChannel(latest, dict)]]
    """The type of the channel in the state schema."""

    def __init__(self, paths: Iterable[str], settings: Settings) -> None:
        given = checked_paths("memory", paths)
        if directory := next((path for path in given if path.endswith("/")), None):
            raise ValueError(f"`memory` names files, but {directory!r} is a directory.")
        self.paths = [normalize_path(path) for path in given]
        self._mounts = settings.mounts
        self._permissions = settings.permissions

    async def updates(self, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        """Read the files, and return what that changes in the channels."""
        state = read_channels(config, "seen", self.channel)
        # Without the permissions of the agent: whoever built the graph chose these files.
        workspace = Workspace(
            self._mounts,
            read_files(config, self._mounts),
            runtime,
            seen=Seen(state.get("seen")),
        )
        read = await gather_limited(partial(_read, workspace), self.paths)
        files = dict(zip(self.paths, read, strict=True))
        changed = {} if files == state.get(self.channel) else {self.channel: files}
        return {**changed, **workspace.updates()}

    def section(self, files: dict[str, MemoryFile] | None, operations: Collection[str]) -> str:
        """Return what the model is told, or nothing if nothing was read yet."""
        if not files:
            return ""
        parts = [_INTRODUCTION]
        if names := [name for name in ("edit_file", "write_file") if self._may(name, operations)]:
            parts.append(_KEEPING.format(" or ".join(f"`{name}`" for name in names)))
        return "\n\n".join([*parts, *(_shown(*item, operations) for item in files.items())])

    def _may(self, name: str, operations: Collection[str]) -> bool:
        """Say whether the agent may use an operation on one of the files."""
        denied = [self._permissions.mode(name, path) == "deny" for path in self.paths]
        return name in operations and not all(denied)


def checked_paths(keyword: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that a keyword of the agent was given; raise for one that is wrong."""
    if isinstance(paths, str) or not isinstance(paths, Iterable):
        raise ValueError(f"`{keyword}` must be a list of paths, not {paths!r}.")
    given: list[object] = list(paths)
    for path in given:
        if not isinstance(path, str) or not path.startswith("/"):
            raise ValueError(
                f"A path in `{keyword}` must be text and begin with '/', not {path!r}."
            )
        try:
            normalize_path(path)
        except PathRefused as refused:
            raise ValueError(str(refused)) from None
    return list(paths)


def may_have_changed(messages: Sequence[AnyMessage]) -> bool:
    """Say whether the last AI message made a call that may have changed files.

    A tool that is not an operation may do anything.
    """
    message, _ = last_ai_message(messages)
    return message is not None and any(c.name not in _READING for c in calls_of(message))


def shown_error(error: FilesystemError, path: str) -> str:
    """Return the message of an error, short, on one line, and without the path it begins with."""
    return escaped(error.message.removeprefix(f"{path}: "))[:_ERROR_CHARACTERS]


async def _read(workspace: Workspace, path: str) -> MemoryFile:
    read = await attempt(_head(workspace, path), "read ", PathPart(path))
    if isinstance(read, FileNotFound):
        return {}
    return {"problem": shown_error(read, path)} if isinstance(read, FilesystemError) else read


async def _head(workspace: Workspace, path: str) -> MemoryFile:
    # No line is shorter than one character.
    page = await workspace.read(path, 0, _MAX_CHARACTERS, max_characters=_MAX_CHARACTERS)
    file = page.file_data or FileData(content="")
    if file.get("encoding") == "base64":
        return {"problem": "it is not text."}
    text = valid(file["content"])
    if page.next_offset is None and not page.next_column:
        # The model is told this text, so it may edit the file while it holds it.
        workspace.seen.mark(path, digest_of(text.encode()))
        return {"text": text}
    lines = text[: text.rfind("\n") + 1] or text
    return {"text": lines, "next_offset": lines.count("\n")}


def _shown(path: str, file: MemoryFile, operations: Collection[str]) -> str:
    name = f"`{escaped(path)}`"
    if problem := file.get("problem"):
        return f"{name} can't be read: {problem}"
    if "text" not in file:
        return f"{name} does not exist yet."
    if not file["text"]:
        return f"{name} is empty."
    shown = f"{name}:\n\n{_fenced(file['text'])}"
    if "next_offset" not in file:
        return shown
    how = f": read on with `read_file` and offset={file['next_offset']}"
    return f"{shown}\n\n[The file goes on{how if 'read_file' in operations else ''}.]"


def _fenced(text: str) -> str:
    """Return the text between fences that are longer than any in it, so that it can't end them."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"
