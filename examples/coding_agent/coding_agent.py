"""A coding agent on a repository, with a reviewer beside it and a person who has the last word.

    python coding_agent.py path/to/repository

The agent works on the files below that directory and nowhere else. It plans with a list of steps,
reads its skills, and lets a subagent look at what it did. The graph stops before each change, shows
you the diff, and asks for a yes or a no.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from langgraph_filesystem import (
    CommandModel,
    FilesystemBackend,
    FilesystemPermission,
    Subagent,
    create_filesystem_agent,
    open_sqlite,
    read_only,
)

SKILLS = Path(__file__).parent / "skills"
PROMPT = """\
You work on the repository at /. Plan with `write_todos`, read before you change, and make small \
changes. When you are done, let the reviewer look at what you changed, and fix what it finds."""
REVIEWER = Subagent(
    name="reviewer",
    description="Reads changed files and reports mistakes. It can't change anything.",
    system_prompt="You review code. Read the files that you are told about and what uses them. "
    "Report each mistake with its path and line, the worst first. If there is none, say so.",
    operations=["ls", "read_file", "glob", "grep"],
)
PERMISSIONS = [
    read_only("/skills/", "/.git/"),
    FilesystemPermission(["read", "write"], ["/**/.env", "/**/*.pem"], "deny"),
]
REVIEWED = ["write_file", "edit_file", "delete", "move"]
REJECTED = "The person rejected this change. Ask what they want instead."
Graph = CompiledStateGraph[Any, Any, Any, Any]
Judge = Callable[[Any], bool]
"""Takes a request of the agent to change something, and returns whether it may."""


def build(model: str | BaseChatModel, repository: Path, checkpointer: Any) -> Graph:
    """Return an agent that asks before each change."""
    return create_filesystem_agent(
        model,
        mounts={"/": FilesystemBackend(repository), "/skills/": FilesystemBackend(SKILLS)},
        permissions=PERMISSIONS,
        interrupt_on=dict.fromkeys(REVIEWED, True),
        subagents=[REVIEWER],
        general_purpose=False,
        skills=["/skills/"],
        todos=True,
        system_prompt=PROMPT,
        checkpointer=checkpointer,
    )


def work(agent: Graph, task: str, config: Any, judge: Judge) -> str:
    """Give the agent a task, or let it continue with the last one; return its answer."""
    given: Any = {"messages": [HumanMessage(task)]} if task else None
    while "__interrupt__" in (state := agent.invoke(given, config)):
        [asked] = state["__interrupt__"]
        decisions = [decision(judge(request)) for request in asked.value["action_requests"]]
        given = Command(resume={"decisions": decisions})
    return str(state["messages"][-1].text)


def decision(is_allowed: bool) -> dict[str, str]:
    """Return what the graph is told about one request."""
    return {"type": "approve"} if is_allowed else {"type": "reject", "message": REJECTED}


def ask_at_terminal(request: Any) -> bool:
    """Show a request, with its diff, and ask the person at the terminal."""
    print(f"\n{request['description']}\n")
    return input("Make this change? [y/N] ").strip().lower().startswith("y")


def main() -> None:
    """Read tasks from the terminal and work on them, in one lasting thread."""
    repository = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    model = os.environ.get("LANGGRAPH_FILESYSTEM_MODEL") or CommandModel()
    config: Any = {"configurable": {"thread_id": str(repository)}}
    database = os.environ.get("CODING_AGENT_DB", "coding_agent.sqlite")
    with open_sqlite(database) as (checkpointer, _):
        agent = build(model, repository, checkpointer)
        if agent.get_state(config).next:
            print("A review is still open from the last run.")
            print(work(agent, "", config, ask_at_terminal))
        for task in iter(lambda: input("\nTask (empty to quit): ").strip(), ""):
            print(work(agent, task, config, ask_at_terminal))


if __name__ == "__main__":
    main()
