"""The `prepare` node: once per run, before anything else.

It checks the choices of the run. Then it repairs the conversation: a run that was stopped leaves
calls without answers, and providers reject such a conversation. Each open call is answered as
cancelled, right behind the message that made it. At last it loads memory and skills, where the
graph has any.
"""

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.answers import error_reply
from langgraph_filesystem.nodes.calls import open_calls
from langgraph_filesystem.nodes.memory import Memory
from langgraph_filesystem.nodes.model import Models
from langgraph_filesystem.nodes.node import Node
from langgraph_filesystem.nodes.settings import Choices, chosen
from langgraph_filesystem.nodes.skills import Skills
from langgraph_filesystem.state.langgraph_internals import graph_namespace

__all__ = ("prepare_node",)

_CANCELLED = (
    "The call was cancelled before it was answered: the run had stopped. Repeat it if needed."
)


def prepare_node(
    models: Models,
    operations: Collection[str],
    tools: Collection[str] = (),
    loaded: Sequence[Memory | Skills] = (),
) -> Node:
    """Return the node that checks the choices of a run, answers dangling calls, and loads."""

    async def act(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        choices = chosen(runtime)
        await _check(choices, models, operations)
        if not graph_namespace(config):  # a graph inside may have fewer tools than its parent
            _check_reviews(choices, [*operations, *tools])
        repaired = _repaired(state.get("messages") or [])
        updates: dict[str, Any] = {"messages": repaired} if repaired else {}
        for part in loaded:
            updates |= await part.updates(config, runtime)
        return updates

    return Node("prepare", act)


async def _check(choices: Choices, models: Models, operations: Collection[str]) -> None:
    missing = [name for name in choices.operations or () if name not in operations]
    if missing:
        known = [name for name in operations if name not in ("write_todos", "task")]
        raise ValueError(
            f"The context asks for operations that this graph does not have: {', '.join(missing)}. "
            f"It has: {', '.join(known)}."
        )
    await models.get(choices.model)


def _check_reviews(choices: Choices, known: Collection[str]) -> None:
    if unknown := [name for name in choices.interrupt_on if name not in known]:
        raise ValueError(
            f"The context asks for the review of {', '.join(unknown)}, which this graph does not "
            f"have. It has: {', '.join(known)}."
        )


def _repaired(messages: list[AnyMessage]) -> list[Any]:
    """Return what puts every answer right behind the message that called, if any is not there.

    Messages merge by id and new ones go to the end, so those behind a gap are taken out and put
    back.
    """
    whole: list[AnyMessage] = []
    placed: set[int] = set()
    for place, message in enumerate(messages):
        if id(message) in placed:
            continue
        whole.append(message)
        if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
            answers = _answers_behind(messages, place)
            placed.update(map(id, answers))
            cancelled = [error_reply(call, _CANCELLED) for call in open_calls(message, answers)]
            whole += [*answers, *cancelled]
    pairs = zip(messages, whole, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
    removed = [RemoveMessage(id=message.id or "") for message in messages[same:]]
    return [*removed, *whole[same:]]


def _answers_behind(messages: list[AnyMessage], place: int) -> list[ToolMessage]:
    answers: list[ToolMessage] = []
    for message in messages[place + 1 :]:
        if isinstance(message, AIMessage):
            break
        if isinstance(message, ToolMessage):
            answers.append(message)
    return answers
