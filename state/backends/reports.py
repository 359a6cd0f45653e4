"""Errors into results, as the protocol wants: for methods that are awaited."""

import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
    PermissionDenied,
)

__all__ = ("error_code", "reports")

P = ParamSpec("P")
R = TypeVar("R")

_CODES: dict[type[FilesystemError], str] = {
    FileExists: "file_exists",
    FileNotFound: "file_not_found",
    IsDirectory: "is_directory",
    NotDirectory: "invalid_path",
    PathRefused: "invalid_path",
    PermissionDenied: "permission_denied",
}


def reports(
    result: Callable[..., R],
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R]]]:
    """Turn an error into a result that carries it."""

    def wrap(method: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        @functools.wraps(method)
        async def reporting(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return await method(*args, **kwargs)
            except FilesystemError as error:
                return result(error=str(error))

        return reporting

    return wrap


def error_code(error: FilesystemError) -> str:
    """Return the word by which `upload_files` and `download_files` name an error, or all of it."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), str(error))
