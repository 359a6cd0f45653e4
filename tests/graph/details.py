"""What tables say of checkpoints, beside what a saver loads."""

from typing import Annotated, Any

from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from langgraph_filesystem.threads import Details, Plan, Tables
from tests.graph.runs import THREAD


def count(value: dict[str, int], writes: Any) -> dict[str, int]:
    """Reduce as nobody else does: each write is noted with how many came before it."""
    return {**value, **{key: len(value) + n for n, key in enumerate(writes)}}


class Spaced(TypedDict, total=False):
    counted: Annotated[dict[str, int], DeltaChannel(count, dict, snapshot_frequency=2)]
    plain: str
    listed: list[int]


def check_details(saver: Any, tables: Tables) -> None:
    """Look at each checkpoint of a thread, of which some have a snapshot."""
    builder = StateGraph(Spaced)
    builder.add_node("one", lambda state: {"counted": f"{len(state['counted'])}", "listed": [1]})
    builder.add_node("two", lambda state: {"plain": "p", "listed": []})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    graph: Any = builder.compile(checkpointer=saver)
    for n in range(3):
        graph.invoke({"counted": f"in{n}"}, THREAD)
    held = []
    # All at once: a saver is busy while it lists.
    for found in list(saver.list(THREAD)):
        place = found.config["configurable"]
        details = _read(saver, tables, place)
        assert details.stored == found.checkpoint["channel_values"].keys()
        assert details.changing <= {"counted"}
        assert details.version == found.checkpoint["v"]
        held.append("counted" in details.stored)
    assert set(held) == {True, False}


def _read(saver: Any, tables: Tables, place: dict[str, str]) -> Details:
    found: list[Details] = []

    def plan() -> Plan:
        names = (place["thread_id"], place["checkpoint_ns"], place["checkpoint_id"])
        found.append(tables.read((yield tables.details(names))[0]))

    saver._carry_out(plan())
    return found[0]
