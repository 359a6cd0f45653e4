"""How commands name files: said before a model writes one, and again when one fails by it."""

import re
from collections.abc import Sequence
from typing import Any

from langgraph_filesystem.state.mounts import Composed, Mount
from langgraph_filesystem.state.paths import is_within
from langgraph_filesystem.state.places import is_there
from langgraph_filesystem.state.shells import place_of
from langgraph_filesystem.state.view import View

__all__ = ("hint", "where_commands_run")

_PATH = re.compile(r"(?<![\w./~$}*?:-])(?:/[\w.+@-]+)+")
"""An absolute path in a command line: no part of another path, of an address or of a pattern."""
_MOST = 5
"""Paths of a command that are looked for."""


def where_commands_run(mounts: Sequence[Mount]) -> str:
    """Say where commands run and how they name files there; nothing, if only a run can tell."""
    shell = next((mount for mount in reversed(mounts) if mount.can("execute")), None)
    if shell is None or shell.is_factory or _knows_nothing(shell, shell.backend):
        return ""
    below = [mount.prefix for mount in mounts if _is_below(mount.prefix, shell.prefix)]
    return f"{_naming(shell)}{_missing(shell.prefix, sorted(below))}"


async def hint(view: View, shell: Mount, command: str, output: str) -> str:
    """Return what to do about a path in a command that only the file operations know.

    Of a path that the output does not name, the command has not complained.
    """
    paths = [path for path in _PATH.findall(command) if path in output]
    for path in dict.fromkeys(paths[:_MOST]):
        mount = view.mounts.locate(path)
        said = _renaming(view, shell, path) if mount is shell else _elsewhere(shell, mount, path)
        # Below a prefix of its own commands find nothing; elsewhere there are paths that they know.
        is_alone = mount is shell and shell.prefix != "/"
        if said and (is_alone or await is_there(view, mount, path)):
            return said
    return ""


def _renaming(view: View, shell: Mount, path: str) -> str:
    backend = view.backend(shell)
    place = place_of(backend)
    if place == shell.prefix or _knows_nothing(shell, backend):
        return ""
    if place is None:
        return f"commands don't know the path {shell.prefix}: leave it out of {path}"
    if place != "/" and is_within(path, place):
        return ""
    return f"commands don't know the path {path}: call it {_named(shell, backend, path)}"


def _elsewhere(shell: Mount, mount: Mount, path: str) -> str:
    is_nested = is_within(mount.prefix, shell.prefix)
    where = f"outside of {mount.prefix}" if is_nested else f"in {shell.prefix}"
    return f"commands don't see {path} of the file operations: what they need must be {where}"


def _knows_nothing(shell: Mount, backend: Any) -> bool:
    """Say whether nothing is known of how commands name files: others don't say, and needn't."""
    is_made_of_several = isinstance(backend, Composed)
    return is_made_of_several or (shell.prefix == "/" and place_of(backend) is None)


def _naming(shell: Mount) -> str:
    here, place = shell.prefix, place_of(shell.backend)
    if place == here == "/":
        return "Commands find files at the same paths as the other operations."
    if place == here:
        return f"Commands start in `{here}` and find what is below it at the same paths."
    if place is None:
        return f"Commands see the files of `{here}/`, but don't know that path."
    example = f"{here.rstrip('/')}/src/a.py"
    named = f"for them `{example}` is {_named(shell, shell.backend, example)}."
    if place == "/":
        return f"Commands don't know the path `{here}`: {named}"
    return (
        f"Commands start in what the other operations call `{here}`, and know it by another path: "
        f"{named}"
    )


def _named(shell: Mount, backend: Any, path: str) -> str:
    """Return what commands call a file."""
    inner, place = shell.inner(path), place_of(backend)
    relative = inner.lstrip("/") or "."
    if place == "/":
        return f"`{inner}`"
    variable = getattr(backend, "root_variable", None)
    return f"`{relative}`" + (f", or `${variable}/{relative}` from anywhere" if variable else "")


def _missing(here: str, below: Sequence[str]) -> str:
    """Say which files commands don't have."""
    listed = ", ".join(f"`{prefix}/`" for prefix in below)
    if here == "/":
        return f" They don't see {listed}." if below else ""
    return f" They don't see your other files{f', nor {listed}' if below else ''}."


def _is_below(path: str, directory: str) -> bool:
    return path != directory and is_within(path, directory)
