"""The demo: a task on a copy of a project, a diff, an undo and an apply."""

from pathlib import Path

import pytest

from langgraph_filesystem import demo

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "coding_agent"


def test_the_demo_changes_a_copy_and_leaves_the_project_alone(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = {path: path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}
    assert demo.main([str(EXAMPLE)]) == 0
    told = capfd.readouterr().out
    assert "D skills/" in told
    assert "undone  skills" in told
    assert "+# A careful coding agent" in told
    assert "applied   NOTES.md" in told
    assert "No changes wait" in told
    after = {path: path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}
    assert after == before
