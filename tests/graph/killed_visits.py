"""Does as `killed`, with an agent that works two graphs deep."""

import sys
from pathlib import Path
from typing import Any

from langgraph.graph import START, StateGraph

from langgraph_filesystem import FilesystemState, filesystem_node
from tests.graph.killed import Place, main


class Visits(Place):
    """Where the threads of the parents are kept."""

    def agent(self, thread: str, checkpointer: Any) -> Any:
        """Return the parent of a team whose only member is the agent."""
        team = _around(super().agent(thread, None)).compile()
        return _around(team).compile(checkpointer=checkpointer)


def _around(graph: Any) -> StateGraph[Any]:
    builder = StateGraph(FilesystemState)
    builder.add_node("inside", filesystem_node(graph))
    builder.add_edge(START, "inside")
    return builder


if __name__ == "__main__":
    database, turns, kills, seed = sys.argv[1:]
    main(Visits(Path(database), "state", int(turns)), int(kills), int(seed))
