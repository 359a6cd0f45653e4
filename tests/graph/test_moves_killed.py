"""Killed at any moment, what was changed outside the state is neither lost nor changed twice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.graph.killed_moments import FILES, MANY

MOVES = ["moves-disk", "moves-store", "moves-foreign", "moves-composite"]


def outcomes_of(directory: Path, moments: str, *cases: str) -> dict[str, list[dict[str, Any]]]:
    program = [sys.executable, "-m", "tests.graph.killed_moments"]
    command = [*program, str(directory), moments, *cases]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    for outcomes in found.values():
        assert len(outcomes) > (30 if moments == "all" else 4)
    return found


def check_moves(outcomes: list[dict[str, Any]]) -> None:
    for outcome in outcomes:
        assert outcome["next"] == []
        assert outcome["files"] == {
            "/out/one": "one\n",
            "/out/many/a": "a\r\n",
            "/out/many/deep/b": "/wA=",
        }
        assert outcome["left"] == {}
        assert outcome["answers"] == {
            "1": "Moved /m/one to /out/one (1 file).",
            "2": "Moved /m/many to /out/many (2 files).",
            "3": "/out/many/\n/out/one",
        }
        assert outcome["count"] == 3
        assert outcome["seen"] == []


def check_edits(outcomes: list[dict[str, Any]]) -> None:
    for outcome in outcomes:
        assert outcome["next"] == []
        assert outcome["left"]["/one"] == repr(b"two\n")
        answers = outcome["answers"].values()
        assert not [answer for answer in answers if answer.startswith("Error")]
        assert outcome["count"] == len(answers) == 4


def check_batches(outcomes: list[dict[str, Any]]) -> None:
    before = {path: repr(content) for path, content in FILES.items()}
    arrived = {f"/out{path[3:]}": repr(text.encode()) for path, text in MANY.items()}
    for outcome in outcomes:
        assert outcome["next"] == []
        assert outcome["files"] == {}
        assert outcome["left"] == before | arrived
        assert outcome["answers"] == {"1": "Moved /in to /m/out (5 files)."}


def check_trees(outcomes: list[dict[str, Any]]) -> None:
    for outcome in outcomes:
        assert outcome["next"] == []
        assert list(outcome["left"]) == ["/one"]
        assert outcome["others"] == {
            "/deep/many/a": repr(b"a\r\n"),
            "/deep/many/deep/b": repr(b"\xff\x00"),
        }
        assert outcome["answers"] == {"1": "Moved /m/many to /n/deep/many (2 files)."}


def test_moves_of_many_batches_and_from_disk_to_disk_killed_at_the_mount_are_finished(
    tmp_path: Path,
) -> None:
    found = outcomes_of(tmp_path, "mount", "batches-disk", "trees-disk")
    assert len(found["batches-disk"]) == 11  # before and after each file, and at last not at all
    check_batches(found["batches-disk"])
    check_trees(found["trees-disk"])


def test_moves_into_the_state_and_edits_killed_at_the_mount_are_finished(tmp_path: Path) -> None:
    found = outcomes_of(tmp_path, "mount", *MOVES, "edits-store")
    check_edits(found.pop("edits-store"))
    for outcomes in found.values():
        check_moves(outcomes)


@pytest.mark.soak
@pytest.mark.parametrize("case", MOVES)
def test_a_move_into_the_state_killed_at_any_moment_is_finished(case: str, tmp_path: Path) -> None:
    check_moves(outcomes_of(tmp_path, "all", case)[case])


@pytest.mark.soak
@pytest.mark.parametrize("case", ["batches-disk", "batches-store", "trees-disk"])
def test_a_move_out_of_the_state_or_between_disks_killed_at_any_moment_is_finished(
    case: str, tmp_path: Path
) -> None:
    check = check_trees if case == "trees-disk" else check_batches
    check(outcomes_of(tmp_path, "all", case)[case])


@pytest.mark.soak
@pytest.mark.parametrize("case", ["edits-disk", "edits-store"])
def test_edits_of_one_file_killed_at_any_moment_land_once(case: str, tmp_path: Path) -> None:
    check_edits(outcomes_of(tmp_path, "all", case)[case])
