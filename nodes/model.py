"""The `model` node: the conversation goes to a chat model that knows the operations.

Also which model that is: the default of the graph, or the one that a run names.
"""

import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.answers import valid
from langgraph_filesystem.nodes.calls import answer_id, calls_something
from langgraph_filesystem.nodes.content import profile_of, sent
from langgraph_filesystem.nodes.memory import Memory, may_have_changed
from langgraph_filesystem.nodes.node import Edge, Node, invoke
from langgraph_filesystem.nodes.prompt import (
    CONFLICTS_SECTION,
    filesystem_prompt,
    system_message,
)
from langgraph_filesystem.nodes.registry import Operation, tool_schemas
from langgraph_filesystem.nodes.settings import Settings, chosen, offered_by
from langgraph_filesystem.nodes.skills import Skills
from langgraph_filesystem.state.backends.file_store import FileStore
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import CONFLICTS, Files, ThreadFiles
from langgraph_filesystem.state.io import attempt, in_thread
from langgraph_filesystem.state.langgraph_internals import read_channels
from langgraph_filesystem.state.messages import merge_messages
from langgraph_filesystem.state.workspace.mounts import Mount

__all__ = ("Models", "Request", "Requests", "after_model", "load_model", "model_node")

_KEPT_MODELS = 32
"""How many named models stay loaded. A client and its connections are worth keeping; a deployment
whose users may name any model must not fill its memory with them."""
_KEPT_BOUND = 64
"""How many pairs of a model and its operations stay bound."""


def load_model(model: str | BaseChatModel) -> BaseChatModel:
    """Return the model, made by `init_chat_model` from a name such as `openai:gpt-5`."""
    if isinstance(model, type):
        raise ValueError(
            f"`model` is the class {model.__name__}: pass an instance of it, such as "
            f"`{model.__name__}(...)`."
        )
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


class Models:
    """The default model of a graph, and the models that its runs name, each made once."""

    def __init__(self, default: BaseChatModel) -> None:
        self.default = default
        self._named: dict[str, BaseChatModel] = {}

    async def get(self, name: str) -> BaseChatModel:
        """Return the model with a name, or the default; raise if it can't be made."""
        if not name:
            return self.default
        model = self._named.get(name)
        if model is None:
            # Making one imports its package and reads certificates: not in an event loop.
            made = await attempt(in_thread(load_model, name), "Loading it")
            if isinstance(made, FilesystemError):
                raise ValueError(f"The model {name!r} can't be used: {made}")
            model = made
            self._keep(name, model)
        return model

    def _keep(self, name: str, model: BaseChatModel) -> None:
        self._named[name] = model
        for oldest in list(self._named)[:-_KEPT_MODELS]:
            self._named.pop(oldest, None)


class Request(NamedTuple):
    """What a model is asked with, besides the conversation."""

    model: BaseChatModel
    """The model of the run, without its tools."""
    bound: "BoundModel"
    """The same model, with its tools."""
    system: list[AnyMessage]
    """What it is told before the conversation."""

    def sent(self, messages: list[AnyMessage]) -> list[AnyMessage]:
        """Return the conversation as the model is sent it."""
        return sent(messages, profile_of(self.model))

    async def answer(self, messages: list[AnyMessage], config: RunnableConfig) -> AnyMessage:
        """Ask the model."""
        asked = [*self.system, *self.sent(messages)]
        answer: AnyMessage = await invoke(self.bound.model, asked, config)
        return _storable(answer, messages)


class Requests:
    """Which model a run asks, with which tools and which system message."""

    def __init__(
        self,
        models: Models,
        operations: Mapping[str, Operation],
        tools: Sequence[Any],
        settings: Settings,
        *,
        system_prompt: str | SystemMessage | None = None,
        descriptions: Mapping[str, str] | None = None,
        loaded: Sequence[Memory | Skills] = (),
    ) -> None:
        self.models = models
        self._loaded = loaded
        self._operations = operations
        self._settings = settings
        self._system_prompt = system_prompt
        self._bound_models = _BoundModels(tools, settings, descriptions)
        self._may_execute = _is_uncertain(operations, settings)
        self._files_only = {name: op for name, op in operations.items() if name != "execute"}
        # Binding converts every schema: it is done when the graph is built, not at each turn.
        bound = self._bound_models.get("", models.default, operations, system_prompt)
        if self._may_execute:
            self._bound_models.get("", models.default, self._files_only, system_prompt)
        self.default = Request(models.default, bound, [bound.system] if bound.system else [])
        """What a run asks that chooses nothing."""

    async def reload(
        self, messages: Sequence[AnyMessage], config: RunnableConfig, runtime: Runtime[Any]
    ) -> dict[str, Any]:
        """Read memory again if it may have changed; return what that changes in the channels."""
        updates: dict[str, Any] = {}
        for part in self._loaded:
            if isinstance(part, Memory) and may_have_changed(messages):
                updates |= await part.updates(config, runtime)
        return updates

    async def get(
        self,
        config: RunnableConfig,
        runtime: Runtime[Any],
        reloaded: Mapping[str, Any] | None = None,
    ) -> Request:
        """Return what the model is asked with in this run."""
        knows = not self._may_execute or await _can_execute(self._settings, runtime)
        offered = offered_by(self._operations if knows else self._files_only, runtime)
        choices = chosen(runtime)
        model = await self.models.get(choices.model)
        prompt = choices.system_prompt or self._system_prompt
        bound = self._bound_models.get(choices.model, model, offered, prompt)
        channels = read_channels(config, "files", *(part.channel for part in self._loaded))
        told = {**channels, **(reloaded or {})}
        sections = [part.section(told.get(part.channel), offered) for part in self._loaded]
        if offered:
            sections.append(_conflicts(channels.get("files")))
        return Request(model, bound, _with_sections(bound.system, sections))


