"""Backends that are wrong, and what the conformance suite says of them."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_filesystem import StateBackend
from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    MoveResult,
    Outcome,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.testing import Applied, Driven


class Reference(Applied):
    """A backend that passes, for subclasses that are wrong in one place."""

    def __init__(self) -> None:
        super().__init__(StateBackend())

    def right(self, method: str, *args: Any, **options: Any) -> Any:
        """Call the method that is right."""
        return self.__getattr__(method)(*args, **options)


class Refusing:
    """Every answer is an error."""

    id = ""

    def ls(self, path: str) -> LsResult:
        return LsResult(error="no")

    def read(
        self,
        file_path: str,
        offset: int = 0,
        limit: int = 0,
        *,
        column: int = 0,
        max_characters: int | None = None,
    ) -> ReadResult:
        return ReadResult(error="no")

    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: Any = None
    ) -> WriteResult:
        return WriteResult(error="no")

    def edit(
        self, file_path: str, old: str, new: str, replace_all: bool = False, *, once: Any = None
    ) -> EditResult:
        return EditResult(error="no")

    def delete(self, file_path: str, *, once: Any = None) -> DeleteResult:
        return DeleteResult(error="no")

    def move(self, source: str, destination: str, *, once: Any = None) -> MoveResult:
        return MoveResult(error="no")

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        return GlobResult(error="no")

    def grep(self, pattern: str, path: Any = None, glob: Any = None, **options: Any) -> GrepResult:
        return GrepResult(error="no")

    def upload_files(self, files: Any, *, once: Any = None) -> list[FileUploadResponse]:
        return [FileUploadResponse(path, "no") for path, _ in files]

    def download_files(self, paths: Any) -> list[FileDownloadResponse]:
        return [FileDownloadResponse(path, error="no") for path in paths]

    def digest(self, file_path: str) -> str | None:
        return None

    def recall(self, once: str) -> Outcome | None:
        return None

    def execute(self, command: str, **options: Any) -> ExecuteResponse:
        return ExecuteResponse("no", 1)


class Forgetful(Refusing):
    """Every call succeeds, and nothing is kept."""

    id = "forgetful"

    def ls(self, path: str) -> LsResult:
        return LsResult(entries=[])

    def read(self, file_path: str, *args: Any, **options: Any) -> ReadResult:
        return ReadResult(file_data={"content": "", "encoding": "utf-8"}, next_offset=1)

    def write(self, file_path: str, *args: Any, **options: Any) -> WriteResult:
        return WriteResult()

    def edit(self, file_path: str, *args: Any, **options: Any) -> EditResult:
        return EditResult(path=file_path, occurrences=1)

    def delete(self, file_path: str, *, once: Any = None) -> DeleteResult:
        return DeleteResult(path=file_path)

    def move(self, source: str, destination: str, *, once: Any = None) -> MoveResult:
        return MoveResult(path=destination)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        return GlobResult(matches=[])

    def grep(self, pattern: str, path: Any = None, glob: Any = None, **options: Any) -> GrepResult:
        return GrepResult(matches=[], counts={}, truncated=True)

    def upload_files(self, files: Any, *, once: Any = None) -> list[FileUploadResponse]:
        return [FileUploadResponse(path) for path, _ in files]

    def download_files(self, paths: Any) -> list[FileDownloadResponse]:
        return [FileDownloadResponse(path, b"") for path in paths or ["/"]]

    def digest(self, file_path: str) -> str | None:
        return "0" * 24

    def recall(self, once: str) -> Outcome | None:
        return Outcome(finished=True)

    def execute(self, command: str, **options: Any) -> ExecuteResponse:
        return ExecuteResponse("", 0)


def failing(mixin: type, make: Callable[[], Any], tmp_path: Path, *names: str) -> list[str]:
    """Return the names of the tests of a class, or of some of them, that fail for a backend."""
    tests = [(name, test) for name, test in _tests(mixin) if not names or name in names]
    return [name for name, test in tests if not _passes(mixin, test, make(), tmp_path)]


def never_failing(mixin: type, tmp_path: Path) -> list[str]:
    """Return the names of the tests that both of the two worst backends pass."""
    fails = {name for kind in (Refusing, Forgetful) for name in failing(mixin, kind, tmp_path)}
    return [name for name, _ in _tests(mixin) if name not in fails]


def _tests(mixin: type) -> Iterator[tuple[str, Callable[..., None]]]:
    for name, test in inspect.getmembers(mixin, inspect.isfunction):
        if name.startswith("test_"):
            yield name, test


def _passes(mixin: type, test: Callable[..., None], backend: Any, tmp_path: Path) -> bool:
    driven = Driven(backend, complete=True)
    monkeypatch = pytest.MonkeyPatch()
    given = {"fs": driven, "tmp_path": tmp_path, "monkeypatch": monkeypatch}
    wanted = inspect.signature(test).parameters
    try:
        test(mixin(), **{name: value for name, value in given.items() if name in wanted})
    except (AssertionError, LookupError, TypeError, ValueError, pytest.fail.Exception):
        return False
    finally:
        driven.close()
        monkeypatch.undo()
    return True
