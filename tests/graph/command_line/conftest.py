"""A project for each test."""

from pathlib import Path

import pytest

from tests.graph.command_line.project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a small project in a directory of its own."""
    monkeypatch.delenv("LANGGRAPH_FILESYSTEM_MODEL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    made = Project(tmp_path)
    monkeypatch.chdir(made.root)
    return made
