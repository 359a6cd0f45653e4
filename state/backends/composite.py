"""`CompositeBackend`: several backends as one, each under its own path."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from copy import copy
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from langgraph.runtime import get_runtime

from langgraph_filesystem.state.backends.composed import Calls, answered
from langgraph_filesystem.state.backends.protocol import Backend, BackendFactory
from langgraph_filesystem.state.backends.state import BoundStateBackend, OverFiles
from langgraph_filesystem.state.errors import Unsupported
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.state.io import Awaiting, Blocking, Io, finished
from langgraph_filesystem.state.mounts import Composed, Mount, Mounts
from langgraph_filesystem.state.shells import second_paths_of
from langgraph_filesystem.state.view import View

__all__ = ("CompositeBackend",)

P = ParamSpec("P")
R = TypeVar("R")


def _twins(
    act: Callable[Concatenate[Calls, P], Coroutine[Any, Any, R]],
) -> tuple[
    Callable[Concatenate["CompositeBackend", P], R],
    Callable[Concatenate["CompositeBackend", P], Coroutine[Any, Any, R]],
]:
    """Return a method and its twin that do the same, blocking and awaited."""

    @wraps(act)
    def now(self: "CompositeBackend", /, *args: P.args, **options: P.kwargs) -> R:
        return cast("R", finished(self._answer(Blocking(), act, *args, **options), act.__name__))

    @wraps(act)
    async def awaited(self: "CompositeBackend", /, *args: P.args, **options: P.kwargs) -> R:
        return cast("R", await self._answer(Awaiting(), act, *args, **options))

    awaited.__name__ = f"a{act.__name__}"
    return now, awaited


class CompositeBackend(Composed, OverFiles):
    """Backends under path prefixes, as `mounts` of a graph are, in one object.

    ```python
    CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=("me",))})
    ```

    Give it as the `mounts` of a graph, mount it, or use it as a backend of its own. The longest
    prefix wins, and what is above a prefix shows what is below it. Each backend sees paths of its
    own, without the prefix; answers and errors have the whole path.

    Args:
        default: The backend, or a factory of it, for every path that no prefix has.
        routes: Path prefixes and the backends, or factories, behind them.
    """

    mounts: Mounts

    def __new__(
        cls,
        default: Backend | BackendFactory,
        routes: Mapping[str, Backend | BackendFactory] | None = None,
    ) -> "CompositeBackend":
        """Make one that has `execute` if a backend has it, or may have it once it is made."""
        mounts = Mounts({"/": default, **(routes or {})})
        able = mounts.that_can("execute") is not None
        made = super().__new__(_CommandComposite if able and cls is CompositeBackend else cls)
        made.mounts = mounts
        return made

    def __init__(
        self,
        default: Backend | BackendFactory,
        routes: Mapping[str, Backend | BackendFactory] | None = None,
    ) -> None:
        self._files: Files | None = None
        self._prefix = ""
        self._runtime: Any = None

    @property
    def second_paths(self) -> Sequence[tuple[str, str]]:
        """Where commands of its backends find directories, and what it calls these itself."""
        known = (mount for mount in self.mounts.all if not mount.is_factory)
        return [
            (start, mount.outer(inner))
            for mount in known
            for start, inner in second_paths_of(mount.backend, mount.prefix)
        ]

    def __copy__(self) -> "CompositeBackend":
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def bind(self, files: Files, prefix: str = "/", runtime: Any = None) -> "CompositeBackend":
        """Return the backend over the files of a running thread, those at or below a prefix."""
        bound = copy(self)
        bound._files, bound._prefix, bound._runtime = files, prefix.rstrip("/"), runtime
        return bound

    def rebound(self, files: Files) -> "CompositeBackend":
        """Return the same backend over other files."""
        return self.bind(files, self._prefix or "/", self._runtime)

    ls, als = _twins(Calls.ls)
    read, aread = _twins(Calls.read)
    write, awrite = _twins(Calls.write)
    edit, aedit = _twins(Calls.edit)
    delete, adelete = _twins(Calls.delete)
    move, amove = _twins(Calls.move)
    inventory, ainventory = _twins(Calls.inventory)
    glob, aglob = _twins(Calls.glob)
    grep, agrep = _twins(Calls.grep)
    upload_files, aupload_files = _twins(Calls.upload_files)
    download_files, adownload_files = _twins(Calls.download_files)
    digest, adigest = _twins(Calls.digest)
    recall, arecall = _twins(Calls.recall)

    async def _answer(self, io: Io, act: Callable[..., Any], *args: Any, **options: Any) -> Any:
        calls = self._calls(io)
        result = await answered(calls, act, args, options)
        for one in result if isinstance(result, list) else [result]:
            if update := getattr(one, "files_update", None):
                one.files_update = {self._prefix + path: write for path, write in update.items()}
        return result

    def _calls(self, io: Io) -> Calls:
        runtime = self._runtime or _runtime()
        if self._files is None:
            return Calls(_Outside(self.mounts, io, runtime, {}), io)
        return Calls(View(self.mounts, io, runtime, _below(self._files, self._prefix)), io)


class _CommandComposite(CompositeBackend):
    """One of which a backend runs commands: the first one that can, from `/` downwards."""

    execute, aexecute = _twins(Calls.execute)

    @property
    def id(self) -> str:
        """Return the name of what runs commands."""
        return str(getattr(self._calls(Blocking()).shell(), "id", "composite"))


class _Outside(View):
    """What is seen outside of a graph, where nobody keeps the files of a thread."""

    def backend(self, mount: Mount) -> Any:
        """Return the backend of a mount, if it has files of its own."""
        backend = super().backend(mount)
        if isinstance(backend, BoundStateBackend):
            raise Unsupported(
                f"{mount.prefix}: what is in the state can be used only in a graph: give this "
                "backend as `mounts`."
            )
        return backend


def _runtime() -> Any:
    """Return the runtime of the node that runs, if one does: a factory may want it."""
    try:
        return get_runtime()
    except RuntimeError:
        return None


def _below(files: Files, prefix: str) -> Files:
    if not prefix:
        return files
    start, skip = prefix + "/", len(prefix)
    return {path[skip:]: file for path, file in files.items() if path.startswith(start)}
