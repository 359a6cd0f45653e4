"""The example `coding_agent`: no change is made that a person has not seen."""

from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem import CommandModel, open_sqlite
from tests.examples.running import load, run_script
from tests.scripted import answers

EDIT = 'edit_file /app.py "old" "new"'
TASK = f"""\
write_todos '[{{"content": "Rename it", "status": "in_progress"}}]'
read_file /skills/small-changes/SKILL.md
read_file /app.py
read_file /.env
ls /

{EDIT}
write_file /notes/todo.md "- test it\\n"
write_file /skills/mine.md "no"
delete /junk.txt

task "read_file /app.py\\nread_file /.env\\nwrite_file /b.py no" reviewer
task "read_file /app.py\\nread_file /.env" reviewer
"""
DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1,3 +1,3 @@\n first\n-old\n+new\n last"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "app.py").write_text("first\nold\nlast\n")
    (root / "junk.txt").write_text("junk\n")
    (root / ".env").write_text("KEY=secret\n")
    return root


def test_a_person_sees_each_change_and_only_what_is_allowed_is_made(
    repository: Path, saver: Any
) -> None:
    example = load("coding_agent/coding_agent.py")
    seen: dict[str, str] = {}

    def judge(request: Any) -> bool:
        seen[request["name"]] = request["description"]
        # Nothing has happened yet.
        assert (repository / "app.py").read_text() == "first\nold\nlast\n"
        assert (repository / "junk.txt").exists()
        return bool(request["name"] != "delete")

    config: Any = {"configurable": {"thread_id": "1"}}
    agent = example.build(CommandModel(), repository, saver)
    answer = example.work(agent, TASK, config, judge)
    assert list(seen) == ["edit_file", "write_file", "delete"], "what is refused is not asked about"
    assert DIFF in seen["edit_file"]
    assert "+- test it" in seen["write_file"]
    assert "/junk.txt" in seen["delete"]
    assert (repository / "app.py").read_text() == "first\nnew\nlast\n"
    assert (repository / "notes/todo.md").read_text() == "- test it\n"
    assert (repository / "junk.txt").exists()
    assert example.REJECTED in answer

    values = agent.get_state(config).values
    assert values["todos"] == [{"content": "Rename it", "status": "in_progress"}]
    told = {(reply.name, reply.status): reply.text for reply in answers(values)}
    assert "# Small changes" in " ".join(reply.text for reply in answers(values))
    assert "secret" not in str(values["messages"])
    assert "/skills" in told["write_file", "error"]
    refused, reviewed = [reply.text for reply in answers(values) if reply.name == "task"]
    assert "there is no command `write_file`" in refused
    assert "2 new" in reviewed
    assert {"review", "task", "write_todos"} <= agent.get_graph().nodes.keys()


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
        agent = example.build(CommandModel(), repository, checkpointer)
        task: Any = {"messages": [("user", f"read_file /app.py\n\n{EDIT}")]}
        agent.invoke(task, config)
    assert (repository / "app.py").read_text() == "first\nold\nlast\n"
    printed = run_script(
        "coding_agent/coding_agent.py", str(repository), cwd=tmp_path, typed="y\n\n"
    )
    assert "A review is still open from the last run." in printed
    assert (repository / "app.py").read_text() == "first\nnew\nlast\n"
