"""What an assistant of the deployed graph can be configured with, in Studio or by the API."""

import os
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError, field_validator

from langgraph_filesystem.nodes.choices import Choices

__all__ = ("AgentContext", "check_context", "permitted_roots")

_NOT_CONTEXT = frozenset({"thread_id", "run_id", "assistant_id", "graph_id"})
"""What LangGraph itself keeps where older clients put their context."""


class AgentContext(Choices):
    """What assistants, and single runs, of the deployed graph choose."""

    root: str = Field(
        default="",
        title="Root directory",
        description="Directory of the server that is mounted at `/workspace/`, one of those that "
        "the deployment permits. Empty to keep `/workspace/` in the thread.",
        json_schema_extra={"langgraph_nodes": ["router"]},
    )
    user_id: str = Field(
        default="",
        title="User",
        description="Whose memories are mounted at `/memories/`. Where the server authenticates "
        "its users, it is the user who is signed in, whatever is given here.",
        max_length=200,
        json_schema_extra={"langgraph_nodes": ["router"]},
    )

    @field_validator("root")
    @classmethod
    def _permitted(cls, root: str) -> str:
        if root and root not in permitted_roots():
            raise ValueError(
                f"this deployment does not permit {root!r}; the roots that it permits are listed "
                "in the environment variable LANGGRAPH_FILESYSTEM_ROOTS"
            )
        return root


def permitted_roots() -> list[str]:
    """Return the directories that assistants may choose: listed as in `PATH`, none by default."""
    listed = os.environ.get("LANGGRAPH_FILESYSTEM_ROOTS", "").split(os.pathsep)
    return [root for root in listed if root]


def check_context(context: Mapping[str, Any] | None) -> None:
    """Raise for what is not known or wrong, and say what it is.

    A server drops what it does not find in the schema without a word: a misspelt name would look as
    if it had no effect.
    """
    given = {key: value for key, value in (context or {}).items() if not _is_langgraphs(key)}
    try:
        AgentContext.model_validate(given)
    except ValidationError as error:
        raise ValueError(_explained(error)) from None


def _is_langgraphs(key: str) -> bool:
    return key in _NOT_CONTEXT or key.startswith(("__", "langgraph_", "checkpoint"))


def _explained(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False, include_input=False):
        unknown = problem["type"] == "extra_forbidden"
        reason = "there is no such field" if unknown else problem["msg"]
        place = ".".join(map(str, problem["loc"]))
        problems.append(f"`{place}`: {reason.removeprefix('Value error, ')}")
    known = ", ".join(AgentContext.model_fields)
    return f"The context is wrong: {'; '.join(problems)}. It takes: {known}."
