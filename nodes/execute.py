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
    """Run a shell command and return what it prints, then its exit status. Nobody can type into
    it. Use the file operations for files where they serve.
    """

    command: Annotated[str, Field(min_length=1, description="The command line.")]
    timeout: Annotated[
        int | None, Field(ge=1, description="Seconds after which the command is ended.")
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
    cut = "\n[the output was cut]" if response.truncated else ""
    output = response.output.removesuffix("\n")
    text = f"{output}{cut}\n[{ended.said}]" if output else f"[{ended.said}, no output]"
    text = f"{text}\n[{hint}]" if hint else text
    return Answer(text, {**asdict(ended), "truncated": response.truncated})


@dataclass(frozen=True)
class _Ended:
    """How a command ended. A backend made by others may know only the status."""

    exit_code: int | None
    signal: str | None
    timed_out: bool

    @classmethod
    def of(cls, response: ExecuteResponse) -> Self:
        timed_out = bool(getattr(response, "timed_out", False))
        return cls(response.exit_code, getattr(response, "signal", None), timed_out)

    @property
    def said(self) -> str:
        if self.timed_out:
            return "ended, because its time was up"
        if self.signal:
            return f"ended by {self.signal}"
        if self.exit_code is None:
            return "ended without a status"
        return f"exit status {self.exit_code}{_hint(self.exit_code)}"


def _hint(code: int) -> str:
    """Say which signal a shell means by a status: it may have ended the last command in it."""
    try:
        return f", as after {signal.Signals(code - 128).name}" if code > 128 else ""
    except ValueError:
        return ""
