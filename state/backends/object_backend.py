"""A backend of objects under keys: each operation once, to be called and to be awaited."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from langgraph_filesystem.state.backends.object_access import Tidied
from langgraph_filesystem.state.backends.object_pages import Bookmarks
from langgraph_filesystem.state.backends.object_reading import Reading
from langgraph_filesystem.state.backends.object_writing import Writing
from langgraph_filesystem.state.backends.objects import Objects
from langgraph_filesystem.state.io import Awaiting, Blocking, Io, finished

__all__ = ("ObjectBackend",)

P = ParamSpec("P")
R = TypeVar("R")

Blocked = Callable[Concatenate["ObjectBackend", P], R]
Awaited = Callable[Concatenate["ObjectBackend", P], Coroutine[Any, Any, R]]


class _Operations(Reading, Writing):
    """All operations of one call."""


def _twins(
    operation: Callable[Concatenate[_Operations, P], Coroutine[Any, Any, R]],
) -> tuple[Blocked[P, R], Awaited[P, R]]:
    """Return an operation as a method that blocks, and as one that is awaited."""

    @functools.wraps(operation)
    def blocked(self: "ObjectBackend", *args: P.args, **kwargs: P.kwargs) -> R:
        running = operation(self._operations(Blocking()), *args, **kwargs)
        return finished(running, operation.__name__)

    @functools.wraps(operation)
    async def awaited(self: "ObjectBackend", *args: P.args, **kwargs: P.kwargs) -> R:
        return await operation(self._operations(Awaiting()), *args, **kwargs)

    awaited.__name__ = f"a{operation.__name__}"
    return cast("Blocked[P, R]", blocked), cast("Awaited[P, R]", awaited)


class ObjectBackend:
    """Files as values under keys. Every method has a twin to be awaited: `aread` of `read`."""

    def __init__(self, max_file_size_mb: float) -> None:
        if max_file_size_mb <= 0:
            raise ValueError(f"`max_file_size_mb` must be more than 0, not {max_file_size_mb!r}.")
        self._limit = int(max_file_size_mb * (1 << 20))
        self._bookmarks = Bookmarks()
        self._tidied = Tidied()

    def _objects(self, io: Io) -> Objects:
        """Return the place of the files, for one call; raise a `FilesystemError` if it has none."""
        raise NotImplementedError

    def _operations(self, io: Io) -> _Operations:
        place = functools.partial(self._objects, io)
        return _Operations(place, io, self._limit, self._bookmarks, self._tidied)

    ls, als = _twins(_Operations.ls)
    read, aread = _twins(_Operations.read)
    write, awrite = _twins(_Operations.write)
    edit, aedit = _twins(_Operations.edit)
    delete, adelete = _twins(_Operations.delete)
    move, amove = _twins(_Operations.move)
    glob, aglob = _twins(_Operations.glob)
    grep, agrep = _twins(_Operations.grep)
    inventory, ainventory = _twins(_Operations.inventory)
    digest, adigest = _twins(_Operations.digest)
    recall, arecall = _twins(_Operations.recall)
    upload_files, aupload_files = _twins(_Operations.upload_files)
    download_files, adownload_files = _twins(_Operations.download_files)
