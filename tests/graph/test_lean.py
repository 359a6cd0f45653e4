"""Lean events: files are not repeated, and what is left out can be put together again."""

import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_filesystem import create_filesystem_agent
from langgraph_filesystem.lean import reports_checkpoints
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


def agent_of(**options: Any) -> Any:
    return create_filesystem_agent(ScriptedModel(SCRIPT), checkpointer=InMemorySaver(), **options)


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


@pytest.mark.parametrize("options", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_every_form_of_the_stream_is_lean_and_complete(
    options: dict[str, Any], mode: str
) -> None:
    agent = agent_of()
    if mode == "sync":
        events: list[Any] = list(agent.stream(GIVEN, CONFIG, **options))
    else:
        events = [event async for event in agent.astream(GIVEN, CONFIG, **options)]
    payloads = [payload for payload in map(payload_of, events) if payload is not None]
    assert len(payloads) > 15
    files: dict[str, Any] = {}
    for payload in payloads:
        for path, file in payload["values"].get("files", {}).items():
            files = {**files, path: file} if file else {k: files[k] for k in files if k != path}
    assert files == agent.get_state(CONFIG).values["files"]
    assert payloads[-1]["values"]["files"] == files
    assert sum(len(json.dumps(p["values"].get("files", {}))) for p in payloads) < 230_000


def test_what_changed_is_in_the_event_of_its_checkpoint() -> None:
    events = [payload_of(e) for e in agent_of().stream(GIVEN, CONFIG, stream_mode="checkpoints")]
    changes = [set(payload["values"].get("files", {})) for payload in events[2:-1]]
    assert [sorted(change) for change in changes if change] == [["/new"], ["/new"], ["/big3"]]
    [deleted] = [p for p in events[2:-1] if "/big3" in p["values"].get("files", {})]
    assert deleted["values"]["files"] == {"/big3": None}


def test_the_first_event_of_a_later_run_has_all_files() -> None:
    agent = agent_of()
    agent.invoke(GIVEN, CONFIG)
    stream = agent.stream({"messages": [HumanMessage("on")]}, CONFIG, stream_mode="checkpoints")
    assert len(next(stream)["values"]["files"]) == 10


def test_a_run_that_is_stopped_ends_with_all_files() -> None:
    agent = agent_of(interrupt_before=["ls"])
    events = list(agent.stream(GIVEN, CONFIG, stream_mode="checkpoints"))
    assert events[-1]["next"] == ["ls"]
    assert len(events[-1]["values"]["files"]) == 10
    left = agent_of().stream(GIVEN, CONFIG, stream_mode="checkpoints")
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


def test_values_are_whole() -> None:
    values = list(agent_of().stream(GIVEN, CONFIG, stream_mode="values"))
    assert all(len(value.get("files", {})) >= 10 for value in values[1:])
