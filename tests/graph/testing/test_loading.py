"""What is asked of uploads, downloads and digests, and that a backend can fail it."""

from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.loading import Digesting, Loading
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Loading, tmp_path) == []
    assert unfailing(Digesting, tmp_path) == []


class AllOrNothing(Reference):
    """Takes no file if one of them is wrong."""

    def upload_files(self, files: Any) -> Any:
        before = dict(self.files)
        answers = self.right("upload_files", files)
        if any(answer.error for answer in answers):
            self.files.clear()
            self.files.update(before)
        return answers


def test_files_that_are_lost_with_a_wrong_one_are_noticed(tmp_path: Path) -> None:
    assert failing(Loading, AllOrNothing, tmp_path) == [
        "test_one_that_fails_does_not_keep_the_others"
    ]


class Named(Reference):
    """Has digests of names."""

    def digest(self, file_path: str) -> str | None:
        known = self.right("digest", file_path)
        return known and f"{hash(file_path):024x}"[:24]


def test_a_digest_of_something_else_is_noticed(tmp_path: Path) -> None:
    assert failing(Digesting, Named, tmp_path) == [
        "test_a_digest_changes_with_the_content_and_comes_back_with_it",
        "test_a_digest_is_that_of_the_bytes",
    ]
