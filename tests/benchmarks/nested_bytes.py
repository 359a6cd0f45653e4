"""`nested_bytes`: what an agent takes in the database of a parent, against the agent alone."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from langgraph_filesystem import FilesystemState, create_filesystem_agent, filesystem_node
from tests.benchmarks.contestants import OURS, Contestant
from tests.benchmarks.corpus import real_text
from tests.benchmarks.rows import Row
from tests.benchmarks.runs import files_of, run
from tests.benchmarks.savers import database_bytes, open_saver
from tests.benchmarks.scripted import call

__all__ = ("measure", "title")

title = "nested_bytes: bytes in SQLite after 49 writes beside 478 kB of files"

_TARGET = 2.0


def _parent(node: Any, checkpointer: Checkpointer) -> CompiledStateGraph[Any, Any, Any, Any]:
    builder = StateGraph(FilesystemState)
    builder.add_node("agent", node)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=checkpointer)


def _node(model: BaseChatModel, checkpointer: Checkpointer) -> Any:
    return _parent(filesystem_node(create_filesystem_agent(model)), checkpointer)


def _shared(model: BaseChatModel, checkpointer: Checkpointer) -> Any:
    return _parent(create_filesystem_agent(model), checkpointer)


_NESTED = (
    Contestant("filesystem_node in a parent", _node),
    Contestant("the graph itself as a node", _shared),
)


def measure(rounds: int = 1, files: int = 10, size: int = 47_800, writes: int = 49) -> list[Row]:
    """Return the bytes; they are the same in each round, so there is one."""
    rows = []
    for visits in (1, writes):
        what = f"{visits} visit{'s' * (visits > 1)}"
        flat = _measure(OURS, files, size, writes, visits)
        rows.append(Row(what, OURS.name, flat / 1000, "kB"))
        for contestant in _NESTED:
            taken = _measure(contestant, files, size, writes, visits)
            target = _TARGET if contestant is _NESTED[0] else None
            rows.append(Row(what, contestant.name, taken / 1000, "kB", taken / flat, target))
    return rows


def _measure(contestant: Contestant, files: int, size: int, writes: int, visits: int) -> int:
    given: dict[str, str] | None = {f"/src/{n}.py": real_text(n, size) for n in range(files)}
    turns = [
        call("write_file", file_path=f"/out/{n}.md", content=real_text(1_000 + n, 200))
        for n in range(writes)
    ]
    each = writes // visits
    with TemporaryDirectory() as directory:
        database = Path(directory, "bench.db")
        with open_saver(database) as saver:
            for first in range(0, writes, each):
                _, state = run(contestant, saver, turns[first : first + each], given)
                given = None
        assert len(files_of(state)) == files + writes, contestant.name
        return database_bytes(database)
