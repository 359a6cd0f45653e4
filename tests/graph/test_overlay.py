"""Agents over an overlay: what they see, what the thread keeps, and that branches are separate."""

import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from langgraph_filesystem import (
    FilesystemBackend,
    FilesystemPermission,
    FilesystemState,
    OverlayBackend,
    StateBackend,
    add_filesystem,
    create_filesystem_agent,
    filesystem_condition,
    filesystem_node,
    filesystem_tool,
    guarded,
    history,
)
from tests.graph.history.obedient import deletes, edits, moves, obedient, told, writes
from tests.graph.runs import THREAD, Runs, contents, opened_runs
from tests.laws.test_conflicts import Editor, conflicts
from tests.scripted import ScriptedModel, answer, answers, call, run, says


def overlay(root: Path) -> dict[str, Any]:
    return {"/": OverlayBackend(FilesystemBackend(root))}


def texts(state: Any) -> list[str]:
    return [message.text for message in answers(state)]


def test_operations_work_on_the_merged_view_and_nothing_is_written_below(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("two\n")
    state = run(
        call("read_file", file_path="/d/a.txt"),
        call("edit_file", file_path="/d/a.txt", old_string="two", new_string="2"),
        [deletes("/b.txt"), writes("/new/c.txt", "two\n", overwrite=False)],
        [call("ls", path="/"), call("glob", pattern="*.txt"), call("grep", pattern="two")],
        mounts=overlay(tmp_path),
    )
    assert texts(state)[-3:] == ["/d/\n/new/", "/d/a.txt\n/new/c.txt", "/new/c.txt"]
    assert contents(state) == {"/d/a.txt": "one\n2\n", "/new/c.txt": "two\n"}
    assert sorted(os.listdir(tmp_path)) == ["b.txt", "d"]
    assert "overlay" not in state


def test_a_file_below_has_to_be_read_before_it_is_changed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")
    edit = call("edit_file", file_path="/a", old_string="one", new_string="1")
    assert "has not been read" in answer(edit, mounts=overlay(tmp_path)).text
    agent = obedient(overlay(tmp_path), InMemorySaver(), read_before_edit=True)
    agent.invoke(told(call("read_file", file_path="/a")), THREAD)
    (tmp_path / "a").write_text("one\nmore\n")
    state = agent.invoke(told(edit), THREAD)
    assert "has changed since" in texts(state)[-1]


@pytest.fixture(params=["sync", "async"])
async def runs(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    async with opened_runs(tmp_path / "agent.db", request.param == "async") as opened:
        yield opened


async def test_a_deleted_directory_of_many_files_is_one_entry(runs: Runs, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(10_000):
        (root / f"d/{number % 20}").mkdir(parents=True, exist_ok=True)
        (root / f"d/{number % 20}/{number}").touch()
    agent = obedient(overlay(root), runs.checkpointer)
    state = await runs.invoke(agent, told(deletes("/d"), call("ls", path="/")))
    assert texts(state)[0] == "Deleted /d."
    assert "/d" not in texts(state)[1]
    values = (await runs.state(agent)).values
    assert (values.get("files") or {}, list(values["overlay"])) == ({}, ["/d"])
    assert len(str(values["overlay"])) < 200
    if not runs.awaited:
        assert history.undo(agent, THREAD) == ["/d"]
        assert history.apply(agent, THREAD).applied == []
        history.undo(agent, THREAD)
        assert history.apply(agent, THREAD).applied == ["/d"]
        assert os.listdir(root) == []


async def test_forks_and_threads_have_trees_of_their_own(runs: Runs, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").write_text("one\n")
    agent, look = obedient(overlay(root), runs.checkpointer), call("grep", pattern="e")
    await runs.invoke(agent, told(edits("/a", "one", "first e")))
    start = (await runs.state(agent)).config
    await runs.invoke(agent, told(deletes("/a"), writes("/b", "e")))
    shown = [
        texts(await runs.invoke(agent, told(look), config))[-1]
        for config in (THREAD, start, {"configurable": {"thread_id": "2"}})
    ]
    assert shown == ["/b", "/a", "/a"]
    assert (root / "a").read_text() == "one\n"


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_parallel_agents_edit_a_file_below_and_both_edits_are_kept(
    mode: str, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("x = 1\ny = 1\nz = 1\n")
    (tmp_path / "d").mkdir()
    models = [
        Editor("one", "x = 1", "x = 2"),
        Editor("two", "y = 1", "y = 3"),
        Editor("three", "x = 1", "x = 4"),
        ScriptedModel([says(deletes("/d"), moves("/nothing", "/else"))]),
    ]
    builder = StateGraph(FilesystemState)
    for number, model in enumerate(models):
        agent = create_filesystem_agent(model, mounts=overlay(tmp_path))
        builder.add_node(f"agent-{number}", filesystem_node(agent))
        builder.add_edge(START, f"agent-{number}")
        builder.add_edge(f"agent-{number}", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    given: Any = {"messages": [HumanMessage("go")]}
    state = await graph.ainvoke(given, THREAD) if mode == "async" else graph.invoke(given, THREAD)
    values = graph.get_state(THREAD).values
    lines = values["files"]["/a"]["content"].splitlines()
    assert lines[0] in ("x = 2", "x = 4")
    assert lines[1:] == ["y = 3", "z = 1"]
    assert len(conflicts(state)) == 1
    assert sorted(values["overlay"]) == ["/a", "/d"]
    # What did not fit is no change of the directory.
    assert history.apply(graph, THREAD, as_node="agent-0").applied == ["/a", "/d"]
    assert sorted(os.listdir(tmp_path)) == ["a"]
    assert (tmp_path / "a").read_text().splitlines() == lines


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_subagents_hand_over_what_they_changed_and_deleted(mode: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x = 1\ny = 1\n")
    (tmp_path / "b").write_text("b")
    scripts = {
        "one": [says(edits("/a", "x = 1", "x = 2"))],
        "two": [says(edits("/a", "y = 1", "y = 2"), deletes("/b"))],
    }
    agent = create_filesystem_agent(
        ScriptedModel([says(*(call("task", subagent_type=n, description=n) for n in scripts))]),
        subagents=[
            {"name": name, "description": name, "model": ScriptedModel(script)}
            for name, script in scripts.items()
        ],
        mounts=overlay(tmp_path),
        read_before_edit=False,
        checkpointer=InMemorySaver(),
    )
    given: Any = {"messages": [HumanMessage("go")]}
    state = await agent.ainvoke(given, THREAD) if mode == "async" else agent.invoke(given, THREAD)
    assert contents(state) == {"/a": "x = 2\ny = 2\n"}
    (tmp_path / "a").write_text("x = 1\ny = 1\nz = 1\n")
    assert history.apply(agent, THREAD).applied == ["/a", "/b"]
    assert (tmp_path / "a").read_text() == "x = 2\ny = 2\nz = 1\n"
    assert os.listdir(tmp_path) == ["a"]


def test_a_subagent_can_not_have_an_overlay_that_the_agent_has_not(tmp_path: Path) -> None:
    inner = create_filesystem_agent(ScriptedModel(), mounts=overlay(tmp_path))
    helper = {"name": "helper", "description": "Helps.", "runnable": inner}
    with pytest.raises(ValueError, match="'helper' has an overlay mount"):
        create_filesystem_agent(ScriptedModel(), subagents=[helper])


def test_permissions_hold_for_links_and_trees_of_an_overlay(tmp_path: Path) -> None:
    (tmp_path / "safe").mkdir()
    (tmp_path / "safe/key").write_text("needle\n")
    (tmp_path / "link").symlink_to("safe/key")
    (tmp_path / "open").write_text("needle\n")
    rules = [FilesystemPermission(["read", "write"], ["/safe/**"], "deny")]
    state = run(
        [call("read_file", file_path="/link"), call("delete", file_path="/safe")],
        moves("/link", "/other"),
        [call("grep", pattern="needle"), call("glob", pattern="*")],
        mounts=overlay(tmp_path),
        permissions=rules,
    )
    assert [message.status for message in answers(state)[:3]] == ["error"] * 3
    for text in texts(state)[3:]:
        assert text.splitlines()[0] == "/open"
        assert "key" not in text
        assert "link" not in text


def test_an_agent_as_a_tool_hands_over_what_it_deleted(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")
    inner = create_filesystem_agent(ScriptedModel([says(deletes("/a"))]), mounts=overlay(tmp_path))
    tool = filesystem_tool(inner, name="helper", description="Helps.")
    turns = (call("helper", task="delete"), call("ls", path="/"))
    state = run(*turns, tools=[tool], mounts=overlay(tmp_path))
    assert "/a" not in texts(state)[-1]
    without = run(call("helper", task="delete"), tools=[tool])
    assert "filesystem_node" in texts(without)[-1]


def test_two_overlays_one_below_the_other_are_separate(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "d").mkdir(parents=True)
        (tmp_path / name / "d/a").write_text(f"{name}\n")
    mounts = {
        "/": OverlayBackend(FilesystemBackend(tmp_path / "one")),
        "/d/two": OverlayBackend(FilesystemBackend(tmp_path / "two")),
        "/own": StateBackend(),
    }
    agent = obedient(mounts, InMemorySaver())
    calls = [edits("/d/a", "one", "1"), edits("/d/two/d/a", "two", "2"), writes("/own/x", "x")]
    state = agent.invoke(told(*calls, call("grep", pattern="2")), THREAD)
    assert texts(state)[-1] == "/d/two/d/a"
    assert history.discard(agent, THREAD, ["/d/two"]) == ["/d/two/d/a"]
    assert history.apply(agent, THREAD).applied == ["/d/a"]
    assert (tmp_path / "one/d/a").read_text() == "1\n"
    assert (tmp_path / "two/d/a").read_text() == "two\n"
    assert sorted(os.listdir(tmp_path / "one")) == ["d"]


def test_a_graph_of_ones_own_has_the_channel(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")

    def model(state: Any) -> Any:
        return {"messages": [ScriptedModel([says(deletes("/a"))]).invoke(state["messages"])]}

    builder = StateGraph(FilesystemState)
    builder.add_node("model", model)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", filesystem_condition, ["router", END])
    add_filesystem(builder, then="model", mounts=overlay(tmp_path))
    graph = guarded(builder.compile(checkpointer=InMemorySaver()))
    graph.invoke({"messages": [HumanMessage("go")]}, THREAD)
    assert graph.get_state(THREAD).values["overlay"]["/a"]["kind"] == "deleted"
    assert history.diff(graph, THREAD).endswith("--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n")


def test_without_an_overlay_there_is_no_channel(tmp_path: Path) -> None:
    agent = create_filesystem_agent(ScriptedModel(), mounts={"/": FilesystemBackend(tmp_path)})
    assert "overlay" not in agent.channels


@pytest.mark.parametrize("wrong", [None, OverlayBackend, "directory"])
def test_an_overlay_needs_a_backend(wrong: Any) -> None:
    with pytest.raises(ValueError, match="`lower` must be a backend"):
        OverlayBackend(wrong)


def test_an_overlay_that_a_factory_makes_says_how_to_mount_it(tmp_path: Path) -> None:
    made = OverlayBackend(FilesystemBackend(tmp_path))
    told_so = answer(call("ls", path="/m"), mounts={"/m": lambda _: made}).text
    assert "give the factory to it instead" in told_so
    assert "works only in a graph" in (made.ls("/").error or "")


def test_nothing_gets_the_mode_of_something_else_that_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o600)
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory/file").touch(0o600)
    agent = obedient({"/": OverlayBackend(FilesystemBackend(tmp_path))}, InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke(told(deletes("/file"), deletes("/directory")), thread)
    agent.invoke(told(writes("/file/new", ""), writes("/directory/file", "")), thread)
    agent.invoke(told(moves("/file", "/a"), moves("/directory", "/b")), thread)
    history.apply(agent, thread)
    (tmp_path / "plain/directory").mkdir(parents=True)
    (tmp_path / "plain/file").touch()
    for path, like in (("a", "directory"), ("b/file", "file")):
        assert (tmp_path / path).stat().st_mode == (tmp_path / "plain" / like).stat().st_mode
