"""The `review` node: a person decides about calls before they run.

It asks about all calls that wait with one interrupt, in the shape of LangChain's `HITLRequest`. A
reply that does not fit runs nothing and never raises an error, which would break the thread:
LangGraph would give the same reply to the node for ever. The node notes what was wrong instead, and
asks again when it comes next, about one call at a time.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from langgraph_filesystem.nodes.answers import Answer, bounded, counted, escaped, reply, valid
from langgraph_filesystem.nodes.calls import Call, last_ai_message, open_calls
from langgraph_filesystem.nodes.edit_file import EditFile, unified_diff
from langgraph_filesystem.nodes.evict import preview
from langgraph_filesystem.nodes.node import Node
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.nodes.operation import open_workspace, read_files
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
from langgraph_filesystem.state.io import attempt, in_thread
from langgraph_filesystem.state.langgraph_internals import read_channels
from langgraph_filesystem.state.schema import Decision
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
        calls = _asked_about(state, made)
        answers: list[AnyMessage] = []
        if calls:
            descriptions = _Descriptions(operations, settings, config, runtime)
            request = await _request(calls, made, descriptions)
            given = await _reply(request, config)
            plan = Plan(operations, tools, settings, made, config, runtime)
            allowed = [descriptions.review(call).allowed_decisions for call in calls]
            verdicts = _verdicts(given, calls, allowed, plan)
            decided = {verdict.decision["call"] for verdict in verdicts}
            made = [d for d in made if d["call"] not in decided]
            made += [verdict.decision for verdict in verdicts]
            answers += [verdict.answer for verdict in verdicts if verdict.answer]
        plan = Plan(operations, tools, settings, made, config, runtime)
        update = await plan_wave(plan, [*messages, *answers])
        if answers:
            update["messages"] = [*answers, *update.get("messages", [])]
        return {**update, "decisions": made}

    return Node("review", act)


def _asked_about(state: Any, made: Sequence[Decision]) -> list[Call]:
    """Return the calls to ask about: the first with an unclear reply, else all that are open."""
    message, answers = last_ai_message(state["messages"])
    if message is None:
        return []
    planned = [r for r in state.get("routes") or () if r["node"] == "review"]
    ids = {id for route in planned if route["message"] == message.id for id in route["calls"]}
    calls = [call for call in open_calls(message, answers) if call.id in ids and not call.problem]
    unclear = {decision["call"] for decision in made if decision["kind"] == "unclear"}
    return [call for call in calls if call.id in unclear][:1] or calls


async def _request(
    calls: Sequence[Call], made: Sequence[Decision], descriptions: "_Descriptions"
) -> dict[str, Any]:
    """Return the request about some calls, in the shape of LangChain's `HITLRequest`."""
    problems = {decision["call"]: decision.get("problem") for decision in made}
    actions, configs = [], []
    for call in calls:
        description = await descriptions.of(call)
        if problem := problems.get(call.id):
            alone = "Decide about this call alone."
            description = _shown(f"{problem} {alone}\n\n{description}")
        actions.append({"name": call.name, "args": call.args, "description": description})
        allowed = list(descriptions.review(call).allowed_decisions)
        configs.append({"action_name": call.name, "allowed_decisions": allowed})
    return {"action_requests": actions, "review_configs": configs}


async def _reply(request: dict[str, Any], config: RunnableConfig) -> Any:
    """Interrupt, and return the last reply when the node runs again, if it is to this request."""
    is_replied = await Once(config).is_replied()
    replies: list[Any] = []
    while True:
        try:
            replies.append(interrupt(request))
        except GraphInterrupt:
            if not replies or not is_replied:
                raise
            return replies[-1]


# What a person may decide.


@dataclass(frozen=True)
class _Verdict:
    """A decision, and the answer to a call that does not run."""

    decision: Decision
    answer: ToolMessage | None = None


class _Misfit(Exception):
    """A reply that does not fit its request."""


def _verdicts(
    given: Any, calls: Sequence[Call], allowed: Sequence[Sequence[str]], plan: Plan
) -> list[_Verdict]:
    """Return what was decided about each call; about none if one decision does not fit."""
    decisions, read = _listed(given), list[_Verdict]()
    try:
        if len(decisions) != len(calls):
            count = counted(len(decisions), "decision")
            raise _Misfit(f"The reply has {count} for {counted(len(calls), 'call')}.")
        for call, kinds, decision in zip(calls, allowed, decisions, strict=True):
            read.append(_verdict(call, kinds, decision, plan))
    except _Misfit as misfit:
        wrong = calls[len(read) : len(read) + 1] if len(decisions) == len(calls) else calls
        other = "The decision about another call did not fit."
        return [_unclear(call, str(misfit) if call in wrong else other) for call in calls]
    return read


def _unclear(call: Call, problem: str) -> _Verdict:
    return _Verdict(Decision(message=call.message, call=call.id, kind="unclear", problem=problem))


def _listed(given: Any) -> list[Any]:
    """Return the decisions of a reply, which may also be a list, or a single decision."""
    if isinstance(given, Mapping) and "decisions" in given:
        given = given["decisions"]
    return list(given) if isinstance(given, list | tuple) else [given]


def _verdict(call: Call, allowed: Sequence[str], given: Any, plan: Plan) -> _Verdict:
    if not isinstance(given, Mapping) or "type" not in given:
        raise _Misfit(f"The reply holds something that is not a decision. {_REPLY}")
    kind, message = given["type"], given.get("message")
    if kind not in allowed:
        names = ", ".join(allowed)
        raise _Misfit(f"The decision {str(kind)[:100]!r} is not allowed. Allowed: {names}.")
    if message is not None and not isinstance(message, str):
        raise _Misfit("The `message` of a decision must be text.")
    decision = Decision(message=call.message, call=call.id, kind=kind)
    if kind == "edit":
        args = _edited(call, given.get("edited_action"), plan)
        return _Verdict({**decision, "args": args})
    if kind == "respond":
        if not message:
            raise _Misfit("The decision 'respond' needs a `message`, which answers the call.")
        return _Verdict(decision, reply(call, Answer(message)))
    if kind == "reject":
        why = f"They say: {message}" if message else "Don't repeat it unless they ask for it."
        told = reply(call, Answer(f"A person rejected this call, so it was not run. {why}"))
        return _Verdict(decision, told.model_copy(update={"status": "error"}))
    return _Verdict(decision)


def _edited(call: Call, action: Any, plan: Plan) -> dict[str, Any]:
    """Return the arguments that the call is to run with."""
    if not isinstance(action, Mapping) or not isinstance(action.get("args"), dict):
        raise _Misfit("The decision 'edit' needs an `edited_action` with `name` and `args`.")
    if action.get("name", call.name) != call.name:
        raise _Misfit(f"An edit can't turn `{call.name}` into another tool: reject the call.")
    args = dict(action["args"])
    try:
        plan.claims(replace(call, args=args))
    except FilesystemError as error:
        raise _Misfit(f"The edited call can't run: {error}") from None
    return args


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
        seen = read_channels(config, "seen").get("seen")
        files = read_files(config, settings.mounts)
        self._workspace: Workspace = open_workspace(settings, runtime, files, seen, Once(config))
        # Whoever may review calls may not be allowed to see every file.
        self._workspace.permissions = settings.permissions
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
        if before is None or args.overwrite:
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
