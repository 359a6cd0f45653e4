"""What is asked of finding files, and that a backend can fail it."""

from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.globbing import Globbing
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Globbing, tmp_path) == []


class Hiding(Reference):
    """Finds as a shell does."""

    def glob(self, pattern: str, path: str | None = None) -> Any:
        result = self.right("glob", pattern, path)
        result.matches = [it for it in result.matches or () if "/." not in it["path"]]
        return result


def test_hidden_names_that_are_left_out_are_noticed(tmp_path: Path) -> None:
    assert failing(Globbing, Hiding, tmp_path) == [
        "test_names_that_begin_with_a_dot_match_like_any_other"
    ]


class Shallow(Reference):
    """Takes a name for one in the directory itself."""

    def glob(self, pattern: str, path: str | None = None) -> Any:
        anchored = f"/{pattern}" if pattern and "/" not in pattern else pattern
        return self.right("glob", anchored, path)


def test_names_that_are_found_at_one_depth_only_are_noticed(tmp_path: Path) -> None:
    names = failing(Globbing, Shallow, tmp_path)
    assert "test_a_pattern_without_a_slash_matches_names_at_any_depth" in names
    assert "test_a_pattern_with_a_slash_is_relative_to_the_directory" not in names
