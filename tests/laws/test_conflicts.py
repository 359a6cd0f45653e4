"""Edits of parallel branches: each lands, or is kept below `/conflicts/` and told to the model."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, StateGraph

from langgraph_filesystem import (
    FilesystemBackend,
    FilesystemState,
    StateBackend,
    create_filesystem_agent,
    filesystem_node,
)
from tests.databases import open_database
from tests.scripted import ScriptedModel, answers, call, says

TOLD = (
    "`/conflicts/` holds edits that did not fit because files were changed in parallel: read them, "
    "redo what is still needed, then delete them."
)
THREAD: Any = {"configurable": {"thread_id": "1"}}


class Editor(ScriptedModel):
    """A model that reads a file and then edits it, whatever others have said before."""

    def __init__(self, id: str, old: str, new: str, path: str = "/a") -> None:
        edit = call("edit_file", id, file_path=path, old_string=old, new_string=new)
        super().__init__([says(call("read_file", f"{id}-read", file_path=path)), says(edit)])


def parallel(*models: Any, mounts: Any = None, checkpointer: Any = None) -> Any:
    """Return a graph whose agents work at the same time, and one that comes after them."""
    builder = StateGraph(FilesystemState)
    last = ScriptedModel()
    builder.add_node("last", filesystem_node(create_filesystem_agent(last, mounts=mounts)))
    for number, model in enumerate(models):
        name = f"agent-{number}"
        builder.add_node(name, filesystem_node(create_filesystem_agent(model, mounts=mounts)))
        builder.add_edge(START, name)
    builder.add_edge([f"agent-{number}" for number in range(len(models))], "last")
    builder.add_edge("last", END)
    return builder.compile(checkpointer=checkpointer), last


def conflicts(state: Any) -> list[str]:
    return sorted(path for path in state["files"] if path.startswith("/conflicts/"))


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_of_two_edits_of_one_text_one_lands_and_the_other_is_kept_and_told(
    mode: str,
) -> None:
    graph, last = parallel(Editor("one", "x = 1", "x = 2"), Editor("two", "x = 1", "x = 3"))
    given: Any = {"messages": [HumanMessage("go")], "files": {"/a": "x = 1\ny = 1\n"}}
    state = await graph.ainvoke(given) if mode == "async" else graph.invoke(given)
    assert [reply.status for reply in answers(state)] == ["success"] * 4
    landed = state["files"]["/a"]["content"]
    assert landed in ("x = 2\ny = 1\n", "x = 3\ny = 1\n")
    [path] = conflicts(state)
    lost, new = ("two", "x = 3") if "x = 2" in landed else ("one", "x = 2")
    kept = state["files"][path]["content"]
    assert kept.startswith("This edit of /a could not be applied")
    assert f"\nCall: {lost}\n" in kept
    assert f"<<<<<<< old text\nx = 1\n=======\n{new}\n>>>>>>> new text\n" in kept
    assert last.asked[0][0].text.endswith(TOLD)


def test_edits_that_fit_leave_nothing_to_tell() -> None:
    graph, last = parallel(Editor("one", "x = 1", "x = 2"), Editor("two", "y = 1", "y = 3"))
    state = graph.invoke({"messages": [HumanMessage("go")], "files": {"/a": "x = 1\ny = 1\n"}})
    assert state["files"]["/a"]["content"] == "x = 2\ny = 3\n"
    assert conflicts(state) == []
    assert "/conflicts/" not in last.asked[0][0].text


def test_it_is_told_until_the_files_are_deleted(tmp_path: Path) -> None:
    """The root is on disk here: the files of the thread are shown all the same."""
    (tmp_path / "root").mkdir()
    mounts = {"/": FilesystemBackend(tmp_path / "root"), "/s": StateBackend()}
    editors = [Editor(id, "x", new, "/s/a") for id, new in (("one", "1"), ("two", "2"))]
    with open_database(tmp_path / "threads.db") as (saver, _):
        graph, _ = parallel(*editors, mounts=mounts, checkpointer=saver)
        given: Any = {"messages": [HumanMessage("go")], "files": {"/s/a": "x"}}
        [path] = conflicts(graph.invoke(given, THREAD))
        model = ScriptedModel(
            [
                says(call("ls", path="/conflicts")),
                says(call("read_file", file_path=path)),
                says(call("delete", file_path=path)),
            ]
        )
        agent = create_filesystem_agent(model, mounts=mounts, system_prompt="Be brief.")
        builder = StateGraph(FilesystemState).add_node("agent", filesystem_node(agent))
        builder.add_edge(START, "agent")
        state = builder.compile(checkpointer=saver).invoke(
            {"messages": [HumanMessage("resolve")]}, THREAD
        )
    said = [reply.text for reply in answers(state)][-3:]
    assert said[0] == path
    assert "This edit of /s/a could not be applied" in said[1]
    assert said[2] == f"Deleted {path}."
    assert conflicts(state) == []
    told = [TOLD in asked[0].text for asked in model.asked]
    assert told == [True, True, True, False]
    assert all(asked[0].text.startswith("Be brief.") for asked in model.asked)
