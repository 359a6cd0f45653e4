"""At every checkpoint of a run the state can be edited or forked, and the run still ends well."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from langgraph_filesystem import create_filesystem_agent
from tests.databases import aopen_database, emptied, open_database
from tests.scripted import ScriptedModel, call, says

THREAD: Any = {"configurable": {"thread_id": "1"}}
SCRIPT = [
    says(
        call("write_file", file_path="/a", content="one two", id="w1"),
        call("write_file", file_path="/b", content="x", id="w2"),
        call("ls", path="/", id="ls"),
        call("edit_file", file_path="/a", old_string="one", new_string="ONE", id="e1"),
        call("edit_file", file_path="/a", old_string="two", new_string="TWO", id="e2"),
        call("unheard_of", id="unknown"),
        call("read_file", file_path="/b", id="r"),
    ),
    says(
        call("delete", file_path="/b", id="d"),
        call("grep", pattern="ONE", path="/a", id="g"),
        call("ls", path="/../..", id="refused"),
    ),
]
IDS = sorted(["w1", "w2", "ls", "e1", "e2", "unknown", "r", "d", "g", "refused"])
CHECKPOINTS = 19

Agent = CompiledStateGraph[Any, Any, Any, Any]


def check(state: dict[str, Any], *extra: str) -> None:
    messages = state["messages"]
    assert sorted(m.tool_call_id for m in messages if isinstance(m, ToolMessage)) == IDS
    assert messages[-1].text == "done"
    assert set(state["files"]) == {"/a", *extra}
    assert state["files"]["/a"]["content"] == "ONE TWO"


def first_run(agent: Agent) -> list[Any]:
    check(agent.invoke({"messages": [HumanMessage("go")]}, THREAD))
    history = list(agent.get_state_history(THREAD))
    assert len(history) == CHECKPOINTS
    assert any(len(snapshot.next) > 1 for snapshot in history)
    return history


@pytest.mark.usefixtures("database")
def test_files_edited_at_every_checkpoint_survive_and_every_call_is_answered_once(
    tmp_path: Path,
) -> None:
    with open_database(emptied(tmp_path / "agent.sqlite")) as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(SCRIPT), checkpointer=checkpointer)
        for snapshot in first_run(agent):
            edited = agent.update_state(snapshot.config, {"files": {"/extra": "by hand"}})
            agent.invoke(None, edited)
            check(agent.get_state(THREAD).values, "/extra")


def test_a_fork_of_every_checkpoint_ends_like_the_first_run(tmp_path: Path) -> None:
    with open_database(emptied(tmp_path / "agent.sqlite")) as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(SCRIPT), checkpointer=checkpointer)
        for snapshot in first_run(agent):
            agent.invoke(None, snapshot.config)
            check(agent.get_state(THREAD).values)


@pytest.mark.usefixtures("database")
async def test_files_edited_at_every_checkpoint_survive_in_async_graphs(tmp_path: Path) -> None:
    async with aopen_database(emptied(tmp_path / "agent.sqlite")) as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(SCRIPT), checkpointer=checkpointer)
        check(await agent.ainvoke({"messages": [HumanMessage("go")]}, THREAD))
        history = [snapshot async for snapshot in agent.aget_state_history(THREAD)]
        assert len(history) == CHECKPOINTS
        for snapshot in history:
            update = {"files": {"/extra": "by hand"}}
            edited = await agent.aupdate_state(snapshot.config, update)
            await agent.ainvoke(None, edited)
            check((await agent.aget_state(THREAD)).values, "/extra")


def test_edits_at_the_head_one_after_the_other_while_single_stepping(tmp_path: Path) -> None:
    with open_database(emptied(tmp_path / "agent.sqlite")) as (checkpointer, _):
        agent = create_filesystem_agent(
            ScriptedModel(SCRIPT), checkpointer=checkpointer, interrupt_before="*"
        )
        agent.invoke({"messages": [HumanMessage("go")]}, THREAD)
        steps = 0
        while agent.get_state(THREAD).next:
            agent.update_state(THREAD, {"files": {f"/step{steps}": str(steps)}})
            agent.invoke(None, THREAD)
            steps += 1
            assert steps < 50
        check(agent.get_state(THREAD).values, *(f"/step{step}" for step in range(steps)))


@pytest.mark.usefixtures("database")
def test_a_thread_survives_reopening_history_time_travel_and_a_copy(tmp_path: Path) -> None:
    path = emptied(tmp_path / "agent.sqlite")
    with open_database(path) as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(SCRIPT), checkpointer=checkpointer)
        told = [snapshot.values.get("files", {}) for snapshot in first_run(agent)]
    with open_database(path) as (checkpointer, _):
        agent = create_filesystem_agent(ScriptedModel(SCRIPT), checkpointer=checkpointer)
        history = list(agent.get_state_history(THREAD))
        assert [snapshot.values.get("files", {}) for snapshot in history] == told
        for snapshot, files in zip(history, told, strict=True):
            assert agent.get_state(snapshot.config).values.get("files", {}) == files
        copied = agent.update_state(history[6].config, None, as_node="__copy__")
        assert agent.get_state(copied).values.get("files", {}) == told[6]
        agent.invoke(None, copied)
        check(agent.get_state(THREAD).values)


# With a person who approves every change.

REVIEWED = {"write_file": True, "edit_file": True, "delete": True}


def approve_all(agent: Agent) -> int:
    """Approve what waits until the run ends, and return how many calls that were."""
    approved = 0
    while waiting := agent.get_state(THREAD).interrupts:
        (request,) = (item.value["action_requests"] for item in waiting)
        values = agent.get_state(THREAD).values
        answered = {m.tool_call_id for m in values["messages"] if isinstance(m, ToolMessage)}
        planned = {id for route in values["routes"] for id in route["calls"]}
        assert answered.isdisjoint(planned)
        for action in request:
            there = values.get("files", {}).get(action["args"]["file_path"])
            assert (there is None) == (action["name"] == "write_file")
            assert there is None or action["args"].get("old_string", "") in there["content"]
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}] * len(request)}), THREAD)
        approved += len(request)
    return approved


@pytest.mark.parametrize("is_edited", [False, True])
def test_a_reviewed_run_continues_from_every_checkpoint_and_runs_nothing_unapproved(
    tmp_path: Path, is_edited: bool
) -> None:
    with open_database(emptied(tmp_path / "agent.sqlite")) as (checkpointer, _):
        agent = create_filesystem_agent(
            ScriptedModel(SCRIPT), checkpointer=checkpointer, interrupt_on=REVIEWED
        )
        agent.invoke({"messages": [HumanMessage("go")]}, THREAD)
        assert approve_all(agent) == 5
        check(agent.get_state(THREAD).values)
        again = []
        for snapshot in list(agent.get_state_history(THREAD)):
            config = snapshot.config
            if is_edited:
                config = agent.update_state(config, {"files": {"/extra": "by hand"}})
            agent.invoke(None, config)
            again.append(approve_all(agent))
            check(agent.get_state(THREAD).values, *(["/extra"] if is_edited else []))
        # From the end nothing is asked for again, from the beginning everything.
        assert again[0] == 0
        assert again[-1] == 5
        assert again == sorted(again)
