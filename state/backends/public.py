"""The public methods of our backends: sync ones, their `a`-twins, and results with `error`.

They have the names and the shape that backends of `deepagents` have, and come from one mixin over
the `FileStore` that a backend opens. A subclass may override any of them: the graph then calls the
subclass's method (`overridden` names it, `open_store` of the workspace puts it into the store).
"""

import functools
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from copy import copy
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

from langgraph_filesystem.state.backends.file_store import FileStore, MountContext, OnOutput, Query
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
    OutputMode,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
    PermissionDenied,
)
from langgraph_filesystem.state.io import awaiting, change_in_thread, in_thread, run_sync

__all__ = ("CHANGING_METHODS", "PUBLIC_METHODS", "CommandMethods", "PublicMethods")

P = ParamSpec("P")
R = TypeVar("R")

PUBLIC_METHODS = (
    *("ls", "read", "write", "edit", "delete", "move", "glob", "grep"),
    *("upload_files", "download_files", "digest", "recall", "execute"),
)
CHANGING_METHODS = frozenset(("write", "edit", "delete", "move", "upload_files", "recall"))
"""Methods that change something; `recall` may finish an interrupted change."""
_CODES: dict[type[FilesystemError], str] = {
    FileExists: "file_exists",
    FileNotFound: "file_not_found",
    IsDirectory: "is_directory",
    NotDirectory: "invalid_path",
    PathRefused: "invalid_path",
    PermissionDenied: "permission_denied",
}

Answer = Callable[Concatenate[FileStore, P], Coroutine[Any, Any, R]]
Sync = Callable[Concatenate["PublicMethods", P], R]
Async = Callable[Concatenate["PublicMethods", P], Coroutine[Any, Any, R]]


def _error_code(error: FilesystemError) -> str:
    """Return the code of an error for `upload_files` and `download_files`, or its message."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), str(error))


def _twins(answer: Answer[P, R]) -> tuple[Sync[P, R], Async[P, R]]:
    """Return a sync method and its async twin that call a function of the store."""

    @functools.wraps(answer)
    def sync(self: "PublicMethods", /, *args: P.args, **options: P.kwargs) -> R:
        return run_sync(answer(self._store(), *args, **options))

    @functools.wraps(answer)
    async def twin(self: "PublicMethods", /, *args: P.args, **options: P.kwargs) -> R:
        with awaiting():
            return await answer(self._store(), *args, **options)

    name = answer.__name__.removeprefix("_")
    sync.__name__, twin.__name__ = name, f"a{name}"
    return sync, twin


def _reporting(result: Callable[..., R]) -> Callable[[Answer[P, R]], Answer[P, R]]:
    """Turn an error into a result with that `error`."""

    def wrap(answer: Answer[P, R]) -> Answer[P, R]:
        @functools.wraps(answer)
        async def reported(store: FileStore, /, *args: P.args, **options: P.kwargs) -> R:
            try:
                return await answer(store, *args, **options)
            except FilesystemError as error:
                return result(error=str(error))

        return reported

    return wrap


@_reporting(LsResult)
async def _ls(store: FileStore, path: str) -> LsResult:
    """List what is directly below a directory."""
    return await store.ls(store.normal(path))


@_reporting(ReadResult)
async def _read(
    store: FileStore,
    file_path: str,
    offset: int = 0,
    limit: int = 2000,
    *,
    column: int = 0,
    max_characters: int | None = None,
) -> ReadResult:
    """Return lines of a text file, or a binary file whole as base64."""
    path = store.normal(file_path)
    return await store.read(path, offset, limit, column=column, max_characters=max_characters)


@_reporting(WriteResult)
async def _write(
    store: FileStore,
    file_path: str,
    content: str,
    *,
    overwrite: bool = False,
    once: str | None = None,
) -> WriteResult:
    """Create a file with its parents, or with `overwrite` replace one."""
    return await store.write(store.normal(file_path), content, overwrite=overwrite, once=once)


@_reporting(EditResult)
async def _edit(
    store: FileStore,
    file_path: str,
    old_string: str,
    new_string: str,
    replace_all: bool = False,
    *,
    once: str | None = None,
) -> EditResult:
    """Replace exact text in a file."""
    path = store.normal(file_path)
    return await store.edit(path, old_string, new_string, replace_all, once=once)


@_reporting(DeleteResult)
async def _delete(store: FileStore, file_path: str, *, once: str | None = None) -> DeleteResult:
    """Delete a file, or a directory with everything in it."""
    return await store.delete(store.normal(file_path), once=once)


@_reporting(MoveResult)
async def _move(
    store: FileStore, source: str, destination: str, *, once: str | None = None
) -> MoveResult:
    """Rename a file or a directory, to where nothing is."""
    return await store.move(store.normal(source), store.normal(destination), once=once)


@_reporting(GlobResult)
async def _glob(store: FileStore, pattern: str, path: str | None = None) -> GlobResult:
    """Find files below a directory by a pattern."""
    return await store.glob(pattern, None if path is None else store.normal(path))


@_reporting(GrepResult)
async def _grep(
    store: FileStore,
    pattern: str,
    path: str | None = None,
    glob: str | None = None,
    *,
    regex: bool = False,
    ignore_case: bool = False,
    context: int = 0,
    max_count: int | None = None,
    output_mode: OutputMode = "content",
) -> GrepResult:
    """Search the text files below a directory, or one file."""
    query = Query(pattern, regex, ignore_case, context, max_count, output_mode)
    return await store.grep(query, None if path is None else store.normal(path), glob)


async def _upload_files(
    store: FileStore,
    files: Sequence[tuple[str, bytes]],
    *,
    overwrite: bool = True,
    once: str | None = None,
) -> list[FileUploadResponse]:
    """Store bytes as files; without `overwrite` only where no file exists."""
    answers = [FileUploadResponse(path) for path, _ in files]
    normal: dict[str, bytes] = {}
    for answer, (path, content) in zip(answers, files, strict=True):
        try:
            normal[store.normal(path)] = content
        except PathRefused as error:
            answer.error = _error_code(error)
    try:
        failed = await store.put(normal, overwrite=overwrite, once=once) if normal else {}
    except FilesystemError as error:
        failed = dict.fromkeys(normal, error)
    for answer in answers:
        if answer.error is None and (reason := failed.get(store.normal(answer.path))):
            answer.error = _error_code(reason)
    return answers


async def _download_files(store: FileStore, paths: Sequence[str]) -> list[FileDownloadResponse]:
    """Return the bytes of files."""
    answers = [FileDownloadResponse(path) for path in paths]
    valid: list[tuple[FileDownloadResponse, str]] = []
    for answer in answers:
        try:
            valid.append((answer, store.normal(answer.path)))
        except PathRefused as error:
            answer.error = _error_code(error)
    contents: Sequence[bytes | FilesystemError]
    try:
        contents = await store.fetch([path for _, path in valid])
    except FilesystemError as error:
        contents = [error] * len(valid)
    for (answer, _), content in zip(valid, contents, strict=True):
        if isinstance(content, FilesystemError):
            answer.error = _error_code(content)
        else:
            answer.content = content
    return answers


async def _digest(store: FileStore, file_path: str) -> str | None:
    """Return a digest of the content of a file, or `None` if it can't be read."""
    try:
        return await store.digest(store.normal(file_path))
    except FilesystemError:
        return None


