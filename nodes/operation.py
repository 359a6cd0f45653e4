"""What every operation node does around its operation: once, for all of them."""

from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from langgraph_filesystem.nodes.answers import MAX_CHARACTERS, Answer, error_reply, reply
from langgraph_filesystem.nodes.calls import Call, last_ai_message, open_calls
from langgraph_filesystem.nodes.evict import UNBOUNDED
from langgraph_filesystem.nodes.filesystem import Filesystem
from langgraph_filesystem.nodes.node import Io, Node
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.nodes.operations import Operation
from langgraph_filesystem.nodes.running import read_channels
from langgraph_filesystem.nodes.settings import Settings
from langgraph_filesystem.state.failures import attempted

__all__ = ("calls_of_task", "operation_node")


def operation_node(operation: Operation, built: Settings) -> Node:
    """Return the node that answers the calls of one task, in their order."""

    async def act(
        task: Any, config: RunnableConfig, runtime: Runtime[Any], io: Io
    ) -> dict[str, Any]:
        settings = built.of_run(runtime)
        # What `evict` will move to a file must reach it whole.
        goes_to_file = operation.name in UNBOUNDED and settings.evict_over is not None
        limit = None if goes_to_file else MAX_CHARACTERS
        state = read_channels(config, "messages", "files", "seen")
        filesystem = Filesystem(
            settings,
            io,
            runtime,
            files=state.get("files", {}),
            seen=state.get("seen", {}),
            once=Once(config, io),
        )
        answers: list[ToolMessage] = []
        for call in calls_of_task(task, state["messages"]):
            filesystem.begin(call.message, str(call.position))
            filesystem.progress = _progress(operation.name, call, runtime)
            answer = await _answered(operation, call, filesystem, limit)
            if answer is None:
                break  # it comes again in the next wave, and what is behind it in this task too
            answers.append(answer)
        return {"messages": answers, **filesystem.updates()}

    return Node(operation.name, act)


def calls_of_task(task: dict[str, Any], messages: list[Any]) -> list[Call]:
    """Return the calls that a `Send` names, in their order.

    The conversation may have been edited since it was sent: what was answered or taken away in the
    meantime is left out.
    """
    message, answers = last_ai_message(messages)
    if message is None or message.id != task["message"]:
        return []
    left = open_calls(message, answers, frozenset(task["calls"]))
    calls = {call.id: call for call in left if not call.problem}
    return [calls[id] for id in task["calls"] if id in calls]


async def _answered(
    operation: Operation, call: Call, filesystem: Filesystem, limit: int | None
) -> ToolMessage | None:
    work = _acted(operation, call, filesystem)
    answer, problem = await attempted(work, f"{operation.name} {_path_of(call)}".rstrip())
    if problem is not None:
        return error_reply(call, problem)
    return None if answer is None else reply(call, answer, limit)


async def _acted(operation: Operation, call: Call, filesystem: Filesystem) -> Answer | None:
    return await operation.act(operation.parse(call.args), filesystem)


def _path_of(call: Call) -> str:
    args = call.args if isinstance(call.args, dict) else {}
    named = (args.get(name) for name in ("file_path", "path", "source", "command"))
    return next((str(value)[:500] for value in named if value), "")


def _progress(name: str, call: Call, runtime: Runtime[Any]) -> Any:
    def report(event: dict[str, Any]) -> None:
        runtime.stream_writer({"operation": name, "call": call.id, **event})

    return report
