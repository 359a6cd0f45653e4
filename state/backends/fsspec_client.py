"""Calls of an `fsspec` filesystem: in this thread, on its own event loop, or in another thread."""

import asyncio
from functools import partial
from typing import Any

from langgraph_filesystem.state.backends.many import aside
from langgraph_filesystem.state.io import takes

__all__ = ("FsspecClient",)


class FsspecClient:
    """The methods of one filesystem: each to be called, and its twin to be awaited."""

    def __init__(self, filesystem: Any) -> None:
        self.filesystem = filesystem
        innermost = filesystem
        while (wrapped := getattr(innermost, "fs", None)) is not None:
            innermost = wrapped
        self._is_async = bool(filesystem.async_impl and innermost.async_impl)
        protocol = innermost.protocol
        self.is_local = "file" in ([protocol] if isinstance(protocol, str) else protocol)
        self.has_directories = not self._is_async
        """Whether directories are there by themselves: what is behind HTTP has only keys."""
        self.can_create = takes(filesystem.pipe_file, "mode")

    def do(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method, past what was remembered of former answers."""
        self.filesystem.invalidate_cache()
        return getattr(self.filesystem, method)(*args, **options)

    async def ado(self, method: str, *args: Any, **options: Any) -> Any:
        """Await a method."""
        if not self._is_async:
            return await aside(partial(self.do, method, *args, **options))
        self.filesystem.invalidate_cache()
        running = getattr(self.filesystem, f"_{method}")(*args, **options)
        if self.filesystem.asynchronous:
            return await running
        # Its connections belong to a loop of its own.
        started = asyncio.run_coroutine_threadsafe(running, self.filesystem.loop)
        return await asyncio.wrap_future(started)
