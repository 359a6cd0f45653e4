"""A thread that an earlier release wrote can be read, and goes on, with this one."""

import gzip
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_filesystem import create_filesystem_agent, open_sqlite
from tests.releases.write import BLOB, DONE, HERE, SCRIPT, WAITING
from tests.scripted import ScriptedModel, answers, call, says

KEPT = sorted(HERE.glob("*.sqlite.gz"))


@pytest.fixture(params=KEPT, ids=lambda file: file.name.removesuffix(".sqlite.gz"))
def agent_of_release(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "agent.sqlite"
    file.write_bytes(gzip.decompress(request.param.read_bytes()))
    with open_sqlite(file) as (checkpointer, store):
        yield create_filesystem_agent(ScriptedModel(SCRIPT), checkpointer=checkpointer, store=store)


def test_the_database_of_this_version_is_kept() -> None:
    assert f"{version('langgraph-filesystem')}.sqlite.gz" in {file.name for file in KEPT}


def test_a_thread_is_read_with_its_history(agent_of_release: Any) -> None:
    state = agent_of_release.get_state(DONE)
    assert state.next == ()
    assert set(state.values["files"]) == {"/notes/a.txt", "/blob"}
    assert state.values["files"]["/notes/a.txt"]["content"] == "ONE zwei €\n"
    assert {key: state.values["files"]["/blob"][key] for key in BLOB} == BLOB
    assert [m.tool_call_id for m in answers(state.values)] == ["1", "2", "3", "4", "5", "6"]
    history = list(agent_of_release.get_state_history(DONE))
    contents = {h.values.get("files", {}).get("/notes/b.txt", {}).get("content") for h in history}
    assert contents == {None, "gone soon\r\n"}


def test_a_thread_goes_on(agent_of_release: Any) -> None:
    more = says(
        call("edit_file", "7", file_path="/notes/a.txt", old_string="ONE", new_string="1"),
        call("ls", "8", path="/notes"),
    )
    going = create_filesystem_agent(
        ScriptedModel([more]), checkpointer=agent_of_release.checkpointer
    )
    state = going.invoke({"messages": [HumanMessage("more")]}, DONE)
    assert [m.status for m in answers(state)][-2:] == ["success"] * 2
    assert state["files"]["/notes/a.txt"]["content"] == "1 zwei €\n"


def test_a_thread_that_waits_is_resumed(agent_of_release: Any) -> None:
    assert set(agent_of_release.get_state(WAITING).next) == {"delete", "edit_file"}
    state = agent_of_release.invoke(None, WAITING)
    assert state["files"]["/notes/a.txt"]["content"] == "ONE zwei €\n"
    assert [m.tool_call_id for m in answers(state)] == ["1", "2", "3", "4", "5", "6"]


def test_the_store_is_read(agent_of_release: Any) -> None:
    item = agent_of_release.store.get(("users", "ada"), "name")
    assert item.value == {"is": "Ada"}
