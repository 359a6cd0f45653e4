"""A program that runs an agent, kills it at random moments, and resumes it until it is done.

Run by `test_kills.py`. This process imports everything once and forks, so that a life begins in a
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
from langgraph.graph import START, StateGraph

from langgraph_filesystem import (
    FilesystemBackend,
    FilesystemState,
    LocalShellBackend,
    create_filesystem_agent,
    filesystem_node,
)
from langgraph_filesystem.state.schema import Todos, extended_schema
from tests.databases import open_database
from tests.scripted import ScriptedModel, call

END = "<end>"


def script(turns: int) -> list[AIMessage]:
    """Each turn appends to one file twice, edits another, reads both, and notes the step."""
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
            call("write_todos", todos=[step(turn)], id=f"t{turn}"),
        ]
        messages.append(AIMessage("", tool_calls=calls))
    return messages


def step(turn: int) -> dict[str, str]:
    """Return the step that a turn notes in the list."""
    return {"content": f"turn {turn}", "status": "completed"}


class Place:
    """Where the threads are kept, and where their files lie."""

    def __init__(self, database: Path, kind: str, turns: int) -> None:
        self.database = database
        self.kind = kind
        self.turns = turns
        self.script = shell_script(turns) if kind == "shell" else script(turns)

    def root(self, thread: str) -> Path:
        """Return the directory of a thread's files on disk."""
        root = self.database.parent / f"files-{thread}"
        root.mkdir(exist_ok=True)
        return root

    def agent(self, thread: str, checkpointer: Any) -> Any:
        """Return the agent of a thread."""
        if self.kind == "tasks":
            return delegating(self.root(thread), self.turns, checkpointer)
        mounts: dict[str, Any] = {
            "state": lambda: None,
            "visits": lambda: None,
            "disk": lambda: {"/": FilesystemBackend(self.root(thread))},
            "shell": lambda: {"/": LocalShellBackend(self.root(thread))},
        }
        agent = create_filesystem_agent(
            ScriptedModel(self.script),
            mounts=mounts[self.kind](),
            todos=True,
            checkpointer=None if self.kind == "visits" else checkpointer,
        )
        if self.kind != "visits":
            return agent
        # The parent of a team whose only member is the agent.
        return around(around(agent).compile()).compile(checkpointer=checkpointer)

    def files(self, thread: str, state: Any) -> dict[str, str]:
        """Return what the files of a thread hold."""
        if self.kind in ("state", "visits"):
            return {path: file["content"] for path, file in state["files"].items()}
        found = (path for path in self.root(thread).iterdir() if path.is_file())
        return {f"/{path.name}": path.read_text() for path in found}


def around(graph: Any) -> StateGraph[Any]:
    """Return a parent whose only node is a graph."""
    builder = StateGraph(extended_schema(FilesystemState, todos=Todos))
    builder.add_node("inside", filesystem_node(graph))
    builder.add_edge(START, "inside")
    return builder


def delegating(root: Path, turns: int, checkpointer: Any) -> Any:
    """Return an agent with two subagents, which append to a file on disk each."""
    names = ("a", "b")
    tasks = [call("task", description=name, subagent_type=name, id=name) for name in names]
    return create_filesystem_agent(
        ScriptedModel([AIMessage("", tool_calls=tasks)]),
        mounts={"/": FilesystemBackend(root)},
        subagents=[
            {
                "name": name,
                "description": "Appends.",
                "model": ScriptedModel(
                    [AIMessage("", tool_calls=[one]) for one in appending(f"/{name}", turns)]
                ),
            }
            for name in names
        ],
        general_purpose=False,
        checkpointer=checkpointer,
    )


def appending(path: str, turns: int) -> list[Any]:
    """Return a call that writes a file, and those that append to it."""
    return [
        call("write_file", file_path=path, content=END, id="w"),
        *(
            call("edit_file", file_path=path, old_string=END, new_string=f"{n} {END}", id=f"e{n}")
            for n in range(turns)
        ),
    ]


def shell_script(turns: int) -> list[AIMessage]:
    """Each turn runs two commands that append to a file."""
    return [
        AIMessage(
            "",
            tool_calls=[
                call("execute", command=f"echo {word}{turn} >> log", id=f"{word}{turn}")
                for word in ("x", "y")
            ],
        )
        for turn in range(turns)
    ]


def live(place: Place, thread: str) -> None:
    """Run the thread from wherever it is to its end."""
    config: Any = {"configurable": {"thread_id": thread}}
    with open_database(place.database) as (checkpointer, _):
        agent = place.agent(thread, checkpointer)
        begun = agent.get_state(config).created_at is not None
        agent.invoke(None if begun else {"messages": [HumanMessage("go", id="go")]}, config)


def life(place: Place, thread: str, seconds: float) -> bool:
    """Let a child live for so long; say whether it ended by itself."""
    child = os.fork()
    if child == 0:
        live(place, thread)
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


def outcome(place: Place, thread: str) -> dict[str, Any]:
    """Return what the thread holds in the end."""
    config: Any = {"configurable": {"thread_id": thread}}
    with open_database(place.database) as (checkpointer, _):
        state = place.agent(thread, checkpointer).get_state(config)
    answers = [m for m in state.values["messages"] if isinstance(m, ToolMessage)]
    return {
        "next": list(state.next),
        "answers": [m.tool_call_id for m in answers],
        "errors": {m.tool_call_id: m.text for m in answers if m.status == "error"},
        "files": place.files(thread, state.values),
        "todos": state.values.get("todos"),
    }


def main(place: Place, kills: int, seed: int) -> None:
    """Kill until there were enough kills, and print every thread's outcome."""
    chance = random.Random(seed)
    begin = time.monotonic()
    life(place, "measure", 60)
    whole = time.monotonic() - begin
    killed = 0
    outcomes: list[dict[str, Any]] = []
    while killed < kills:
        thread = f"t{len(outcomes)}"
        deaths = 0
        # Each thread dies up to 10 times, then it may live to its end.
        while not life(place, thread, chance.uniform(0, whole) if deaths < 10 else 60):
            deaths += 1
        killed += deaths
        outcomes.append(outcome(place, thread))
    print(json.dumps({"killed": killed, "outcomes": outcomes}))


if __name__ == "__main__":
    database, kind, turns, kills, seed = sys.argv[1:]
    main(Place(Path(database), kind, int(turns)), int(kills), int(seed))
