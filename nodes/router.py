"""The `router` node: plans which calls run now, in which tasks and on which mounts.

Calls take effect as if they ran one after the other, in the order in which the model wrote them.
Calls that can't affect each other run in parallel; the others wait for the next wave.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from langgraph_filesystem.nodes.answers import error_reply, shown_name
from langgraph_filesystem.nodes.calls import Call, last_ai_message, open_calls, unanswered
from langgraph_filesystem.nodes.node import Edge, Node
from langgraph_filesystem.nodes.registry import Operation
from langgraph_filesystem.nodes.settings import Settings, offered_by
from langgraph_filesystem.state.channels import OverlayChannel, SeenChannel
from langgraph_filesystem.state.entries import OverlayEntry
from langgraph_filesystem.state.errors import FilesystemError, InvalidCall
from langgraph_filesystem.state.paths import is_within, overlaps
from langgraph_filesystem.state.schema import Route

__all__ = ("OverlaidInput", "RouterInput", "dispatch_edge", "router_node")


class RouterInput(TypedDict):
    """What the router reads."""

    messages: list[AnyMessage]
    routes: NotRequired[list[Route]]


class OverlaidInput(RouterInput):
    """The same in a graph with an overlay mount: gives the graph the channels of overlays."""

    overlay: NotRequired[Annotated[dict[str, OverlayEntry], OverlayChannel()]]
    overlay_scratch: NotRequired[Annotated[dict[str, str], SeenChannel()]]
    """Where commands have left files for the next one, by the prefix of the mount."""


def router_node(
    operations: Mapping[str, Operation], tools: Collection[str], settings: Settings
) -> Node:
    """Return the node that plans a wave, and answers calls that can't run."""

    async def act(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        plan = _Plan(offered_by(operations, runtime), tools, settings)
        for call in unanswered(state["messages"]):
            plan.add(call)
        update: dict[str, Any] = {"routes": plan.routes()}
        if plan.rejections:
            update["messages"] = plan.rejections
        return update

    return Node("router", act)


def dispatch_edge() -> Edge:
    """Return the edge behind the router: a `Send` for each task with unanswered calls.

    It is a pure function of the state, so a run can continue from a state that was edited at any
    checkpoint.
    """

    def choose(state: Any) -> list[Send] | str:
        message, answers = last_ai_message(state["messages"])
        if message is None:
            return "evict"
        waiting = {call.id for call in open_calls(message, answers) if not call.problem}
        sends = []
        for route in state.get("routes") or ():
            calls = [id for id in route["calls"] if id in waiting]
            if calls and route["message"] == message.id:
                sends.append(Send(route["node"], {"message": message.id, "calls": calls}))
        return sends or "evict"

    return Edge("dispatch", choose)


@dataclass(frozen=True)
class _Claim:
    """What a call works on: a path and everything below it, or a whole mount."""

    path: str
    changes: bool
    served_by: str
    whole_mount: bool = False
    by_subagent: bool = False
    """Subagents may touch any file. What they change is merged, so they run beside each other."""

    def conflicts(self, other: "_Claim") -> bool:
        if self.by_subagent or other.by_subagent:
            return self.by_subagent != other.by_subagent
        if not (self.changes or other.changes):
            return False
        if self.whole_mount:
            return other.served_by == self.path or is_within(self.path, other.path)
        if other.whole_mount:
            return other.conflicts(self)
        return overlaps(self.path, other.path)


@dataclass
class _Task:
    node: str
    claims: tuple[_Claim, ...]
    calls: list[Call]


class _Plan:
    """The tasks of one wave, call by call."""

    def __init__(
        self, operations: Mapping[str, Operation], tools: Collection[str], settings: Settings
    ) -> None:
        self.rejections: list[ToolMessage] = []
        self._operations = operations
        self._tools = tools
        self._mounts = settings.mounts
        self._shells = settings.mounts.shells
        self._tasks: dict[object, _Task] = {}
        self._waiting: dict[_Claim, None] = {}

    def add(self, call: Call) -> None:
        """Add a call to this wave, leave it for the next one, or reject it."""
        try:
            claims = self._claims(call)
        except FilesystemError as error:
            self.rejections.append(error_reply(call, error))
            return
        node = call.name if call.name in self._operations else "tools"
        is_grouped = call.name in self._operations and node != "task"
        key = (node, claims) if is_grouped else call.position
        if _conflict(claims, self._waiting):
            self._waiting.update(dict.fromkeys(claims))
        elif key in self._tasks:
            self._tasks[key].calls.append(call)
        elif any(_conflict(claims, task.claims) for task in self._tasks.values()):
            self._waiting.update(dict.fromkeys(claims))
        else:
            self._tasks[key] = _Task(node, claims, [call])

    def routes(self) -> list[Route]:
        """Return the plan as it is written to the state."""
        return [self._route(task) for task in self._tasks.values()]

    def _claims(self, call: Call) -> tuple[_Claim, ...]:
        if call.problem:
            raise InvalidCall(call.problem)
        operation = self._operations.get(call.name)
        if operation is None:
            if call.name in self._tools and isinstance(call.args, dict):
                return ()
            raise InvalidCall(self._unknown(call))
        args = operation.parse(call.args)
        if operation.name == "task":
            return (_Claim("/", True, "/", by_subagent=True),)
        if operation.name == "execute":
            prefixes = [mount.prefix for mount in self._shells]
            return tuple(_Claim(prefix, True, prefix, whole_mount=True) for prefix in prefixes)
        return tuple(
            _Claim(path, operation.changes, self._mounts.locate(path).prefix)
            for named in operation.paths(args)
            for path in self._with_alias(named)
        )

    def _with_alias(self, path: str) -> list[str]:
        """Return a path, and the path that it is an alias of, if there is one."""
        alias = self._mounts.alias_of(path)
        return [path] if alias is None else [path, alias.resolve(path)]

    def _unknown(self, call: Call) -> str:
        if call.name in self._tools:
            return f"The arguments of `{call.name}` must be a JSON object."
        known = ", ".join([*self._operations, *self._tools])
        return f"There is no tool {shown_name(call.name)!r}. There are: {known}."

    def _route(self, task: _Task) -> Route:
        first = task.claims[0] if task.claims else None
        mount = self._mounts.locate(first.path) if first else None
        return Route(
            message=task.calls[0].message,
            calls=[call.id for call in task.calls],
            node=task.node,
            path=first.path if first and not first.whole_mount else "",
            mount=mount.prefix if mount else "",
            backend=mount.name if mount else "",
        )


def _conflict(claims: Sequence[_Claim], others: Collection[_Claim]) -> bool:
    return any(claim.conflicts(other) for claim in claims for other in others)
