"""Try a task several times at once, check each attempt, and keep the best one.

    python best_of.py                                        on a small project of its own
    python best_of.py path/to/repository "sh run-tests.sh"   on yours; type the task

All attempts start from one checkpoint of one thread, so each is a branch with its own version of
the repository. The check runs in the sandbox, over the files of its branch. The repository itself
stays as it is until the best attempt is applied.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from langgraph_filesystem import (
    CommandModel,
    OverlayBackend,
    SandboxBackend,
    aopen_sqlite,
    create_filesystem_agent,
    history,
    overlay_support,
)

PROJECT = {
    "slug.py": 'def slug(title):\n    return title.lower().replace(" ", "-")\n',
    "test_slug.py": "from slug import slug\n\nassert slug(' Two  words ') == 'two-words'\n",
}
CHECK = "python3 test_slug.py"
TASK = "The repository is at /repo. `test_slug.py` fails: fix `slug.py`, and change no test."
HINTS = (
    "Make the smallest change that works.",
    "Run the test first, and think about what else could fail.",
    "Write it as if you had no code yet.",
)
"""What makes the attempts of a model differ."""
COMMANDS = r"""
read_file /repo/slug.py

edit_file /repo/slug.py "title.lower()" "title.strip().lower()"
---
read_file /repo/slug.py

edit_file /repo/slug.py 'title.lower().replace(" ", "-")' '"-".join(title.lower().split())'
---
execute "rm slug.py"
write_file /repo/slug.py <<END
import re


def slug(title):
    return re.sub(r"\s+", "-", title.strip().lower())
END

execute "python3 test_slug.py"
"""
"""What `CommandModel` does in each attempt."""
Graph = CompiledStateGraph[Any, Any, Any, Any]


class Attempt(NamedTuple):
    """One attempt, after its check."""

    checkpoint: RunnableConfig
    passed: bool
    diff: str

    @property
    def size(self) -> int:
        """Return how many lines were added and removed."""
        lines = [one for one in self.diff.splitlines() if one[:4] not in ("--- ", "+++ ")]
        return sum(line.startswith(("+", "-")) for line in lines)


def build(model: str | BaseChatModel, repository: Path, checkpointer: Any) -> Graph:
    """Return an agent whose changes wait in the thread."""
    mounts = {"/repo": OverlayBackend(SandboxBackend(repository))}
    return create_filesystem_agent(model, mounts=mounts, checkpointer=checkpointer)


async def attempts(agent: Graph, task: str, hints: Sequence[str], check: str) -> list[Attempt]:
    """Make an attempt for each hint, all at once and from the same checkpoint."""
    thread: RunnableConfig = {"configurable": {"thread_id": str(uuid4())}}
    start = await agent.aupdate_state(thread, {"messages": [HumanMessage(task)]}, as_node="model")
    return await asyncio.gather(*(attempt(agent, start, hint, check) for hint in hints))


async def attempt(agent: Graph, start: RunnableConfig, hint: str, check: str) -> Attempt:
    """Let the agent work on a branch of its own, and check what it did."""
    given = {"messages": [HumanMessage(hint)]}
    async for event in agent.astream(given, start, stream_mode="checkpoints"):
        end = event["config"]
    return Attempt(end, await passes(agent, end, check), await history.adiff(agent, end))


async def passes(agent: Graph, checkpoint: RunnableConfig, check: str) -> bool:
    """Run a command over the files of a checkpoint, as if the model had asked for it.

    This makes checkpoints after the given one. Those are never applied, so neither is anything that
    the command writes.
    """
    call = ToolCall(name="execute", args={"command": check}, id="check", type="tool_call")
    update = {"messages": [AIMessage("", tool_calls=[call])]}
    asked = await agent.aupdate_state(checkpoint, update, as_node="model")
    state = await agent.ainvoke(None, asked, interrupt_before=["model"])
    return (state["messages"][-1].artifact or {}).get("exit_code") == 0


def best_of(made: Sequence[Attempt]) -> Attempt | None:
    """Return the smallest of the attempts that passed."""
    return min((one for one in made if one.passed), key=lambda one: one.size, default=None)


async def run(repository: Path, check: str, task: str, commands: str) -> None:
    """Make the attempts, print what came of each, and apply the best one."""
    name = os.environ.get("LANGGRAPH_FILESYSTEM_MODEL")
    hints = HINTS if name else commands.split("\n---\n")
    async with aopen_sqlite(os.environ.get("BEST_OF_DB", "best_of.sqlite")) as (checkpointer, _):
        agent = build(name or CommandModel(), repository, checkpointer)
        made = await attempts(agent, task, hints, check)
        for number, one in enumerate(made, 1):
            result = "passed" if one.passed else "failed"
            print(f"attempt {number}  {result}  {one.size} changed lines")
        best = best_of(made)
        if best is None:
            print("\nNo attempt passed, so nothing was applied.")
            return
        print(f"\nattempt {made.index(best) + 1} is the best:\n\n{best.diff}")
        print(await history.aapply(agent, best.checkpoint))


def main() -> None:
    """Work on the repository that is named, or on a small project that is made for it."""
    if len(sys.argv) not in (1, 3):
        sys.exit(__doc__)
    if problem := overlay_support():
        sys.exit(f"Commands can't run over an overlay here. {problem}")
    if len(sys.argv) == 3:
        typed = sys.stdin.read()
        asyncio.run(run(Path(sys.argv[1]), sys.argv[2], typed, typed))
        return
    with TemporaryDirectory() as directory:
        for name, content in PROJECT.items():
            Path(directory, name).write_text(content)
        asyncio.run(run(Path(directory), CHECK, TASK, COMMANDS))


if __name__ == "__main__":
    main()
