"""A jail whose directory has a second path: the one by which commands know it.

A command prints absolute paths as it sees them. A model then asks for these, and finds the file.
"""

import os
from collections.abc import Sequence

from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.paths import is_within

__all__ = ("JailOfCommands",)


class JailOfCommands(Jail):
    """The tree below one directory, from `/` on, and from where commands find it."""

    def __init__(self, root_dir: str | os.PathLike[str], paths: Sequence[str]) -> None:
        super().__init__(root_dir)
        self._paths = paths

    @property
    def second(self) -> str | None:
        """The second path: the first of those given that nothing in the directory hides."""
        return next((path for path in self._paths if not self._hides(path)), None)

    def normal(self, path: str) -> str:
        """Return the one spelling of a path, which begins at the directory."""
        path = super().normal(path)
        if any(is_within(path, second) for second in self._paths):
            found = self.second
            if found is not None and is_within(path, found):
                return super().normal(path[len(found) :] or "/")
        return path

    def _hides(self, path: str) -> bool:
        """Say whether the directory itself has something at a path."""
        try:
            os.stat(path.lstrip("/"), dir_fd=self.root, follow_symlinks=False)
        except OSError:
            return False
        return True
