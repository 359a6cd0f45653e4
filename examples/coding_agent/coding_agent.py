"""A coding agent on a repository, with a person who sees every change before it is made.

    python coding_agent.py path/to/repository

The files are those on disk, below that directory and nowhere else. The graph stops before each
node that writes; you see the diff, and say yes or no.
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

from langgraph_filesystem import CommandModel, create_filesystem_agent, open_sqlite
from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend

WRITING = ["write_file", "edit_file", "delete", "move"]
PROMPT = "You work on the repository at /. Read before you change, and make small changes."
Graph = CompiledStateGraph[Any, Any, Any, Any]
Judge = Callable[[Any], bool]
"""Is given a call that would write, and says whether it may run."""


def build(model: str | BaseChatModel, files: FilesystemBackend, checkpointer: Any) -> Graph:
    """Return the agent, which stops before every node that writes."""
    return create_filesystem_agent(
        model,
        mounts={"/": files},
        system_prompt=PROMPT,
        checkpointer=checkpointer,
        interrupt_before=WRITING,
    )


def work(agent: Graph, task: str, config: Any, judge: Judge) -> str:
    """Give the agent a task, or let it go on with its last one; return its answer."""
    if task:
        agent.invoke({"messages": [HumanMessage(task)]}, config)
    while (state := agent.get_state(config)).next:
        refused = [refusal(call) for call in pending(state) if not judge(call)]
        if refused:
            # A call that is answered does not run: the others go on.
            agent.update_state(config, {"messages": refused})
        agent.invoke(None, config)
    return str(state.values["messages"][-1].text)


def pending(state: Any) -> Iterator[Any]:
    """Yield the calls that are about to run and would write."""
    message = next(m for m in reversed(state.values["messages"]) if isinstance(m, AIMessage))
    planned = {id for route in state.values["routes"] for id in route["calls"]}
    for call in message.tool_calls:
        if call["name"] in WRITING and call["id"] in planned:
            yield call


def refusal(call: Any) -> ToolMessage:
    """Return the answer to a call that may not run."""
    said = "The reviewer refused this change. Ask what they would rather have."
    return ToolMessage(said, tool_call_id=call["id"], name=call["name"], status="error")


def shown(call: Any, files: FilesystemBackend) -> str:
    """Return a change as a person wants to see it."""
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


def at_the_terminal(files: FilesystemBackend) -> Judge:
    """Return a judge that shows changes to the person at the terminal."""

    def ask(call: Any) -> bool:
        print(f"\n{shown(call, files)}\n")
        return input("make this change? [y/N] ").strip().lower().startswith("y")

    return ask


def main() -> None:
    """Take tasks from the terminal, in a thread that lasts."""
    repository = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = FilesystemBackend(repository)
    model = os.environ.get("LANGGRAPH_FILESYSTEM_MODEL") or CommandModel()
    config: Any = {"configurable": {"thread_id": str(repository)}}
    database = os.environ.get("CODING_AGENT_DB", "coding_agent.sqlite")
    with open_sqlite(database) as (checkpointer, _):
        agent = build(model, files, checkpointer)
        if agent.get_state(config).next:
            print("There is a review left from the last time.")
            print(work(agent, "", config, at_the_terminal(files)))
        for task in iter(lambda: input("\ntask (empty to end)> ").strip(), ""):
            print(work(agent, task, config, at_the_terminal(files)))


if __name__ == "__main__":
    main()
