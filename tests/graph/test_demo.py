"""The demo: a task on a copy of a project, a diff, an undo and an apply."""

from pathlib import Path

import pytest

from langgraph_filesystem import demo

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "coding_agent"


def test_the_demo_changes_a_copy_and_leaves_the_project_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))  # the demo chooses another one
    before = {path: path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}
    assert demo.main([str(EXAMPLE)]) == 0
    told = capsys.readouterr().out
    assert "D skills/" in told
    assert "undone  skills" in told
    assert "+# A careful coding agent" in told
    assert "applied   NOTES.md" in told
    assert "No changes wait" in told
    after = {path: path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}
    assert after == before
