"""Lean events: files are not repeated, and what is left out can be put together again."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.lean import reports_checkpoints
from tests.databases import emptied
from tests.graph.runs import opened_runs
from tests.scripted import ScriptedModel, call, says

FILES = {f"/big{n}": "x" * 10_000 for n in range(10)}
SCRIPT = [
    says(call("write_file", file_path="/new", content="1")),
    says(call("edit_file", file_path="/new", old_string="1", new_string="2")),
    says(call("delete", file_path="/big3")),
    says(call("ls", path="/")),
]
CONFIG: Any = {"configurable": {"thread_id": "1"}}
GIVEN: Any = {"messages": [HumanMessage("go")], "files": FILES}


def agent_of(saver: Any, **options: Any) -> Any:
    return create_filesystem_agent(ScriptedModel(SCRIPT), checkpointer=saver, **options)


def payload_of(event: Any) -> Any:
    """Return the payload of a checkpoint event in any of its forms."""
    if isinstance(event, tuple):
        return payload_of(event[-1])
    if event.get("type") in ("debug", "checkpoints") and "data" in event:
        return payload_of(event["data"])
    if event.get("type") == "checkpoint":
        return event["payload"]
    return event if "parent_config" in event else None


FORMS: dict[str, dict[str, Any]] = {
    "debug": {"stream_mode": "debug"},
    "checkpoints": {"stream_mode": "checkpoints"},
    "several": {"stream_mode": ["updates", "debug"]},
    "with subgraphs": {"stream_mode": "debug", "subgraphs": True},
    "several with subgraphs": {"stream_mode": ["checkpoints", "custom"], "subgraphs": True},
    "second version": {"stream_mode": ["debug", "values"], "version": "v2"},
}


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("options", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("awaited", [False, True])
async def test_every_form_of_the_stream_is_lean_and_complete(
    options: dict[str, Any], awaited: bool, tmp_path: Path
) -> None:
    async with opened_runs(emptied(tmp_path / "agent.db"), awaited) as runs:
        agent = agent_of(runs.checkpointer)
        events = await runs.stream(agent, GIVEN, **options)
        kept = (await runs.state(agent)).values["files"]
    payloads = [payload for payload in map(payload_of, events) if payload is not None]
    assert len(payloads) > 15
    files: dict[str, Any] = {}
    for payload in payloads:
        for path, file in payload["values"].get("files", {}).items():
            files = {**files, path: file} if file else {k: files[k] for k in files if k != path}
    assert files == kept
    assert payloads[-1]["values"]["files"] == files
    assert sum(len(json.dumps(p["values"].get("files", {}))) for p in payloads) < 230_000


def test_what_changed_is_in_the_event_of_its_checkpoint(saver: Any) -> None:
    stream = agent_of(saver).stream(GIVEN, CONFIG, stream_mode="checkpoints")
    events = [payload_of(event) for event in stream]
    changes = [set(payload["values"].get("files", {})) for payload in events[2:-1]]
    assert [sorted(change) for change in changes if change] == [["/new"], ["/new"], ["/big3"]]
    [deleted] = [p for p in events[2:-1] if "/big3" in p["values"].get("files", {})]
    assert deleted["values"]["files"] == {"/big3": None}


def test_the_first_event_of_a_later_run_has_all_files(saver: Any) -> None:
    agent = agent_of(saver)
    agent.invoke(GIVEN, CONFIG)
    stream = agent.stream({"messages": [HumanMessage("on")]}, CONFIG, stream_mode="checkpoints")
    assert len(next(stream)["values"]["files"]) == 10


def test_a_run_that_is_stopped_ends_with_all_files(saver: Any) -> None:
    agent = agent_of(saver, interrupt_before=["ls"])
    events = list(agent.stream(GIVEN, CONFIG, stream_mode="checkpoints"))
    assert events[-1]["next"] == ["ls"]
    assert len(events[-1]["values"]["files"]) == 10
    another: Any = {"configurable": {"thread_id": "2"}}
    left = agent_of(saver).stream(GIVEN, another, stream_mode="checkpoints")
    seen = [next(left) for _ in range(7)]
    assert len(seen[-1]["values"]["files"]) < 10
    left.close()
    assert len(seen[-1]["values"]["files"]) >= 10


@pytest.mark.parametrize(
    ("modes", "reported"),
    [("debug", True), (["values", "checkpoints"], True), ("values", False), (["updates"], False)],
)
def test_other_streams_are_not_touched(modes: Any, reported: bool) -> None:
    assert reports_checkpoints(modes) is reported


def test_values_are_whole(saver: Any) -> None:
    values = list(agent_of(saver).stream(GIVEN, CONFIG, stream_mode="values"))
    assert all(len(value.get("files", {})) >= 10 for value in values[1:])
