"""What is asked of finding lines, and that a backend can fail it."""

import re
from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.grepping import GrepOptions, Grepping
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Grepping, tmp_path) == []
    assert unfailing(GrepOptions, tmp_path) == []


class Regular(Reference):
    """Takes every text for a regex."""

    def grep(self, pattern: str, *where: Any, regex: bool = False, **options: Any) -> Any:
        try:
            re.compile(pattern)
        except re.error:
            return self.right("grep", pattern, *where, **options)
        return self.right("grep", pattern, *where, regex=True, **options)


def test_text_that_is_taken_for_a_pattern_is_noticed(tmp_path: Path) -> None:
    assert failing(Grepping, Regular, tmp_path) == [
        "test_the_text_is_no_pattern_unless_that_is_said"
    ]


class PerFile(Reference):
    """Takes the limit for one of each file."""

    def grep(self, *asked: Any, max_count: int | None = None, **options: Any) -> Any:
        result = self.right("grep", *asked, **options)
        result.truncated = max_count is not None
        return result


def test_a_limit_that_does_not_hold_is_noticed(tmp_path: Path) -> None:
    assert failing(GrepOptions, PerFile, tmp_path) == [
        "test_a_limit_cuts_the_lines_of_all_files",
        "test_a_limit_holds_for_counts_too",
        "test_a_limit_that_is_just_enough_cuts_nothing",
    ]
