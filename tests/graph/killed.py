"""A program that runs an agent, kills it at random moments, and resumes it until it is done.

Run by `test_kill.py`. This process imports everything once and forks, so that a life begins in a
few milliseconds and most of it is spent in the graph.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_filesystem import create_filesystem_agent
from tests.databases import open_database
from tests.scripted import ScriptedModel, call

END = "<end>"


def script(turns: int) -> list[AIMessage]:
    """Each turn appends to one file twice, edits another, and reads both."""
    messages = [
        AIMessage(
            "",
            tool_calls=[
                call("write_file", file_path=path, content=END, id=f"w-{path[1:]}")
                for path in ("/a", "/b")
            ],
        )
    ]
    for turn in range(turns):
        calls = [
            call("edit_file", file_path=path, old_string=END, new_string=f"{word} {END}", id=word)
            for path, word in (("/a", f"x{turn}"), ("/b", f"y{turn}"), ("/a", f"z{turn}"))
        ]
        calls += [
            call("read_file", file_path="/a", id=f"ra{turn}"),
            call("ls", path="/", id=f"ls{turn}"),
        ]
        messages.append(AIMessage("", tool_calls=calls))
    return messages


def live(database: Path, thread: str, turns: int) -> None:
    """Run the thread from wherever it is to its end."""
    config: Any = {"configurable": {"thread_id": thread}}
    with open_database(database) as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(script(turns)), checkpointer=checkpointer)
        begun = agent.get_state(config).created_at is not None
        agent.invoke(None if begun else {"messages": [HumanMessage("go", id="go")]}, config)


def life(database: Path, thread: str, turns: int, seconds: float) -> bool:
    """Let a child live for so long; say whether it ended by itself."""
    child = os.fork()
    if child == 0:
        live(database, thread, turns)
        os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if status:
                raise SystemExit(f"the run of {thread} failed")
            return True
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def outcome(database: Path, thread: str, turns: int) -> dict[str, Any]:
    """Return what the thread holds in the end."""
    config: Any = {"configurable": {"thread_id": thread}}
    with open_database(database) as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(script(turns)), checkpointer=checkpointer)
        state = agent.get_state(config)
    answers = [m.tool_call_id for m in state.values["messages"] if isinstance(m, ToolMessage)]
    contents = {path: file["content"] for path, file in state.values["files"].items()}
    return {"next": list(state.next), "answers": answers, "files": contents}


def main(database: Path, kills: int, turns: int, seed: int) -> None:
    """Kill until there were enough kills, and print every thread's outcome."""
    chance = random.Random(seed)
    begin = time.monotonic()
    life(database, "measure", turns, 60)
    whole = time.monotonic() - begin
    killed = 0
    outcomes: list[dict[str, Any]] = []
    while killed < kills:
        thread = f"t{len(outcomes)}"
        deaths = 0
        # Each thread dies up to 10 times, then it may live to its end.
        while not life(database, thread, turns, chance.uniform(0, whole) if deaths < 10 else 60):
            deaths += 1
        killed += deaths
        outcomes.append(outcome(database, thread, turns))
    print(json.dumps({"killed": killed, "outcomes": outcomes}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
