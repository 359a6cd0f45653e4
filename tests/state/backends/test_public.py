"""Public methods of our backends, and what a subclass overrides."""

import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from obstore.store import MemoryStore

from langgraph_filesystem import (
    CompositeBackend,
    FilesystemBackend,
    LocalShellBackend,
    RemoteBackend,
    SandboxBackend,
    StateBackend,
    StoreBackend,
)
from langgraph_filesystem.state.backends.file_store import FileStore, MountContext, Query
from langgraph_filesystem.state.backends.protocol import ExecuteResponse, WriteResult
from langgraph_filesystem.state.backends.public import (
    PUBLIC_METHODS,
    CommandMethods,
    PublicMethods,
)
from langgraph_filesystem.state.errors import BackendFailed, FileExists
from langgraph_filesystem.state.files import ThreadFiles, digest_of
from langgraph_filesystem.state.workspace.mounts import open_store
from tests.state.backends.foreigners import RUNS, Run

BACKENDS: dict[type[PublicMethods], Callable[[Any, Path], Any]] = {
    StateBackend: lambda kind, directory: kind(),
    FilesystemBackend: lambda kind, directory: kind(directory),
    LocalShellBackend: lambda kind, directory: kind(directory),
    SandboxBackend: lambda kind, directory: kind(directory),
    StoreBackend: lambda kind, directory: kind(("files",), store=InMemoryStore()),
    RemoteBackend: lambda kind, directory: kind(MemoryStore()),
    CompositeBackend: lambda kind, directory: kind(
        StateBackend(), {"/disk": LocalShellBackend(directory)}
    ),
}
"""Each backend of ours, and how a subclass of it is made."""

CALLS: dict[str, Callable[[FileStore], Coroutine[Any, Any, Any]]] = {
    "ls": lambda store: store.ls("/"),
    "read": lambda store: store.read("/a", 0, 10, column=0, max_characters=100),
    "write": lambda store: store.write("/new", "x", overwrite=True, once="scope.group.1"),
    "edit": lambda store: store.edit("/a", "x", "y", once="scope.group.1"),
    "delete": lambda store: store.delete("/a", once="scope.group.1"),
    "move": lambda store: store.move("/a", "/b", once="scope.group.1"),
    "glob": lambda store: store.glob("*", "/"),
    "grep": lambda store: store.grep(Query("x", regex=True), "/"),
    "upload_files": lambda store: store.put({"/n": b"x"}, overwrite=False, once="scope.group.1"),
    "download_files": lambda store: store.fetch(["/a"]),
    "digest": lambda store: store.digest("/a"),
    "recall": lambda store: store.recall("scope.group.1"),
    "execute": lambda store: store.execute("true", once="scope.group.1"),
}
"""What the graph calls, by the public method that does the same."""

CASES = [
    (kind, method)
    for kind in BACKENDS
    for method in PUBLIC_METHODS
    if method != "execute" or issubclass(kind, CommandMethods)
]


def subclass(kind: type[Any], method: str, calls: list[str], *, is_async: bool) -> type[Any]:
    """Return a subclass that notes the calls of one method, and does what the method does."""
    name = f"a{method}" if is_async else method

    def noted(self: Any, *args: Any, **options: Any) -> Any:
        calls.append(name)
        return getattr(kind, name)(self, *args, **options)

    async def awaited(self: Any, *args: Any, **options: Any) -> Any:
        return await noted(self, *args, **options)

    return type("Mine", (kind,), {name: awaited if is_async else noted, "__module__": __name__})


def answer(kind: type[Any], method: str, mode: str, directory: Path) -> str:
    """Return what a call gives and what files hold after it, without the times."""
    directory.mkdir()
    origin = next(base for base in kind.__mro__ if base in BACKENDS)
    backend = BACKENDS[origin](kind, directory)
    store, run = open_store(backend, MountContext(files=ThreadFiles({}))), RUNS[mode]
    assert run(store.put({"/a": b"x"})) == {}
    result = run(CALLS[method](store))
    contents = run(store.fetch(["/a", "/b", "/n", "/new"]))
    return re.sub(r"\d+-\d+-\d+T[\d:.+]+", "TIME", f"{result} {contents}")


@pytest.mark.parametrize(("mode", "is_async"), [("sync", False), ("async", False), ("async", True)])
@pytest.mark.parametrize(("kind", "method"), CASES)
def test_a_method_that_a_subclass_overrides_is_called(
    kind: Any, method: str, mode: str, is_async: bool, tmp_path: Path
) -> None:
    calls: list[str] = []
    mine = subclass(kind, method, calls, is_async=is_async)
    found = answer(mine, method, mode, tmp_path / "mine")
    assert set(calls) == {f"a{method}" if is_async else method}
    assert found == answer(kind, method, mode, tmp_path / "plain")


class Guarded(StateBackend):
    """Reports errors, raises, takes fewer keywords, and runs commands."""

    def write(self, file_path: str, content: str) -> Any:  # type: ignore[override]  # on purpose
        if file_path == "/locked":
            return WriteResult(error="Error: /locked is locked")
        return super().write(file_path, content.upper(), overwrite=True)

    def delete(self, file_path: str, **options: Any) -> Any:
        raise ConnectionError("not now")

    def execute(self, command: str) -> ExecuteResponse:
        return ExecuteResponse(f"ran {command}", 0)


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest) -> Run:
    return RUNS[request.param]


def test_what_an_overridden_method_reports_is_an_error_like_any_other(run: Run) -> None:
    store = open_store(Guarded(), MountContext(files=ThreadFiles({"/a": {"content": "x"}})))
    with pytest.raises(BackendFailed, match=r"^/locked is locked$"):
        run(store.write("/locked", "x"))
    with pytest.raises(FileExists):
        run(store.write("/a", "y"))
    run(store.write("/b", "y"))
    assert run(store.fetch(["/b"])) == [b"Y"]
    with pytest.raises(BackendFailed, match=r"^/a: ConnectionError: not now$"):
        run(store.delete_copied("/a", {"/a": digest_of(b"x")}))
    assert run(store.execute("x")).output == "ran x"
    assert (store.capabilities.executes, store.capabilities.in_state) == (True, True)


def test_a_change_of_a_bound_backend_is_made_once(run: Run) -> None:
    class Editing(StateBackend):
        def edit(self, *args: Any, **options: Any) -> Any:
            return super().edit(*args, **options)

    thread = ThreadFiles({"/a": {"content": "x"}})
    run(open_store(Editing(), MountContext(files=thread)).edit("/a", "x", "xx", True))
    assert thread.files["/a"]["content"] == "xx"


def test_other_backends_of_the_class_keep_their_methods() -> None:
    assert StateBackend.overridden == frozenset()
    assert Guarded.overridden == {"write", "delete", "execute"}
    context = MountContext(files=ThreadFiles({}))
    assert type(open_store(StateBackend(), context)) is type(open_store(Guarded(), context))
    assert not open_store(StateBackend(), context).capabilities.executes
