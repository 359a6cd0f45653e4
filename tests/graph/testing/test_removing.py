"""What is asked of deleting and moving, and that a backend can fail it."""

from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.removing import Deleting, Moving
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Deleting, tmp_path) == []
    assert unfailing(Moving, tmp_path) == []


class Greedy(Reference):
    """Deletes all that begins so."""

    def delete(self, file_path: str) -> Any:
        gone = [key for key in self.files if key.startswith(file_path)]
        for key in gone[1:]:
            del self.files[key]
        return self.right("delete", gone[0] if gone else file_path)


def test_names_that_begin_alike_and_go_too_are_noticed(tmp_path: Path) -> None:
    assert failing(Deleting, Greedy, tmp_path) == ["test_names_that_begin_alike_stay"]


class Replacing(Reference):
    """Moves over what is there."""

    def move(self, source: str, destination: str) -> Any:
        if destination in self.files and source in self.files and source != destination:
            del self.files[destination]
        return self.right("move", source, destination)


def test_a_file_that_is_moved_over_is_noticed(tmp_path: Path) -> None:
    assert failing(Moving, Replacing, tmp_path) == ["test_an_existing_file_is_not_moved_over"]
