"""What is asked of a journal, and that a backend can fail it."""

from pathlib import Path

from langgraph_filesystem.testing.recalling import CommandRecalling, Recalling
from tests.graph.testing.mutants import unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Recalling, tmp_path) == []
    assert unfailing(CommandRecalling, tmp_path) == []
