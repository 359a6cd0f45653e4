"""Errors into results, as the protocol wants: for methods that are not awaited."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from langgraph_filesystem.state.errors import FilesystemError

__all__ = ("reporting",)

P = ParamSpec("P")
R = TypeVar("R")


def reporting(result: Callable[..., R]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Turn an error into a result that carries it."""

    def wrap(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def reported(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return method(*args, **kwargs)
            except FilesystemError as error:
                return result(error=str(error))

        return reported

    return wrap
