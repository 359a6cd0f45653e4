"""A supervisor that splits a task between two agents, in parallel and on the same files.

    python supervisor.py

Without a key it runs on `CommandModel`, and the task itself says who does what. With
`LANGGRAPH_FILESYSTEM_MODEL=openai:gpt-5` (and the key) a model plans and works.
"""

import os
import sys
from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph, add_messages
from langgraph.types import Send
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from langgraph_filesystem import (
    CommandModel,
    FileData,
    create_filesystem_agent,
    filesystem_node,
    merge_files,
    open_sqlite,
)

ROLES = {
    "writer": "You fill in the sections of reports. Touch only the section that you were given.",
    "editor": "You check style and tidy up. Touch only the section that you were given.",
}

TASK = r"""
writer:
read_file /report.md

edit_file /report.md "TODO findings" "- 14 of 14 forks survive"

editor:
read_file /report.md
read_file /style.md

edit_file /report.md "TODO summary" "All is well."
delete /scratch.md
"""

FILES = {
    "/report.md": "# Report\n\n## Findings\nTODO findings\n\n## Summary\nTODO summary\n",
    "/style.md": "Short sentences.\n",
    "/scratch.md": "old notes\n",
}


class State(TypedDict):
    """The state of the supervisor: its own, except for the reducer of `files`."""

    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, FileData], merge_files]
    orders: dict[str, str]


class Orders(BaseModel):
    """Who does what."""

    writer: str = Field(description="What the writer should do; empty for nothing.")
    editor: str = Field(description="What the editor should do; empty for nothing.")


def build(model: str | BaseChatModel) -> StateGraph[State]:
    """Return the supervisor with its two agents."""
    builder = StateGraph(State)
    builder.add_node("plan", planner(model))
    for name, role in ROLES.items():
        agent = create_filesystem_agent(model, system_prompt=role, name=name)
        builder.add_node(name, filesystem_node(agent))
        builder.add_edge(name, "report")
    builder.add_node("report", report)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", assign, list(ROLES))
    return builder


def planner(model: str | BaseChatModel) -> Any:
    """Return the node that splits the task."""

    def plan(state: State) -> dict[str, Any]:
        task = state["messages"][-1].text
        if isinstance(model, CommandModel):
            return {"orders": typed_orders(task)}
        orders: Any = load_model(model).with_structured_output(Orders).invoke(state["messages"])
        return {"orders": orders.model_dump()}

    return plan


def load_model(model: str | BaseChatModel) -> BaseChatModel:
    """Return a model, made from its name if only that is given."""
    if isinstance(model, BaseChatModel):
        return model
    from langchain.chat_models import init_chat_model

    return init_chat_model(model)


def typed_orders(task: str) -> dict[str, str]:
    """Return the text below each of the headings `writer:` and `editor:`."""
    orders = dict.fromkeys(ROLES, "")
    name = next(iter(ROLES))
    for line in task.strip().splitlines():
        if line.strip(" :") in ROLES and line.rstrip().endswith(":"):
            name = line.strip(" :")
        else:
            orders[name] += f"{line}\n"
    return orders


def assign(state: State) -> list[Send]:
    """Start each agent with a conversation of its own; it gets the files from the parent."""
    return [
        Send(name, {"messages": [HumanMessage(order)]})
        for name, order in state["orders"].items()
        if order.strip()
    ]


def report(state: State) -> dict[str, Any]:
    """Say which files there are now."""
    files = ", ".join(sorted(state["files"]))
    return {"messages": [AIMessage(f"The files are now: {files}.")]}


def main() -> None:
    """Run the task, and print each node of each agent when it has run."""
    model = os.environ.get("LANGGRAPH_FILESYSTEM_MODEL") or CommandModel()
    task = sys.stdin.read() if not sys.stdin.isatty() else TASK
    given: Any = {"messages": [HumanMessage(task.strip() or TASK)], "files": FILES}
    config: Any = {"configurable": {"thread_id": "1"}}
    with open_sqlite(os.environ.get("SUPERVISOR_DB", "supervisor.sqlite")) as (checkpointer, _):
        graph = build(model).compile(checkpointer=checkpointer)
        checkpointer.delete_thread("1")
        for namespace, update in graph.stream(given, config, subgraphs=True):
            place = "/".join(part.partition(":")[0] for part in namespace)
            for node in update:
                print(f"{place}/{node}" if place else node)
        state = graph.get_state(config).values
    print(f"\n{state['messages'][-1].text}\n\n{state['files']['/report.md']['content']}")


if __name__ == "__main__":
    main()
