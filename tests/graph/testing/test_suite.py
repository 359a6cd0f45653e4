"""The suite as an author of a backend runs it: with plain pytest, and nothing of ours around it."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_filesystem import testing
from langgraph_filesystem.testing import (
    BackendConformance,
    CommandConformance,
    RecallCommandConformance,
    RecallConformance,
)

MODULE = """
from langgraph_filesystem.testing import Applied, BackendConformance
from langgraph_filesystem import StateBackend

class Lasting:
    # It can't delete.
    def __init__(self):
        self._right = Applied(StateBackend())

    def __getattr__(self, name):
        if name == "delete":
            raise AttributeError(name)
        return getattr(self._right, name)

class TestWhole(BackendConformance):
    def make_backend(self, tmp_path):
        return Applied(StateBackend())

class TestLess(BackendConformance):
    def make_backend(self, tmp_path):
        return Lasting()

class TestIncomplete(TestLess):
    complete = True
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what pytest says that has nothing of ours around it, with warnings as errors."""
    directory = tmp_path_factory.mktemp("author")
    (directory / "test_mine.py").write_text(MODULE)
    command = [sys.executable, "-W", "error", "-m", "pytest", "-v", "-rs", "-k", "delete or empty"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=directory,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    return done.stdout + done.stderr


def outcomes(said: str, suite: str, part: str) -> set[str]:
    """Return how the tests of a class end whose names have a part."""
    return set(re.findall(rf"::{suite}::\w*{part}\w*\[a?sync\] (\w+)", said))


def test_an_author_runs_it_with_plain_pytest(said: str) -> None:
    assert outcomes(said, "TestWhole", "") == {"PASSED"}, said
    assert "warning" not in said


def test_what_is_optional_is_skipped_with_a_reason(said: str) -> None:
    assert outcomes(said, "TestLess", "empty") == {"PASSED"}, said
    assert outcomes(said, "TestLess", "the_deleted_file") == {"SKIPPED"}
    assert "Lasting: there is no method `delete`, which is optional." in said


def test_nothing_is_skipped_of_a_backend_that_is_complete(said: str) -> None:
    assert outcomes(said, "TestIncomplete", "empty") == {"PASSED"}, said
    assert outcomes(said, "TestIncomplete", "") == {"PASSED", "FAILED"}
    assert outcomes(said, "TestIncomplete", "the_deleted_file") == {"FAILED"}
    assert "Lasting: there is no method `delete`." in said


def test_a_backend_must_be_made(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="make_backend"):
        BackendConformance().make_backend(tmp_path)


def test_without_pytest_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['pytest'] = None; import langgraph_filesystem.testing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "langgraph_filesystem.testing needs pytest: pip install pytest" in done.stderr


@pytest.mark.parametrize(
    ("suite", "least"),
    [
        (BackendConformance, 150),
        (RecallConformance, 165),
        (CommandConformance, 170),
        (RecallCommandConformance, 190),
    ],
)
def test_there_are_many_behaviours(suite: type, least: int) -> None:
    tests = [name for name in dir(suite) if name.startswith("test_")]
    assert len(tests) >= least


def test_no_behaviour_hides_another_of_the_same_name() -> None:
    names = [
        name
        for part in RecallCommandConformance.__mro__
        for name in vars(part)
        if name.startswith("test_")
    ]
    assert sorted(names) == sorted(set(names))


def test_nothing_else_of_the_package_needs_pytest() -> None:
    code = "import sys, langgraph_filesystem.agent; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_part_is_documented() -> None:
    for name in testing.__all__:
        assert inspect.getdoc(getattr(testing, name))
