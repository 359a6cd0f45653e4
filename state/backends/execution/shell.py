"""`LocalShellBackend`: files in a directory, and commands on the host itself.

`ShellStore` is what it shares with `SandboxBackend`.
"""

import contextlib
import hashlib
import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Self

from langgraph_filesystem.state.backends.disk.backend import DiskStore, FilesystemBackend
from langgraph_filesystem.state.backends.disk.jail import Jail, Unconfined
from langgraph_filesystem.state.backends.execution.output import Output
from langgraph_filesystem.state.backends.execution.process import (
    Command,
    Ending,
    OnOutput,
    run,
    run_blocking,
    signal_name,
)
from langgraph_filesystem.state.backends.file_store import Confinement
from langgraph_filesystem.state.backends.protocol import ExecuteResponse, Outcome
from langgraph_filesystem.state.backends.public import CommandMethods
from langgraph_filesystem.state.errors import BackendFailed, InvalidCall
from langgraph_filesystem.state.io import awaiting, change_in_thread, in_thread, is_sync

__all__ = (
    "DEFAULT_TIMEOUT",
    "MAX_OUTPUT_BYTES",
    "MEGABYTE",
    "ROOT_VARIABLE",
    "LocalShellBackend",
    "ShellStore",
    "backend_id",
)

DEFAULT_TIMEOUT = 120
MAX_OUTPUT_BYTES = 100_000
MEGABYTE = 1024 * 1024
ROOT_VARIABLE = "FILES_ROOT"
"""The environment variable that tells a command where the directory is."""
_LONGEST = 131_000
"""Bytes of a command line. Linux takes 131,072 as one argument."""
_NOT_RUN = 126
"""The exit status of a shell for a command that it can't run."""
_ALLOWED = frozenset(
    {"COLORTERM", "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ"}
    | {"USER", "XDG_RUNTIME_DIR"}
)
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


