"""The example `best_of`: attempts as branches, of which the best one is applied."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_filesystem import CommandModel, history
from tests.examples.running import load, run_script

CHECK = "touch checked; grep -q right app.txt"
READ = "read_file /repo/app.txt\n\n"
WRONG = f"{READ}edit_file /repo/app.txt wrong worse\nwrite_file /repo/wrong.txt no"
LONG = f'{READ}edit_file /repo/app.txt wrong right\nwrite_file /repo/long.txt "a\\nb\\nc"'
SHORT = f"{READ}edit_file /repo/app.txt wrong right\n\nexecute 'rm junk; touch short.txt'"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep layers apart from those of the user."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "app.txt").write_text("first\nwrong\n")
    (root / "junk").write_text("")
    return root


def tree(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.iterdir()}


async def test_the_smallest_attempt_that_passes_is_applied_and_nothing_of_the_others(
    repository: Path,
) -> None:
    example = load("best_of/best_of.py")
    agent = example.build(CommandModel(), repository, InMemorySaver())
    before = tree(repository)
    made = await example.attempts(agent, "Fix it.", [WRONG, LONG, SHORT], CHECK)
    assert [one.passed for one in made] == [False, True, True]
    assert [one.size for one in made] == [3, 5, 2]
    assert tree(repository) == before, "nothing happens before the best one is applied"

    best = example.best_of(made)
    assert best is made[2]
    await history.aapply(agent, best.checkpoint)
    assert tree(repository) == {"app.txt": "first\nright\n", "short.txt": ""}
    assert "+worse" in await history.adiff(agent, made[0].checkpoint), "the others can be seen yet"


async def test_without_an_attempt_that_passes_there_is_no_best_one(repository: Path) -> None:
    example = load("best_of/best_of.py")
    agent = example.build(CommandModel(), repository, InMemorySaver())
    made = await example.attempts(agent, "Fix it.", [WRONG, "ls /repo"], CHECK)
    assert [(one.passed, one.size) for one in made] == [(False, 3), (False, 0)]
    assert example.best_of(made) is None


def test_it_runs_without_a_key(tmp_path: Path) -> None:
    printed = run_script("best_of/best_of.py", cwd=tmp_path)
    assert printed.startswith(
        "attempt 1  failed  2 changed lines\n"
        "attempt 2  passed  2 changed lines\n"
        "attempt 3  passed  5 changed lines\n\n"
        "attempt 2 is the best:\n\ndiff --git a/repo/slug.py b/repo/slug.py\n"
    )
    assert printed.endswith("\napplied   /repo/slug.py\n")


@pytest.mark.parametrize("attempts", [[WRONG, SHORT], [WRONG]])
def test_a_repository_and_a_check_can_be_given(
    attempts: Any, repository: Path, tmp_path: Path
) -> None:
    before = tree(repository)
    typed = "\n---\n".join(attempts)
    printed = run_script("best_of/best_of.py", str(repository), CHECK, cwd=tmp_path, typed=typed)
    if SHORT in attempts:
        assert "attempt 2 is the best" in printed
        assert tree(repository) == {"app.txt": "first\nright\n", "short.txt": ""}
    else:
        assert printed.endswith("No attempt passed, so nothing was applied.\n")
        assert tree(repository) == before
