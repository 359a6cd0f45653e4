"""What both shells share: a command is checked, noted, run, and answered."""

import asyncio
import contextlib
import copy
import hashlib
import os
import signal
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Self

from langgraph_filesystem.state.backends.disk_writing import DiskWriting
from langgraph_filesystem.state.backends.filesystem import FilesystemBackend
from langgraph_filesystem.state.backends.jail import Unconfined
from langgraph_filesystem.state.backends.output import Output
from langgraph_filesystem.state.backends.processes import Ending, Job, OnOutput, run, run_blocking
from langgraph_filesystem.state.backends.protocol import ExecuteResponse, Outcome
from langgraph_filesystem.state.backends.second_path import JailOfCommands
from langgraph_filesystem.state.backends.supervisor import FAILED
from langgraph_filesystem.state.errors import BackendFailed, InvalidCall

__all__ = (
    "DEFAULT_TIMEOUT",
    "MAX_OUTPUT_BYTES",
    "ROOT_VARIABLE",
    "DiskWithCommands",
    "signal_name",
)

DEFAULT_TIMEOUT = 120
MAX_OUTPUT_BYTES = 100_000
ROOT_VARIABLE = "FILES_ROOT"
"""The environment variable that tells a command where the directory is."""
_LONGEST = 131_000
"""Bytes of a command line. Linux takes 131,072 as one argument."""
_NOT_RUN = 126
"""What a shell says of a command that it can't run."""


