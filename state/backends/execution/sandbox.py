"""`SandboxBackend`: files in a directory, and commands that see nothing else of the host."""

import contextlib
import copy
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from langgraph_filesystem.state.backends.disk.backend import FilesystemBackend
from langgraph_filesystem.state.backends.disk.jail import RESERVED, TEMPORARY, Jail
from langgraph_filesystem.state.backends.execution.bubblewrap import (
    HOME,
    Layout,
    SandboxUnavailable,
    find_bubblewraps,
    is_reserved,
)
from langgraph_filesystem.state.backends.execution.covers import Cover, find_covers, handles_of
from langgraph_filesystem.state.backends.execution.output import Output
from langgraph_filesystem.state.backends.execution.process import (
    Command,
    Ending,
    OnOutput,
    run_blocking,
    signal_name,
)
from langgraph_filesystem.state.backends.execution.shell import (
    DEFAULT_TIMEOUT,
    MAX_OUTPUT_BYTES,
    MEGABYTE,
    ROOT_VARIABLE,
    ShellStore,
    backend_id,
)
from langgraph_filesystem.state.backends.file_store import Confinement, MountContext
from langgraph_filesystem.state.backends.protocol import ExecuteResponse
from langgraph_filesystem.state.backends.public import CommandMethods
from langgraph_filesystem.state.errors import BackendFailed

__all__ = ("SandboxBackend", "SandboxStore", "SandboxUnavailable")

_PLACES = ("/workspace", "/.workspace")
"""Where the directory is in a sandbox when it is mounted at `/`; the second one if it has an entry
of the first name, because a path must not have two meanings."""
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
_SCRIPT = """
# Whatever calls itself `bwrap`: without a sandbox around it nothing is run.
read -r first </etc/passwd
case $first in agent:*) ;; *) exit 125 ;; esac
# Some shells know the number of processes by the one letter, some by the other.
[ -z "$2" ] || ulimit -u "$2" 2>/dev/null || ulimit -p "$2" 2>/dev/null
# A shell says on its stderr if a signal has ended its child: the only way to tell that from an exit
# status above 128, which is what bubblewrap makes of it. The command has another stderr.
(exec 2>&3 3>&-; exec /bin/sh -c "$1")
exit $?
"""

_proven: set[str] = set()
"""The programs that have confined a command in this process."""


class SandboxStore(ShellStore):
    """A directory in which commands run under bubblewrap."""

    def __init__(
        self,
        jail: Jail,
        *,
        root: str,
        network: bool,
        limits: Mapping[str, int],
        read_only: Sequence[str],
        timeout: float,
        max_output_bytes: int,
        env: Mapping[str, str],
        max_file_size_mb: float,
        max_written_file_mb: float | None,
    ) -> None:
        super().__init__(
            jail,
            root=root,
            timeout=timeout,
            max_output_bytes=max_output_bytes,
            env=env,
            max_file_size_mb=max_file_size_mb,
            max_written_file_mb=max_written_file_mb,
        )
        for name, limit in limits.items():
            if limit < 1:
                raise ValueError(f"`{name}` must be at least 1, not {limit!r}.")
        self._network = network
        self._most = limits
        self._read_only = read_only
        self._is_at_root = True
        self._confinement: Confinement | None = None
        self._layers: tuple[str, ...] = ()
        self._bubblewrap = self._working()

    def mounted_at(self, prefix: str) -> Self:
        """Return the store for a mount: commands find the directory at the same path."""
        if prefix == "/":
            return self
        if is_reserved(prefix):
            raise ValueError(
                f"A SandboxBackend can't be mounted at {prefix!r}: commands find the system there. "
                "Choose another prefix, such as '/repo'."
            )
        store = copy.copy(self)
        store._is_at_root = False
        store._use_root(prefix)
        return store

    @property
    def jail(self) -> Jail:
        """The directory."""
        return self._jail

    def over(
        self, *layers: str, read_only: Sequence[str] = (), max_output_bytes: int | None = None
    ) -> Self:
        """Return the store for commands that see a layer over the directory.

        With a second directory, in which the kernel works, they may write to the layer, else to
        nothing. The directory itself is only read.
        """
        store = copy.copy(self)
        store._layers = layers
        store._read_only = [*self._read_only, *read_only]
        store._max_output = max_output_bytes or self._max_output
        return store

    def _use_root(self, root: str) -> None:
        super()._use_root(root)
        self.capabilities = replace(self.capabilities, confines=True)

    async def execute(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        once: str | None = None,
        confinement: Confinement | None = None,
    ) -> ExecuteResponse:
        """Run a command that sees and changes only what it may."""
        store = copy.copy(self)
        store._confinement = confinement
        run = super(SandboxStore, store).execute
        return await run(command, timeout=timeout, on_output=on_output, once=once)

    def _command(self, text: str, directory: int) -> Command:
        covers = find_covers(self._jail, self._confinement) if self._confinement else []
        layout = Layout(
            place=self._root,
            memory=self._most["memory_mb"] * MEGABYTE,
            network=self._network,
            read_only=self._read_only,
            hidden=[] if self._layers else _journal_in(directory),
            links=self._names(directory, covers) if self._is_at_root else (),
            covers=covers,
            layers=self._layers,
        )
        processes = str(self._most["processes"]) if _counts_per_namespace() else ""
        return Command(
            layout.arguments(self._bubblewrap, ["/bin/sh", "-c", _SCRIPT, "sh", text, processes]),
            {ROOT_VARIABLE: self._root, **self._env},
            directory,
            self._limits(),
            inputs=layout.inputs(),
            handles={number: path[1:] for path, number in handles_of(covers).items()},
        )

    def _names(self, directory: int, covers: Sequence[Cover]) -> list[str]:
        names = _names_in(directory, covers)
        for upper in self._layers[:1]:
            with os.scandir(upper) as found:
                own = {entry.name: entry.stat(follow_symlinks=False).st_mode for entry in found}
            names = sorted({*names, *own} - {n for n, mode in own.items() if stat.S_ISCHR(mode)})
        return names

    def _limits(self) -> dict[str, int]:
        return {
            **super()._limits(),
            "memory": self._most["memory_mb"] * MEGABYTE,
            "processes": self._most["processes"],
            "cpu": self._most["cpu_seconds"],
        }

    def _explained(self, ending: Ending) -> tuple[int | None, str | None, str]:
        if ending.exceeded:
            limits = dict(zip(_EXCEEDED, self._most.values(), strict=True))
            what = _EXCEEDED[ending.exceeded].format(f"{limits[ending.exceeded]:,}")
            return None, "SIGKILL", f"[ended because it used {what}]\n"
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
            ending = run_blocking(lambda: self._ending(":", 30, Output(1_000)))
            if ending.code == 0:
                _proven.add(self._bubblewrap)
                return self._bubblewrap
            said = ending.notes.strip() or f"it ended with {ending.code}"
        raise SandboxUnavailable(said)


