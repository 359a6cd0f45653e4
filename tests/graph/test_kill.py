"""A run that is killed at any moment goes on from SQLite: nothing lost, nothing done twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.graph.killed import END

TURNS = 8


def run_and_kill(database: Path, kills: int, seed: int) -> None:
    command = [sys.executable, "-m", "tests.graph.killed", str(database), str(kills), str(TURNS)]
    done = subprocess.run([*command, str(seed)], capture_output=True, text=True, timeout=1_200)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["killed"] >= kills
    for outcome in result["outcomes"]:
        assert outcome["next"] == []
        assert len(outcome["answers"]) == len(set(outcome["answers"])) == 2 + 5 * TURNS
        assert outcome["files"] == {
            "/a": " ".join(f"x{turn} z{turn}" for turn in range(TURNS)) + f" {END}",
            "/b": " ".join(f"y{turn}" for turn in range(TURNS)) + f" {END}",
        }


@pytest.mark.usefixtures("database")
def test_fifty_random_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    run_and_kill(tmp_path / "agent.sqlite", 50, seed=1)


@pytest.mark.soak
@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("seed", range(2, 8))
def test_three_hundred_random_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, seed: int
) -> None:
    run_and_kill(tmp_path / "agent.sqlite", 300, seed)
