"""Single entries of a directory, opened so that a sandbox can be given them.

Part of the supervisor, like `descendants`. No link is followed: a command may have left one that
leads out of the directory, and bubblewrap looks at it from outside.
"""

import contextlib
import os
import stat
from collections.abc import Iterable

__all__ = ("open_entries",)

_FIRST = 16
"""As which handle bubblewrap finds the first of them."""
_FLAGS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0


def open_entries(directory: int, paths: Iterable[str]) -> tuple[dict[int, int], list[str]]:
    """Return the handles of entries, and what bubblewrap is told to show them below `/`."""
    files: dict[int, int] = {}
    arguments: list[str] = []
    for path in paths:
        with contextlib.suppress(OSError):  # it may be gone by now
            handle = _open(directory, path)
            mode = os.fstat(handle).st_mode
            if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
                number = _FIRST + len(files)
                files[number] = handle
                arguments += ["--bind-fd", str(number), f"/{path}"]
                continue
            if stat.S_ISLNK(mode):
                arguments += ["--symlink", os.readlink("", dir_fd=handle), f"/{path}"]
            os.close(handle)
    return files, arguments


def _open(directory: int, path: str) -> int:
    above, _, name = path.rpartition("/")
    if not above:
        return os.open(name, _FLAGS, dir_fd=directory)
    parent = os.open(above, _FLAGS | os.O_DIRECTORY, dir_fd=directory)
    try:
        return os.open(name, _FLAGS, dir_fd=parent)
    finally:
        os.close(parent)
