"""`Choices`: the settings of a graph that an assistant, or a single run, may change.

Pass it, or a schema that extends it, as `context_schema`. A field that is left out keeps the value
that the graph was built with.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, field_validator

__all__ = ("DEFAULTS", "Choices", "chosen", "offered_by")

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
        description="Operations that the model may use. Empty for all of them.",
        json_schema_extra={"langgraph_nodes": ["router"]},
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
    names = chosen(runtime).operations
    if names is None:
        return operations
    return {name: item for name, item in operations.items() if name in names}
