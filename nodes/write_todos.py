"""The `write_todos` node: the list of steps that the model keeps for work of several steps."""

from collections import Counter
from typing import Annotated, Literal

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, Arguments, counted
from langgraph_filesystem.state.schema import Todo
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("WriteTodos", "write_todos")

Status = Literal["pending", "in_progress", "completed"]
_STATUSES: dict[Status, str] = {
    "completed": "completed",
    "in_progress": "in progress",
    "pending": "pending",
}


class Step(Arguments):
    """One step."""

    content: Annotated[str, Field(min_length=1, description="What is to be done.")]
    status: Status


class WriteTodos(Arguments):
    """Keep a list of the steps of the task, which people can see while you work.

    The list replaces the one before it: always send all steps, the finished ones too. Set a step to
    `in_progress` before you begin it and to `completed` as soon as it is done. Add the steps that
    you find on the way, and leave out those that are no longer needed. A task of one or two steps
    needs no list.
    """

    todos: Annotated[list[Step], Field(description="All steps, in their order.")]


async def write_todos(args: WriteTodos, workspace: Workspace) -> Answer:
    """Replace the list."""
    todos = [Todo(content=step.content, status=step.status) for step in args.todos]
    counts = Counter(step.status for step in args.todos)
    told = ", ".join(
        f"{counts[status]:,} {shown}" for status, shown in _STATUSES.items() if counts[status]
    )
    text = f"The list has {counted(len(todos), 'step')}: {told}." if todos else "The list is empty."
    return Answer(text, update={"todos": todos})
