"""Mounts: which backend serves which path.

>>> mounts = Mounts({"/": StateBackend(), "/memories/": StateBackend()})
>>> mounts.locate("/memories/me.md").prefix
'/memories'
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from langgraph_filesystem.state.backends.protocol import Backend, BackendFactory
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.errors import PathRefused
from langgraph_filesystem.state.files import Files
from langgraph_filesystem.state.paths import is_within, normalize_path

__all__ = ("Mount", "Mounts")


@dataclass(frozen=True)
class Mount:
    """One backend under one prefix."""

    prefix: str
    """The normal path of the mount point: `/` or such as `/memories`, without a trailing slash."""
    backend: Any
    """The backend, or a factory of it."""

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
        if not self.is_factory:
            return cast("Backend", self.backend)
        made = self.backend(runtime)
        return Mount(self.prefix, made).open(files, runtime)


class Mounts:
    """The mounts of a graph; the longest prefix wins."""

    def __init__(self, mounts: Mapping[str, Backend | BackendFactory] | None = None) -> None:
        given = {"/": StateBackend()} if mounts is None else mounts
        if not isinstance(given, Mapping):
            raise ValueError("`mounts` must map path prefixes to backends.")
        found: dict[str, Mount] = {}
        for prefix, backend in given.items():
            normal = _checked_prefix(prefix)
            if normal in found:
                raise ValueError(f"Two mounts have the prefix {normal!r}.")
            if isinstance(backend, type) or not (hasattr(backend, "ls") or callable(backend)):
                raise ValueError(
                    f"The mount {prefix!r} is neither a backend nor a function: {backend!r}."
                )
            found[normal] = Mount(normal, backend)
        found.setdefault("/", Mount("/", StateBackend()))
        self.all = tuple(sorted(found.values(), key=lambda mount: -len(mount.prefix)))

    def locate(self, path: str) -> Mount:
        """Return the mount that serves a path."""
        return next(mount for mount in self.all if is_within(path, mount.prefix))

    def below(self, path: str) -> list[Mount]:
        """Return the mounts strictly below a path, in the order of their prefixes."""
        return sorted(
            (m for m in self.all if m.prefix != path and is_within(m.prefix, path)),
            key=lambda mount: mount.prefix,
        )

    def that_can(self, method: str) -> Mount | None:
        """Return the first mount, from `/` downwards, whose backend has a method."""
        able = (mount for mount in reversed(self.all) if mount.can(method))
        return next(able, None)


def _checked_prefix(prefix: object) -> str:
    if not isinstance(prefix, str) or not prefix.startswith("/"):
        raise ValueError(f"A mount prefix must begin with '/', not {prefix!r}.")
    try:
        return normalize_path(prefix)
    except PathRefused as refused:
        raise ValueError(str(refused)) from None
