"""`Twins`: the `a`-twins of a backend that blocks, for those who await them."""

import asyncio
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from langgraph_filesystem.state.io import CHANGING, in_thread

__all__ = ("Twins",)

_METHODS = (
    *("ls", "read", "write", "edit", "delete", "move", "glob", "grep"),
    *("upload_files", "download_files", "digest", "recall", "execute"),
)


class Twins:
    """Gives a class that inherits it a twin for each method that has none: it runs in a thread.

    Our graph needs no twins, but an agent of `deepagents` awaits them.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _METHODS:
            method = getattr(cls, name, None)
            if callable(method) and not _is_written(getattr(cls, f"a{name}", None)):
                setattr(cls, f"a{name}", _threaded(name, method))


def _threaded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def twin(self: Any, *args: Any, **options: Any) -> Any:
        work = partial(getattr(self, name), *args, **options)
        return await (in_thread(work) if name in CHANGING else asyncio.to_thread(work))

    twin.__name__ = f"a{name}"
    twin._is_made = True  # type: ignore[attr-defined]  # a subclass may write another method
    return twin


def _is_written(twin: object) -> bool:
    return twin is not None and not hasattr(twin, "_is_made")
