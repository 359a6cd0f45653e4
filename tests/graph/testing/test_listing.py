"""What is asked of listing, and that a backend can fail it."""

from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.listing import Listing
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Listing, tmp_path) == []


class Hiding(Reference):
    """Lists as `ls` does without `-a`."""

    def ls(self, path: str) -> Any:
        result = self.right("ls", path)
        shown = [it for it in result.entries or () if "/." not in it["path"]]
        result.entries = shown if result.error is None else None
        return result


def test_hidden_names_that_are_left_out_are_noticed(tmp_path: Path) -> None:
    assert failing(Listing, Hiding, tmp_path) == [
        "test_hidden_names_are_listed",
        "test_odd_names_are_listed_as_they_are",
    ]


class Plain(Reference):
    """Has no control characters in names."""

    def write(self, file_path: str, content: str, **options: Any) -> Any:
        return self.right("write", "" if not file_path.isprintable() else file_path, content)


class WithoutControls(Listing):
    control_names = False


def test_control_characters_are_had_or_refused_as_it_is_said(tmp_path: Path) -> None:
    wrong = ["test_odd_names_are_listed_as_they_are"]
    assert failing(Listing, Plain, tmp_path) == wrong
    assert failing(WithoutControls, Plain, tmp_path) == []
    assert failing(Listing, Reference, tmp_path) == []
    assert failing(WithoutControls, Reference, tmp_path) == wrong
