"""`SandboxBackend`: files in a directory, and commands that see nothing else of the host."""

import asyncio
import contextlib
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from langgraph_filesystem.state.backends.bubblewrap import SandboxUnavailable, find_bubblewraps
from langgraph_filesystem.state.backends.commands import (
    DEFAULT_TIMEOUT,
    MAX_OUTPUT_BYTES,
    ROOT_VARIABLE,
    DiskWithCommands,
    signal_name,
)
from langgraph_filesystem.state.backends.confinement import HOME, INPUTS, MERGED, View, is_reserved
from langgraph_filesystem.state.backends.jail import RESERVED, TEMPORARY
from langgraph_filesystem.state.backends.output import Output
from langgraph_filesystem.state.backends.processes import Ending, Job, run_blocking
from langgraph_filesystem.state.backends.second_path import JailOfCommands
from langgraph_filesystem.state.backends.supervisor import ENTRIES
from langgraph_filesystem.state.errors import BackendFailed, FilesystemError

__all__ = ("SandboxBackend", "SandboxUnavailable")

_PLACES = ("/workspace", "/.workspace")
"""Where the directory is in a sandbox, when it is mounted at `/` or not at all."""
_MEGABYTE = 1024 * 1024
_HEAD, _TAIL = 10, 11
"""As which handles bubblewrap finds what it is told."""
_ENVIRONMENT = {
    "HOME": HOME,
    "LANG": "C.UTF-8",
    "LOGNAME": "agent",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SHELL": "/bin/sh",
    "TERM": "dumb",
    "TMPDIR": "/tmp",
    "USER": "agent",
}
_EXCEEDED = {
    "memory": "more than {} MB of memory",
    "processes": "more than {} processes",
    "cpu": "more than {} s of processor time",
}

# Whatever calls itself `bwrap`: without a sandbox around it nothing is run.
_CHECK = "read -r first </etc/passwd\ncase $first in agent:*) ;; *) exit 125 ;; esac\n"
# A shell says on its standard error if a signal has ended a child: the only way to tell that from
# an exit status above 128, which is what bubblewrap makes of it. The command has another one.
_RUN = '(exec 2>&3 3>&-; exec /bin/sh -c "$1")\nstatus=$?\n'
_TAKE_IN = r"""
# What was made right below / goes to the directory that is shown there.
for path in /* /.[!.]* /..?*; do
  [ -e "$path" ] || [ -L "$path" ] || continue
  case $3 in *"
${path#/}
"*) continue ;; esac
  case $4 in *"
${path#/}
"*) [ -L "$path" ] && continue ;; esac
  cp -a -- "$path" "$2/" 2>&3
done
"""
_EXIT = "exit $status\n"

_proven: set[str] = set()
"""The programs that have confined a command in this process."""


