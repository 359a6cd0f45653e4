"""`CompositeBackend`: several backends as one, each under its own path."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import get_runtime

from langgraph_filesystem.state.backends.file_store import FileStore, MountContext
from langgraph_filesystem.state.backends.protocol import Backend, BackendFactory
from langgraph_filesystem.state.backends.public import CommandMethods, PublicMethods
from langgraph_filesystem.state.workspace.mounts import Composed, Mounts
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("CompositeBackend",)


class CompositeBackend(Composed, PublicMethods):
    """Backends under path prefixes, as `mounts` of a graph are, in one object.

    ```python
    CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=("me",))})
    ```

    Give it as the `mounts` of a graph, mount it, or use it as a backend of its own. The longest
    prefix wins, and a directory above a prefix shows what is mounted below it. Each backend sees
    paths of its own, without the prefix; answers and errors have the whole path. It has `execute`
    if one of the backends has it, or is made by a factory and may have it.

    Args:
        default: The backend, or a factory of it, for every path that no prefix has.
        routes: Path prefixes and the backends, or factories, behind them.
    """

    def __init__(
        self,
        default: Backend | BackendFactory,
        routes: Mapping[str, Backend | BackendFactory] | None = None,
    ) -> None:
        self.mounts = Mounts({"/": default, **(routes or {})})
        if type(self) is CompositeBackend and self.mounts.shells:
            # Whoever looks for `execute` must not find it where nothing can run commands.
            self.__class__ = _CommandComposite

    def open(self, context: MountContext) -> FileStore:
        """Return all mounts as one store."""
        runtime = context.runtime or _current_runtime()
        return Workspace(self.mounts, context.files, runtime, prefix=context.prefix)


class _CommandComposite(CompositeBackend, CommandMethods):
    """One with a backend that runs commands: the first one that can, from `/` down."""

    @property
    def id(self) -> str:  # type: ignore[override]
        """The name of the backend that runs commands."""
        named = (getattr(mount.backend, "id", None) for mount in self.mounts.shells)
        return next((str(name) for name in named if name), "composite")


def _current_runtime() -> Any:
    """Return the runtime of the running node, if there is one: a factory may want it."""
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None
