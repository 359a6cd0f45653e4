"""A run that is killed at any moment goes on from SQLite: nothing lost, nothing done twice."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.graph.killed import END

TURNS = 8


def run_and_kill(
    database: Path, kills: int, seed: int, kind: str = "state", turns: int = TURNS
) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.graph.killed", str(database), kind]
    numbers = [str(turns), str(kills), str(seed)]
    done = subprocess.run([*command, *numbers], capture_output=True, text=True, timeout=1_200)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["killed"] >= kills
    outcomes: list[dict[str, Any]] = result["outcomes"]
    for outcome in outcomes:
        assert outcome["next"] == []
        assert len(outcome["answers"]) == len(set(outcome["answers"]))
    return outcomes


def check_files(outcomes: list[dict[str, Any]]) -> None:
    for outcome in outcomes:
        assert outcome["errors"] == {}
        assert len(outcome["answers"]) == 2 + 5 * TURNS
        assert outcome["files"] == {
            "/a": " ".join(f"x{turn} z{turn}" for turn in range(TURNS)) + f" {END}",
            "/b": " ".join(f"y{turn}" for turn in range(TURNS)) + f" {END}",
        }


def check_commands(outcomes: list[dict[str, Any]]) -> None:
    """Each command ran once, or the model was told that it may have run."""
    for outcome in outcomes:
        assert len(outcome["answers"]) == 2 * TURNS
        ran = Counter(outcome["files"].get("/log", "").split())
        for id in outcome["answers"]:
            if id in outcome["errors"]:
                assert "begun before the run was interrupted" in outcome["errors"][id]
                assert ran[id] <= 1
            else:
                assert ran[id] == 1


def test_fifty_random_kills_lose_nothing_and_double_nothing(tmp_path: Path, database: str) -> None:
    # On PostgreSQL a life takes three times as long: `make soak` has all of them.
    kills = 50 if database == "sqlite" else 10
    check_files(run_and_kill(tmp_path / "agent.sqlite", kills, seed=1))


def test_random_kills_lose_and_double_nothing_on_disk(tmp_path: Path) -> None:
    check_files(run_and_kill(tmp_path / "agent.sqlite", 14, seed=1, kind="disk"))


def test_random_kills_never_run_a_command_twice_unseen(tmp_path: Path) -> None:
    check_commands(run_and_kill(tmp_path / "agent.sqlite", 6, seed=1, kind="shell"))


@pytest.mark.soak
@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("seed", range(2, 8))
def test_three_hundred_random_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, seed: int
) -> None:
    check_files(run_and_kill(tmp_path / "agent.sqlite", 300, seed))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 8))
def test_three_hundred_random_kills_lose_and_double_nothing_on_disk(
    tmp_path: Path, seed: int
) -> None:
    check_files(run_and_kill(tmp_path / "agent.sqlite", 300, seed, kind="disk"))
    (tmp_path / "commands").mkdir()
    check_commands(run_and_kill(tmp_path / "commands" / "agent.sqlite", 300, seed, kind="shell"))
