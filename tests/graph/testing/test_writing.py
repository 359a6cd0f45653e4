"""What is asked of writing, and that a backend can fail it."""

from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.writing import Writing
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Writing, tmp_path) == []


class Careless(Reference):
    """Writes over what is there."""

    def write(self, file_path: str, content: str, *, overwrite: bool = False) -> Any:
        return self.right("write", file_path, content, overwrite=True)


def test_a_file_that_is_written_over_is_noticed(tmp_path: Path) -> None:
    assert failing(Writing, Careless, tmp_path) == [
        "test_an_existing_file_is_not_written_over_by_accident"
    ]


class Translating(Reference):
    """Ends lines as it likes."""

    def write(self, file_path: str, content: str, *, overwrite: bool = False) -> Any:
        content = content.replace("\r\n", "\n")
        return self.right("write", file_path, content, overwrite=overwrite)


def test_line_ends_that_change_are_noticed(tmp_path: Path) -> None:
    assert failing(Writing, Translating, tmp_path) == [
        "test_line_ends_are_kept_as_they_were_written"
    ]
