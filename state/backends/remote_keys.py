"""Keys of a remote store: where below a prefix a path lies, and which keys are no paths."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from langgraph_filesystem.state.backends.objects import Entry, Listing
from langgraph_filesystem.state.errors import PathRefused
from langgraph_filesystem.state.paths import is_within, normalize_path

__all__ = ("NOTES", "Keys", "listing")

NOTES = "/.langgraph-filesystem"
"""Where the journal is: hidden, and refused as a path."""


class Keys:
    """The keys below one prefix, in the spelling of the store: no path leads out of it."""

    def __init__(self, root: str) -> None:
        self._root = root

    def key(self, path: str) -> str:
        """Return the key of a path."""
        return f"{self._root}{path}" if self._root else path[1:]

    def path(self, key: str) -> str | None:
        """Return the path of a key, or `None` for one that is no path below the prefix."""
        rest = key.strip("/") if not self._root else key.rstrip("/")
        if self._root:
            if not rest.startswith(f"{self._root}/"):
                return None
            rest = rest[len(self._root) + 1 :]
        path = f"/{rest}"
        try:
            return path if normalize_path(path) == path else None
        except PathRefused:
            return None


def check_reserved(path: str) -> None:
    """Refuse the paths of the journal."""
    if is_within(path, NOTES):
        raise PathRefused(path, "it is reserved. Choose another path.")


def listing(keys: Keys, files: Iterable[Entry], directories: Iterable[str] = ()) -> Listing:
    """Return what has keys under its paths, without the journal and what is no path."""
    found = Listing()
    odd: list[str] = []
    for file in files:
        path = keys.path(file.path)
        if path is None:
            odd.append(file.path)
        elif not is_within(path, NOTES):
            found.files.append(replace(file, path=path))
    for key in directories:
        path = keys.path(key)
        if path is None:
            odd.append(key)
        elif path != NOTES:
            found.directories.add(path)
    found.note = _note(odd)
    return found


def _note(odd: Sequence[str]) -> str | None:
    if not odd:
        return None
    name = odd[0].rstrip("/").rpartition("/")[2]
    more = f" and {len(odd) - 1:,} more" if len(odd) > 1 else ""
    return f"Left out, because its name can't be a path here: {name[:200]!r}{more}."
