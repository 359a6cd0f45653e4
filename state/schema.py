"""The state of the graph."""

from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from langgraph_filesystem.state.channels import FilesChannel, MessagesChannel, SeenChannel
from langgraph_filesystem.state.files import FileData

__all__ = (
    "CHANNELS",
    "PRIVATE",
    "Conversation",
    "Decision",
    "DecisionKind",
    "FilesystemState",
    "Route",
    "Todo",
    "Todos",
    "extended_schema",
    "missing_channels",
    "own_keys",
    "public_schema",
)


class Route(TypedDict):
    """One task of the current wave: which node answers which calls, and from which backend."""

    message: str
    """Id of the AI message that holds the calls."""
    calls: list[str]
    """Ids of the calls, in the order in which they take effect."""
    node: str
    path: str
    """The path that the calls work on, or an empty string where there is none."""
    mount: str
    """The prefix under which the backend is mounted."""
    backend: str


DecisionKind: TypeAlias = Literal["approve", "edit", "reject", "respond"]


class Decision(TypedDict):
    """What a person decided about a call of the current AI message."""

    message: str
    """Id of the AI message that holds the call."""
    call: str
    kind: DecisionKind | Literal["unclear"]
    """`unclear` if the reply did not fit: the person is asked again, about this call alone."""
    args: NotRequired[dict[str, Any]]
    """The arguments after an edit. The AI message keeps those that the model wrote."""
    problem: NotRequired[str]
    """Why the reply did not fit."""


class FilesystemState(TypedDict):
    """Messages, files, and what the graph needs to know about them.

    Extend it with keys of your own and pass it as `state_schema`.
    """

    messages: Annotated[list[AnyMessage], MessagesChannel()]
    files: NotRequired[Annotated[dict[str, FileData], FilesChannel()]]
    seen: NotRequired[Annotated[dict[str, str], SeenChannel()]]
    """Path to the digest of what the agent last read or wrote there."""
    routes: NotRequired[list[Route]]
    """The plan of the current wave."""


class Todo(TypedDict):
    """One step of the list that `write_todos` keeps, as web interfaces show it."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


def latest_todos(before: list[Todo], after: list[Todo]) -> list[Todo]:
    """Take the list that was written last: tools and branches may write one in the same step."""
    return after


Todos = NotRequired[Annotated[list[Todo], latest_todos]]
"""The type of `todos`, a channel that only a graph with `todos=True` has."""


class Conversation(TypedDict):
    """The input of most nodes: the messages only, so that files are not stored in their inputs."""

    messages: list[AnyMessage]


CHANNELS = ("messages", "files", "seen", "routes")
PRIVATE = ("seen", "routes")
"""Channels that are neither input nor output of the graph."""


def missing_channels(schema: type[Any]) -> list[str]:
    """Return the channels that a state schema lacks, or declares without our reducers."""
    hints = _hints(schema)
    wanted = {"messages": MessagesChannel, "files": FilesChannel, "seen": SeenChannel}
    missing = [key for key in CHANNELS if key not in hints]
    return missing + [
        key
        for key, kind in wanted.items()
        if key in hints and not _annotated_with(hints[key], kind)
    ]


def own_keys(schema: type[Any]) -> list[str]:
    """Return the keys that a schema of a user adds to ours, without those of the main agent."""
    ours = (*CHANNELS, "overlay", "structured_response", "todos")
    return [key for key in _hints(schema) if key not in ours]


def public_schema(schema: type[Any], name: str, **more: Any) -> type[Any]:
    """Return the schema without the private channels, for input and output."""
    public = {key: hint for key, hint in _hints(schema).items() if key not in PRIVATE}
    return _make_typed_dict(name, {**public, **more})


def extended_schema(schema: type[Any], **more: Any) -> type[Any]:
    """Return the schema with more keys, under the same name."""
    return _make_typed_dict(schema.__name__, {**_hints(schema), **more})


def _hints(schema: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(schema, include_extras=True)
    # The hints don't say that `total=False` makes keys optional: a copy would require them.
    optional: frozenset[str] = getattr(schema, "__optional_keys__", frozenset())
    return {key: _optional(hint) if key in optional else hint for key, hint in hints.items()}


def _optional(hint: Any) -> Any:
    bare = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return hint if get_origin(bare) is NotRequired else NotRequired[hint]


def _make_typed_dict(name: str, hints: dict[str, Any]) -> type[Any]:
    return TypedDict(name, hints)  # type: ignore[operator,no-any-return]  # its keys are known at run time only


def _annotated_with(hint: Any, kind: type[Any]) -> bool:
    if any(isinstance(item, kind) for item in getattr(hint, "__metadata__", ())):
        return True
    return any(_annotated_with(arg, kind) for arg in getattr(hint, "__args__", ()))
