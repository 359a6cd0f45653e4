"""Mounts: which backend serves which path.

>>> mounts = Mounts({"/": StateBackend(), "/memories/": StateBackend()})
>>> mounts.locate("/memories/me.md").prefix
'/memories'
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from langgraph_filesystem.state.backends.protocol import Backend, BackendFactory
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.errors import FilesystemError, PathRefused
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.state.paths import is_within, normalize_path
from langgraph_filesystem.state.shells import second_paths_of

__all__ = ("Composed", "Mount", "Mountable", "Mounts")

_OPENED = "/"
"""Stands among the names of directories for: it was called."""


@dataclass(frozen=True)
class Mount:
    """One backend under one prefix."""

    prefix: str
    """The normal path of the mount point: `/` or such as `/memories`, without a trailing slash."""
    backend: Any
    """The backend, or a factory of it."""
    _tops: set[str] = field(default_factory=set, compare=False, repr=False)
    """Of a factory, in which directories of the host's `/` commands of what it made have run."""

    @property
    def name(self) -> str:
        """Return what to call the backend in a plan or a drawing."""
        named = self.backend if self.is_factory else type(self.backend)
        return str(getattr(named, "__name__", type(named).__name__))

    @property
    def is_factory(self) -> bool:
        """Say whether the backend is made anew when a node runs."""
        return not hasattr(self.backend, "ls")

    def can(self, method: str) -> bool:
        """Say whether the backend has a method; of a factory it is not known, so it may."""
        return self.is_factory or callable(getattr(self.backend, method, None))

    def inner(self, path: str) -> str:
        """Return what the backend calls a path of the graph."""
        return path if self.prefix == "/" else path[len(self.prefix) :] or "/"

    def outer(self, path: str) -> str:
        """Return what the graph calls a path of the backend."""
        path = "/" + path.strip("/")
        return path if self.prefix == "/" else (self.prefix + path).rstrip("/")

    def open(self, files: Files, runtime: Any) -> Backend:
        """Return the backend, ready for the calls of one node run."""
        if isinstance(self.backend, StateBackend):
            return self.backend.bind(files, self.prefix)
        if isinstance(self.backend, Composed):
            return self.backend.bind(files, self.prefix, runtime)
        if not self.is_factory:
            return cast("Backend", self.backend)
        self._tops.add(_OPENED)
        made = _placed(self.backend(runtime), self.prefix)
        self._tops.update(_top(start) for start, _ in second_paths_of(made, self.prefix))
        return Mount(self.prefix, made).open(files, runtime)

    def may_print(self, path: str) -> bool:
        """Say whether commands of what a factory makes may call a file by a path.

        Of one that nobody has called yet, in this process, it is not known.
        """
        return self.is_factory and (not self._tops or _top(path) in self._tops)


def _top(path: str) -> str:
    """Return the first name of a path."""
    return path.split("/", 2)[1]


class Composed(ABC):
    """Mounts as one backend: wherever it is mounted, its own mounts are."""

    mounts: "Mounts"

    @abstractmethod
    def bind(self, files: Files, prefix: str = "/", runtime: Any = None) -> Backend:
        """Return the backend over the files of a running thread."""


Mountable: TypeAlias = Mapping[str, Backend | BackendFactory] | Composed
"""What can be given as `mounts`."""


class Mounts:
    """The mounts of a graph; the longest prefix wins."""

    def __init__(self, mounts: Mountable | None = None) -> None:
        given = {"/": mounts or StateBackend()} if isinstance(mounts, Composed | None) else mounts
        if not isinstance(given, Mapping):
            raise ValueError(
                "`mounts` must map path prefixes to backends: write "
                f'`mounts={{"/": ...}}` around the {type(mounts).__name__}.'
            )
        found: dict[str, Mount] = {}
        for prefix, backend in _unpacked(given):
            normal = _checked_prefix(prefix)
            if normal in found:
                raise ValueError(f"Two mounts have the prefix {normal!r}.")
            if isinstance(backend, type) or not (hasattr(backend, "ls") or callable(backend)):
                raise ValueError(
                    f"The mount {prefix!r} is neither a backend nor a function: {backend!r}."
                )
            found[normal] = Mount(normal, _placed(backend, normal))
        found.setdefault("/", Mount("/", StateBackend()))
        self.all = tuple(sorted(found.values(), key=lambda mount: -len(mount.prefix)))
        self.shells = tuple(mount for mount in reversed(self.all) if mount.can("execute"))
        """Those that run commands, or may when their backend is made, from `/` down."""

    def locate(self, path: str) -> Mount:
        """Return the mount that serves a path."""
        return next(mount for mount in self.all if is_within(path, mount.prefix))

    def below(self, path: str) -> list[Mount]:
        """Return the mounts strictly below a path, in the order of their prefixes."""
        return sorted(
            (m for m in self.all if m.prefix != path and is_within(m.prefix, path)),
            key=lambda mount: mount.prefix,
        )

    def refuse_point(self, path: str) -> None:
        """Raise for a path at which, or below which, something is mounted."""
        if any(is_within(mount.prefix, path) for mount in self.all):
            what = "the root" if path == "/" else "a mount point, or above one"
            raise FilesystemError(f"{path}: is {what}, and can't be written, moved or deleted.")

    def that_can(self, method: str) -> Mount | None:
        """Return the first mount, from `/` downwards, whose backend has a method."""
        able = (mount for mount in reversed(self.all) if mount.can(method))
        return next(able, None)


def _unpacked(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield prefixes and backends, with what a composed one is made of in its place."""
    for prefix, backend in given.items():
        if isinstance(backend, Composed):
            above = _checked_prefix(prefix).rstrip("/")
            for mount in backend.mounts.all:
                yield above + mount.prefix, mount.backend
        else:
            yield prefix, backend


def _placed(backend: Any, prefix: str) -> Any:
    """Tell a backend where it is mounted, if it wants to know: its commands see paths too."""
    # Asked of its class: some objects have every attribute that they are asked for.
    wants_to_know = callable(getattr(type(backend), "mounted_at", None))
    return backend.mounted_at(prefix) if wants_to_know else backend


def _checked_prefix(prefix: object) -> str:
    if not isinstance(prefix, str) or not prefix.startswith("/"):
        raise ValueError(f"A mount prefix must begin with '/', not {prefix!r}.")
    try:
        return normalize_path(prefix)
    except PathRefused as refused:
        raise ValueError(str(refused)) from None
