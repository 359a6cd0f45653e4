"""What is asked of editing, and that a backend can fail it."""

from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.editing import Editing
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Editing, tmp_path) == []


class Literal(Reference):
    """Knows nothing of CRLF."""

    def edit(self, file_path: str, old: str, new: str, replace_all: bool = False) -> Any:
        [found] = self.right("download_files", [file_path])
        if found.content and b"\r\n" in found.content and "\n" in old + new:
            text = found.content.decode().replace(old, new)
            return self.right("write", file_path, text, overwrite=True)
        return self.right("edit", file_path, old, new, replace_all)


def test_line_ends_that_get_mixed_are_noticed(tmp_path: Path) -> None:
    assert failing(Editing, Literal, tmp_path) == [
        "test_lines_that_are_added_to_a_file_with_crlf_end_so",
        "test_text_written_with_newlines_matches_a_file_with_crlf",
    ]
