"""The node of an operation: the steps that all operations share."""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.answers import MAX_CHARACTERS, Answer, error_reply, reply
from langgraph_filesystem.nodes.calls import Call, decided, last_ai_message, open_calls
from langgraph_filesystem.nodes.node import Node
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.nodes.registry import Operation
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import ThreadFiles
from langgraph_filesystem.state.io import attempt
from langgraph_filesystem.state.langgraph_internals import read_channels
from langgraph_filesystem.state.text import PathPart
from langgraph_filesystem.state.workspace.mounts import Mounts
from langgraph_filesystem.state.workspace.permissions import Permissions
from langgraph_filesystem.state.workspace.seen import Seen
from langgraph_filesystem.state.workspace.workspace import Limits, Workspace

__all__ = ("calls_of_task", "open_workspace", "operation_node", "read_files")


def operation_node(operation: Operation, built: Settings) -> Node:
    """Return the node that answers the calls of one task, in their order."""

    async def act(task: Any, config: RunnableConfig, runtime: Runtime[Any]) -> dict[str, Any]:
        settings = built.of_run(runtime)
        # `evict` needs the whole text of an answer that it moves to a file.
        is_evicted = not operation.is_bounded and settings.evict_over is not None
        limit = None if is_evicted else MAX_CHARACTERS
        state = read_channels(config, "messages", "seen")
        once = Once(config)
        files = read_files(config, settings.mounts)
        rules = settings.permissions
        workspace = open_workspace(
            settings, runtime, files, state.get("seen"), once, permissions=rules
        )
        answers: list[ToolMessage] = []
        update: dict[str, Any] = {}
        for call in calls_of_task(task, state["messages"], config):
            files.call = call.id
            workspace.key = once.key(call.message, str(call.position))
            workspace.progress = _progress(operation.name, call, runtime)
            answer = await attempt(
                _answer(operation, call, workspace), operation.name, *_path_of(call)
            )
            if answer is None:
                break  # it runs again in the next wave, with the later calls of this task
            if isinstance(answer, FilesystemError):
                answers.append(error_reply(call, answer))
            else:
                answers.append(reply(call, answer, limit))
                update |= answer.update
        return {"messages": answers, **workspace.updates(), **update}

    return Node(operation.name, act)


def open_workspace(
    settings: Settings,
    runtime: Runtime[Any],
    files: ThreadFiles,
    seen: Mapping[str, str] | None,
    once: Once,
    *,
    permissions: Permissions | None = None,
) -> Workspace:
    """Return the workspace of one run of a node over the channels that it has read.

    What the graph does by itself is not bound by rules, so it gives no permissions.
    """
    return Workspace(
        settings.mounts,
        files,
        runtime,
        seen=Seen(seen or {}, required=settings.read_before_edit),
        limits=Limits(settings.budget, settings.max_execute_timeout),
        before_effect=once.ready,
        permissions=permissions,
    )


def read_files(config: RunnableConfig, mounts: Mounts) -> ThreadFiles:
    """Return the files of the thread, with what it changed in overlays if there are any."""
    more = ["overlay", "overlay_scratch"] if mounts.overlays else []
    state = read_channels(config, "files", *more)
    overlay = (state.get("overlay") or {}) if mounts.overlays else None
    return ThreadFiles(state.get("files") or {}, overlay, state.get("overlay_scratch"))


def calls_of_task(task: dict[str, Any], messages: list[Any], config: RunnableConfig) -> list[Call]:
    """Return the calls that a `Send` names, in their order.

    The conversation may have been edited since it was sent: calls that were answered or removed in
    the meantime are left out. Calls that a person edited have the arguments of that person.
    """
    message, answers = last_ai_message(messages)
    if message is None or message.id != task["message"]:
        return []
    left = open_calls(message, answers, frozenset(task["calls"]))
    if task.get("edited"):
        left = decided(left, read_channels(config, "decisions").get("decisions"))
    calls = {call.id: call for call in left if not call.problem}
    return [calls[id] for id in task["calls"] if id in calls]


async def _answer(operation: Operation, call: Call, workspace: Workspace) -> Answer | None:
    assert operation.act is not None
    return await operation.act(operation.parse(call.args), workspace)


def _path_of(call: Call) -> list[str]:
    args = call.args if isinstance(call.args, dict) else {}
    named = (args.get(name) for name in ("file_path", "path", "source", "command"))
    path = next((str(value)[:500] for value in named if value), "")
    return [" ", PathPart(path)] if path else []


def _progress(name: str, call: Call, runtime: Runtime[Any]) -> Callable[[dict[str, Any]], None]:
    def report(event: dict[str, Any]) -> None:
        runtime.stream_writer({"operation": name, "call": call.id, **event})

    return report
