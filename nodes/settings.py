"""The settings of a graph that its nodes need."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, field_validator

from langgraph_filesystem.nodes.answers import MAX_CHARACTERS
from langgraph_filesystem.state.schema import DecisionKind
from langgraph_filesystem.state.workspace.mounts import Mounts
from langgraph_filesystem.state.workspace.permissions import Permissions

__all__ = (
    "CHARACTERS_PER_TOKEN",
    "DEFAULTS",
    "Choices",
    "InterruptOn",
    "Review",
    "Settings",
    "TokenCounter",
    "chosen",
    "offered_by",
    "reviews_of",
)

T = TypeVar("T")

OperationName = Literal[
    "ls",
    "read_file",
    "write_file",
    "edit_file",
    "delete",
    "move",
    "glob",
    "grep",
    "execute",
]


class Choices(BaseModel):
    """The settings of a run. An unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(
        default="",
        title="Model",
        description="Name of the chat model, such as `openai:gpt-5`. Empty for the default.",
        max_length=200,
        json_schema_extra={"langgraph_nodes": ["model"]},
    )
    system_prompt: str = Field(
        default="",
        title="System prompt",
        description="Instructions for the model. A section about the files follows them. "
        "Empty for the default.",
        max_length=100_000,
        json_schema_extra={"langgraph_nodes": ["model"], "langgraph_type": "prompt"},
    )
    evict_over: int | None = Field(
        default=None,
        title="Eviction limit",
        description="Tokens over which a message is moved to a file. Empty for the default.",
        ge=1,
        le=10_000_000,
        json_schema_extra={"langgraph_nodes": ["evict"]},
    )
    operations: tuple[OperationName, ...] | None = Field(
        default=None,
        title="Operations",
        description="Operations that the model may use. Leave it out for all of them; an empty "
        "list offers none.",
        json_schema_extra={"langgraph_nodes": ["router"]},
    )
    interrupt_on: tuple[str, ...] = Field(
        default=(),
        title="Ask before",
        description="Operations and tools that a person must approve before they run, besides "
        "those that the graph was built to ask about.",
        json_schema_extra={"langgraph_nodes": ["review"]},
    )
    todos: bool = Field(
        default=True,
        title="List of steps",
        description="Let the model keep a list of its steps with `write_todos`, if the graph was "
        "built with it.",
        json_schema_extra={"langgraph_nodes": ["model"]},
    )

    @field_validator("evict_over", mode="before")
    @classmethod
    def _no_boolean(cls, value: Any) -> Any:
        """Reject `true`, which pydantic takes for 1."""
        if isinstance(value, bool):
            raise ValueError("it must be a number of tokens")
        return value


DEFAULTS = Choices()
"""Nothing chosen: everything as the graph was built."""


def chosen(runtime: Runtime[Any]) -> Choices:
    """Return the choices of a run; a context of another type chooses nothing."""
    return runtime.context if isinstance(runtime.context, Choices) else DEFAULTS


def offered_by(operations: Mapping[str, T], runtime: Runtime[Any]) -> Mapping[str, T]:
    """Return the operations that the run may use."""
    choices = chosen(runtime)
    if choices.operations is None and choices.todos:
        return operations
    return {name: item for name, item in operations.items() if _is_offered(name, choices)}


def _is_offered(name: str, choices: Choices) -> bool:
    if name == "write_todos":
        return choices.todos
    # `task` is none of the operations that a run can choose: it is there if there are subagents.
    return choices.operations is None or name in choices.operations or name == "task"


InterruptOn: TypeAlias = Mapping[str, bool | Mapping[str, Any]]
"""Names of operations and tools, and how a person reviews their calls: `True`, or a mapping as
LangChain's `InterruptOnConfig`."""
_KINDS: tuple[DecisionKind, ...] = get_args(DecisionKind)
_REVIEW_KEYS = ("allowed_decisions", "description", "when", "args_schema")


@dataclass(frozen=True)
class Review:
    """How a person reviews the calls of one operation or tool."""

    allowed_decisions: tuple[DecisionKind, ...] = _KINDS
    description: str | Callable[[Any, Any, Any], str] | None = None
    """What the person reads first: text, or a function of tool call, state and runtime."""
    when: Callable[[Any], bool] | None = None
    """Whether a call needs a person: a function of a `ToolCallRequest`."""


