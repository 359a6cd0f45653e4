"""The demo: a whole task, told node by node, in a thread that goes on."""

from pathlib import Path

import pytest

from langgraph_filesystem import demo


def shown(database: Path, capsys: pytest.CaptureFixture[str], *commands: str) -> str:
    assert demo.main(["--db", str(database), *commands]) == 0
    return capsys.readouterr().out


def test_the_demo_does_a_task_and_goes_on_in_the_same_thread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "demo.sqlite"
    first = shown(database, capsys)
    for node in ("prepare", "router", "write_file", "edit_file", "grep", "move", "evict", "model"):
        assert f"\n  {node}" in first
    assert "error" not in first
    assert "  public/\n    index.html" in first
    second = shown(database, capsys)
    assert "visit 2: still here" in second
    assert "error" not in second
    assert "visit 3: still here" in shown(database, capsys)


def test_commands_of_ones_own_run_in_the_thread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "demo.sqlite"
    shown(database, capsys, "write_file /mine.txt hello")
    assert "mine.txt  (5 characters)" in shown(database, capsys, "ls /")


def test_a_typing_error_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no command" in shown(tmp_path / "demo.sqlite", capsys, "frobnicate /")