class SandboxBackend(DiskWithCommands):
    """A directory of the host, and commands that see it and nothing else of yours.

    Commands run under bubblewrap: the system (`/usr` and what belongs to it) can be read, the
    directory can be written, `/tmp` and the home directory are empty and last for one command.
    Nothing else of the host is there, no other process, and no network unless `network=True`; then
    the network is that of the host, with what listens on its loopback.

    All processes of a command together get `memory_mb` (their files in `/tmp` are counted apart,
    with the same limit), `processes` (threads count) and `cpu_seconds`; a single one can't have
    more either. What takes more is ended. As with `LocalShellBackend` nothing of a command lives
    on, and `env` is all that it gets of variables.

    Where bubblewrap can't work, making the object raises `SandboxUnavailable`, which says what to
    install or to enable: commands are never run without it.

    Paths: mounted at `/repo`, the directory is at `/repo` for commands too. Mounted at `/`, it is
    at `/workspace` for commands, which run there, and what lies in it (its first 400 entries) is
    also found right below `/`, next to the system. What a command makes directly below `/` is there
    for the others once the command has ended by itself. Paths with `/workspace` work for the file
    operations too. In `$FILES_ROOT` commands find where the directory is.
    """

    def __init__(
        self,
        root_dir: str | os.PathLike[str],
        *,
        network: bool = False,
        memory_mb: int = 2_048,
        processes: int = 1_024,
        cpu_seconds: int = 3_600,
        timeout: float = DEFAULT_TIMEOUT,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
        env: Mapping[str, str] | None = None,
        read_only: Sequence[str | os.PathLike[str]] = (),
        max_file_size_mb: float = 10,
    ) -> None:
        if os.path.realpath(root_dir) == "/":
            raise ValueError("With `/` as its root a sandbox confines nothing. Choose a directory.")
        super().__init__(
            root_dir,
            paths=_PLACES,
            timeout=timeout,
            max_output_bytes=max_output_bytes,
            env={**_ENVIRONMENT, **(env or {})},
            max_file_size_mb=max_file_size_mb,
        )
        self._network = network
        self._limits = _checked_limits(memory=memory_mb, processes=processes, cpu=cpu_seconds)
        self._read_only = [_existing(path) for path in read_only]
        self._place: str | None = None
        self._bubblewrap = self._working()

    @property
    def place(self) -> str:
        """Where commands find what the file operations call `/`: where it is mounted."""
        return self._place or "/"

    def mounted_at(self, prefix: str) -> Self:
        """Return the backend for a mount: commands find the directory where the graph has it."""
        if prefix != "/" and is_reserved(prefix):
            raise ValueError(
                f"A SandboxBackend can't be mounted at {prefix!r}: commands find the system there. "
                "Choose another prefix, such as '/repo'."
            )
        twin = super().mounted_at(prefix)
        twin._place = None if prefix == "/" else prefix
        return twin

    async def _job(self, command: str) -> Job:
        return await asyncio.to_thread(self._planned, command)

    def _planned(self, command: str) -> Job:
        """Return the job for a command, from what is in the directory now."""
        view = self._view()
        options = (f"--args {_HEAD} --args {ENTRIES} --args {_TAIL}").split()
        script = _CHECK + _RUN + ("" if self._place else _TAKE_IN) + _EXIT
        names = _listed(*view.taken(), *view.bound()), _listed(*view.linked())
        return Job(
            [
                *(self._bubblewrap, *options, "--"),
                *("/bin/sh", "-c", script, "sh", command, view.place, *names),
            ],
            {ROOT_VARIABLE: view.place, **self._env},
            inputs={**INPUTS, _HEAD: _words(view.head()), _TAIL: _words(view.tail())},
            limits={**self._limits, "memory": view.memory},
            entries=view.bound(),
        )

    def _view(self) -> View:
        names = self._names()
        return View(
            place=self._place or self._free_place(),
            memory=self._limits["memory"] * _MEGABYTE,
            network=self._network,
            read_only=self._read_only,
            hidden=self._hidden(),
            names=None if self._place else self._names_at_top(names),
        )

    def _hidden(self) -> list[str]:
        """Return the directories of ours. What a command put in the place of one is not covered."""
        with contextlib.suppress(OSError):
            status = os.stat(RESERVED, dir_fd=self._jail.root, follow_symlinks=False)
            return [RESERVED] if stat.S_ISDIR(status.st_mode) else []
        return []

    def _free_place(self) -> str:
        second = self._jail.second if isinstance(self._jail, JailOfCommands) else None
        return second or _PLACES[-1]

    def _names_at_top(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return what can be found below `/` too, with what is in those that the system has."""
        return {
            name: self._names(f"/{name}") if name in MERGED else []
            for name in names
            if "\n" not in name and name != RESERVED and not name.startswith(TEMPORARY)
        }

    def _names(self, path: str = "/") -> list[str]:
        with contextlib.suppress(FilesystemError):
            handle = self._jail.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                return sorted(os.listdir(handle))
            finally:
                os.close(handle)
        return []

    def _explained(self, ending: Ending) -> tuple[int | None, str | None, str]:
        if ending.exceeded:
            what = _EXCEEDED[ending.exceeded].format(f"{self._limits[ending.exceeded]:,}")
            return None, "SIGKILL", f"[ended, because it used {what}]\n"
        if ending.notes.startswith("bwrap: ") and not ending.timed_out:
            raise BackendFailed(f"The sandbox could not be set up: {_without_paths(ending.notes)}")
        if ending.notes and ending.code is not None and ending.code > 128:
            return None, signal_name(ending.code - 128), ""
        return super()._explained(ending)

    def _working(self) -> str:
        """Return a bubblewrap that has confined a command here."""
        said = ""
        for self._bubblewrap in find_bubblewraps():
            if self._bubblewrap in _proven:
                return self._bubblewrap
            ending = run_blocking(self._proof)
            if ending.code == 0:
                _proven.add(self._bubblewrap)
                return self._bubblewrap
            said = ending.notes.strip() or f"it ended with {ending.code}"
        raise SandboxUnavailable(said)

    async def _proof(self) -> Ending:
        return await self._ending(":", 30, Output(1_000))


def _listed(*names: str) -> str:
    """Return names as a text in which a shell finds one of them between two newlines."""
    return "".join(f"\n{name}" for name in names) + "\n"


def _words(words: Iterable[str]) -> str:
    """Return words as bubblewrap reads them from a file."""
    return "".join(f"{word}\0" for word in words)


def _without_paths(said: str) -> str:
    """Return what bubblewrap said without the paths of the host."""
    return re.sub(r"/[^\s:]+", "a path", said.strip())


def _existing(path: str | os.PathLike[str]) -> str:
    if not os.path.exists(path):
        raise ValueError(f"{os.fspath(path)!r} in `read_only` does not exist.")
    return os.path.abspath(path)


def _checked_limits(**limits: int) -> dict[str, int]:
    for name, limit in limits.items():
        if limit < 1:
            raise ValueError(f"The limit of {name} must be at least 1, not {limit!r}.")
    return limits
