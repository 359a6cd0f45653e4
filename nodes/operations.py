"""The operations: each a schema that the model sees and a function that answers."""

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph_filesystem.nodes.delete import Delete, delete
from langgraph_filesystem.nodes.edit_file import EditFile, edit_file
from langgraph_filesystem.nodes.execute import Execute, execute
from langgraph_filesystem.nodes.glob import Glob, glob
from langgraph_filesystem.nodes.grep import Grep, grep
from langgraph_filesystem.nodes.ls import Ls, ls
from langgraph_filesystem.nodes.move import Move, move
from langgraph_filesystem.nodes.operation import Operation
from langgraph_filesystem.nodes.read_file import ReadFile, read_file
from langgraph_filesystem.nodes.write_file import WriteFile, write_file

__all__ = ("OPERATIONS", "chosen_operations", "tool_schemas")


OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation("ls", Ls, ls, changes=False),
        Operation("read_file", ReadFile, read_file, changes=False),
        Operation("write_file", WriteFile, write_file, changes=True),
        Operation("edit_file", EditFile, edit_file, changes=True),
        Operation("delete", Delete, delete, changes=True),
        Operation("move", Move, move, changes=True),
        Operation("glob", Glob, glob, changes=False),
        Operation("grep", Grep, grep, changes=False),
        Operation("execute", Execute, execute, changes=True, is_bounded=False),
    )
}


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
