"""Mounts: which backend serves which path.

>>> mounts = Mounts({"/": StateBackend(), "/memories/": StateBackend()})
>>> mounts.locate("/memories/me.md").prefix
'/memories'
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from langgraph_filesystem.state.backends.file_store import Capabilities, FileStore, MountContext
from langgraph_filesystem.state.backends.foreign import ForeignBackend
from langgraph_filesystem.state.backends.protocol import Backend, BackendFactory
from langgraph_filesystem.state.backends.public import PublicMethods
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.errors import FilesystemError, PathRefused
from langgraph_filesystem.state.files import CONFLICTS, ThreadFiles
from langgraph_filesystem.state.paths import ancestors, is_within, normalize_path
from langgraph_filesystem.state.text import PathPart

__all__ = ("Composed", "Mount", "Mountable", "Mounts", "Overlaid", "open_store")


_STORE_METHODS = {"upload_files": "put", "download_files": "fetch"}
"""Public methods that a `FileStore` has under another name."""


@dataclass(frozen=True)
class Mount:
    """One backend under one prefix."""

    prefix: str
    """The normal path of the mount point: `/`, or such as `/memories` without a trailing slash."""
    backend: Any
    """The backend, or a factory that makes it from the runtime of a node."""

    @property
    def name(self) -> str:
        """The name of the backend in a plan or a drawing."""
        named = self.backend if self.is_factory else type(self.backend)
        return str(getattr(named, "__name__", type(named).__name__))

    @property
    def is_factory(self) -> bool:
        """Whether the backend is made when a node runs."""
        return not hasattr(self.backend, "ls")

    @cached_property
    def capabilities(self) -> Capabilities | None:
        """What the backend can do; `None` for a factory: only a run can tell."""
        return None if self.is_factory else self.open(ThreadFiles({}), None).capabilities

    @property
    def may_execute(self) -> bool:
        """Whether the backend runs commands, or may when it is made."""
        return self.capabilities is None or self.capabilities.executes

    @property
    def reaches_outside(self) -> bool:
        """Whether changes take effect outside the state, or may."""
        return self.capabilities is None or not self.capabilities.in_state

    @property
    def overlay(self) -> "Overlaid | None":
        """The backend, if it is an overlay over another one."""
        return self.backend if isinstance(self.backend, Overlaid) else None

    def inner(self, path: str) -> str:
        """Return the backend's name for a path of the graph."""
        return path if self.prefix == "/" else path[len(self.prefix) :] or "/"

    def outer(self, path: str) -> str:
        """Return the graph's name for a path of the backend."""
        path = "/" + path.strip("/")
        return path if self.prefix == "/" else (self.prefix + path).rstrip("/")

    def open(self, files: ThreadFiles | None, runtime: Any, *, above: str = "") -> FileStore:
        """Return the store of the backend for one run of a node."""
        backend = self.backend(runtime) if self.is_factory else self.backend
        prefix = above + self.prefix if above else self.prefix
        return open_store(backend, MountContext(prefix.rstrip("/") or "/", files, runtime))


class Alias(NamedTuple):
    """A path by which commands know the root of a mount."""

    path: str
    mount: Mount

    def resolve(self, path: str) -> str:
        """Return the path of the graph for a path that a command printed."""
        return self.mount.outer(path[len(self.path) :] or "/")


class Overlaid(PublicMethods):
    """A backend that keeps changes of another one in the thread."""

    @abstractmethod
    def open_lower(self, context: MountContext) -> FileStore:
        """Return the store of the backend below, for one run of a node."""


class Composed:
    """A backend that is made of mounts: wherever it is mounted, its own mounts are."""

    mounts: "Mounts"


Mountable: TypeAlias = Mapping[str, Backend | BackendFactory] | Composed
"""What can be given as `mounts`."""


