"""Errors of awaited methods: carried by results, and named by codes."""

import pytest

from langgraph_filesystem.state.backends.protocol import LsResult
from langgraph_filesystem.state.backends.reports import error_code, reports
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
    PermissionDenied,
)


class Lister:
    @reports(LsResult)
    async def ls(self, path: str, *, failure: Exception | None = None) -> LsResult:
        """List."""
        if failure is not None:
            raise failure
        return LsResult(entries=[{"path": path}])


async def test_a_result_comes_back_as_it_is() -> None:
    assert await Lister().ls("/a") == LsResult(entries=[{"path": "/a"}])


async def test_an_error_of_ours_becomes_a_result_that_carries_it() -> None:
    result = await Lister().ls("/a", failure=FileNotFound("/a"))
    assert result.entries is None
    assert result.error == str(FileNotFound("/a"))


async def test_a_fault_in_the_program_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        await Lister().ls("/a", failure=KeyError("a"))


def test_the_method_keeps_its_name_and_its_words() -> None:
    assert (Lister.ls.__name__, Lister.ls.__doc__) == ("ls", "List.")


class _Denied(PermissionDenied):
    """A kind of its own."""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FileNotFound("/a"), "file_not_found"),
        (IsDirectory("/a"), "is_directory"),
        (NotDirectory("/a/b", "/a"), "invalid_path"),
        (PathRefused("a", "it is relative."), "invalid_path"),
        (PermissionDenied("/a"), "permission_denied"),
        (_Denied("/a"), "permission_denied"),
        (BackendFailed("/a: the store is gone."), "/a: the store is gone."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_is_named_by_its_code_or_told_whole(error: FilesystemError, code: str) -> None:
    assert error_code(error) == code
