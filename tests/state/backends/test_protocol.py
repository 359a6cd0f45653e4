"""The protocol: any object with the methods is a backend."""

import dataclasses
from typing import Any

import pytest

from langgraph_filesystem.state.backends import protocol
from langgraph_filesystem.state.backends.protocol import Backend, CommandBackend
from langgraph_filesystem.state.backends.state import StateBackend

RESULTS = [
    name
    for name in protocol.__all__
    if dataclasses.is_dataclass(getattr(protocol, name)) and name.endswith("Result")
]


class Plain:
    """A backend of somebody else, with nothing but the methods."""

    def ls(self, path: str) -> Any: ...

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any: ...

    def write(self, file_path: str, content: str) -> Any: ...

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> Any: ...

    def glob(self, pattern: str, path: str | None = None) -> Any: ...

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None) -> Any: ...


class Sandbox(Plain):
    """One that runs commands too."""

    id = "sandbox"

    def execute(self, command: str) -> Any: ...


def test_a_backend_is_known_by_its_methods() -> None:
    assert isinstance(Plain(), Backend)
    assert isinstance(Sandbox(), Backend)
    assert isinstance(StateBackend(), Backend)
    assert not isinstance(object(), Backend)


def test_a_sandbox_is_a_backend_that_runs_commands() -> None:
    assert isinstance(Sandbox(), CommandBackend)
    assert not isinstance(Plain(), CommandBackend)
    assert not isinstance(StateBackend(), CommandBackend)


def test_the_types_say_the_same() -> None:
    backends: list[Backend] = [Plain(), Sandbox(), StateBackend()]
    sandbox: CommandBackend = Sandbox()
    assert [backend.ls("/") for backend in backends[:2]] == [None, None]
    assert sandbox.execute("true") is None


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_can_be_an_error_and_nothing_else(name: str) -> None:
    result = getattr(protocol, name)(error="no")
    assert result.error == "no"
    others = [field.name for field in dataclasses.fields(result) if field.name != "error"]
    assert not any(getattr(result, other) for other in others)


def test_results_that_change_files_carry_the_update() -> None:
    changing = {"WriteResult", "EditResult", "DeleteResult", "MoveResult"}
    assert changing == {
        name
        for name in RESULTS
        if "files_update" in {field.name for field in dataclasses.fields(getattr(protocol, name))}
    }
