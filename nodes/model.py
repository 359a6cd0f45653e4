"""The `model` node: the conversation goes to a chat model that knows the operations."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.answers import valid
from langgraph_filesystem.nodes.calls import answer_id, calls_something
from langgraph_filesystem.nodes.failures import attempted
from langgraph_filesystem.nodes.node import Edge, Io, Node
from langgraph_filesystem.nodes.operations import Operation, tool_schemas
from langgraph_filesystem.nodes.prompt import filesystem_prompt, system_message
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.backends.protocol import Backend
from langgraph_filesystem.state.mounts import Mount

__all__ = ("after_model", "load_model", "model_node")


def model_node(
    model: BaseChatModel,
    operations: Mapping[str, Operation],
    tools: Sequence[Any],
    settings: Settings,
    *,
    system_prompt: str | SystemMessage | None = None,
    descriptions: Mapping[str, str] | None = None,
) -> Node:
    """Return the node that asks the model."""
    prefixes = [mount.prefix for mount in settings.mounts.all]

    def speaker(offered: Mapping[str, Operation]) -> tuple[Runnable[Any, Any], list[AnyMessage]]:
        schemas = [*tool_schemas(offered, descriptions), *tools]
        bound: Runnable[Any, Any] = model.bind_tools(schemas) if schemas else model
        section = filesystem_prompt(
            list(offered), prefixes, read_before_edit=settings.read_before_edit
        )
        system = system_message(system_prompt, section)
        return bound, [system] if system else []

    # Binding converts every schema: it is done when the graph is built, not at each turn.
    with_all = speaker(operations)
    files_only = {name: op for name, op in operations.items() if name != "execute"}
    without_execute = speaker(files_only) if _is_uncertain(operations, settings) else with_all

    async def act(
        state: Any, config: RunnableConfig, runtime: Runtime[Any], io: Io
    ) -> dict[str, Any]:
        can_execute = with_all is without_execute or await _can_execute(settings, runtime)
        bound, system = with_all if can_execute else without_execute
        messages = state["messages"]
        answer = await io.invoke(bound, [*system, *messages], config)
        return {"messages": [_storable(answer, messages)]}

    return Node("model", act)


def after_model(end: str) -> Edge:
    """Return the edge behind the model: to the router if it calls anything, else to the end."""

    def choose(state: Any) -> str:
        # A person may have answered calls already: what is behind the message doesn't matter.
        return "router" if calls_something(state["messages"]) else end

    return Edge("after_model", choose)


def load_model(model: str | BaseChatModel) -> BaseChatModel:
    """Return the model, made by `init_chat_model` from a name such as `openai:gpt-5`."""
    if isinstance(model, BaseChatModel):
        return model
    if not isinstance(model, str):
        if hasattr(model, "bind_tools"):
            return model
        raise ValueError(f"`model` must be a chat model or its name, not {type(model).__name__}.")
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise ImportError(
            f"To make the model {model!r} from its name, install the extra `models`: "
            "pip install 'langgraph-filesystem[models]'. Or pass a chat model."
        ) from None
    loaded: BaseChatModel = init_chat_model(model)
    return loaded


def _is_uncertain(operations: Mapping[str, Operation], settings: Settings) -> bool:
    """Say whether only a run can tell if a mount runs commands: its backend is made then."""
    return "execute" in operations and all(mount.is_factory for mount in settings.shells)


async def _can_execute(settings: Settings, runtime: Runtime[Any]) -> bool:
    for mount in settings.shells:
        # A factory that fails is reported by the calls that need it.
        backend, _ = await attempted(_opened(mount, runtime), f"open {mount.prefix}")
        if hasattr(backend, "execute"):
            return True
    return False


async def _opened(mount: Mount, runtime: Runtime[Any]) -> Backend:
    return mount.open({}, runtime)


def _storable(answer: AnyMessage, messages: Sequence[AnyMessage]) -> AnyMessage:
    """Return the answer as a checkpoint can hold it, under an id of its own.

    A scripted or cached model may give the same message twice: under the same id the second would
    take the place of the first.
    """
    update: dict[str, Any] = {}
    if not answer.id or _is_taken(answer.id, messages):
        update["id"] = str(uuid.uuid4())
    if isinstance(answer, AIMessage) and answer.tool_calls:
        made: list[Any] = list(answer.tool_calls)  # a model may break the type
        good = [call for call in made if isinstance(call["args"], dict)]
        calls = [{**call, "args": _storable_value(call["args"])} for call in good]
        if calls != answer.tool_calls:
            update["tool_calls"] = calls
        if len(good) < len(made):
            bad = [_as_invalid(call) for call in made if not isinstance(call["args"], dict)]
            update["invalid_tool_calls"] = [*answer.invalid_tool_calls, *bad]
    return answer.model_copy(update=update) if update else answer


def _is_taken(id: str, messages: Sequence[AnyMessage]) -> bool:
    """Say whether a message has the id, or an answer is left that was given to one that had it."""
    answers = answer_id(id, 0).removesuffix("0")
    return any(m.id == id or (m.id or "").startswith(answers) for m in messages)


def _as_invalid(call: Any) -> dict[str, Any]:
    return {**call, "type": "invalid_tool_call", "args": valid(str(call["args"])), "error": None}


_MAX_DEPTH = 100
"""The checkpoint serializer fails on values nested 250 deep."""


def _storable_value(value: Any, depth: int = 0) -> Any:
    """Return the value with what a checkpoint can't hold as text: the operation will refuse it."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value) if value.bit_length() < 10_000 else "a number that is too large"
    if depth > _MAX_DEPTH:
        return "a value that is nested too deeply"
    if isinstance(value, dict):
        return {valid(str(key)): _storable_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable_value(item, depth + 1) for item in value]
    return value
