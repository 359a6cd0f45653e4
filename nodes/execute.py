"""The `execute` node: a command, where a mount can run one."""

from typing import Annotated

from pydantic import Field

from langgraph_filesystem.nodes.answers import Answer
from langgraph_filesystem.nodes.arguments import Arguments
from langgraph_filesystem.nodes.filesystem import Filesystem
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

    response = await filesystem.execute(args.command, args.timeout, on_output=on_output)
    code = response.exit_code
    status = "ended without a status" if code is None else f"exit status {code}"
    cut = "\n[the output was cut]" if response.truncated else ""
    output = response.output.removesuffix("\n")
    text = f"{output}{cut}\n[{status}]" if output else f"[{status}, no output]"
    return Answer(text, {"exit_code": code, "truncated": response.truncated})
