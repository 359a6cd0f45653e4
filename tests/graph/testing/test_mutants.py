"""Every test of the suite can fail, and backends with one defect fail the tests of it."""

import os
import posixpath
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem.state.backends.protocol import ExecuteResponse
from langgraph_filesystem.testing.commands import CommandJournal, Commands, Journal
from langgraph_filesystem.testing.paths import Paths, Privacy
from langgraph_filesystem.testing.reading import Digests, Listing, Reading, Transfers
from langgraph_filesystem.testing.searching import Glob, Grep, GrepOptions
from langgraph_filesystem.testing.writing import Concurrency, Deleting, Editing, Moving, Writing
from tests.graph.testing.mutants import Reference, failing, never_failing

THEMES = [
    *(Reading, Listing, Transfers, Digests, Writing, Editing, Deleting, Moving, Concurrency),
    *(Paths, Glob, Grep, GrepOptions, Commands, Journal, CommandJournal),
]


@pytest.mark.parametrize("theme", THEMES)
def test_every_test_can_fail(theme: type, tmp_path: Path) -> None:
    assert never_failing(theme, tmp_path) == []


class Splitting(Reference):
    """Ends lines wherever Python does."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000, **options: Any) -> Any:
        result = self.right("read", file_path, 0, 10**9)
        if result.file_data and result.file_data.get("encoding") == "utf-8":
            lines = result.file_data["content"].splitlines(keepends=True)
            result.file_data["content"] = "".join(lines[max(0, offset) :][: max(0, limit)])
            result.next_offset = offset + limit if offset + limit < len(lines) else None
        return result


class Endless(Reference):
    """Says of each page that the next one is the same."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000, **options: Any) -> Any:
        result = self.right("read", file_path, offset, limit, **options)
        result.next_offset = offset
        return result


class HidingNames(Reference):
    """Leaves out names that begin with a dot."""

    def ls(self, path: str) -> Any:
        result = self.right("ls", path)
        shown = [it for it in result.entries or () if "/." not in it["path"]]
        result.entries = shown if result.error is None else None
        return result

    def glob(self, pattern: str, path: str | None = None) -> Any:
        result = self.right("glob", pattern, path)
        result.matches = [it for it in result.matches or () if "/." not in it["path"]]
        return result


class AllOrNothing(Reference):
    """Takes no file if one of them is wrong."""

    def upload_files(self, files: Any) -> Any:
        before = dict(self.files)
        answers = self.right("upload_files", files)
        if any(answer.error for answer in answers):
            self.files.clear()
            self.files.update(before)
        return answers


class DigestOfName(Reference):
    def digest(self, file_path: str) -> str | None:
        known = self.right("digest", file_path)
        return known and f"{hash(file_path):024x}"[:24]


class Overwriting(Reference):
    """Writes and moves over existing files."""

    def write(self, file_path: str, content: str, *, overwrite: bool = False) -> Any:
        return self.right("write", file_path, content, overwrite=True)

    def move(self, source: str, destination: str) -> Any:
        if destination in self.files and source in self.files and source != destination:
            del self.files[destination]
        return self.right("move", source, destination)


class Translating(Reference):
    """Writes `\\n` for `\\r\\n`, and looks for exactly the given line ends."""

    def write(self, file_path: str, content: str, *, overwrite: bool = False) -> Any:
        content = content.replace("\r\n", "\n")
        return self.right("write", file_path, content, overwrite=overwrite)

    def edit(self, file_path: str, old: str, new: str, replace_all: bool = False) -> Any:
        [found] = self.right("download_files", [file_path])
        if found.content and b"\r\n" in found.content and "\n" in old + new:
            text = found.content.decode().replace(old, new)
            return self.right("write", file_path, text, overwrite=True)
        return self.right("edit", file_path, old, new, replace_all)


class Greedy(Reference):
    """Deletes every path with the same beginning."""

    def delete(self, file_path: str) -> Any:
        found = [key for key in self.files if key.startswith(file_path)]
        for key in found[1:]:
            del self.files[key]
        return self.right("delete", found[0] if found else file_path)


class Racing(Reference):
    """Writes what it read a moment before."""

    def edit(self, file_path: str, old: str, new: str, replace_all: bool = False) -> Any:
        [found] = self.right("download_files", [file_path])
        time.sleep(0.05)
        text = (found.content or b"").decode().replace(old, new)
        return self.right("write", file_path, text, overwrite=True)


class Following(Reference):
    """Takes `..` for the directory above, and raises for other invalid paths."""

    def read(self, file_path: str, *args: Any, **options: Any) -> Any:
        if ".." in file_path.split("/"):
            self.right("write", "/b", "reached", overwrite=True)
            file_path = posixpath.normpath(posixpath.join("/", file_path))
        return self.right("read", file_path, *args, **options)

    def ls(self, path: str) -> Any:
        result = self.right("ls", path)
        if result.error and "is invalid" in result.error:
            raise ValueError(result.error)
        return result


class Shallow(Reference):
    """Finds a name only in the directory itself."""

    def glob(self, pattern: str, path: str | None = None) -> Any:
        anchored = f"/{pattern}" if pattern and "/" not in pattern else pattern
        return self.right("glob", anchored, path)


class Searching(Reference):
    """Takes every text for a regex, and ignores the limit."""

    def grep(
        self, pattern: str, *where: Any, regex: bool = False, max_count: Any = None, **options: Any
    ) -> Any:
        try:
            re.compile(pattern)
        except re.error:
            return self.right("grep", pattern, *where, regex=regex, **options)
        result = self.right("grep", pattern, *where, regex=True, **options)
        result.truncated = max_count is not None
        return result


