"""A coding agent on a repository. A person reviews every change before it is made.

    python coding_agent.py path/to/repository

The agent works on the files below that directory and nowhere else. The graph stops before each node
that changes files, shows you the diff, and asks for a yes or a no.
"""

import difflib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph.state import CompiledStateGraph

from langgraph_filesystem import (
    CommandModel,
    FilesystemBackend,
    create_filesystem_agent,
    open_sqlite,
)

CHANGING = ["write_file", "edit_file", "delete", "move"]
PROMPT = "You work on the repository at /. Read before you change, and make small changes."
Graph = CompiledStateGraph[Any, Any, Any, Any]
Reviewer = Callable[[Any], bool]
"""Takes a tool call that would change files, and returns whether it may run."""


def build(model: str | BaseChatModel, files: FilesystemBackend, checkpointer: Any) -> Graph:
    """Return an agent that stops before every node that changes files."""
    return create_filesystem_agent(
        model,
        mounts={"/": files},
        system_prompt=PROMPT,
        checkpointer=checkpointer,
        interrupt_before=CHANGING,
    )


def work(agent: Graph, task: str, config: Any, review: Reviewer) -> str:
    """Give the agent a task, or let it continue with the last one; return its answer."""
    if task:
        agent.invoke({"messages": [HumanMessage(task)]}, config)
    while (state := agent.get_state(config)).next:
        rejected = [rejection(call) for call in pending(state) if not review(call)]
        if rejected:
            # A call that is answered does not run. The other calls still do.
            agent.update_state(config, {"messages": rejected})
        agent.invoke(None, config)
    return str(state.values["messages"][-1].text)


def pending(state: Any) -> Iterator[Any]:
    """Yield the calls that would run next and change files."""
    message = next(m for m in reversed(state.values["messages"]) if isinstance(m, AIMessage))
    planned = {id for route in state.values["routes"] for id in route["calls"]}
    for call in message.tool_calls:
        if call["name"] in CHANGING and call["id"] in planned:
            yield call


def rejection(call: Any) -> ToolMessage:
    """Return the answer to a call that the reviewer rejected."""
    text = "The reviewer rejected this change. Ask what they want instead."
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")


def preview(call: Any, files: FilesystemBackend) -> str:
    """Return a change as text for a person: a diff where there is one."""
    args = call["args"]
    if call["name"] not in ("write_file", "edit_file"):
        return f"{call['name']} {' '.join(map(str, args.values()))}"
    path = args["file_path"]
    before = (files.download_files([path])[0].content or b"").decode(errors="replace")
    if call["name"] == "write_file":
        return diff(path, before, args["content"])
    times = -1 if args.get("replace_all") else 1
    return diff(path, before, before.replace(args["old_string"], args["new_string"], times))


def diff(path: str, old: str, new: str) -> str:
    """Return a unified diff."""
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"a{path}", f"b{path}", lineterm=""
    )
    return "\n".join(lines)


def ask_at_terminal(files: FilesystemBackend) -> Reviewer:
    """Return a reviewer that asks the person at the terminal."""

    def ask(call: Any) -> bool:
        print(f"\n{preview(call, files)}\n")
        return input("Make this change? [y/N] ").strip().lower().startswith("y")

    return ask


def main() -> None:
    """Read tasks from the terminal and work on them, in one lasting thread."""
    repository = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = FilesystemBackend(repository)
    model = os.environ.get("LANGGRAPH_FILESYSTEM_MODEL") or CommandModel()
    config: Any = {"configurable": {"thread_id": str(repository)}}
    database = os.environ.get("CODING_AGENT_DB", "coding_agent.sqlite")
    with open_sqlite(database) as (checkpointer, _):
        agent = build(model, files, checkpointer)
        if agent.get_state(config).next:
            print("A review is still open from the last run.")
            print(work(agent, "", config, ask_at_terminal(files)))
        for task in iter(lambda: input("\nTask (empty to quit): ").strip(), ""):
            print(work(agent, task, config, ask_at_terminal(files)))


if __name__ == "__main__":
    main()