class ShellStore(DiskStore):
    """The files below one directory of the host, in which commands run."""

    def __init__(
        self,
        jail: Jail,
        *,
        root: str,
        timeout: float,
        max_output_bytes: int,
        env: Mapping[str, str],
        max_file_size_mb: float,
        max_written_file_mb: float | None,
    ) -> None:
        super().__init__(jail, int(max_file_size_mb * MEGABYTE))
        if timeout <= 0:
            raise ValueError(f"`timeout` must be more than 0 s, not {timeout!r}.")
        if max_output_bytes < 100:
            raise ValueError(f"`max_output_bytes` must be at least 100, not {max_output_bytes!r}.")
        if max_written_file_mb is not None and max_written_file_mb <= 0:
            raise ValueError(
                f"`max_written_file_mb` must be more than 0 MB, not {max_written_file_mb!r}."
            )
        self._timeout = timeout
        self._max_output = max_output_bytes
        self._max_written = max_written_file_mb
        self._env = {name: value for name, value in env.items() if _is_variable(name, value)}
        self._use_root(root)

    def mounted_at(self, prefix: str) -> Self:
        """Return the store for a mount."""
        return self

    def _use_root(self, root: str) -> None:
        """Let commands find `/` of the store at a path."""
        self._root = root
        self.capabilities = replace(DiskStore.capabilities, executes=True, command_root=root)

    async def execute(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        once: str | None = None,
        confinement: Confinement | None = None,
    ) -> ExecuteResponse:
        """Run a command, and return when it and everything it started has ended.

        No thread is held meanwhile. If the run is cancelled, the command ends.
        """
        if is_sync():
            return run_blocking(lambda: self._execute(command, timeout, on_output, once))
        return await self._execute(command, timeout, on_output, once)

    async def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call; for a command, its output too."""
        try:
            record = await in_thread(self._journal.journal.find, once)
        except OSError:
            return None
        if record is None or "command" not in record:
            return await super().recall(once)
        try:
            return Outcome(finished=True, response=ExecuteResponse(**record["response"]))
        except (KeyError, TypeError):  # it has not ended, or somebody else wrote there
            return Outcome(finished=False)

    @abstractmethod
    def _command(self, text: str, directory: int) -> Command:
        """Return what to run for a command line, in an open directory. It may look at the disk."""

    def _limits(self) -> dict[str, int]:
        return {} if self._max_written is None else {"file": int(self._max_written * MEGABYTE)}

    def _explained(self, ending: Ending) -> tuple[int | None, str | None, str]:
        """Return the exit status, the name of the signal, and a note for the model."""
        code = ending.code
        if code is None or code >= 0:
            return code, None, ""
        return None, signal_name(-code), ""

    async def _execute(
        self,
        command: str,
        timeout: float | None,
        on_output: OnOutput | None,
        once: str | None,
    ) -> ExecuteResponse:
        with awaiting():  # `run_blocking` has a loop of its own
            try:
                _check(command, timeout)
            except InvalidCall as invalid:
                return ExecuteResponse(f"{invalid}\n", _NOT_RUN)
            if once is not None:
                await change_in_thread(self._begin, once, command)
            response = await self._run(command, timeout or self._timeout, on_output)
            if once is not None:
                await change_in_thread(self._end, once, command, response)
            return response

    async def _run(
        self, command: str, timeout: float, on_output: OnOutput | None
    ) -> ExecuteResponse:
        output = Output(self._max_output)
        ending = await self._ending(command, timeout, output, on_output)
        return self._response(ending, timeout, output)

    async def _ending(
        self, command: str, timeout: float, output: Output, on_output: OnOutput | None = None
    ) -> Ending:
        opened: list[int] = []
        try:
            given = await change_in_thread(self._prepared, command, opened)
            return await run(given, output, timeout=timeout, on_output=on_output)
        finally:
            for handle in opened:
                os.close(handle)

    def _prepared(self, command: str, opened: list[int]) -> Command:
        # By an open handle: another directory may be at the path by now.
        directory = self._jail.open(self._jail.home, os.O_RDONLY | os.O_DIRECTORY)
        opened.append(directory)
        # A shell would take a command that begins with `-` for an option.
        text = f" {command}" if command.startswith(("-", "+")) else command
        return self._command(text, directory)

    def _response(self, ending: Ending, timeout: float, output: Output) -> ExecuteResponse:
        if ending.notes.startswith("exec: "):
            raise BackendFailed(f"No command can be run here: {ending.notes.strip()}.")
        code, name, note = self._explained(ending)
        if name == "SIGXFSZ" and self._max_written is not None:
            note += f"[a file grew over the limit of {self._max_written:g} MB]\n"
        if ending.left:
            note += f"[{ending.left} of its processes could not be ended]\n"
        text = output.text()
        if note and text and not text.endswith("\n"):
            text += "\n"
        if ending.timed_out:
            return ExecuteResponse(text + note, None, output.truncated, "SIGKILL", True, timeout)
        return ExecuteResponse(text + note, code, output.truncated, name)

    def _begin(self, once: str, command: str) -> None:
        try:
            self._journal.journal.begin(once, {"command": _digest(command)})
        except OSError as error:
            raise BackendFailed(
                "The command was not run, because the journal could not be written: "
                f"{os.strerror(error.errno or 0)}. Check the disk, then try again."
            ) from None

    def _end(self, once: str, command: str, response: ExecuteResponse) -> None:
        note = {"command": _digest(command), "response": asdict(response)}
        with contextlib.suppress(OSError):  # then it counts as started but not finished
            self._journal.journal.end(once, note)


class LocalShellStore(ShellStore):
    """A directory in which commands run on the host itself."""

    def _command(self, text: str, directory: int) -> Command:
        return Command(["/bin/sh", "-c", text], self._env, directory, self._limits())


class LocalShellBackend(FilesystemBackend, CommandMethods):
    """A directory of the host, in which commands run with the rights of this process.

    **Commands are not confined**: what a model writes can read and change all that you can. Use
    `SandboxBackend` unless you trust it, or the machine can be thrown away.

    A command runs as `/bin/sh -c` in a session of its own, in `root_dir`, without input. Nothing of
    it survives: when it ends, its time is up, the run is cancelled or this process dies, all that
    descends from it is killed, whatever it did to get away. (Found by parentage on Linux. On macOS
    it is the process group, which a process can leave.)

    Of the environment it gets harmless variables (`PATH`, `HOME`, `LANG`, ...) and those given as
    `env`, so that no key of yours is printed by chance; `inherit_env=True` passes on all of them.

    With `max_written_file_mb` a process of a command that writes a larger file is ended.

    Paths: mounted at `/project`, what the file operations call `/project/src/a.py` is `src/a.py`
    for a command, and `$FILES_ROOT/src/a.py` from any directory: on the host nothing is at that
    path. The model is told so, and again when a command fails and complains of such a path. An
    absolute path that a command printed leads the file operations of an agent to the same file.
    Paths are the same for both in a `SandboxBackend` that is not mounted at `/`, with
    `virtual_mode=False` at `/`, where they are the host's, and if the directory is mounted at its
    own path: `{"/srv/repo": LocalShellBackend("/srv/repo")}`.
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
        max_written_file_mb: float | None = None,
    ) -> None:
        directory = os.curdir if root_dir is None else root_dir
        path = os.path.realpath(directory)
        self.id = backend_id("localshell", path)
        self._disk = LocalShellStore(
            Jail(directory) if virtual_mode else Unconfined(directory),
            root=path if virtual_mode else "/",
            timeout=timeout,
            max_output_bytes=max_output_bytes,
            env={**_inherited(inherit_env), ROOT_VARIABLE: path, **(env or {})},
            max_file_size_mb=max_file_size_mb,
            max_written_file_mb=max_written_file_mb,
        )


def backend_id(kind: str, path: str) -> str:
    """Return the id of a backend, which is the same for the same directory."""
    return f"{kind}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def _inherited(everything: bool) -> dict[str, str]:
    if everything:
        return dict(os.environ)
    allowed = {
        name: value
        for name, value in os.environ.items()
        if name in _ALLOWED or name.startswith("LC_")
    }
    return {"PATH": _DEFAULT_PATH, **allowed}


def _check(command: object, timeout: object) -> None:
    if not isinstance(command, str) or not command.strip():
        raise InvalidCall("The command is empty. Give a command line.")
    if "\0" in command:
        raise InvalidCall("The command has a NUL character. Leave it out.")
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise InvalidCall("The command has characters that are not valid Unicode.") from None
    if size > _LONGEST:
        raise InvalidCall(
            f"The command is too long: {size:,} bytes, and the limit is {_LONGEST:,}. "
            "Write it to a file with `write_file`, and run that file."
        )
    if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
        raise InvalidCall(f"The timeout must be more than 0 s, not {timeout!r}.")


def _is_variable(name: str, value: str) -> bool:
    if not name or "=" in name or "\0" in name + value:
        raise ValueError(f"{name!r} can't be an environment variable with that value.")
    return True


def _digest(command: str) -> str:
    return hashlib.sha256(command.encode()).hexdigest()[:24]
