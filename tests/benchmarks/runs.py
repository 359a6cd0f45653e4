"""One scripted run of one contestant, timed and checked."""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Checkpointer

from tests.benchmarks.contestants import Contestant
from tests.benchmarks.savers import Opener, write_back
from tests.benchmarks.scripted import Call, ScriptedModel

__all__ = ("CONFIG", "files_of", "run", "timed_run")

CONFIG: Any = {"configurable": {"thread_id": "bench"}, "recursion_limit": 100_000}


def timed_run(
    contestant: Contestant, opener: Opener, files: dict[str, str], turns: Sequence[Call]
) -> tuple[float, dict[str, Any]]:
    """Return the milliseconds per turn, and the state in the end."""
    given: dict[str, str] | None = files
    with TemporaryDirectory() as directory, opener(file := Path(directory, "bench.db")) as saver:
        if saver is not None:
            # A run of its own, or what it still has to store would count as time of the turns; and
            # so would the log that it leaves behind, for whoever is the one to make it full.
            run(contestant, saver, [], files)
            write_back(file)
            given = None
        seconds, state = run(contestant, saver, turns, given)
    return seconds * 1000 / len(turns), state


def run(
    contestant: Contestant,
    saver: Checkpointer,
    turns: Sequence[Call],
    files: dict[str, str] | None = None,
) -> tuple[float, dict[str, Any]]:
    """Return the seconds from the first question to the model to the end, and the state.

    The end includes what the saver still has to write. Taking the files in is not counted.
    """
    model = ScriptedModel(turns=turns)
    agent = contestant.build(model, saver)
    given: dict[str, Any] = {"messages": [("user", "Do it.")]}
    if files is not None:
        given["files"] = {path: _file(text) for path, text in files.items()}
    state = agent.invoke(given, CONFIG)
    seconds = time.perf_counter() - model.asked_first
    _check(contestant, turns, state["messages"])
    return seconds, state


def files_of(state: dict[str, Any]) -> dict[str, str]:
    """Return the text of the files in a state."""
    return {path: file["content"] for path, file in state["files"].items()}


def _file(text: str) -> dict[str, str]:
    born = "2026-01-01T00:00:00+00:00"
    return {"content": text, "encoding": "utf-8", "created_at": born, "modified_at": born}


def _check(contestant: Contestant, turns: Sequence[Call], messages: list[Any]) -> None:
    """Nobody may be fast by doing nothing."""
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    answers = answers[len(answers) - len(turns) :]
    bad = [a for a in answers if a.status == "error" or str(a.content).startswith("Error")]
    assert not bad, f"{contestant.name} answered: {bad[0].content}"
    assert len(answers) == len(turns), f"{contestant.name} answered {len(answers)} calls"
    assert isinstance(messages[-1], AIMessage), f"{contestant.name} did not come to its end"