def reviews_of(
    interrupt_on: InterruptOn | None, permissions: Permissions, context_schema: Any
) -> dict[str, Review] | None:
    """Return how the calls of each name are reviewed, or `None` where no call ever is."""
    given = {} if interrupt_on is None else interrupt_on
    if not isinstance(given, Mapping):
        raise ValueError(
            f"`interrupt_on` must map names to True or to a mapping, not {interrupt_on!r}. "
            'Such as: `interrupt_on={"write_file": True}`.'
        )
    reviews = {name: _review(name, config) for name, config in given.items() if config is not False}
    is_ruled = any(rule.mode == "interrupt" for rule in permissions.rules)
    is_chosen = isinstance(context_schema, type) and issubclass(context_schema, Choices)
    return reviews if reviews or is_ruled or is_chosen else None


def _review(name: str, config: object) -> Review:
    where = f"`interrupt_on` of {name!r}"
    if config is True:
        return Review()
    if not isinstance(config, Mapping):
        raise ValueError(f"{where} must be True, False or a mapping, not {config!r}.")
    if unknown := [key for key in config if key not in _REVIEW_KEYS]:
        raise ValueError(
            f"{where} has no {', '.join(map(repr, unknown))}. It takes: {', '.join(_REVIEW_KEYS)}."
        )
    allowed, when = config.get("allowed_decisions"), config.get("when")
    are_known = isinstance(allowed, list | tuple) and all(kind in _KINDS for kind in allowed)
    if not allowed or not are_known:
        raise ValueError(
            f"`allowed_decisions` in {where} must be a list with some of {', '.join(_KINDS)}, not "
            f"{allowed!r}."
        )
    description = config.get("description")
    if description is not None and not isinstance(description, str) and not _is_plain(description):
        raise ValueError(f"`description` in {where} must be text or a function, not async.")
    if when is not None and not _is_plain(when):
        raise ValueError(f"`when` in {where} must be a function of a request, not async.")
    return Review(tuple(dict.fromkeys(allowed)), description, when)


def _is_plain(value: object) -> bool:
    return callable(value) and not inspect.iscoroutinefunction(value)


TokenCounter = Callable[[Iterable[Any]], int]
"""A function of messages, as LangChain's `count_tokens_approximately`."""
CHARACTERS_PER_TOKEN = 4
_LEAST_BUDGET = 2_000


@dataclass(frozen=True)
class Settings:
    """The settings that the graph was built with."""

    mounts: Mounts = field(default_factory=Mounts)
    evict_over: int | None = 20_000
    """Tokens over which a message is moved to a file; `None` leaves every message as it is."""
    token_counter: TokenCounter | None = None
    read_before_edit: bool = True
    max_execute_timeout: int = 3_600
    permissions: Permissions = field(default_factory=Permissions)
    review: Mapping[str, Review] | None = None
    """How a person reviews the calls of each name; `None` if nobody is ever asked."""

    def __post_init__(self) -> None:
        if self.evict_over is not None and not _is_count(self.evict_over):
            raise ValueError(f"`evict_over` must be at least 1 token, not {self.evict_over!r}.")
        if not _is_count(self.max_execute_timeout):
            raise ValueError(
                f"`max_execute_timeout` must be at least 1 s, not {self.max_execute_timeout!r}."
            )
        if self.token_counter is not None and not callable(self.token_counter):
            raise ValueError("`token_counter` must be a function of messages.")

    def of_run(self, runtime: Runtime[Any]) -> "Settings":
        """Return the settings with the choices of a run."""
        over = chosen(runtime).evict_over
        return self if over is None else replace(self, evict_over=over)

    @property
    def budget(self) -> int:
        """Return how many characters a list, a page or a search may fill."""
        if self.evict_over is None:
            return MAX_CHARACTERS
        return min(MAX_CHARACTERS, max(_LEAST_BUDGET, self.evict_over * CHARACTERS_PER_TOKEN))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
