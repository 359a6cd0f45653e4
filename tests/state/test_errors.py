"""Errors: what a model reads when something goes wrong."""

import copy
import pickle

import pytest

from langgraph_filesystem.state import errors
from langgraph_filesystem.state.errors import (
    ColumnPastEnd,
    FileExists,
    FileNotFound,
    FilesystemError,
    FileTooLarge,
    InvalidFiles,
    IsDirectory,
    NotDirectory,
    NotRead,
    NotText,
    OffsetPastEnd,
    PathRefused,
    PermissionDenied,
)
from langgraph_filesystem.state.text import PathPart


def test_every_error_is_exported_and_drawn_in_the_tree() -> None:
    kinds = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, FilesystemError)
    }
    assert kinds == set(errors.__all__)
    assert [name for name in kinds if name not in str(errors.__doc__)] == []


def test_invalid_files_are_a_value_error_for_the_caller() -> None:
    assert issubclass(InvalidFiles, ValueError)


@pytest.mark.parametrize(
    ("error", "next_step"),
    [
        (FileNotFound("/a/b"), "`ls`"),
        (FileNotFound("/a/b", "Ask for it."), "Ask for it."),
        (FileExists("/a/b", "Delete it first."), "Delete it first."),
        (IsDirectory("/a/b"), "`ls`"),
        (NotDirectory("/a/b"), "`read_file`"),
        (NotDirectory("/a/b", "/a"), "/m/a is a file"),
        (PermissionDenied("/a/b", "writing"), "does not allow writing"),
        (NotText("/a/b", 1234), "1,234 bytes"),
        (FileTooLarge("/a/b", 2000, 1000), "limit of 1,000"),
        (OffsetPastEnd("/a/b", 9, 3), "below 3"),
        (ColumnPastEnd("/a/b", 2, 5, 9), "line 2 has 5 characters"),
        (NotRead("/a/b", "it has changed"), "`read_file`"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_message_names_the_path_and_the_next_step(error: FilesystemError, next_step: str) -> None:
    assert str(error).startswith("/a/b: ")
    for same in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        renamed = same.renamed(lambda path: "/m" + path)
        assert type(renamed) is type(error)
        assert str(renamed).startswith("/m/a/b: ")
        assert next_step in str(renamed)


def test_an_error_that_is_renamed_leaves_the_first_as_it_was() -> None:
    error = FilesystemError(PathPart("/a"), ": is the root.")
    error.renamed(lambda path: "/m")
    assert str(error) == "/a: is the root."


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("x" * 1_000_000, "1,000,000 characters"),
        (b"/a", "b'/a'"),
        ("/a\ud800\x1b[31m\nb", r"'/a\ud800\x1b[31m\nb'"),
    ],
    ids=["long", "bytes", "controls"],
)
def test_a_refused_path_can_be_shown_anywhere(path: object, shown: str) -> None:
    message = str(PathRefused(path, "it is odd."))
    assert shown in message
    assert len(message) < 500
    assert message.isprintable()
    message.encode()


def test_a_refused_path_is_renamed_like_any_other() -> None:
    error = PathRefused("/C:x", "there are no drive letters.").renamed("/b".__add__)
    assert (
        str(error.renamed("/a".__add__))
        == "Path '/a/b/C:x' is invalid: there are no drive letters."
    )