@pytest.mark.parametrize(
    ("theme", "mutant", "names"),
    [
        (Listing, HidingNames, ["hidden_names_are_listed", "odd_names_are_listed_as_they_are"]),
        (Glob, HidingNames, ["names_that_begin_with_a_dot_match_like_any_other"]),
        (Transfers, AllOrNothing, ["one_failure_does_not_stop_the_others"]),
        (
            Digests,
            DigestOfName,
            ["a_digest_depends_on_the_content_only", "a_digest_is_computed_from_the_bytes"],
        ),
        (Writing, Overwriting, ["an_existing_file_is_not_overwritten_by_default"]),
        (Moving, Overwriting, ["an_existing_file_is_not_moved_over"]),
        (Writing, Translating, ["line_ends_are_kept_as_they_were_written"]),
        (
            Editing,
            Translating,
            [
                "lines_added_to_a_file_with_crlf_end_in_crlf",
                "text_written_with_newlines_matches_a_file_with_crlf",
            ],
        ),
        (Deleting, Greedy, ["names_with_the_same_beginning_are_not_deleted"]),
        (
            Concurrency,
            Racing,
            [
                "concurrent_edits_of_different_places_all_land",
                "concurrent_edits_of_one_place_run_one_after_the_other",
            ],
        ),
        (Paths, Following, ["an_invalid_path_is_not_listed", "an_invalid_path_is_not_read"]),
        (Grep, Searching, ["the_text_is_literal_by_default"]),
        (
            GrepOptions,
            Searching,
            [
                "a_limit_cuts_the_lines_of_all_files",
                "a_limit_holds_for_counts_too",
                "a_limit_that_is_just_enough_is_not_truncated",
            ],
        ),
    ],
)
def test_a_defect_fails_the_tests_of_it_and_no_others(
    theme: type, mutant: Any, names: list[str], tmp_path: Path
) -> None:
    assert failing(theme, mutant, tmp_path) == [f"test_{name}" for name in names]


@pytest.mark.parametrize(
    ("theme", "mutant", "fails", "passes"),
    [
        (
            Reading,
            Splitting,
            "a_line_ends_at_a_newline_and_nowhere_else",
            "a_page_has_the_requested_lines",
        ),
        (Reading, Endless, "consecutive_pages_are_the_whole_file", "empty_lines_are_lines"),
        (
            Glob,
            Shallow,
            "a_pattern_without_a_slash_matches_names_at_any_depth",
            "a_pattern_with_a_slash_is_relative_to_the_directory",
        ),
    ],
)
def test_a_wider_defect_fails_the_tests_of_it(
    theme: type, mutant: Any, fails: str, passes: str, tmp_path: Path
) -> None:
    names = [f"test_{fails}", f"test_{passes}"]
    assert failing(theme, mutant, tmp_path, *names) == names[:1]


class Plain(Reference):
    """Has no control characters in names."""

    def write(self, file_path: str, content: str, **options: Any) -> Any:
        return self.right("write", "" if not file_path.isprintable() else file_path, content)


class WithoutControls(Listing):
    control_names = False


def test_names_with_control_characters_are_supported_or_refused(tmp_path: Path) -> None:
    wrong = ["test_odd_names_are_listed_as_they_are"]
    assert failing(Listing, Plain, tmp_path) == wrong
    assert failing(WithoutControls, Plain, tmp_path) == []
    assert failing(Listing, Reference, tmp_path) == []
    assert failing(WithoutControls, Reference, tmp_path) == wrong


def test_a_path_of_the_host_in_an_answer_fails(tmp_path: Path) -> None:
    class Leaky(Reference):
        def read(self, file_path: str, *args: Any, **options: Any) -> Any:
            result = self.right("read", file_path, *args, **options)
            result.error = result.error and f"{tmp_path}{file_path}: no such file"
            return result

        def glob(self, pattern: str, path: str | None = None) -> Any:
            result = self.right("glob", pattern, path)
            for match in result.matches or ():
                match["path"] = f"{tmp_path}{match['path']}"
            return result

    assert len(failing(Privacy, Leaky, tmp_path)) == 2
    assert failing(Privacy, Reference, tmp_path) == []


class NaiveShell(Reference):
    """Runs commands with the whole environment, and waits for all that they start."""

    id = "naive"

    def execute(
        self, command: str, *, timeout: float | None = None, on_output: Any = None
    ) -> ExecuteResponse:
        try:
            done = subprocess.run(
                ["sh", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=dict(os.environ),
                timeout=min(timeout or 2, 2),
            )
        except subprocess.TimeoutExpired:
            return ExecuteResponse("", None)
        return ExecuteResponse(done.stdout.decode(errors="replace"), done.returncode)


def test_a_naive_shell_fails(tmp_path: Path) -> None:
    wrong = [
        "test_a_timeout_ends_a_command_and_keeps_what_it_printed",
        "test_output_is_streamed_while_the_command_runs",
        "test_secrets_of_the_environment_are_not_shown",
        "test_very_long_output_is_cut_and_keeps_its_ends",
    ]
    right = ["test_stderr_is_shown", "test_standard_input_is_empty"]
    assert failing(Commands, NaiveShell, tmp_path, *wrong, *right) == wrong
