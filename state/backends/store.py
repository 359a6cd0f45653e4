"""`StoreBackend`: files in the LangGraph store, which outlive the thread."""

from collections.abc import Callable
from typing import Any

from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore

from langgraph_filesystem.state.backends.namespaces import (
    Namespace,
    checked_namespace,
    default_namespace,
)
from langgraph_filesystem.state.backends.object_backend import ObjectBackend
from langgraph_filesystem.state.backends.objects import Objects
from langgraph_filesystem.state.backends.store_index import Directories
from langgraph_filesystem.state.backends.store_objects import StoreObjects
from langgraph_filesystem.state.errors import BackendFailed
from langgraph_filesystem.state.io import Io

__all__ = ("StoreBackend",)


class StoreBackend(ObjectBackend):
    """Files in one namespace of the store of the graph: kept across threads, for one user.

    A file is an item under its path: `{"content", "encoding", "created_at", "modified_at"}`, the
    form that `deepagents` writes and reads too. What is no such item is left alone, and noted in
    lists. Items of namespaces below and beside this one are never seen.

    Beside the files we keep a small item for each of them, with its size, in a namespace of our
    own: lists need no contents. What others write or delete in the namespace is noticed when it is
    listed, by counting, and the list is made anew. If other namespaces lie below this one, counting
    can't tell them apart, and a list reads all of them: let yours end in a word of its own.

    A store can't compare before it writes. Within one process edits of a file wait for each other,
    so all of them land. Of two processes that edit the same file in the same moment one may lose
    its edit: what was written is read again, and if it is not there any more the reply says so;
    only a write that comes after this look goes unnoticed. Use `RemoteBackend` where that matters.

    Files are put without an index, so they are not embedded, and with the store's default time to
    live.
    """

    lasting = True
    """Files are kept beyond the thread: the model is told so."""

    def __init__(
        self,
        namespace: Namespace | Callable[[Runtime[Any]], Namespace] | None = None,
        *,
        store: BaseStore | None = None,
        max_file_size_mb: float = 10,
    ) -> None:
        """Make a backend on a store.

        Args:
            namespace: Where the files are, or a function of the runtime that says so; by default
                a namespace for each assistant and user of the server, or for each `user_id` in the
                context of the run.
            store: The store, for use outside of a graph; by default the one of the running graph.
            max_file_size_mb: Size up to which files are searched, edited and read as bytes.
        """
        super().__init__(max_file_size_mb)
        self._namespace = namespace if callable(namespace) else None
        self._fixed = None
        if namespace is None:
            self._namespace = default_namespace
        elif self._namespace is None:
            self._fixed = checked_namespace(namespace)
        self._store = store
        self._directories = Directories()

    def _objects(self, io: Io) -> Objects:
        store = self._store
        if store is None:
            runtime = _running()
            store = None if runtime is None else runtime.store
        if store is None:
            raise BackendFailed(
                "There is no store to keep files in. Give one to the agent "
                "(`create_filesystem_agent(..., store=InMemoryStore())`) or to the backend "
                "(`StoreBackend(store=...)`); a LangGraph server brings its own."
            )
        return StoreObjects(store, self._place(), io, self._directories)

    def _place(self) -> Namespace:
        if self._fixed is not None:
            return self._fixed
        assert self._namespace is not None
        try:
            return checked_namespace(self._namespace(_running() or Runtime()))
        except ValueError as error:
            raise BackendFailed(f"The namespace of the store can't be used: {error}") from None


def _running() -> Runtime[Any] | None:
    """Return the runtime of the node that is running, if one is."""
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None
