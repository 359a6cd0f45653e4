"""The example `supervisor`: two agents at once over the same files."""

from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from tests.examples.running import load, run_script
from tests.graph.runs import contents
from tests.scripted import ScriptedModel, call, says


def test_it_runs_without_a_key(tmp_path: Path) -> None:
    printed = run_script("supervisor/supervisor.py", cwd=tmp_path)
    assert "writer/edit_file\n" in printed
    assert "editor/delete\n" in printed
    assert "The files are now: /report.md, /style.md." in printed
    assert "- 14 of 14 forks survive\n\n## Summary\nAll is well.\n" in printed
    # Again, in the database that it left.
    assert run_script("supervisor/supervisor.py", cwd=tmp_path).endswith("All is well.\n\n")


def test_a_task_can_be_piped_in(tmp_path: Path) -> None:
    task = "writer:\nwrite_file /a.md hello\n\neditor:\nls /\n"
    printed = run_script("supervisor/supervisor.py", cwd=tmp_path, typed=task)
    assert "The files are now: /a.md, /report.md, /scratch.md, /style.md." in printed


def test_a_model_may_plan(saver: Any) -> None:
    example = load("supervisor/supervisor.py")
    model = ScriptedModel(
        [says(call("write_file", file_path="/by_a_model.md", content="text"))],
        structured={"writer": "Write it.", "editor": ""},
    )
    graph: Any = example.build(model).compile(checkpointer=saver)
    given = {"messages": [HumanMessage("A report, please.")], "files": example.FILES}
    config = {"configurable": {"thread_id": "1"}}
    state = graph.invoke(given, config)
    assert graph.get_state(config).values["files"] == state["files"]
    assert contents(state).keys() == {*example.FILES, "/by_a_model.md"}
    assert state["orders"] == {"writer": "Write it.", "editor": ""}
