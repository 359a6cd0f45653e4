"""The `task` node: a subagent carries out a piece of work, and its last message is the answer.

The node itself is a graph with a node for each subagent, made in `graph/subgraph/task_node.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, convert_to_messages
from pydantic import Field, TypeAdapter, create_model
from typing_extensions import TypedDict

from langgraph_filesystem.nodes.answers import Answer, Arguments, counted, error_reply, reply
from langgraph_filesystem.nodes.calls import Call
from langgraph_filesystem.nodes.registry import Operation
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import CONFLICTS, Files, conflict_call

__all__ = (
    "AT_LIMIT",
    "Outcome",
    "Task",
    "outcome_of",
    "task_operation",
    "task_reply",
    "tell_conflicts",
)

AT_LIMIT = "It reached its recursion limit before it was done."
_STAYS = "The changes it had made were kept."
_SILENT = "The subagent ended without a message."
_TOLD = "conflicts"
_JSON: TypeAdapter[Any] = TypeAdapter(Any)
_NAMED = 10
"""How many conflicts are named in an answer."""


class Task(Arguments):
    """Give a piece of work to a subagent, which works on the same files and answers with one
    message. It knows nothing of this conversation and can't ask questions: describe the whole task,
    name the files, and say what to report. Send independent tasks in one message, so that they run
    at the same time."""

    description: Annotated[
        str, Field(min_length=1, description="The whole task, and what to report.")
    ]
    subagent_type: Annotated[str, Field(description="Name of the subagent.")]


def task_operation(subagents: Mapping[str, str]) -> Operation:
    """Return the operation, without its node, for subagents with these descriptions by name."""
    names: Any = Literal.__getitem__(tuple(subagents))
    field: Any = (Annotated[names, Field(description="Name of the subagent.")], ...)
    schema = create_model("Task", __base__=Task, subagent_type=field)
    about = " ".join((Task.__doc__ or "").split())
    listed = "\n".join(f"- `{name}`: {text}" for name, text in subagents.items())
    return Operation(
        "task",
        schema,
        None,
        "Gives work to a subagent.",
        changes=True,
        is_bounded=False,
        description=f"{about}\n\nThe subagents:\n{listed}",
    )


class Outcome(TypedDict):
    """How a subagent ended."""

    text: str
    """Its last message, or its structured response as JSON."""
    problem: str
    """Why it was stopped; empty if it ended by itself."""
    failed: bool


def outcome_of(values: Mapping[str, Any], stopped: str | FilesystemError | None) -> Outcome:
    """Return how a subagent ended, from the last values of its channels."""
    response = values.get("structured_response")
    text = (
        _last_text(values) if response is None else _JSON.dump_json(response, fallback=str).decode()
    )
    failed = isinstance(stopped, FilesystemError)
    return Outcome(text=text, problem=str(stopped or ""), failed=failed)


def task_reply(
    call: Call, name: str, outcome: Outcome, changed: Sequence[str], limit: int | None
) -> ToolMessage:
    """Return the message that answers a call of `task`."""
    text, problem = outcome["text"], outcome["problem"]
    if outcome["failed"]:
        return error_reply(call, f"{problem.rstrip('.')}. {_STAYS}")
    if problem:
        text = f"[{problem} {_STAYS} Its last message:]\n{text}"
    artifact = {"subagent": name, "changed": list(changed)}
    return reply(call, Answer(text or _SILENT, artifact), limit)


def tell_conflicts(messages: Sequence[AnyMessage], files: Files) -> list[AnyMessage]:
    """Return the answers of tasks that have changes below `/conflicts/`, with a note about these.

    The changes of a task are merged after it has answered, so only the next node can tell.
    """
    kept: dict[str, list[str]] = {}
    for path, file in files.items():
        if path.startswith(f"{CONFLICTS}/"):
            kept.setdefault(conflict_call(file), []).append(path)
    return [
        _with_note(message, kept[message.id])
        for message in messages
        if isinstance(message, ToolMessage)
        and message.id in kept
        and _TOLD not in message.additional_kwargs
    ]


def _with_note(message: ToolMessage, paths: list[str]) -> ToolMessage:
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    note = (
        f"[{counted(len(paths), 'change')} could not be applied, because the files were changed in "
        f"parallel: see {', '.join(paths[:_NAMED])}{more}]"
    )
    marked = {**message.additional_kwargs, _TOLD: paths}
    content = f"{message.text}\n\n{note}"
    return message.model_copy(update={"content": content, "additional_kwargs": marked})


def _last_text(values: Mapping[str, Any]) -> str:
    """Return the text of the last message, or of the last AI message that has any."""
    messages = convert_to_messages(values.get("messages") or [])
    spoken = [m for m in messages if isinstance(m, AIMessage) or m is messages[-1]]
    return next((str(m.text) for m in reversed(spoken) if m.type != "human" and m.text), "")
