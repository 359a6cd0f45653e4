"""`Applied`: a backend that answers with `files_update`, with its updates applied at once."""

import inspect
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from langgraph_filesystem.state.files import Files, apply_write, checked_update

__all__ = ("Applied",)


class Applied:
    """Does for a backend outside of a graph what the graph does: keeps the files, and merges.

    ```python
    backend = Applied(StateBackend().bind)
    ```

    Args:
        bind: A function of the files that returns the backend over them.
        files: The files to begin with.
    """

    def __init__(self, bind: Callable[[Files], Any], files: Files | None = None) -> None:
        self.files: Files = {} if files is None else files
        self._bind = bind
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._bind(self.files), name)
        if not callable(method):
            return method
        return self._awaited(method) if inspect.iscoroutinefunction(method) else self._now(method)

    def _now(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def applied(*args: Any, **options: Any) -> Any:
            # Nothing may come between what a call finds and what it leaves.
            with self._lock:
                current = getattr(self._bind(self.files), method.__name__)
                return self._merged(current(*args, **options))

        return applied

    def _awaited(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        async def applied(*args: Any, **options: Any) -> Any:
            current = getattr(self._bind(self.files), method.__name__)
            return self._merged(await current(*args, **options))

        return applied

    def _merged(self, result: Any) -> Any:
        for one in result if isinstance(result, list) else [result]:
            for path, write in checked_update(getattr(one, "files_update", None)).items():
                apply_write(self.files, path, write)
        return result
