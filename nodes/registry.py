"""The registry of operations: each is a schema that the model sees and a function that answers."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from langgraph_filesystem.nodes.answers import Answer, Arguments
from langgraph_filesystem.nodes.delete import Delete, delete
from langgraph_filesystem.nodes.edit_file import EditFile, edit_file
from langgraph_filesystem.nodes.execute import Execute, execute
from langgraph_filesystem.nodes.glob import Glob, glob
from langgraph_filesystem.nodes.grep import Grep, grep
from langgraph_filesystem.nodes.ls import Ls, ls
from langgraph_filesystem.nodes.move import Move, move
from langgraph_filesystem.nodes.read_file import ReadFile, read_file
from langgraph_filesystem.nodes.write_file import WriteFile, write_file
from langgraph_filesystem.nodes.write_todos import WriteTodos, write_todos
from langgraph_filesystem.state.errors import InvalidCall
from langgraph_filesystem.state.workspace.workspace import Workspace

__all__ = ("OPERATIONS", "WRITE_TODOS", "Operation", "chosen_operations", "tool_schemas")


@dataclass(frozen=True)
class Operation:
    """One operation of the filesystem: a tool for the model and a node of the graph."""

    name: str
    schema: type[Arguments]
    act: Callable[[Any, Workspace], Awaitable[Answer | None]] | None
    """The function that answers. If it returns `None`, the call stays open and runs again in the
    next wave.

    `None` for the function where a node of its own answers."""
    purpose: str
    """What the node does, for drawings and the API."""
    changes: bool
    """Whether it changes files."""
    is_bounded: bool = True
    """Whether it limits the size of its answers itself; else `evict` does."""
    description: str = ""
    """What the model is told; by default the docstring of the schema."""
    node: Any = None
    """The node that answers, where there is no function."""

    def parse(self, args: object) -> Any:
        """Return the checked arguments, or raise an error that says what to fix."""
        if not isinstance(args, dict):
            raise InvalidCall(f"The arguments of `{self.name}` must be a JSON object.")
        try:
            return self.schema.model_validate(args)
        except ValidationError as error:
            raise InvalidCall(_explained(self, error)) from None

    def paths(self, args: Any) -> tuple[str, ...]:
        """Return the paths that a call works on."""
        fields = ("file_path", "path", "source", "destination")
        return tuple(getattr(args, name) for name in fields if hasattr(args, name))

    def tool(self, description: str | None = None) -> dict[str, Any]:
        """Return the schema in the form that every chat model's `bind_tools` takes."""
        tool = convert_to_openai_tool(self.schema)
        function = {**tool["function"], "name": self.name}
        own = self.description or " ".join((self.schema.__doc__ or "").split())
        function["description"] = description or own
        return {"type": "function", "function": function}


OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation("ls", Ls, ls, "Lists a directory.", changes=False),
        Operation("read_file", ReadFile, read_file, "Reads a page of a file.", changes=False),
        Operation("write_file", WriteFile, write_file, "Creates or replaces a file.", changes=True),
        Operation("edit_file", EditFile, edit_file, "Replaces exact text in a file.", changes=True),
        Operation("delete", Delete, delete, "Deletes a file or a directory.", changes=True),
        Operation("move", Move, move, "Moves a file or a directory.", changes=True),
        Operation("glob", Glob, glob, "Finds files by their names.", changes=False),
        Operation("grep", Grep, grep, "Searches the text of files.", changes=False),
        Operation(
            "execute",
            Execute,
            execute,
            "Runs a command in a shell.",
            changes=True,
            is_bounded=False,
        ),
    )
}

WRITE_TODOS = Operation(
    "write_todos", WriteTodos, write_todos, "Keeps the list of steps.", changes=False
)
"""Not one of `OPERATIONS`, as it works on no file. A graph with `todos=True` has it."""


def chosen_operations(names: Iterable[str] | None) -> dict[str, Operation]:
    """Return the operations with these names, or all of them."""
    if names is None:
        return dict(OPERATIONS)
    if isinstance(names, str):
        raise ValueError(f"`operations` must be a list of names, not {names!r}.")
    wanted = list(names)
    for name in wanted:
        if name not in OPERATIONS:
            raise ValueError(f"There is no operation {name!r}. There are: {', '.join(OPERATIONS)}.")
    return {name: operation for name, operation in OPERATIONS.items() if name in wanted}


def tool_schemas(
    operations: Mapping[str, Operation],
    descriptions: Mapping[str, str] | None = None,
    *,
    where_commands_run: str = "",
) -> list[dict[str, Any]]:
    """Return the schemas of operations, with your own descriptions where given."""
    own = descriptions or {}
    tools = [operation.tool(own.get(name)) for name, operation in operations.items()]
    for function in (tool["function"] for tool in tools):
        if where_commands_run and function["name"] == "execute" and "execute" not in own:
            function["description"] += f" {where_commands_run}"
    return tools


def _explained(operation: Operation, error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
        place = ".".join(map(str, problem["loc"]))[:100] or "arguments"
        problems.append(f"`{place}`: {problem['msg']}")
    fields = ", ".join(operation.schema.model_fields)
    return (
        f"The arguments of `{operation.name}` are wrong: {'; '.join(problems)}. It takes: {fields}."
    )
