"""What a backend says of the host: where its directory is there, and its commands find files."""

import os
from collections.abc import Sequence
from typing import Any, cast

__all__ = ("host_root_of", "place_of", "second_paths_of")


def place_of(backend: Any) -> str | None:
    """Return where commands find what a backend calls `/`, or `None` if it doesn't say."""
    # Asked of its class: some objects have every attribute that they are asked for.
    if hasattr(type(backend), "place"):
        return cast("str", backend.place)
    directory = _directory_of(backend)
    return directory if directory is None or getattr(backend, "virtual_mode", False) else "/"


def second_paths_of(backend: Any, prefix: str) -> Sequence[tuple[str, str]]:
    """Return where commands find directories of a backend, and what it calls these itself."""
    if hasattr(type(backend), "second_paths"):
        return cast("Sequence[tuple[str, str]]", backend.second_paths)
    directory = _directory_of(backend)
    if directory is None or directory in ("/", prefix):
        return ()
    if getattr(backend, "virtual_mode", False):
        return [(directory, "/")]
    return [(directory, directory)] if prefix != "/" else ()


def host_root_of(backend: Any) -> str | None:
    """Return which directory of the host a backend of `deepagents` calls `/`, if it is another."""
    directory = _host_path(getattr(backend, "cwd", None))
    return directory if directory != "/" and getattr(backend, "virtual_mode", False) else None


def _directory_of(backend: Any) -> str | None:
    """Return where a shell of `deepagents` runs commands."""
    runs_commands = callable(getattr(backend, "execute", None))
    return _host_path(getattr(backend, "cwd", None)) if runs_commands else None


def _host_path(directory: object) -> str | None:
    path = os.fspath(directory) if isinstance(directory, str | os.PathLike) else None
    return path if isinstance(path, str) and path.startswith("/") else None
