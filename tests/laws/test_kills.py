"""A run that is killed at any moment goes on: nothing lost, nothing done twice."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.laws.killed import END, step
from tests.laws.killed_moments import FILES, MANY


def output_of(program: str, *arguments: object) -> Any:
    """Run a program of this package and return what it prints."""
    return json.loads(forked.output_of(f"tests.laws.{program}", *arguments))


# At random moments.


def killed_at_random(
    directory: Path, kind: str, *, turns: int, kills: int, seed: int = 1
) -> list[dict[str, Any]]:
    result = output_of("killed", directory / "agent.sqlite", kind, turns, kills, seed)
    assert result["killed"] >= kills
    outcomes: list[dict[str, Any]] = result["outcomes"]
    for outcome in outcomes:
        assert outcome["next"] == []
        assert len(outcome["answers"]) == len(set(outcome["answers"]))
    return outcomes


def check_files(outcomes: list[dict[str, Any]], turns: int) -> None:
    for outcome in outcomes:
        assert outcome["errors"] == {}
        assert len(outcome["answers"]) == 2 + 6 * turns
        assert outcome["files"] == {
            "/a": " ".join(f"x{turn} z{turn}" for turn in range(turns)) + f" {END}",
            "/b": " ".join(f"y{turn}" for turn in range(turns)) + f" {END}",
        }
        assert outcome["todos"] == [step(turns - 1)]


def check_commands(outcomes: list[dict[str, Any]], turns: int) -> None:
    """Each command ran once, or the model was told that it may have run."""
    for outcome in outcomes:
        assert len(outcome["answers"]) == 2 * turns
        ran = Counter(outcome["files"].get("/log", "").split())
        for id in outcome["answers"]:
            if id in outcome["errors"]:
                assert "before the run was interrupted" in outcome["errors"][id]
                assert ran[id] <= 1
            else:
                assert ran[id] == 1


def test_random_kills_lose_nothing_and_double_nothing(tmp_path: Path, database: str) -> None:
    # On PostgreSQL a life takes three times as long: `make soak` has more of them.
    kills = 20 if database == "sqlite" else 6
    check_files(killed_at_random(tmp_path, "state", turns=4, kills=kills), 4)


@pytest.mark.parametrize("kind", ["disk", "visits"])
def test_random_kills_lose_and_double_nothing_on_disk_or_in_nested_graphs(
    tmp_path: Path, kind: str
) -> None:
    check_files(killed_at_random(tmp_path, kind, turns=2, kills=12), 2)


def check_tasks(outcomes: list[dict[str, Any]], turns: int) -> None:
    text = " ".join(map(str, range(turns)))
    for outcome in outcomes:
        assert outcome["errors"] == {}
        assert outcome["answers"] == ["a", "b"]
        assert outcome["files"] == dict.fromkeys(("/a", "/b"), f"{text} {END}")


def test_random_kills_lose_and_double_nothing_that_subagents_do(tmp_path: Path) -> None:
    check_tasks(killed_at_random(tmp_path, "tasks", turns=4, kills=12), 4)


def test_random_kills_never_run_a_command_twice_unseen(tmp_path: Path) -> None:
    check_commands(killed_at_random(tmp_path, "shell", turns=3, kills=6), 3)


@pytest.mark.soak
@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("kind", ["state", "disk", "visits", "shell", "tasks"])
@pytest.mark.parametrize("seed", range(2, 8))
def test_three_hundred_random_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, kind: str, seed: int
) -> None:
    outcomes = killed_at_random(tmp_path, kind, turns=8, kills=300, seed=seed)
    {"shell": check_commands, "tasks": check_tasks}.get(kind, check_files)(outcomes, 8)


# At the n-th moment of a change outside the state.

STRIDE = 13
"""Odd, so that it falls on moments before and after a call in turns."""

IN_STATE = {"/one": "one\n", "/many/a": "a\r\n", "/many/deep/b": "/wA="}
BEFORE = {path: repr(content) for path, content in FILES.items()}


def check_moves(outcome: dict[str, Any]) -> None:
    """Every file is at one end or at both, with its content."""
    arrived = {path.removeprefix("/out"): text for path, text in outcome["files"].items()}
    assert {path: IN_STATE[path] for path in arrived} == arrived
    assert {path: BEFORE[path] for path in outcome["left"]} == outcome["left"]
    assert arrived.keys() | outcome["left"].keys() == BEFORE.keys()
    assert [id for id, _ in outcome["answers"]] == ["1", "2", "3"]


def check_whole_moves(outcome: dict[str, Any]) -> None:
    """The call that was interrupted went on to its end, and says so."""
    check_moves(outcome)
    assert outcome["left"] == {}
    assert [text for _, text in outcome["answers"]] == [
        "Moved /m/one to /out/one (1 file).",
        "Moved /m/many to /out/many (2 files).",
        "/out/many/\n/out/one",
    ]


def check_edits(outcome: dict[str, Any]) -> None:
    assert outcome["left"]["/one"] == repr(b"two\n")
    assert [id for id, _ in outcome["answers"]] == ["r", "0", "1", "2"]
    assert not [text for _, text in outcome["answers"] if text.startswith("Error")]


def check_reviews(outcome: dict[str, Any]) -> None:
    assert outcome["left"] == {**BEFORE, "/one": repr(b"two two\n")}
    assert sorted(id for id, _ in outcome["answers"]) == ["0", "1", "2", "r"]
    told = dict(outcome["answers"])
    assert told["0"] == "Edited /m/one in 1 place."
    assert told["1"].startswith('[A person changed this call before it ran: new_string="two two"]')
    assert told["1"].endswith("Edited /m/one in 1 place.")
    assert told["2"].startswith("A person rejected this call")


def check_batches(outcome: dict[str, Any]) -> None:
    arrived = {f"/out{path[3:]}": repr(text.encode()) for path, text in MANY.items()}
    assert outcome["files"] == {}
    assert outcome["left"] == BEFORE | arrived
    assert outcome["answers"] == [["1", "Moved /in to /m/out (5 files)."]]


def check_trees(outcome: dict[str, Any]) -> None:
    assert list(outcome["left"]) == ["/one"]
    assert outcome["others"] == {
        "/deep/many/a": BEFORE["/many/a"],
        "/deep/many/deep/b": BEFORE["/many/deep/b"],
    }
    assert outcome["answers"] == [["1", "Moved /m/many to /n/deep/many (2 files)."]]


def check_summaries(outcome: dict[str, Any]) -> None:
    """Every turn that is gone is in the history, once."""
    assert "Notes: everything up to c" in outcome["first"]
    [path] = [path for path in outcome["left"] if path.startswith("/conversation_history/")]
    assert path in outcome["first"]
    history = outcome["left"][path]
    assert [history.count(f"<{n}>x") for n in range(16)] == [1] * 16
    assert sorted(id for id, _ in outcome["answers"]) == ["c1", "c2", "l1", "l2", "r1", "r2"]


CASES: dict[str, Any] = {
    "moves-disk": check_moves,
    "moves-foreign": check_moves,
    "moves-composite": check_moves,
    "moves-store": check_whole_moves,
    "edits-disk": check_edits,
    "edits-store": check_edits,
    "reviews-disk": check_reviews,
    "batches-disk": check_batches,
    "batches-store": check_batches,
    "trees-disk": check_trees,
    "summaries-disk": check_summaries,
    "summaries-store": check_summaries,
}


def check_case(case: str, directory: Path, stride: int) -> None:
    what, kind = case.split("-")
    outcomes = output_of("killed_moments", directory, what, kind, stride)
    assert len(outcomes) > 30 // stride
    for outcome in outcomes:
        assert outcome["next"] == [], outcome
        CASES[case](outcome)


@pytest.mark.parametrize("case", CASES)
def test_a_change_outside_the_state_killed_at_some_moments_is_made_once(
    case: str, tmp_path: Path
) -> None:
    check_case(case, tmp_path, stride=STRIDE)


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES)
def test_a_change_outside_the_state_killed_at_every_moment_is_made_once(
    case: str, tmp_path: Path
) -> None:
    check_case(case, tmp_path, stride=1)


# At the n-th moment of an apply.

APPLIED = {
    "/becomes": b"a file",
    "/changed": b"zero\none\n2\n",
    "/edited": b"one\n2\n",
    "/moved/a": b"a",
    "/moved/deep/b": b"\xff\x00",
    "/new/deep/c": b"c",
    "/opaque/new": b"new",
    "/ours": b"1\n",
    "/ours.theirs": b"theirs\n",
}


def check_applied(kind: str, directory: Path, stride: int) -> None:
    outcomes = output_of("applied_moments", directory, kind, stride)
    assert len(outcomes) > 30 // stride
    for outcome in outcomes:
        assert outcome["files"] == {path: repr(content) for path, content in APPLIED.items()}
        assert (outcome["waiting"], outcome["ours"], outcome["mode"]) == ([], [], "0o750")


@pytest.mark.parametrize("kind", ["disk", "store"])
def test_an_apply_killed_at_some_moments_is_finished_by_the_next(kind: str, tmp_path: Path) -> None:
    check_applied(kind, tmp_path, stride=STRIDE)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["disk", "store"])
def test_an_apply_killed_at_every_moment_is_finished_by_the_next(kind: str, tmp_path: Path) -> None:
    check_applied(kind, tmp_path, stride=1)