class SandboxBackend(FilesystemBackend, CommandMethods):
    """A directory of the host, and commands that see it and nothing else of yours.

    Commands run under bubblewrap: the system (`/usr` and what belongs to it) can be read, the
    directory can be written, `/tmp` and the home directory are empty and last for one command.
    Nothing else of the host is there, no other process, and no network unless `network=True`; then
    the network is that of the host, with what listens on its loopback.

    All processes of a command together get `memory_mb` (their files in `/tmp` are counted apart,
    with the same limit), `processes` (threads count) and `cpu_seconds`; a single one can't have
    more either. A command that takes more is ended. With `max_written_file_mb` a process that
    writes a larger file is ended. A command can't make a file set-uid or set-gid (on x86 and ARM).
    As with `LocalShellBackend` nothing of a command survives it, and `env` is all that it gets of
    variables.

    Where bubblewrap can't work, making the object raises `SandboxUnavailable`, which says what to
    install or to enable: commands are never run without it.

    Paths: mounted at `/repo`, the directory is at `/repo` for commands too. Mounted at `/`, it is
    at `/workspace` for commands, which run there; `/src/a.py` of the file operations is `src/a.py`
    for them, or `/workspace/src/a.py`. What lies in the directory when a command starts (up to 400
    names that the system doesn't have) is also found right below `/`, but nothing new can be
    created there. Paths with `/workspace` work for the file operations of an agent too. In
    `$FILES_ROOT` commands find where the directory is.
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
        max_written_file_mb: float | None = None,
    ) -> None:
        if os.path.realpath(root_dir) == "/":
            raise ValueError("With `/` as its root a sandbox confines nothing. Choose a directory.")
        self.id = backend_id("sandbox", os.path.realpath(root_dir))
        self._disk: SandboxStore = SandboxStore(
            Jail(root_dir),
            root=_PLACES[os.path.lexists(f"{os.fspath(root_dir)}{_PLACES[0]}")],
            network=network,
            limits={"memory_mb": memory_mb, "processes": processes, "cpu_seconds": cpu_seconds},
            read_only=[_existing(path) for path in read_only],
            timeout=timeout,
            max_output_bytes=max_output_bytes,
            env={**_ENVIRONMENT, **(env or {})},
            max_file_size_mb=max_file_size_mb,
            max_written_file_mb=max_written_file_mb,
        )

    def open(self, context: MountContext) -> SandboxStore:
        """Return the store, which is the same for every run."""
        return self._disk.mounted_at(context.prefix)


def _journal_in(directory: int) -> list[str]:
    """Return our own directory, if it is one: a command may have replaced it."""
    with contextlib.suppress(OSError):
        status = os.stat(RESERVED, dir_fd=directory, follow_symlinks=False)
        return [RESERVED] if stat.S_ISDIR(status.st_mode) else []
    return []


def _names_in(directory: int, covers: Sequence[Cover]) -> list[str]:
    names = set(os.listdir(directory))
    if covers and covers[0] == Cover("/", "none", is_directory=True):
        names = {cover.path.split("/")[1] for cover in covers if cover.access != "none"}
    names -= {cover.path[1:] for cover in covers if cover.access == "none"}
    return sorted(n for n in names if n != RESERVED and not n.startswith(TEMPORARY))


def _counts_per_namespace() -> bool:
    """Return whether the kernel counts processes per user *namespace*, which is new in a sandbox.

    Before Linux 5.14 a limit would count all processes of the user.
    """
    return tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (5, 14)


def _without_paths(said: str) -> str:
    """Return what bubblewrap said without the paths of the host."""
    return re.sub(r"/[^\s:]+", "a path", said.strip())


def _existing(path: str | os.PathLike[str]) -> str:
    if not os.path.exists(path):
        raise ValueError(f"{os.fspath(path)!r} in `read_only` does not exist.")
    return os.path.abspath(path)
