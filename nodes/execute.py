"""The `execute` node: a command, where a mount can run one."""

import signal
from dataclasses import asdict, dataclass
from typing import Annotated, Self

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer
from langgraph_filesystem.nodes.arguments import Arguments
from langgraph_filesystem.nodes.filesystem import Filesystem
from langgraph_filesystem.state.backends.protocol import ExecuteResponse
from langgraph_filesystem.state.errors import FilesystemError

__all__ = ("Execute", "execute")


class Execute(Arguments):
    """Run a shell command and return its output, then its exit status. It gets no input. To read
    and change files, prefer the file operations.
    """

    command: Annotated[str, Field(min_length=1, description="The command line.")]
    timeout: Annotated[
        int | None, Field(ge=1, description="Seconds after which the command is killed.")
    ] = None


async def execute(args: Execute, filesystem: Filesystem) -> Answer:
    """Run the command; a status that is not 0 is an answer, not an error."""
    if args.timeout is not None and args.timeout > filesystem.max_execute_timeout:
        raise FilesystemError(
            f"A timeout of {args.timeout} s is too long: the limit is "
            f"{filesystem.max_execute_timeout} s."
        )
    if "\0" in args.command:
        raise FilesystemError("The command has a NUL character.")

    def on_output(text: str) -> None:
        filesystem.progress({"event": "output", "text": text})

    response, hint = await filesystem.execute(args.command, args.timeout, on_output=on_output)
    ended = _Ended.of(response)
    status = ended.status(getattr(response, "timeout", None) or args.timeout)
    cut = "\n[output truncated]" if response.truncated else ""
    output = response.output.removesuffix("\n")
    text = f"{output}{cut}\n[{status}]" if output else f"[{status}, no output]"
    text = f"{text}\n[{hint}]" if hint else text
    return Answer(text, {**asdict(ended), "truncated": response.truncated})


@dataclass(frozen=True)
class _Ended:
    """How a command ended. A backend of others may know only the exit status."""

    exit_code: int | None
    signal: str | None
    timed_out: bool

    @classmethod
    def of(cls, response: ExecuteResponse) -> Self:
        timed_out = bool(getattr(response, "timed_out", False))
        return cls(response.exit_code, getattr(response, "signal", None), timed_out)

    def status(self, timeout: float | None) -> str:
        """Return it in words; `timeout` is the time that the command had, if that is known."""
        if self.timed_out:
            return f"timed out after {timeout:g} s" if timeout else "timed out"
        if self.signal:
            return f"killed by {self.signal}"
        if self.exit_code is None:
            return "no exit status"
        return f"exit status {self.exit_code}{_signal_behind(self.exit_code)}"


def _signal_behind(code: int) -> str:
    """Return the signal that a shell means by a status: it may have killed the last program."""
    try:
        return f" ({signal.Signals(code - 128).name})" if code > 128 else ""
    except ValueError:
        return ""
