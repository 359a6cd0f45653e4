"""The `router` node: plans which calls run now, in which tasks and on which mounts.

Calls take effect as if they ran one after the other, in the order in which the model wrote them.
Calls that can't affect each other run in parallel; the others wait for the next wave. Calls that
need the approval of a person come last: `review` asks about them when nothing else can run.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt import ToolRuntime
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from langgraph_filesystem.nodes.answers import error_reply, shown_name
from langgraph_filesystem.nodes.calls import (
    Call,
    decided,
    last_ai_message,
    open_calls,
    unanswered,
)
from langgraph_filesystem.nodes.node import Edge, Node
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.nodes.operation import open_workspace, read_files
from langgraph_filesystem.nodes.registry import Operation
from langgraph_filesystem.nodes.settings import Settings, chosen, offered_by
from langgraph_filesystem.state.channels import OverlayChannel
from langgraph_filesystem.state.entries import OverlayEntry
from langgraph_filesystem.state.errors import DeniedByRule, FilesystemError, InvalidCall
from langgraph_filesystem.state.io import attempt, in_thread
from langgraph_filesystem.state.langgraph_internals import read_channels, running_channels
from langgraph_filesystem.state.paths import is_within, overlaps
from langgraph_filesystem.state.schema import Decision, Route
from langgraph_filesystem.state.text import PathPart

__all__ = (
    "OverlaidInput",
    "Plan",
    "ReviewedInput",
    "RouterInput",
    "decisions_about",
    "dispatch_edge",
    "plan_wave",
    "router_node",
    "tool_call_of",
    "whole_state",
)


class RouterInput(TypedDict):
    """What the router reads."""

    messages: list[AnyMessage]
    routes: NotRequired[list[Route]]


class OverlaidInput(RouterInput):
    """The same in a graph with an overlay mount: gives the graph the channel `overlay`."""

    overlay: NotRequired[Annotated[dict[str, OverlayEntry], OverlayChannel()]]


class ReviewedInput(RouterInput):
    """What the router and `review` read, in a graph where a person can be asked."""

    decisions: NotRequired[list[Decision]]
    """What a person has decided about the calls of the last AI message."""


def router_node(
    operations: Mapping[str, Operation], tools: Collection[str], settings: Settings
) -> Node:
    """Return the node that plans a wave, and answers calls that can't run."""

    async def act(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        decisions = state.get("decisions") or []
        current = decisions_about(state["messages"], decisions)
        plan = Plan(operations, tools, settings, current, config, runtime)
        update = await plan_wave(plan, state["messages"])
        return {**update, "decisions": current} if len(current) < len(decisions) else update

    return Node("router", act)


async def plan_wave(plan: "Plan", messages: list[AnyMessage]) -> dict[str, Any]:
    """Return what a node writes to plan the next wave."""
    for call in decided(unanswered(messages), plan.decisions):
        await plan.add(call)
    update: dict[str, Any] = {"routes": plan.routes()}
    if plan.rejections:
        update["messages"] = plan.rejections
    return update


def decisions_about(messages: list[AnyMessage], decisions: Sequence[Decision]) -> list[Decision]:
    """Return the decisions about the last AI message: older ones are forgotten."""
    message, _ = last_ai_message(messages)
    return [d for d in decisions if message is not None and d["message"] == message.id]


def dispatch_edge(*, may_ask: bool = False) -> Edge:
    """Return the edge behind the router, or behind `review`; `may_ask` if it may go to `review`.

    It goes to a `Send` for each task with unanswered calls, else to `review` if there are calls
    that wait for a person. It is a pure function of the state, so a run can continue from a state
    that was edited at any checkpoint.
    """

    def choose(state: Any) -> list[Send] | str:
        message, answers = last_ai_message(state["messages"])
        if message is None:
            return "evict"
        waiting = {call.id for call in open_calls(message, answers) if not call.problem}
        edited = {d["call"] for d in state.get("decisions") or () if "args" in d}
        sends, asks = [], False
        for route in state.get("routes") or ():
            calls = [id for id in route["calls"] if id in waiting]
            if not calls or route["message"] != message.id:
                continue
            if route["node"] == "review":
                asks = may_ask
                continue
            payload: dict[str, Any] = {"message": message.id, "calls": calls}
            if not edited.isdisjoint(calls):
                payload["edited"] = True
            sends.append(Send(route["node"], payload))
        return sends or ("review" if asks else "evict")

    return Edge("dispatch", choose)


@dataclass(frozen=True)
class _Claim:
    """What a call works on: a path and everything below it, or the mounts that commands reach."""

    path: str
    changes: bool
    served_by: str
    reaches: frozenset[str] = frozenset()
    """The prefixes of the mounts that a command may reach."""
    by_subagent: bool = False
    """Subagents may touch any file. What they change is merged, so they run beside each other."""

    def conflicts(self, other: "_Claim") -> bool:
        if self.by_subagent or other.by_subagent:
            return self.by_subagent != other.by_subagent
        if not (self.changes or other.changes):
            return False
        if self.reaches:
            return other.served_by in self.reaches or is_within(self.path, other.path)
        if other.reaches:
            return other.conflicts(self)
        return overlaps(self.path, other.path)


@dataclass
class _Task:
    node: str
    claims: tuple[_Claim, ...]
    calls: list[Call]


class Plan:
    """The tasks of one wave, call by call."""

    def __init__(
        self,
        operations: Mapping[str, Operation],
        tools: Collection[str],
        settings: Settings,
        decisions: Sequence[Decision],
        config: RunnableConfig,
        runtime: Runtime[Any],
    ) -> None:
        self.rejections: list[ToolMessage] = []
        self.decisions = decisions
        self._operations = offered_by(operations, runtime)
        self._tools = tools
        self._settings = settings
        self._mounts = settings.mounts
        self._config, self._runtime = config, runtime
        self._tasks: dict[object, _Task] = {}
        self._for_person: list[Call] = []
        self._asked: dict[_Claim, None] = {}
        """Claims of the calls that a person is asked about."""
        self._held: dict[_Claim, None] = {}
        """Claims of the other calls that wait."""

    async def add(self, call: Call) -> None:
        """Add a call to this wave, leave it for the next one or a person, or reject it."""
        try:
            claims = self.claims(call)
            needs_person = await self._needs_person(call, claims)
        except FilesystemError as error:
            self.rejections.append(error_reply(call, error))
            return
        node = call.name if call.name in self._operations else "tools"
        is_grouped = call.name in self._operations and node != "task"
        key = (node, claims) if is_grouped else call.position
        follows_task = any(_conflict(claims, task.claims) for task in self._tasks.values())
        if needs_person and not follows_task and not _conflict(claims, self._held):
            self._for_person.append(call)
            self._asked.update(dict.fromkeys(claims))
        elif needs_person or _conflict(claims, self._held) or _conflict(claims, self._asked):
            self._held.update(dict.fromkeys(claims))
        elif key in self._tasks:
            self._tasks[key].calls.append(call)
        elif follows_task:
            self._held.update(dict.fromkeys(claims))
        else:
            self._tasks[key] = _Task(node, claims, [call])

    def routes(self) -> list[Route]:
        """Return the plan as it is written to the state."""
        if self._for_person and not self._tasks:
            return [self._route(_Task("review", (), self._for_person))]
        return [self._route(task) for task in self._tasks.values()]

    def claims(self, call: Call) -> tuple[_Claim, ...]:
        """Return what a call works on, or raise if it can't or must not run."""
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
            prefixes = [mount.prefix for mount in self._mounts.shells]
            reached = self._mounts.reached_by_commands
            claims = [_Claim(prefix, True, prefix, reached) for prefix in prefixes]
        else:
            claims = [
                _Claim(path, operation.changes, self._mounts.locate(path).prefix)
                for named in operation.paths(args)
                for path in self._with_alias(named)
            ]
        for claim in claims if self._settings.permissions else ():
            if self._settings.permissions.mode(call.name, claim.path) == "deny":
                raise DeniedByRule(claim.path, f"a rule of this agent denies `{call.name}` here.")
        return tuple(claims)

    async def _needs_person(self, call: Call, claims: Sequence[_Claim]) -> bool:
        reviews, permissions = self._settings.review, self._settings.permissions
        is_chosen = call.name in chosen(self._runtime).interrupt_on
        if reviews is None and not is_chosen:
            return False
        kinds = {d["kind"] for d in self.decisions if d["call"] == call.id}
        if kinds - {"unclear"}:
            return False
        if reviews is None:
            raise FilesystemError(
                f"A person must approve `{call.name}`, and this graph has no way to ask one."
            )
        return (
            is_chosen
            # A person was asked, whatever `when` and the choices of this run say by now.
            or "unclear" in kinds
            or any(permissions.mode(call.name, c.path) == "interrupt" for c in claims)
            or await self._is_restricted_below(call, claims)
            or (call.name in reviews and await self._applies(call))
        )

    async def _is_restricted_below(self, call: Call, claims: Sequence[_Claim]) -> bool:
        """Say whether a call would take a directory away in which a person must be asked."""
        if call.name not in ("delete", "move"):
            return False
        may_restrict = self._settings.permissions.may_restrict_below
        paths = [c.path for c in claims if may_restrict(call.name, c.path, ("interrupt",))]
        if not paths:
            return False
        files = read_files(self._config, self._settings.mounts)
        workspace = open_workspace(self._settings, self._runtime, files, None, Once(self._config))
        kinds = [await attempt(workspace.kind(path), "look at ", PathPart(path)) for path in paths]
        return any(kind not in (None, "file") for kind in kinds)

    async def _applies(self, call: Call) -> bool:
        """Say what `when` says about a call; a person decides if it fails."""
        assert self._settings.review is not None
        when = self._settings.review[call.name].when
        if when is None:
            return True
        state, runtime = whole_state(self._config), self._runtime
        tool_runtime: ToolRuntime[Any, Any] = ToolRuntime(
            state=state,
            context=runtime.context,
            config=self._config,
            stream_writer=runtime.stream_writer,
            tool_call_id=call.id,
            store=runtime.store,
        )
        request = ToolCallRequest(tool_call_of(call), None, state, tool_runtime)
        answer = await attempt(in_thread(when, request), "`when`")
        return isinstance(answer, FilesystemError) or bool(answer)

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
            path=first.path if first and not first.reaches else "",
            mount=mount.prefix if mount else "",
            backend=mount.name if mount else "",
        )


def whole_state(config: RunnableConfig) -> dict[str, Any]:
    """Return every channel of the running graph, as LangGraph's tools get them."""
    return read_channels(config, *(running_channels(config) or ()))


def tool_call_of(call: Call) -> ToolCall:
    """Return a call as LangChain writes it."""
    return ToolCall(name=call.name, args=call.args, id=call.id, type="tool_call")


def _conflict(claims: Sequence[_Claim], others: Collection[_Claim]) -> bool:
    return any(claim.conflicts(other) for claim in claims for other in others)
