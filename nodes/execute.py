"""The `execute` node: runs a command, where a mount can."""

import signal
from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer, Arguments
from langgraph_filesystem.state.backends.protocol import ExecuteResponse
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("Execute", "execute")


class Execute(Arguments):
    """Run a shell command and return its output, then its exit status. The command can't read
    input. Prefer the file operations for reading and changing files.
    """

    command: Annotated[str, Field(min_length=1, description="The command line.")]
    timeout: Annotated[
        int | None, Field(ge=1, description="Seconds after which the command is stopped.")
    ] = None


async def execute(args: Execute, workspace: Workspace) -> Answer:
    """Run the command; an exit status other than 0 is an answer, not an error."""
    longest = workspace.limits.timeout
    if args.timeout is not None and args.timeout > longest:
        raise FilesystemError(
            f"A timeout of {args.timeout} s is too long: use at most {longest} s."
        )
    if "\0" in args.command:
        raise FilesystemError("The command has a NUL character. Leave it out.")

    def on_output(text: str) -> None:
        workspace.progress({"event": "output", "text": text})

    response = await workspace.execute(args.command, timeout=args.timeout, on_output=on_output)
    status = _status(response, args.timeout)
    cut = "\n[the output was cut]" if response.truncated else ""
    output = response.output.removesuffix("\n")
    text = f"{output}{cut}\n[{status}]" if output else f"[{status}, no output]"
    return Answer(
        text,
        {
            "exit_code": response.exit_code,
            "signal": response.signal,
            "timed_out": response.timed_out,
            "truncated": response.truncated,
        },
    )


def _status(response: ExecuteResponse, timeout: int | None) -> str:
    if response.timed_out:
        seconds = response.timeout or timeout
        return f"timed out after {seconds:g} s" if seconds else "timed out"
    if response.signal:
        return f"killed by {response.signal}"
    if response.exit_code is None:
        return "no exit status"
    return f"exit status {response.exit_code}{_signal_hint(response.exit_code)}"


def _signal_hint(code: int) -> str:
    """Name the signal that a shell reports by a status above 128."""
    try:
        return f" ({signal.Signals(code - 128).name})" if code > 128 else ""
    except ValueError:
        return ""