class Mounts:
    """The mounts of a graph; the longest prefix wins."""

    def __init__(self, mounts: Mountable | None = None) -> None:
        given = {"/": mounts or StateBackend()} if isinstance(mounts, Composed | None) else mounts
        if not isinstance(given, Mapping):
            raise ValueError(
                "`mounts` must map path prefixes to backends, such as "
                f"`mounts={{'/': {type(given).__name__}(...)}}`."
            )
        found: dict[str, Mount] = {}
        for prefix, backend in _flattened(given):
            normal = _checked_prefix(prefix)
            if normal in found:
                raise ValueError(f"Two mounts have the prefix {normal!r}.")
            if isinstance(backend, type) or not (hasattr(backend, "ls") or callable(backend)):
                raise ValueError(
                    f"The mount {prefix!r} is neither a backend nor a function that makes one: "
                    f"{backend!r}."
                )
            found[normal] = mount = Mount(normal, backend)
            # A backend that can't be mounted there should say so when the graph is built.
            _ = mount.capabilities
        found.setdefault("/", Mount("/", StateBackend()))
        self.all = tuple(sorted(found.values(), key=lambda mount: -len(mount.prefix)))
        """All mounts, the longest prefix first."""

    @cached_property
    def shells(self) -> tuple[Mount, ...]:
        """The mounts that run commands, or may when their backend is made, from `/` down."""
        return tuple(mount for mount in reversed(self.all) if mount.may_execute)

    @cached_property
    def reached_by_commands(self) -> frozenset[str]:
        """The prefixes of mounts in which a command may change files: its own, and all that are
        directories of the same machine, which may be the same directory."""
        known = ((mount, mount.capabilities) for mount in self.all)
        return frozenset(m.prefix for m, c in known if m.may_execute or c is None or c.on_machine)

    @cached_property
    def aliases(self) -> tuple[Alias, ...]:
        """The paths by which commands know mounts, where these are other paths; longest first."""
        found = [
            Alias(mount.capabilities.command_root, mount)
            for mount in self.shells
            if mount.capabilities is not None
            and mount.capabilities.command_root not in (None, "/", mount.prefix)
        ]
        return tuple(sorted(found, key=lambda alias: -len(alias.path)))

    @cached_property
    def directories(self) -> frozenset[str]:
        """The paths above mount points, without `/`: directories, whatever a backend has there."""
        return frozenset(above for mount in self.all for above in ancestors(mount.prefix))

    @cached_property
    def overlays(self) -> tuple[Mount, ...]:
        """The mounts whose changes wait in the thread."""
        return tuple(mount for mount in self.all if mount.overlay is not None)

    @property
    def reach_outside(self) -> bool:
        """Whether a mount changes something outside the state, or may: commands always may."""
        return any(mount.reaches_outside or mount.may_execute for mount in self.all)

    def locate(self, path: str) -> Mount:
        """Return the mount that serves a path."""
        return next(mount for mount in self.all if is_within(path, mount.prefix))

    def with_made(self, mount: Mount, made: Any) -> "Mounts":
        """Return the mounts with a backend in place of the factory that made it.

        The mounts of a composed backend take its place, except where something else is mounted.
        """
        others = {one.prefix: one.backend for one in self.all if one is not mount}
        return Mounts({**dict(_flattened({mount.prefix: made})), **others})

    @cached_property
    def with_conflicts(self) -> "Mounts":
        """The mounts with `/conflicts` in the state, where edits are kept that did not fit."""
        others = {mount.prefix: mount.backend for mount in self.all}
        return Mounts({CONFLICTS: StateBackend(), **others})

    def below(self, path: str) -> list[Mount]:
        """Return the mounts strictly below a path, in the order of their prefixes."""
        return sorted(
            (m for m in self.all if m.prefix != path and is_within(m.prefix, path)),
            key=lambda mount: mount.prefix,
        )

    def alias_of(self, path: str) -> Alias | None:
        """Return the alias that a path may be written with.

        A path at or above a mount point is not an alias, nor is one whose real path another mount
        hides.
        """
        if self.below(path):
            return None
        served_by = self.locate(path)
        for alias in self.aliases:
            if is_within(path, alias.path) and len(alias.path) > len(served_by.prefix):
                return alias if self.locate(alias.resolve(path)) is alias.mount else None
        return None

    def refuse_mount_point(self, path: str) -> None:
        """Raise for a path at which, or below which, something is mounted."""
        if any(is_within(mount.prefix, path) for mount in self.all):
            what = "the root" if path == "/" else "a mount point, or a directory above one"
            raise FilesystemError(
                PathPart(path),
                f": is {what}, and can't be written, moved or deleted. Choose a path below it.",
            )


def open_store(backend: Any, context: MountContext) -> FileStore:
    """Return the store of a backend, ours or foreign, for one run of a node.

    Methods that a subclass of one of our backends overrides replace those of the store.
    """
    if not isinstance(backend, PublicMethods):
        return ForeignBackend(backend, context)
    store = backend.open(context)
    if not type(backend).overridden:
        return store
    wrapped = ForeignBackend(backend.bound_to(store), context)
    store = copy(store)
    names = {_STORE_METHODS.get(name, name) for name in type(backend).overridden}
    if "delete" in names:
        names.add("delete_copied")  # the store may have a way of its own to delete
    for name in names:
        setattr(store, name, getattr(wrapped, name))
    if "execute" in names:
        store.capabilities = replace(store.capabilities, executes=True, confines=False)
    return store


def _flattened(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield prefixes and backends, with the mounts of a composed backend in its place.

    A subclass that overrides a method stays one mount, or its method would not be called.
    """
    for prefix, backend in given.items():
        if isinstance(backend, Composed) and not getattr(type(backend), "overridden", ()):
            above = _checked_prefix(prefix).rstrip("/")
            for mount in backend.mounts.all:
                yield above + mount.prefix, mount.backend
        else:
            yield prefix, backend


def _checked_prefix(prefix: object) -> str:
    if not isinstance(prefix, str) or not prefix.startswith("/"):
        raise ValueError(f"A mount prefix must begin with '/', not {prefix!r}.")
    try:
        return normalize_path(prefix)
    except PathRefused as refused:
        raise ValueError(str(refused)) from None
