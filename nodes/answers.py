"""Arguments and answers of operations, and the `ToolMessage`s that the answers become."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.messages import ToolMessage
from pydantic import AfterValidator, BaseModel, ConfigDict

from langgraph_filesystem.nodes.calls import Call, answer_id
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.paths import normalize_path
from langgraph_filesystem.state.text import escaped, escaped_message, split_notes

__all__ = (
    "MAX_CHARACTERS",
    "Answer",
    "Arguments",
    "VirtualPath",
    "bounded",
    "counted",
    "error_reply",
    "escaped",
    "listed",
    "noted",
    "notes_of",
    "reply",
    "shown_name",
    "valid",
)

MAX_CHARACTERS = 100_000
"""The longest answer of an operation."""
_ERROR_CHARACTERS = 4_000
_NOTED_CHARACTERS = 500
"""Of an argument that a person changed."""


VirtualPath = Annotated[str, AfterValidator(normalize_path)]
"""A path that is normalized when the arguments are checked; an invalid path is an error."""


class Arguments(BaseModel):
    """Arguments of a call. An unknown argument is an error, not ignored."""

    model_config = ConfigDict(extra="forbid")


@dataclass
class Answer:
    """The result of an operation."""

    text: str | list[Any]
    """For the model: text, or content blocks."""
    artifact: dict[str, Any] = field(default_factory=dict)
    """For programs: counts, exit codes, offsets."""
    update: dict[str, Any] = field(default_factory=dict)
    """Channels that the operation writes besides `messages`, `files` and `seen`."""


def reply(call: Call, answer: Answer, limit: int | None = MAX_CHARACTERS) -> ToolMessage:
    """Return the message that answers a call."""
    text = answer.text
    if isinstance(text, str):
        text = valid(text) if limit is None else bounded(valid(text), limit)
    return ToolMessage(
        content=noted(call, text),
        tool_call_id=call.id,
        name=shown_name(call.name),
        id=answer_id(call.message, call.position),
        artifact=answer.artifact or None,
    )


def error_reply(call: Call, problem: FilesystemError | str) -> ToolMessage:
    """Return the message that reports an error to the model."""
    text = escaped_message(problem if isinstance(problem, str) else problem.message)
    return ToolMessage(
        content=noted(call, bounded(valid(f"Error: {text}"), _ERROR_CHARACTERS)),
        tool_call_id=call.id,
        name=shown_name(call.name),
        id=answer_id(call.message, call.position),
        status="error",
    )


def noted(call: Call, content: str | list[Any]) -> str | list[Any]:
    """Return the content of an answer; it begins with a note if a person changed the call."""
    if not call.edited:
        return content
    changes = ", ".join(f"{name}={_shown(value)}" for name, value in call.edited.items())
    note = f"[A person changed this call before it ran: {escaped(valid(changes))}]"
    if isinstance(content, str):
        return f"{note}\n{content}"
    return [{"type": "text", "text": note}, *content]


def shown_name(name: str) -> str:
    """Return the name of a tool, valid and short enough for a message."""
    return valid(name)[:64]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 line`, `2,000 lines`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def notes_of(note: str | None) -> list[str]:
    """Return the notes of a result, each as a line of an answer."""
    return [f"[{escaped(one)}]" for one in split_notes("\n", note)]


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    is_short = len(text) <= _NOTED_CHARACTERS
    return text if is_short else f"{text[:_NOTED_CHARACTERS]}... ({len(text):,} characters)"


def valid(text: str) -> str:
    """Return the text with `?` for characters that UTF-8 can't encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def bounded(text: str, limit: int) -> str:
    """Return the text, or its head and tail with a note about the middle."""
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text):,} characters in total, the middle is left out ...]\n"
    head = (limit - len(note)) * 2 // 3
    tail = limit - len(note) - head
    return f"{text[:head]}{note}{text[-tail:]}"


def listed(rows: Sequence[str], budget: int, what: str) -> tuple[str, int]:
    """Return as many rows as fit, with a note about the rest, and how many were left out."""
    used = 0
    for shown, row in enumerate(rows):
        used += len(row) + 1
        if used > budget - 200:
            left = len(rows) - shown
            note = f"[{left:,} more {what} left out: narrow the path or the pattern]"
            return "\n".join([*rows[:shown], note]), left
    return "\n".join(rows), 0
