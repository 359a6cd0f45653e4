"""`imports`: how long a fresh interpreter takes to import the package."""

import subprocess
import sys
from functools import partial
from statistics import median

from tests.benchmarks.contestants import peers
from tests.benchmarks.rounds import median_ratio, samples
from tests.benchmarks.rows import Row

__all__ = ("LANGGRAPH", "PAIRS", "measure", "measured", "title")

title = "imports: milliseconds in a fresh interpreter"

PAIRS = {
    "package": ("import langgraph_filesystem", "import deepagents"),
    # Importing the package loads next to nothing until a name is used: so this is what a user
    # waits. Most of it, for both, is LangGraph.
    "factory": (
        "from langgraph_filesystem import create_filesystem_agent",
        "from deepagents import create_deep_agent",
    ),
}
LANGGRAPH = "import langgraph.graph"
_TARGETS = {"package": 0.5}


def measure(rounds: int = 7) -> list[Row]:
    """Return what each import takes."""
    installed = slice(2 if peers() else 1)
    statements = [LANGGRAPH, *(s for pair in PAIRS.values() for s in pair[installed])]
    taken = samples({statement: partial(measured, statement) for statement in statements}, rounds)
    found = {statement: median(values) for statement, values in taken.items()}
    rows = []
    for what, (ours, theirs) in PAIRS.items():
        rows.append(Row(what, ours, found[ours], "ms"))
        if theirs in found:
            ratio = median_ratio(taken[ours], taken[theirs])
            rows.append(Row(what, theirs, found[theirs], "ms", ratio, _TARGETS.get(what)))
    return [*rows, Row("factory", LANGGRAPH, found[LANGGRAPH], "ms")]


def measured(statement: str) -> float:
    """Return the milliseconds that one import takes."""
    program = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    # Isolated: else the current directory would be searched first, for each module.
    command = [sys.executable, "-I", "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout) * 1000
