"""Errors: what a model reads when something goes wrong."""

import pytest

from langgraph_filesystem.state import errors
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    InvalidFiles,
    IsDirectory,
    NotDirectory,
    NotRead,
    NotText,
    OffsetPastEnd,
    PathRefused,
)


def test_every_error_is_exported_and_is_a_filesystem_error() -> None:
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    assert kinds == set(errors.__all__)
    for name in kinds:
        assert issubclass(getattr(errors, name), FilesystemError)


def test_the_tree_in_the_docstring_names_every_error() -> None:
    assert errors.__doc__ is not None
    assert [name for name in errors.__all__ if name not in errors.__doc__] == []


def test_bad_files_are_a_value_error_for_the_caller() -> None:
    assert issubclass(InvalidFiles, ValueError)


@pytest.mark.parametrize(
    ("error", "next_step"),
    [
        (FileNotFound("/a/b"), "`ls`"),
        (FileNotFound("/a/b", "Ask for it."), "Ask for it."),
        (FileExists("/a/b", "Delete it first."), "Delete it first."),
        (IsDirectory("/a/b"), "`ls`"),
        (NotDirectory("/a/b"), "`read_file`"),
        (NotDirectory("/a/b", "/a"), "/a is a file"),
        (NotText("/a/b", 1234), "1,234 bytes"),
        (OffsetPastEnd("/a/b", 9, 3), "below 3"),
        (NotRead("/a/b", "it has changed"), "`read_file`"),
        (PathRefused("/a/b", "it is odd."), "it is odd."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_message_names_the_path_and_the_next_step(error: Exception, next_step: str) -> None:
    assert "/a/b" in str(error)
    assert next_step in str(error)


def test_a_megabyte_of_path_is_not_repeated_in_the_message() -> None:
    message = str(PathRefused("x" * 1_000_000, "it is long."))
    assert len(message) < 500
    assert "1,000,000 characters" in message


def test_a_path_that_is_no_text_is_shown_as_python_writes_it() -> None:
    assert "b'/a'" in str(PathRefused(b"/a", "a path is text."))


def test_a_refused_path_is_shown_so_that_it_can_be_printed_anywhere() -> None:
    message = str(PathRefused("/a\ud800\x1b[31m\nb", "it is odd."))
    assert message.encode().decode() == message
    assert "\x1b" not in message
    assert "\n" not in message
