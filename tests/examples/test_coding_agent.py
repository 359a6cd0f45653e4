"""The example `coding_agent`: no change is made that a person has not seen."""

from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem import CommandModel, FilesystemBackend, open_sqlite
from tests.examples.running import load, run_script

EDIT = 'edit_file /app.py "old" "new"'
TASK = f"""\
read_file /app.py

{EDIT}
write_file /notes/todo.md "- test it\\n"
delete /junk.txt
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "app.py").write_text("first\nold\nlast\n")
    (root / "junk.txt").write_text("junk\n")
    return root


def test_a_person_sees_each_change_and_only_what_is_allowed_is_made(
    repository: Path, saver: Any
) -> None:
    example = load("coding_agent/coding_agent.py")
    files, seen = FilesystemBackend(repository), []

    def judge(call: Any) -> bool:
        seen.append(example.preview(call, files))
        # Nothing has happened yet.
        assert (repository / "app.py").read_text() == "first\nold\nlast\n"
        assert (repository / "junk.txt").exists()
        return bool(call["name"] != "delete")

    config: Any = {"configurable": {"thread_id": "1"}}
    agent = example.build(CommandModel(), files, saver)
    answer = example.work(agent, TASK, config, judge)
    assert seen == [
        "--- a/app.py\n+++ b/app.py\n@@ -1,3 +1,3 @@\n first\n-old\n+new\n last",
        "--- a/notes/todo.md\n+++ b/notes/todo.md\n@@ -0,0 +1 @@\n+- test it",
        "delete /junk.txt",
    ]
    assert (repository / "app.py").read_text() == "first\nnew\nlast\n"
    assert (repository / "notes/todo.md").read_text() == "- test it\n"
    assert (repository / "junk.txt").exists()
    assert "The reviewer rejected this change" in answer


def test_it_runs_at_a_terminal_without_a_key(repository: Path, tmp_path: Path) -> None:
    typed = f"read_file /app.py\n{EDIT}\ny\ndelete /junk.txt\nn\n\n"
    printed = run_script("coding_agent/coding_agent.py", str(repository), cwd=tmp_path, typed=typed)
    assert "-old\n+new\n" in printed
    assert (repository / "app.py").read_text() == "first\nnew\nlast\n"
    assert (repository / "junk.txt").exists()


def test_a_review_that_was_left_open_is_still_open(repository: Path, tmp_path: Path) -> None:
    example = load("coding_agent/coding_agent.py")
    config: Any = {"configurable": {"thread_id": str(repository)}}
    with open_sqlite(tmp_path / "coding_agent.sqlite") as (checkpointer, _):
        agent = example.build(CommandModel(), FilesystemBackend(repository), checkpointer)
        task: Any = {"messages": [("user", f"read_file /app.py\n\n{EDIT}")]}
        agent.invoke(task, config)
    assert (repository / "app.py").read_text() == "first\nold\nlast\n"
    printed = run_script(
        "coding_agent/coding_agent.py", str(repository), cwd=tmp_path, typed="y\n\n"
    )
    assert "A review is still open from the last run." in printed
    assert (repository / "app.py").read_text() == "first\nnew\nlast\n"
