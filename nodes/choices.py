"""What an assistant, or one run, may choose: a context schema that the nodes know.

A graph whose `context_schema` is `Choices`, or extends it, can be configured without building it
anew. A field that is left out means: as the graph was built.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, field_validator

__all__ = ("USUAL", "Choices", "chosen", "offered_by")

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
    """What can be chosen for the nodes of the graph. What is not known here is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(
        default="",
        title="Model",
        description="Name of the chat model, such as `openai:gpt-5`; empty for the usual one.",
        max_length=200,
        json_schema_extra={"langgraph_nodes": ["model"]},
    )
    system_prompt: str = Field(
        default="",
        title="System prompt",
        description="Instructions for the model. What there is to know about files is put behind "
        "them. Empty for the usual ones.",
        max_length=100_000,
        json_schema_extra={"langgraph_nodes": ["model"], "langgraph_type": "prompt"},
    )
    evict_over: int | None = Field(
        default=None,
        title="Eviction limit",
        description="Tokens over which a message is moved to a file; empty for the usual limit.",
        ge=1,
        le=10_000_000,
        json_schema_extra={"langgraph_nodes": ["evict"]},
    )
    operations: tuple[OperationName, ...] | None = Field(
        default=None,
        title="Operations",
        description="Operations that the model may use; empty for every one that there is.",
        json_schema_extra={"langgraph_nodes": ["router"]},
    )

    @field_validator("evict_over", mode="before")
    @classmethod
    def _no_truth(cls, value: Any) -> Any:
        """Refuse `true`, which pydantic takes for 1."""
        if isinstance(value, bool):
            raise ValueError("it must be a number of tokens")
        return value


USUAL = Choices()
"""Nothing chosen: all as the graph was built."""


def chosen(runtime: Runtime[Any]) -> Choices:
    """Return what a run chose: nothing, if its context is of another kind."""
    return runtime.context if isinstance(runtime.context, Choices) else USUAL


def offered_by(operations: Mapping[str, T], runtime: Runtime[Any]) -> Mapping[str, T]:
    """Return those of the operations that the run may use."""
    names = chosen(runtime).operations
    if names is None:
        return operations
    return {name: item for name, item in operations.items() if name in names}
