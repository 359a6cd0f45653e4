"""`LocalShellBackend`: files in a directory, and commands on the host itself."""

import os
from collections.abc import Mapping

from langgraph_filesystem.state.backends.commands import (
    DEFAULT_TIMEOUT,
    MAX_OUTPUT_BYTES,
    ROOT_VARIABLE,
    DiskWithCommands,
)
from langgraph_filesystem.state.backends.processes import Job

__all__ = ("LocalShellBackend",)

_ALLOWED = frozenset(
    {"COLORTERM", "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ"}
    | {"USER", "XDG_RUNTIME_DIR"}
)
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


class LocalShellBackend(DiskWithCommands):
    """A directory of the host, in which commands run with the rights of this process.

    **Commands are not confined**: what a model writes can read and change all that you can. Use
    `SandboxBackend` unless you trust it, or the machine is there to be thrown away.

    A command runs as `/bin/sh -c` in a session of its own, in `root_dir`, without input. Nothing of
    it lives on: when it ends, its time is up, the run is cancelled or this process dies, all that
    descends from it is killed, whatever it did to get away. (Found by parentage on Linux. On macOS
    it is the process group, which a process can leave.)

    Of the environment it gets what is harmless (`PATH`, `HOME`, `LANG`, ...) and what is given as
    `env`, so that no key of yours is printed by chance; `inherit_env=True` passes on all of it.

    Paths: mounted at `/project`, what the file operations call `/project/src/a.py` is `src/a.py`
    for a command, and `$FILES_ROOT/src/a.py` wherever it has gone: on the host nothing is at that
    path. The model is told so, and again when a command fails and complains of such a path. An
    absolute path that a command printed leads the file operations to the same file. Paths are
    simply the same for both in a `SandboxBackend`, with `virtual_mode=False` at `/`, where they
    are the host's, and if the directory is mounted at its own path: `{"/srv/repo":
    LocalShellBackend("/srv/repo")}`.
    """

    def __init__(
        self,
        root_dir: str | os.PathLike[str] | None = None,
        *,
        virtual_mode: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
        env: Mapping[str, str] | None = None,
        inherit_env: bool = False,
        max_file_size_mb: float = 10,
    ) -> None:
        directory = os.curdir if root_dir is None else root_dir
        path = os.path.realpath(directory)
        super().__init__(
            directory,
            virtual_mode=virtual_mode,
            paths=[path] if path != "/" else [],
            timeout=timeout,
            max_output_bytes=max_output_bytes,
            env={**_inherited(inherit_env), ROOT_VARIABLE: path, **(env or {})},
            max_file_size_mb=max_file_size_mb,
        )
        self._place = path if virtual_mode else "/"

    @property
    def place(self) -> str:
        """Where commands find what the file operations call `/`: a path of the host."""
        return self._place

    async def _job(self, command: str) -> Job:
        return Job(["/bin/sh", "-c", command], self._env)


def _inherited(everything: bool) -> dict[str, str]:
    if everything:
        return dict(os.environ)
    allowed = {
        name: value
        for name, value in os.environ.items()
        if name in _ALLOWED or name.startswith("LC_")
    }
    return {"PATH": _DEFAULT_PATH, **allowed}
