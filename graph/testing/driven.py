"""A backend as the tests call it: with its methods, or with their `a`-twins."""

import asyncio
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, Literal, NoReturn, TypeAlias, cast

import pytest

from langgraph_filesystem.state.backends.file_store import MountContext
from langgraph_filesystem.state.backends.foreign_calls import takes
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
from langgraph_filesystem.state.backends.public import PublicMethods
from langgraph_filesystem.state.files import (
    FileData,
    Files,
    ThreadFiles,
    checked_update,
    file_bytes,
)

__all__ = ("Applied", "Call", "Driven", "failed")

Mode: TypeAlias = Literal["sync", "async"]
Call: TypeAlias = tuple[Any, ...]
"""A method's name and its arguments."""

_REQUIRED = frozenset({"ls", "read", "write", "edit", "glob", "grep"})


class Driven:
    """The methods of a backend, each of them as a call that returns when it is done.

    In the mode `async` the backend's `a`-twins are awaited, all of a test in one event loop; a
    method without a twin runs in a thread. If the backend lacks an optional method or keyword, the
    test is skipped, or fails if the backend is said to be `complete`.
    """

    def __init__(self, backend: Any, mode: Mode = "sync", *, complete: bool = False) -> None:
        self.backend = backend
        self.mode = mode
        self._complete = complete
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)

    def close(self) -> None:
        """End the event loop."""
        self._runner.close()

    def ls(self, path: str) -> LsResult:
        return cast("LsResult", self.call("ls", path))

    def read(self, path: str, offset: int = 0, limit: int = 2000, **options: Any) -> ReadResult:
        return cast("ReadResult", self.call("read", path, offset, limit, **options))

    def write(self, path: str, content: str, **options: Any) -> WriteResult:
        return cast("WriteResult", self.call("write", path, content, **options))

    def edit(
        self, path: str, old: str, new: str, replace_all: bool = False, **options: Any
    ) -> EditResult:
        return cast("EditResult", self.call("edit", path, old, new, replace_all, **options))

    def delete(self, path: str, **options: Any) -> DeleteResult:
        return cast("DeleteResult", self.call("delete", path, **options))

    def move(self, source: str, destination: str, **options: Any) -> MoveResult:
        return cast("MoveResult", self.call("move", source, destination, **options))

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        return cast("GlobResult", self.call("glob", pattern, path))

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, **options: Any
    ) -> GrepResult:
        return cast("GrepResult", self.call("grep", pattern, path, glob, **options))

    def upload(self, *files: tuple[str, bytes], **options: Any) -> list[FileUploadResponse]:
        return cast("list[FileUploadResponse]", self.call("upload_files", list(files), **options))

    def download(self, *paths: str) -> list[FileDownloadResponse]:
        return cast("list[FileDownloadResponse]", self.call("download_files", list(paths)))

    def digest(self, path: str) -> str | None:
        return cast("str | None", self.call("digest", path))

    def recall(self, once: str) -> Outcome | None:
        return cast("Outcome | None", self.call("recall", once))

    def execute(self, command: str, **options: Any) -> ExecuteResponse:
        return cast("ExecuteResponse", self.call("execute", command, **options))

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method with optional keywords."""
        for keyword in options:
            self.need(method, keyword)
        self.need(method)
        try:
            return self._run(method, args, options)
        except NotImplementedError:
            self._miss(method, f"`{method}` is not implemented")

    def together(self, *calls: Call) -> list[Any]:
        """Make several calls at the same time: in threads, or in one event loop."""
        for method, *_ in calls:
            self.need(method)
        if self.mode == "async":
            return self._runner.run(self._gathered(calls))
        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(lambda call: self._run(call[0], call[1:], {}), calls))

    def need(self, method: str, keyword: str | None = None) -> None:
        """Skip the test if the backend has no such method, or if it takes no such keyword."""
        function = getattr(self.backend, method, None)
        if not callable(function):
            self._miss(method, f"there is no method `{method}`")
        if keyword is not None and not takes(function, keyword):
            self._miss(method, f"`{method}` takes no `{keyword}`", optional=True)

    def put(self, path: str, content: str | bytes) -> None:
        """Create a file: by an upload, or by a write where nothing can be uploaded."""
        raw = content.encode() if isinstance(content, str) else content
        if callable(getattr(self.backend, "upload_files", None)):
            [arrived] = self.upload((path, raw))
            assert arrived.error is None, f"{path} could not be uploaded: {arrived.error}"
            return
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            self._miss("upload_files", "there is no method `upload_files`")
        written = self.write(path, text)
        assert written.error is None, f"{path} could not be written: {written.error}"

    def content(self, path: str) -> bytes:
        """Return the bytes of a file: downloaded, or read where nothing can be downloaded."""
        if callable(getattr(self.backend, "download_files", None)):
            [found] = self.download(path)
            assert found.error is None, f"{path} could not be downloaded: {found.error}"
            assert found.content is not None
            return found.content
        read = self.read(path, 0, sys.maxsize)
        assert read.error is None, f"{path} could not be read: {read.error}"
        return file_bytes(read.file_data or FileData(content=""))

    def text(self, path: str, *page: int, **options: Any) -> str:
        """Return a page of a text file."""
        read = self.read(path, *page, **options)
        assert read.error is None, f"{path} could not be read: {read.error}"
        assert read.file_data is not None
        assert read.file_data.get("encoding", "utf-8") == "utf-8"
        return read.file_data["content"]

    def names(self, path: str = "/") -> list[str]:
        """Return the sorted paths of the entries of a directory; directories end in `/`."""
        listed = self.ls(path)
        assert listed.error is None, f"{path} could not be listed: {listed.error}"
        return sorted(
            entry["path"].rstrip("/") + ("/" if entry.get("is_dir") else "")
            for entry in listed.entries or ()
        )

    def found(self, pattern: str, path: str | None = None) -> list[str]:
        """Return the sorted paths of the files that match a glob."""
        found = self.glob(pattern, path)
        assert found.error is None, f"glob {pattern} failed: {found.error}"
        return sorted(match["path"] for match in found.matches or ())

    def lines(self, pattern: str, *where: str | None, **options: Any) -> list[tuple[str, int]]:
        """Return path and number of the lines that match, in the order of the result."""
        found = self.grep(pattern, *where, **options)
        assert found.error is None, f"grep {pattern} failed: {found.error}"
        return [(match["path"], match["line"]) for match in found.matches or ()]

    def _run(self, method: str, args: Sequence[Any], options: dict[str, Any]) -> Any:
        if self.mode == "sync":
            return getattr(self.backend, method)(*args, **options)
        return self._runner.run(self._awaited(method, args, options))

    async def _awaited(self, method: str, args: Sequence[Any], options: dict[str, Any]) -> Any:
        if twin := getattr(self.backend, f"a{method}", None):
            return await twin(*args, **options)
        return await asyncio.to_thread(getattr(self.backend, method), *args, **options)

    async def _gathered(self, calls: Sequence[Call]) -> list[Any]:
        awaited = [self._awaited(method, args, {}) for method, *args in calls]
        return list(await asyncio.gather(*awaited))

    def _miss(self, method: str, what: str, *, optional: bool = False) -> NoReturn:
        if self._complete or (method in _REQUIRED and not optional):
            pytest.fail(f"{type(self.backend).__name__}: {what}.")
        pytest.skip(f"{type(self.backend).__name__}: {what}, which is optional.")


def failed(result: Any, *names: str) -> str:
    """Check that a result is an error whose text has these names, and return the text."""
    error = result.error
    assert isinstance(error, str), f"this should be an error: {result}"
    assert error, f"an error should say something: {result}"
    for name in names:
        assert name in error, f"the error should name {name!r}: {error}"
    return error


class Applied:
    """A backend whose files are in the state, with the files that a graph would give it.

    What a call changes is there for the next one:

    ```python
    backend = Applied(StateBackend())
    ```

    Args:
        backend: A backend of this package or a subclass of one; or a function that takes the files
            and returns a backend over them whose results have `files_update`.
        files: The files to begin with.
        prefix: Where the backend is mounted.
    """

    def __init__(
        self,
        backend: PublicMethods | Callable[[Files], Any],
        files: Files | None = None,
        prefix: str = "/",
    ) -> None:
        self._thread = ThreadFiles({} if files is None else files, {})
        self._lock = threading.RLock()
        self._turn = asyncio.Lock()
        if isinstance(backend, PublicMethods):
            bound = backend.bound_to(backend.open(MountContext(prefix, self._thread)))
            self._bind: Callable[[Files], Any] = lambda files: bound
        else:
            self._bind = backend

    @property
    def files(self) -> Files:
        """The files after all calls so far."""
        return self._thread.files

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._bind(self.files), name)
        if not callable(method):
            return method
        return (self._awaited if inspect.iscoroutinefunction(method) else self._now)(name, method)

    def _now(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def applied(*args: Any, **options: Any) -> Any:
            # Nothing may come between what a call finds and what it leaves.
            with self._lock:
                return self._apply(getattr(self._bind(self.files), name)(*args, **options))

        return applied

    def _awaited(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        async def applied(*args: Any, **options: Any) -> Any:
            async with self._turn:
                return self._apply(await getattr(self._bind(self.files), name)(*args, **options))

        return applied

    def _apply(self, result: Any) -> Any:
        for one in result if isinstance(result, list) else [result]:
            if update := getattr(one, "files_update", None):
                self._thread.change(checked_update(update))
        return result