class DiskWithCommands(FilesystemBackend):
    """A directory on disk in which commands run."""

    root_variable = ROOT_VARIABLE

    def __init__(
        self,
        root_dir: str | os.PathLike[str],
        *,
        virtual_mode: bool = True,
        paths: Sequence[str],
        timeout: float,
        max_output_bytes: int,
        env: Mapping[str, str],
        max_file_size_mb: float,
    ) -> None:
        jail = JailOfCommands(root_dir, paths) if virtual_mode else Unconfined(root_dir)
        DiskWriting.__init__(self, jail, int(max_file_size_mb * 1024 * 1024))
        self._paths = paths
        self._prefix = "/"
        if timeout <= 0:
            raise ValueError(f"`timeout` must be more than 0 s, not {timeout!r}.")
        if max_output_bytes < 100:
            raise ValueError(f"`max_output_bytes` must be at least 100, not {max_output_bytes!r}.")
        self._timeout = timeout
        self._max_output = max_output_bytes
        self._env = {name: value for name, value in env.items() if _is_variable(name, value)}
        self._id = hashlib.sha256(os.fsencode(os.path.realpath(root_dir))).hexdigest()[:16]

    @property
    def id(self) -> str:
        """What the backend can be known by: the same for the same directory."""
        return f"{type(self).__name__.removesuffix('Backend').lower()}-{self._id}"

    @property
    @abstractmethod
    def place(self) -> str:
        """Where commands find what the file operations call `/`."""

    @property
    def second_paths(self) -> Sequence[tuple[str, str]]:
        """Where commands find the directory, and what the file operations call it, if it differs.

        A model that was shown the one is led to the other.
        """
        if isinstance(self._jail, JailOfCommands):
            second = self._jail.second if self._prefix == "/" else self.place
            return [(second, "/")] if second not in (None, "/", self._prefix) else []
        return [(self._jail.home, self._jail.home)] if self._prefix != "/" else []

    def execute(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        once: str | None = None,
    ) -> ExecuteResponse:
        """Run a command, and return when it and all that it started has ended."""
        return run_blocking(
            lambda: self.aexecute(command, timeout=timeout, on_output=on_output, once=once)
        )

    async def aexecute(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        once: str | None = None,
    ) -> ExecuteResponse:
        """Do as `execute`, holding no thread meanwhile. If it is cancelled, the command ends."""
        try:
            _check(command, timeout)
        except InvalidCall as invalid:
            return ExecuteResponse(f"{invalid}\n", _NOT_RUN)
        if once is not None:
            await asyncio.to_thread(self._begin, once, command)
        response = await self._run(command, timeout or self._timeout, on_output)
        if once is not None:
            await asyncio.to_thread(self._end, once, command, response)
        return response

    def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call: of a command also what it printed."""
        try:
            note = self._journal.journal.find(once)
        except OSError:
            return None
        if note is None or "command" not in note:
            return super().recall(once)
        try:
            return Outcome(finished=True, response=ExecuteResponse(**note["response"]))
        except (KeyError, TypeError):  # it has not ended, or somebody else wrote there
            return Outcome(finished=False)

    def mounted_at(self, prefix: str) -> Self:
        """Return the backend for a mount. Only at `/` does it know a command's paths by itself."""
        twin = copy.copy(self)
        twin._prefix = prefix
        if isinstance(self._jail, JailOfCommands):
            # By its handle: another directory may have its path by now.
            same = f"/dev/fd/{self._jail.root}"
            jail = JailOfCommands(same, self._paths if prefix == "/" else ())
            DiskWriting.__init__(twin, jail, self._limit)
        return twin

    @abstractmethod
    async def _job(self, command: str) -> Job:
        """Return what is to be run."""

    def _explained(self, ending: Ending) -> tuple[int | None, str | None, str]:
        """Return the exit status, the name of the signal, and a note for the model."""
        code = ending.code
        if code is None or code >= 0:
            return code, None, ""
        return None, signal_name(-code), ""

    async def _run(
        self, command: str, timeout: float, on_output: OnOutput | None
    ) -> ExecuteResponse:
        output = Output(self._max_output)
        ending = await self._ending(command, timeout, output, on_output)
        return self._response(ending, output)

    async def _ending(
        self, command: str, timeout: float, output: Output, on_output: OnOutput | None = None
    ) -> Ending:
        # A shell would take what begins with `-` for an option.
        job = await self._job(f" {command}" if command.startswith(("-", "+")) else command)
        directory = self._jail.open(self._jail.home, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return await run(job, directory, output, timeout=timeout, on_output=on_output)
        finally:
            os.close(directory)

    def _response(self, ending: Ending, output: Output) -> ExecuteResponse:
        if ending.notes.startswith(FAILED):
            raise BackendFailed(f"No command can be run here: {ending.notes.strip()}.")
        code, name, note = self._explained(ending)
        if ending.left:
            note += f"[{ending.left} of its processes could not be ended]\n"
        text = output.text()
        if note and text and not text.endswith("\n"):
            text += "\n"
        if ending.timed_out:
            code, name = None, "SIGKILL"
        return ExecuteResponse(text + note, code, output.truncated, name, ending.timed_out)

    def _begin(self, once: str, command: str) -> None:
        try:
            self._journal.journal.begin(once, {"command": _digest(command)})
        except OSError as error:
            raise BackendFailed(
                "The command was not run, because that could not be noted first: "
                f"{os.strerror(error.errno or 0)}. Look at the disk, then try again."
            ) from None

    def _end(self, once: str, command: str, response: ExecuteResponse) -> None:
        note = {"command": _digest(command), "response": asdict(response)}
        with contextlib.suppress(OSError):  # then it counts as begun, and whoever asks is told so
            self._journal.journal.end(once, note)


def signal_name(number: int) -> str:
    """Return what a signal is called: the later ones have no name of their own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _check(command: object, timeout: object) -> None:
    if not isinstance(command, str) or not command.strip():
        raise InvalidCall("The command is empty. Give a command line.")
    if "\0" in command:
        raise InvalidCall("The command has a NUL character. Write it without.")
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise InvalidCall("The command has characters that are not valid Unicode.") from None
    if size > _LONGEST:
        raise InvalidCall(
            f"The command is too long: {size:,} bytes, and {_LONGEST:,} are possible. "
            "Write it to a file with `write_file`, and run that."
        )
    if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
        raise InvalidCall(f"The timeout must be more than 0 s, not {timeout!r}.")


def _is_variable(name: str, value: str) -> bool:
    if not name or "=" in name or "\0" in name + value:
        raise ValueError(f"{name!r} can't be an environment variable with that value.")
    return True


def _digest(command: str) -> str:
    return hashlib.sha256(command.encode()).hexdigest()[:24]