async def _recall(store: FileStore, once: str) -> Outcome | None:
    """Return what is known of a call that was begun before a crash."""
    return await store.recall(once)


async def _execute(
    store: FileStore,
    command: str,
    *,
    timeout: int | None = None,
    on_output: OnOutput | None = None,
    once: str | None = None,
) -> ExecuteResponse:
    """Run a command."""
    return await store.execute(command, timeout=timeout, on_output=on_output, once=once)


class PublicMethods:
    """Gives a backend its public methods, which call the `FileStore` that it opens."""

    overridden: ClassVar[frozenset[str]] = frozenset()
    """Public methods that a subclass outside of this package has overridden."""
    _opened: FileStore | None = None

    @abstractmethod
    def open(self, context: MountContext) -> FileStore:
        """Return the store for one run of a node, or for one call outside of a graph."""

    def bound_to(self, store: FileStore) -> Self:
        """Return a copy whose public methods work on an open store."""
        bound = copy(self)
        bound._opened = store
        return bound

    def _store(self) -> FileStore:
        return self._opened or self.open(MountContext())

    ls, als = _twins(_ls)
    read, aread = _twins(_read)
    write, awrite = _twins(_write)
    edit, aedit = _twins(_edit)
    delete, adelete = _twins(_delete)
    move, amove = _twins(_move)
    glob, aglob = _twins(_glob)
    grep, agrep = _twins(_grep)
    upload_files, aupload_files = _twins(_upload_files)
    download_files, adownload_files = _twins(_download_files)
    digest, adigest = _twins(_digest)
    recall, arecall = _twins(_recall)

    def __init_subclass__(cls, **options: Any) -> None:
        """Note what a subclass overrides, and give an overridden method its async twin."""
        super().__init_subclass__(**options)
        if cls.__module__.startswith("langgraph_filesystem."):
            return
        own = {name for name in PUBLIC_METHODS if name in vars(cls) or f"a{name}" in vars(cls)}
        cls.overridden = cls.overridden | own
        for name in own:
            if name in vars(cls) and f"a{name}" not in vars(cls):
                setattr(cls, f"a{name}", _threaded(name, vars(cls)[name]))


class CommandMethods(PublicMethods):
    """Gives a backend that runs commands `execute` and its twin."""

    execute, aexecute = _twins(_execute)

    id: str
    """A name that identifies the place where commands run."""


def _threaded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def twin(self: Any, *args: Any, **options: Any) -> Any:
        run = change_in_thread if name in CHANGING_METHODS else in_thread
        with awaiting():
            return await run(getattr(self, name), *args, **options)

    twin.__name__ = f"a{name}"
    return twin
