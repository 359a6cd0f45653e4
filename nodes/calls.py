"""The calls of an AI message: which there are, which are answered, and what is wrong with them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from langgraph_filesystem.state.schema import Decision
from langgraph_filesystem.state.text import escaped

__all__ = (
    "Call",
    "answer_id",
    "calls_of",
    "calls_something",
    "decided",
    "last_ai_message",
    "open_calls",
    "unanswered",
)


@dataclass(frozen=True)
class Call:
    """One call of an AI message."""

    message: str
    """Id of the AI message."""
    position: int
    """Place among the calls of the message: ids may repeat, places don't."""
    id: str
    name: str
    args: Any
    problem: str | None = None
    """Why it can't be carried out, whatever the tool is."""
    edited: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that a person changed; `None` for those that they took out."""


def last_ai_message(messages: Sequence[AnyMessage]) -> tuple[AIMessage | None, list[ToolMessage]]:
    """Return the last AI message and the tool messages behind it."""
    answers: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message, answers[::-1]
        if isinstance(message, ToolMessage):
            answers.append(message)
    return None, []


def calls_something(messages: Sequence[AnyMessage]) -> bool:
    """Say whether the last AI message has calls, answered or not."""
    message, _ = last_ai_message(messages)
    return message is not None and bool(message.tool_calls or message.invalid_tool_calls)


def unanswered(messages: Sequence[AnyMessage]) -> list[Call]:
    """Return the calls of the last AI message that have no answer yet."""
    message, answers = last_ai_message(messages)
    return open_calls(message, answers) if message else []


def open_calls(
    message: AIMessage, answers: Sequence[ToolMessage], ids: Collection[str] | None = None
) -> list[Call]:
    """Return the calls of a message, or those with some ids, that the answers leave open.

    An answer of ours is known by its own id and that of the call: somebody may have edited the
    message since. Any other (a person's, another node's) answers the first call with its
    `tool_call_id` that is still open.
    """
    calls = calls_of(message, ids)
    ours = {answer_id(call.message, call.position): call.id for call in calls}
    done = {a.id for a in answers if a.id in ours and a.tool_call_id == ours[a.id]}
    foreign = [answer.tool_call_id for answer in answers if answer.id not in done]
    left: list[Call] = []
    for call in calls:
        if answer_id(call.message, call.position) in done:
            continue
        if call.id in foreign:
            foreign.remove(call.id)
            continue
        left.append(call)
    return left


def calls_of(message: AIMessage, ids: Collection[str] | None = None) -> list[Call]:
    """Return all calls of a message, or those with some ids, malformed ones included."""
    calls: list[Call] = []
    known: set[str] = set()
    for position, raw in enumerate([*message.tool_calls, *message.invalid_tool_calls]):
        id, name = raw.get("id") or "", raw.get("name") or ""
        if ids is not None and id not in ids:
            continue
        problem = _problem_of_id(id, known)
        if raw.get("type") == "invalid_tool_call":
            problem = problem or _problem_of_args(str(raw.get("error") or ""))
        known.add(id)
        calls.append(Call(message.id or "", position, id, name, raw.get("args"), problem))
    return calls


def decided(calls: Sequence[Call], decisions: Sequence[Decision] | None) -> list[Call]:
    """Return the calls with the arguments that a person gave them."""
    edits = {(d["message"], d["call"]): d["args"] for d in decisions or () if "args" in d}
    return [_edited(call, edits.get((call.message, call.id))) for call in calls]


def answer_id(message: str, position: int) -> str:
    """Return the id of the answer to a call: always the same, so that no call has two answers."""
    return f"{message}:{position}"


def _edited(call: Call, args: dict[str, Any] | None) -> Call:
    if args is None:
        return call
    before = call.args if isinstance(call.args, dict) else {}
    changed = {
        name: args.get(name) for name in {**before, **args} if before.get(name) != args.get(name)
    }
    return replace(call, args=args, edited=changed)


def _problem_of_id(id: str, known: set[str]) -> str | None:
    if not id:
        return "The call has no id, so it was not run. Repeat it with an id."
    if id in known:
        return "Another call of this message has the same id, so this one was not run. Repeat it."
    if id != id.encode(errors="replace").decode():
        return "The call was not run: no checkpoint can hold its id, which is not valid Unicode."
    return None


def _problem_of_args(error: str) -> str:
    reason = f" ({escaped(error[:500])})" if error else ""
    return f"The arguments are not a JSON object{reason}. Repeat the call with valid JSON."
