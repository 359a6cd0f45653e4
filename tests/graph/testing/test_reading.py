"""What is asked of reading, and that a backend can fail it."""

from pathlib import Path
from typing import Any

from langgraph_filesystem.testing.reading import Reading
from tests.graph.testing.mutants import Reference, failing, unfailing


def test_every_behaviour_can_fail(tmp_path: Path) -> None:
    assert unfailing(Reading, tmp_path) == []


class Splitting(Reference):
    """Ends lines wherever Python does."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000, **options: Any) -> Any:
        result = self.right("read", file_path, 0, 10**9)
        if result.file_data and result.file_data.get("encoding") == "utf-8":
            lines = result.file_data["content"].splitlines(keepends=True)
            result.file_data["content"] = "".join(lines[max(0, offset) :][: max(0, limit)])
        return result


def test_lines_that_end_elsewhere_are_noticed(tmp_path: Path) -> None:
    names = failing(Reading, Splitting, tmp_path)
    assert "test_a_line_ends_at_a_newline_and_nowhere_else" in names
    assert "test_a_page_has_the_lines_that_were_asked_for" not in names


class Endless(Reference):
    """Says of each page that there is one more, the same."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000, **options: Any) -> Any:
        result = self.right("read", file_path, offset, limit, **options)
        result.next_offset = offset
        return result


def test_pages_that_do_not_end_are_noticed(tmp_path: Path) -> None:
    names = failing(Reading, Endless, tmp_path)
    assert "test_pages_one_after_the_other_are_the_whole_file" in names
    assert "test_pages_of_so_many_characters_are_the_whole_file" in names