Compact = Callable[
    [list[AnyMessage], Request, RunnableConfig, Runtime[Any]], Awaitable[dict[str, Any]]
]
"""Returns updates of the state that make a conversation shorter, or nothing."""


def model_node(requests: Requests, compact: Compact | None = None) -> Node:
    """Return the node that asks the model, once more if it says that its window is too small."""

    async def act(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        messages = state["messages"]
        reloaded = await requests.reload(messages, config, runtime)
        request = await requests.get(config, runtime, reloaded)
        try:
            return {"messages": [await request.answer(messages, config)], **reloaded}
        except ContextOverflowError:
            updates = await compact(messages, request, config, runtime) if compact else {}
            if not updates:
                raise
        shorter = merge_messages(messages, [updates["messages"]])
        answer = await request.answer(shorter, config)
        return {**reloaded, **updates, "messages": [*updates["messages"], answer]}

    return Node("model", act)


@dataclass(frozen=True, eq=False)
class BoundModel:
    """A model with its tools bound, and what it is told before the conversation."""

    model: Runnable[Any, Any]
    schemas: Sequence[Any]
    system: SystemMessage | None

    @cached_property
    def schemas_size(self) -> int:
        """Return about how many characters its tools take of the window."""
        own = [s if isinstance(s, dict) else convert_to_openai_tool(s) for s in self.schemas]
        return len(json.dumps(own, default=str))


class _BoundModels:
    """The bound models, one for each combination of choices that runs have made."""

    def __init__(
        self, tools: Sequence[Any], settings: Settings, descriptions: Mapping[str, str] | None
    ) -> None:
        self._tools = tools
        self._settings = settings
        self._descriptions = descriptions
        self._made: dict[object, tuple[BaseChatModel, BoundModel]] = {}

    def get(
        self,
        name: str,
        model: BaseChatModel,
        offered: Mapping[str, Operation],
        prompt: str | SystemMessage | None,
    ) -> BoundModel:
        key = (name, tuple(offered), prompt if isinstance(prompt, str) else None)
        known, bound = self._made.get(key, (None, None))
        if bound is None or known is not model:
            bound = self._bound(model, offered, prompt)
            self._made[key] = (model, bound)
            for oldest in list(self._made)[:-_KEPT_BOUND]:
                self._made.pop(oldest, None)
        return bound

    def _bound(
        self,
        model: BaseChatModel,
        offered: Mapping[str, Operation],
        prompt: str | SystemMessage | None,
    ) -> BoundModel:
        schemas = [*tool_schemas(offered, self._descriptions), *self._tools]
        section = filesystem_prompt(
            list(offered),
            self._settings.mounts,
            read_before_edit=self._settings.read_before_edit,
        )
        system = system_message(prompt, section)
        bound: Runnable[Any, Any] = model.bind_tools(schemas) if schemas else model
        return BoundModel(bound, schemas, system)


def _with_sections(system: SystemMessage | None, sections: Sequence[str]) -> list[AnyMessage]:
    """Return the system message with a content block for each section that says something."""
    for section in sections:
        system = system_message(system, section)
    return [] if system is None else [system]


def _conflicts(files: Files | None) -> str:
    """Return the section about edits that did not fit, while there are any."""
    start = f"{CONFLICTS}/"
    return CONFLICTS_SECTION if any(path.startswith(start) for path in files or ()) else ""


def after_model(end: str) -> Edge:
    """Return the edge behind the model: to the router if it calls anything, else to the end."""

    def choose(state: Any) -> str:
        # A person may have answered calls already: what is behind the message doesn't matter.
        return "router" if calls_something(state["messages"]) else end

    return Edge("after_model", choose)


def _is_uncertain(operations: Mapping[str, Operation], settings: Settings) -> bool:
    """Say whether only a run can tell if a mount runs commands: its backend is made then."""
    return "execute" in operations and all(mount.is_factory for mount in settings.mounts.shells)


async def _can_execute(settings: Settings, runtime: Runtime[Any]) -> bool:
    for mount in settings.mounts.shells:
        # A factory that fails is reported by the calls that need it.
        store = await attempt(_opened(mount, runtime), "open ", mount.prefix)
        if not isinstance(store, FilesystemError) and store.capabilities.executes:
            return True
    return False


async def _opened(mount: Mount, runtime: Runtime[Any]) -> FileStore:
    return mount.open(ThreadFiles({}), runtime)


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
    # Nearly always it is not, and in a long thread one look at all ids is much faster than at each.
    if id not in "\n".join([message.id or "" for message in messages]):
        return False
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
