"""The `review` node: a person decides about calls before they run.

It asks about all calls that wait with one interrupt, in the shape of LangChain's `HITLRequest`. A
reply that does not fit never raises an error, which would break the thread: LangGraph gives the
same reply to the node each time that it runs. The node asks again instead, about one call at a
time, and says what was wrong. Until every decision fits, nothing runs.

LangGraph runs the node from its beginning for each reply, and hands out the replies in their order.
So which interrupt comes next may depend on the state and on earlier replies, and on nothing else.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from langgraph_filesystem.nodes.answers import Answer, bounded, counted, escaped, reply, valid
from langgraph_filesystem.nodes.calls import Call, last_ai_message, open_calls
from langgraph_filesystem.nodes.edit_file import EditFile, unified_diff
from langgraph_filesystem.nodes.evict import preview
from langgraph_filesystem.nodes.node import Node
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.nodes.operation import open_workspace
from langgraph_filesystem.nodes.registry import Operation
from langgraph_filesystem.nodes.router import (
    Plan,
    decisions_about,
    plan_wave,
    tool_call_of,
    whole_state,
)
from langgraph_filesystem.nodes.settings import Review, Settings
from langgraph_filesystem.nodes.write_file import WriteFile
from langgraph_filesystem.state.edits import plan_edit
from langgraph_filesystem.state.errors import FileNotFound, FilesystemError, NotText
from langgraph_filesystem.state.files import ThreadFiles
from langgraph_filesystem.state.io import attempt, in_thread
from langgraph_filesystem.state.langgraph_internals import read_channels
from langgraph_filesystem.state.schema import Decision, DecisionKind
from langgraph_filesystem.state.text import escaped_message
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("review_node",)

_REPLY = 'Reply with {"decisions": [{"type": ...}]}, with one decision for each call.'
_MAX_DESCRIPTION = 20_000
_MAX_DIFF = 20_000
"""Characters on either side of a diff, without the lines that stay at both ends."""
_CONTEXT = 3
"""Lines around a change."""
_LISTED = 20
"""Files of a directory that are named."""


def review_node(
    operations: Mapping[str, Operation], tools: Collection[str], settings: Settings
) -> Node:
    """Return the node that asks a person, answers what they reject, and plans the rest."""

    async def act(state: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        messages = state["messages"]
        made = decisions_about(messages, state.get("decisions") or [])
        plan = Plan(operations, tools, settings, made, config, runtime)
        descriptions = _Descriptions(operations, settings, config, runtime)
        answers: list[AnyMessage] = []
        calls = _waiting(state)
        for call, verdict in zip(calls, await _verdicts(calls, plan, descriptions), strict=True):
            made.append(verdict.decision(call))
            if verdict.kind in ("reject", "respond"):
                answers.append(verdict.answer(call))
        plan = Plan(operations, tools, settings, made, config, runtime)
        update = await plan_wave(plan, [*messages, *answers])
        if answers:
            update["messages"] = [*answers, *update.get("messages", [])]
        return {**update, "decisions": made}

    return Node("review", act)


def _waiting(state: Any) -> list[Call]:
    """Return the calls that are planned for a person, unless they were answered since."""
    message, answers = last_ai_message(state["messages"])
    if message is None:
        return []
    planned = [r for r in state.get("routes") or () if r["node"] == "review"]
    ids = {id for route in planned if route["message"] == message.id for id in route["calls"]}
    return [call for call in open_calls(message, answers) if call.id in ids and not call.problem]


# What a person may decide.


@dataclass(frozen=True)
class _Verdict:
    """A decision that fits its call."""

    kind: DecisionKind
    args: dict[str, Any] | None = None
    message: str = ""

    def decision(self, call: Call) -> Decision:
        made = Decision(message=call.message, call=call.id, kind=self.kind)
        return made if self.args is None else {**made, "args": self.args}

    def answer(self, call: Call) -> ToolMessage:
        """Return the answer to a call that does not run."""
        if self.kind == "respond":
            return reply(call, Answer(self.message))
        why = (
            f"They say: {self.message}"
            if self.message
            else "Don't repeat it unless they ask for it."
        )
        rejected = reply(call, Answer(f"A person rejected this call, so it was not run. {why}"))
        return rejected.model_copy(update={"status": "error"})


async def _verdicts(
    calls: Sequence[Call], plan: Plan, descriptions: "_Descriptions"
) -> list[_Verdict]:
    """Ask about all calls at once, and then about each whose decision does not fit."""
    if not calls:
        return []
    requests = [
        {"name": call.name, "args": call.args, "description": await descriptions.of(call)}
        for call in calls
    ]
    configs = [
        {
            "action_name": call.name,
            "allowed_decisions": list(descriptions.review(call).allowed_decisions),
        }
        for call in calls
    ]
    given = _listed(interrupt({"action_requests": requests, "review_configs": configs}))
    verdicts: list[_Verdict] = []
    for place, call in enumerate(calls):
        allowed = descriptions.review(call).allowed_decisions
        read = _read(call, allowed, given, place, len(calls), plan)
        while isinstance(read, str):
            problem = f"{read} None of the calls has run. Decide about this one alone."
            description = _shown(f"{problem}\n\n{requests[place]['description']}")
            request = {**requests[place], "description": description}
            again = _listed(
                interrupt({"action_requests": [request], "review_configs": [configs[place]]})
            )
            read = _read(call, allowed, again, 0, 1, plan)
        verdicts.append(read)
    return verdicts


def _listed(value: Any) -> list[Any]:
    """Return the decisions of a reply, which may also be a list, or a single decision."""
    if isinstance(value, Mapping) and "decisions" in value:
        value = value["decisions"]
    return list(value) if isinstance(value, list | tuple) else [value]


def _read(
    call: Call, allowed: Sequence[str], given: list[Any], place: int, count: int, plan: Plan
) -> _Verdict | str:
    """Return what was decided about a call, or what is wrong with the decision."""
    if len(given) != count:
        return f"The reply has {counted(len(given), 'decision')} for {counted(count, 'call')}."
    decision = given[place]
    if not isinstance(decision, Mapping) or "type" not in decision:
        return f"The reply holds something that is no decision. {_REPLY}"
    kind, message = decision["type"], decision.get("message")
    if kind not in allowed:
        return f"The decision {str(kind)[:100]!r} is not allowed. Allowed: {', '.join(allowed)}."
    if message is not None and not isinstance(message, str):
        return "The `message` of a decision must be text."
    if kind == "edit":
        return _edit(call, decision.get("edited_action"), plan)
    if kind == "respond" and not message:
        return "The decision 'respond' needs a `message`: it is the answer to the call."
    return _Verdict(kind, message=valid(message or ""))


def _edit(call: Call, action: Any, plan: Plan) -> _Verdict | str:
    if not isinstance(action, Mapping) or not isinstance(action.get("args"), dict):
        return "The decision 'edit' needs an `edited_action` with `name` and `args`."
    if action.get("name", call.name) != call.name:
        return f"An edit can't turn `{call.name}` into another tool. Reject the call instead."
    args = dict(action["args"])
    if args == call.args:
        return _Verdict("approve")
    try:
        plan.claims(replace(call, args=args))
    except FilesystemError as error:
        return f"The edited call can't run: {error}"
    return _Verdict("edit", args)


# What a person reads.


class _Descriptions:
    """Texts about calls: what each would change, in the files as they are now."""

    def __init__(
        self,
        operations: Mapping[str, Operation],
        settings: Settings,
        config: RunnableConfig,
        runtime: Runtime[Any],
    ) -> None:
        channels = read_channels(config, "files", "seen")
        files = ThreadFiles(channels.get("files") or {})
        self._workspace: Workspace = open_workspace(
            settings, runtime, files, channels.get("seen"), Once(config)
        )
        self._operations = operations
        self._settings = settings
        self._config, self._runtime = config, runtime
        self._after: dict[str, str] = {}
        """Files as they are after the calls that were described before."""

    def review(self, call: Call) -> Review:
        """Return how the calls of this name are reviewed."""
        return (self._settings.review or {}).get(call.name, Review())

    async def of(self, call: Call) -> str:
        """Return the description of a call: the developer's own first, then what it does."""
        own = await attempt(self._own(call), "describe")
        does = await attempt(self._effect(call), "describe")
        if isinstance(does, FilesystemError):
            does = f"{_called(call)}\n\n[{does}]"
        return _shown(f"{own}\n\n{does}" if own and isinstance(own, str) else does)

    async def _own(self, call: Call) -> str:
        description = self.review(call).description
        if description is None or isinstance(description, str):
            return description or ""
        state = whole_state(self._config)
        return await in_thread(description, tool_call_of(call), state, self._runtime)

    async def _effect(self, call: Call) -> str:
        operation = self._operations.get(call.name)
        if operation is None:
            return _called(call)
        args = operation.parse(call.args)
        if call.name == "write_file":
            return await self._write(args)
        if call.name == "edit_file":
            return await self._edit(args)
        if call.name == "delete":
            return f"`delete` removes {await self._contents(args.file_path)}"
        if call.name == "move":
            target = escaped(args.destination)
            return f"`move` to {target}: {await self._contents(args.source)}"
        if call.name == "execute":
            place = next((mount.prefix for mount in self._settings.mounts.shells), "/")
            return f"`execute` runs a command in {place}:\n\n{args.command}"
        return _called(call)

    async def _write(self, args: WriteFile) -> str:
        path = escaped(args.file_path)
        before = await self._text(args.file_path)
        self._after[args.file_path] = args.content
        if before is None:
            return f"`write_file` creates {path}:\n\n{_diff(path, '', args.content)}"
        fails = "" if args.overwrite else " It will fail, because `overwrite` is not set."
        change = _diff(path, before, args.content)
        return f"`write_file` replaces {path}, which exists.{fails}\n\n{change}"

    async def _edit(self, args: EditFile) -> str:
        path = escaped(args.file_path)
        before = await self._text(args.file_path)
        if before is None:
            raise FileNotFound(args.file_path)
        planned = plan_edit(
            args.file_path, before, args.old_string, args.new_string, args.replace_all
        )
        after = self._after[args.file_path] = planned.apply(before)
        places = counted(planned.count, "place")
        return f"`edit_file` changes {path} in {places}:\n\n{_diff(path, before, after)}"

    async def _text(self, path: str) -> str | None:
        """Return the text of a file, or `None` if there is none."""
        if path in self._after:
            return self._after[path]
        content = (await self._workspace.fetch([path]))[0]
        if isinstance(content, FileNotFound):
            return None
        if isinstance(content, FilesystemError):
            raise content
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise NotText(path, len(content)) from None

    async def _contents(self, path: str) -> str:
        """Return a path, with the files below it if it is a directory."""
        if await self._workspace.kind(path) != "directory":
            return f"{escaped(path)}."
        files = [info["path"] for info in (await self._workspace.inventory(path)).files]
        more = [f"[{len(files) - _LISTED:,} more]"] if len(files) > _LISTED else []
        rows = "\n".join([*map(escaped, sorted(files)[:_LISTED]), *more])
        return f"the directory {escaped(path)} with {counted(len(files), 'file')}:\n\n{rows}"


def _called(call: Call) -> str:
    args = json.dumps(call.args, ensure_ascii=False, indent=2, default=str)
    return f"`{call.name}` is called with:\n\n{args}"


def _shown(text: str) -> str:
    """Return a text for a person, in which nothing can pass for something else."""
    return bounded(escaped_message(valid(text)), _MAX_DESCRIPTION)


def _diff(path: str, before: str, after: str) -> str:
    """Return the change of a file as a unified diff, or its new text if that would be too long."""
    old, new = _lines(before), _lines(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    first, end = max(0, head - _CONTEXT), max(0, tail - _CONTEXT)
    old, new = old[first : len(old) - end], new[first : len(new) - end]
    if max(sum(map(len, old)), sum(map(len, new))) > _MAX_DIFF:
        return f"[too long for a diff; the new text:]\n{preview(after, _MAX_DESCRIPTION // 2)}"
    return unified_diff(path, old, new, first_line=first + 1, context=_CONTEXT)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += "\n\\ No newline at end of file"
    else:
        lines.pop()
    return lines


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines are the same from the beginning."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
