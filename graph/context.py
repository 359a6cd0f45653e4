"""The configuration of an assistant of the deployed graph, in Studio or by the API."""

import os
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError, field_validator

from langgraph_filesystem.nodes.choices import Choices

__all__ = ("AgentContext", "check_context", "permitted_roots")

_NOT_CONTEXT = frozenset({"thread_id", "run_id", "assistant_id", "graph_id"})
"""Keys of LangGraph itself, in the place where older clients put their context."""


class AgentContext(Choices):
    """The settings of an assistant, or of a single run, of the deployed graph."""

    root: str = Field(
        default="",
        title="Root directory",
        description="Directory of the server to mount at `/workspace/`: one of those that the "
        "deployment allows. Empty to keep `/workspace/` in the thread.",
        json_schema_extra={"langgraph_nodes": ["router"]},
    )
    user_id: str = Field(
        default="",
        title="User",
        description="The user whose memories are at `/memories/`. Ignored if the server "
        "authenticates its users: then it is the user who is signed in.",
        max_length=200,
        json_schema_extra={"langgraph_nodes": ["router"]},
    )

    @field_validator("root")
    @classmethod
    def _permitted(cls, root: str) -> str:
        if root and root not in permitted_roots():
            raise ValueError(
                f"this deployment does not allow {root!r}; the environment variable "
                "LANGGRAPH_FILESYSTEM_ROOTS lists the directories that it allows"
            )
        return root


def permitted_roots() -> list[str]:
    """Return the directories that assistants may choose, separated as in `PATH`."""
    listed = os.environ.get("LANGGRAPH_FILESYSTEM_ROOTS", "").split(os.pathsep)
    return [root for root in listed if root]


def check_context(context: Mapping[str, Any] | None) -> None:
    """Raise for unknown keys and invalid values.

    A server silently drops keys that are not in the schema, so a misspelt key would have no
    effect.
    """
    given = {key: value for key, value in (context or {}).items() if not _is_langgraph_key(key)}
    try:
        AgentContext.model_validate(given)
    except ValidationError as error:
        raise ValueError(_explained(error)) from None


def _is_langgraph_key(key: str) -> bool:
    return key in _NOT_CONTEXT or key.startswith(("__", "langgraph_", "checkpoint"))


def _explained(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False, include_input=False):
        unknown = problem["type"] == "extra_forbidden"
        reason = "there is no such field" if unknown else problem["msg"]
        place = ".".join(map(str, problem["loc"]))
        problems.append(f"`{place}`: {reason.removeprefix('Value error, ')}")
    known = ", ".join(AgentContext.model_fields)
    return f"The context is invalid: {'; '.join(problems)}. It takes: {known}."
