"""`ForeignBackend`: a backend that is not ours, wrapped as a `FileStore` when it is mounted.

Backends of `deepagents`, sandboxes of partners, objects of yours: they have fewer methods and
keywords than ours. An operation that such a backend lacks is built here from those that it has.
"""

import base64
import contextlib
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar, cast

from langgraph_filesystem.state.backends.file_store import (
    Capabilities,
    Confinement,
    FileStore,
    Inventory,
    Kind,
    MountContext,
    OnOutput,
    Query,
    Skip,
)
from langgraph_filesystem.state.backends.foreign_calls import ForeignCalls
from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileInfo,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    MoveResult,
    Outcome,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.backends.search import limit_matches, search_fetched
from langgraph_filesystem.state.backends.text_files import is_text, limit_page, not_text
from langgraph_filesystem.state.errors import (
    BackendFailed,
    CommandStarted,
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    Unsupported,
)
from langgraph_filesystem.state.files import FileData, digest_of, file_bytes
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.text import PathPart

__all__ = ("ForeignBackend",)

T = TypeVar("T", FileInfo, GrepMatch)

_MAX_DIRECTORIES = 10_000
"""Directories that are listed before a move; without a limit a loop of links would not end."""
_MAX_SEARCHED = 10_000_000
"""Size up to which files are searched here; larger ones are named in a note."""
_STARTED = "/tmp/langgraph-filesystem"
"""Where the keys of started commands are kept, in a sandbox without a journal."""


class ForeignBackend(FileStore):
    """A foreign backend with the methods, results and errors of a store.

    Args:
        backend: Any object with methods of `protocol.Backend`.
        context: Where it is mounted, and the files of the thread.
        search_seconds: How long files are fetched for a search that the backend can't do itself.
    """

    def __init__(
        self, backend: Any, context: MountContext, *, search_seconds: float = 10.0
    ) -> None:
        self._calls = calls = ForeignCalls(backend, context.files)
        self._search_seconds = search_seconds
        executes = calls.has("execute")
        self.capabilities = Capabilities(
            lasting=getattr(backend, "lasting", None) is True,
            deletes=calls.has("delete"),
            moves=calls.has("move"),
            executes=executes,
            journals=calls.has("recall"),
            command_root=calls.hidden_root or "/" if executes and calls.directory else None,
            on_machine=True,
        )

    # Files and directories

    async def kind(self, path: str) -> Kind | None:
        """Return what the directory above a path lists there."""
        try:
            return (await self._kinds([path]))[path]
        except FilesystemError:
            # A file in a directory that can't be listed may still be readable.
            [content] = await self.fetch([path])
            if isinstance(content, FileNotFound):
                return None
            if isinstance(content, FilesystemError):
                raise
            return "file"

    async def ls(self, path: str) -> LsResult:
        """List what is directly below a directory."""
        result = await self._list(path)
        if not result.entries and not result.note and path != "/":
            # Some backends list a file, or a missing path, as an empty directory.
            kind = await self.kind(path)
            if kind != "directory":
                raise NotDirectory(path) if kind else FileNotFound(path)
        return result

    async def read(
        self,
        file_path: str,
        offset: int = 0,
        limit: int = 2000,
        *,
        column: int = 0,
        max_characters: int | None = None,
    ) -> ReadResult:
        """Return lines of a text file, or a binary file whole as base64."""
        options: dict[str, Any] = {"column": column, "max_characters": max_characters}
        if self._calls.takes("read", *options):
            return await self._read(file_path, offset, limit, **options)
        page = await self._read(file_path, offset, limit)
        _complete_page(page, offset, limit)
        return limit_page(file_path, page, max(0, offset), column, max_characters)

    async def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file, or with `overwrite` replace one."""
        checks_itself = overwrite or self._calls.declares("write", "overwrite")
        if not checks_itself and (error := _exists_error(file_path, await self.kind(file_path))):
            raise error
        args, options = (file_path, content), {"overwrite": overwrite, "once": once}
        return await self._calls.result(WriteResult, "write", (file_path,), *args, **options)

    async def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        once: str | None = None,
    ) -> EditResult:
        """Replace exact text in a file."""
        args = file_path, old_string, new_string, replace_all
        try:
            result = await self._calls.result(EditResult, "edit", (file_path,), *args, once=once)
        except BackendFailed:
            if (content := await self._fetch_binary(file_path)) is None:
                raise
            raise not_text(file_path, content) from None
        result.occurrences = result.occurrences or 1
        return result

    async def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or a directory with everything in it."""
        paths = (file_path,)
        return await self._calls.result(DeleteResult, "delete", paths, *paths, once=once)

    async def move(self, source: str, destination: str, *, once: str | None = None) -> MoveResult:
        """Rename a file or a directory; `Unsupported` where the backend has no `move`."""
        paths = source, destination
        return await self._calls.result(MoveResult, "move", paths, *paths, once=once)

    async def digest(self, file_path: str) -> str | None:
        """Return a digest of the content of a file."""
        if self._calls.has("digest"):
            return cast("str | None", await self._calls.call("digest", file_path, file_path))
        [content] = await self.fetch([file_path])
        return None if isinstance(content, FilesystemError) else digest_of(content)

    async def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call that was begun before a crash."""
        if not self._calls.has("recall"):
            return None
        return cast("Outcome | None", await self._calls.call("recall", "/", once))

    async def inventory(self, path: str) -> Inventory:
        """Return every file at or below a path, by listing one directory after the other."""
        found = Inventory()
        if path != "/":
            entries = (await self._list(_parent(path))).entries or ()
            found.files = [e for e in entries if e["path"] == path and not e.get("is_dir")]
        if not found.files:
            async for entries in self._levels(path):
                found.empty += not entries
                found.files += [entry for entry in entries if not entry.get("is_dir")]
        return found

    async def tree(self, path: str) -> list[FileInfo]:
        """Return all entries below a directory."""
        if await self.kind(path) != "directory":
            return []
        return [entry async for entries in self._levels(path) for entry in entries]

    async def _levels(self, path: str) -> AsyncIterator[list[FileInfo]]:
        """Yield the entries of a directory, and of each one below it."""
        directories = [path]
        for directory in directories:
            entries = await self._all_entries(directory)
            yield entries
            directories += [entry["path"] for entry in entries if entry.get("is_dir")]
            if len(directories) > _MAX_DIRECTORIES:
                raise BackendFailed(
                    PathPart(path),
                    f": has more than {_MAX_DIRECTORIES:,} directories, too many for one call. "
                    "Move or delete parts of it.",
                )

    async def fetch(self, paths: Sequence[str]) -> list[bytes | FilesystemError]:
        """Return the bytes of each file, by `download_files` or else by `read`."""
        if not paths:
            return []
        try:
            answers = await self._calls.call("download_files", paths[0], list(paths))
        except Unsupported:
            return [await self._read_whole(path) for path in paths]
        except FilesystemError as error:
            return [error] * len(paths)
        return [
            self._calls.error(answer.error or "no content", path)
            if answer.content is None
            else answer.content
            for path, answer in zip(paths, answers, strict=True)
        ]

    async def put(
        self, files: Mapping[str, bytes], *, overwrite: bool = True, once: str | None = None
    ) -> dict[str, FilesystemError]:
        """Write whole files, by `upload_files` or else by `write`."""
        failed: dict[str, FilesystemError] = {}
        if not overwrite and not self._calls.declares("upload_files", "overwrite"):
            for path, kind in (await self._kinds(list(files))).items():
                if error := _exists_error(path, kind):
                    failed[path] = error
        new = [(path, content) for path, content in files.items() if path not in failed]
        if not new:
            return failed
        options = {"overwrite": overwrite, "once": once}
        try:
            answers = await self._calls.call("upload_files", new[0][0], new, **options)
        except Unsupported:
            return failed | await self._write_each(new, once)
        for (path, _), answer in zip(new, answers, strict=True):
            if answer.error:
                failed[path] = self._calls.error(answer.error, path)
        return failed

    # Commands

    async def execute(
        self,
        command: str,
        *,
        timeout: int | None = None,
        on_output: OnOutput | None = None,
        once: str | None = None,
        confinement: Confinement | None = None,
    ) -> ExecuteResponse:
        """Run a command, unless it may already have run before a crash."""
        if once and not self.capabilities.journals and not self._calls.takes("execute", "once"):
            await self._note_started(once)
        options = {"timeout": timeout, "on_output": on_output, "once": once}
        return await self._calls.result(ExecuteResponse, "execute", ("/",), command, **options)

    async def _note_started(self, once: str) -> None:
        """Note in the sandbox that a command starts; raise if it was started before."""
        scope, _, name = once.partition(".")
        group, path = name.partition(".")[0] + ".", f"{_STARTED}/{scope}"
        [content] = await self.fetch([path])
        text = content.decode(errors="replace") if isinstance(content, bytes) else ""
        started = [key for key in text.split("\n") if key.startswith(group)]
        if name in started:
            raise CommandStarted
        # An error is ignored: a sandbox without uploads can still run commands.
        await self.put({path: "".join(f"{key}\n" for key in [*started, name]).encode()})

    # Searches

    async def glob(
        self, pattern: str, path: str | None = None, *, skips: Skip | None = None
    ) -> GlobResult:
        """Find files below a directory by a pattern."""
        start = path or "/"
        try:
            result = await self._calls.result(GlobResult, "glob", (start,), pattern, start)
        except Unsupported:
            matches = _matcher(pattern, start)
            files = (await self.inventory(start)).files
            return GlobResult(matches=[info for info in files if matches(info["path"])])
        found = [_normalized(match) for match in result.matches or ()]
        result.matches = [match for match in found if not match.get("is_dir")]
        if result.truncated and not result.note:
            result.note = "The list is not complete."
        return result

    async def grep(
        self,
        query: Query,
        path: str | None = None,
        glob: str | None = None,
        *,
        skips: Skip | None = None,
    ) -> GrepResult:
        """Search text files: in the backend, or here if it can't do this search."""
        needed = {"regex": query.regex, "ignore_case": query.ignore_case}
        needed["context"] = bool(query.context) and query.output_mode == "content"
        start = path or "/"
        if self._calls.takes("grep", *(name for name, is_needed in needed.items() if is_needed)):
            with contextlib.suppress(Unsupported):
                return await self._grep_there(query, start, glob)
        return await self._grep_here(query, start, glob, skips)

    async def _grep_there(self, query: Query, start: str, glob: str | None) -> GrepResult:
        options = asdict(query)
        args = options.pop("pattern"), start, glob
        result = await self._calls.result(GrepResult, "grep", (start,), *args, **options)
        found = [_normalized(match) for match in result.matches or ()]
        found.sort(key=lambda match: (match["path"], match["line"]))
        result.matches = found
        result.counts = dict(result.counts or Counter(match["path"] for match in found))
        return limit_matches(result, query.max_count)

    async def _grep_here(
        self, query: Query, start: str, glob: str | None, skips: Skip | None
    ) -> GrepResult:
        files = await self._candidates(query, start, glob)
        return await search_fetched(
            self.fetch,
            [info for info in files if skips is None or not skips(info["path"])],
            query,
            max_size=_MAX_SEARCHED,
            seconds=self._search_seconds,
        )

    async def _candidates(self, query: Query, start: str, glob: str | None) -> list[FileInfo]:
        """Return the files to fetch."""
        kind = await self.kind(start)
        if kind is None:
            raise FileNotFound(start)
        matches = _matcher(glob, start if kind == "directory" else _parent(start))
        found = [FileInfo(path=start)] if kind == "file" else await self._searched(query, start)
        return [info for info in found if matches(info["path"])]

    async def _searched(self, query: Query, start: str) -> list[FileInfo]:
        if not query.regex and not query.ignore_case:
            # The backend can find the files with the text: only the lines around it are missing.
            with contextlib.suppress(Unsupported):
                counts = (await self._grep_there(Query(query.pattern), start, None)).counts
                return [FileInfo(path=path) for path in counts or ()]
        if not self._calls.has("glob"):
            return (await self.inventory(start)).files
        # In other backends a star may not match names that begin with a dot.
        results = [await self.glob(pattern, start) for pattern in ("*", ".*")]
        found = {info["path"]: info for result in results for info in result.matches or ()}
        return list(found.values())

    # Helpers

    async def _list(self, path: str) -> LsResult:
        result = await self._calls.result(LsResult, "ls", (path,), path)
        result.entries = [_normalized(entry) for entry in result.entries or ()]
        return result

    async def _all_entries(self, directory: str) -> list[FileInfo]:
        result = await self.ls(directory)
        if result.note:
            reason = ": was left as it is, because not all of it could be listed: "
            raise BackendFailed(PathPart(directory), reason, result.note)
        return result.entries or []

    async def _kinds(self, paths: Sequence[str]) -> dict[str, Kind | None]:
        """Return what is at each path, by listing each directory above them once."""
        found: dict[str, Kind] = {"/": "directory"}
        for directory in {_parent(path) for path in paths if path != "/"}:
            try:
                entries = (await self._list(directory)).entries or ()
            except (FileNotFound, NotDirectory):
                continue
            found |= {e["path"]: "directory" if e.get("is_dir") else "file" for e in entries}
        return {path: found.get(path) for path in paths}

    async def _read(self, path: str, *page: int, **options: Any) -> ReadResult:
        try:
            return await self._read_page(path, *page, **options)
        except BackendFailed:
            # Other backends fail for files that are not text, without saying so.
            if (content := await self._fetch_binary(path)) is None:
                raise
            encoded = base64.b64encode(content).decode()
            return ReadResult(file_data=FileData(content=encoded, encoding="base64"))

    async def _read_page(self, path: str, *page: int, **options: Any) -> ReadResult:
        result = await self._calls.result(ReadResult, "read", (path,), path, *page, **options)
        file = cast("dict[str, Any]", result.file_data or {"content": ""})
        if isinstance(file["content"], list):  # the format of older backends
            file = {**file, "content": "\n".join(file["content"])}
        result.file_data = cast("FileData", file)
        return result

    async def _read_whole(self, path: str) -> bytes | FilesystemError:
        try:
            page = await self._read_page(path, 0, sys.maxsize)
        except FilesystemError as error:
            return error
        return file_bytes(page.file_data or FileData(content=""))

    async def _fetch_binary(self, path: str) -> bytes | None:
        """Return the bytes of a file that is not text, and `None` for any other."""
        [content] = await self.fetch([path])
        return None if isinstance(content, FilesystemError) or is_text(content) else content

    async def _write_each(
        self, files: Sequence[tuple[str, bytes]], once: str | None
    ) -> dict[str, FilesystemError]:
        failed: dict[str, FilesystemError] = {}
        for number, (path, content) in enumerate(files):
            try:
                text = content.decode()
                await self.write(path, text, overwrite=True, once=once and f"{once}.{number}")
            except UnicodeDecodeError:
                failed[path] = Unsupported(
                    PathPart(path), ": is not text, and the backend there takes only text."
                )
            except FilesystemError as error:
                failed[path] = error
        return failed


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _normalized(found: T) -> T:
    """Return an entry or a match with a normalized path: those of directories may end in `/`."""
    path = found["path"]
    normalized = {**found, "path": "/" + path.strip("/")}
    if path.endswith("/"):
        normalized["is_dir"] = True
    return cast("T", normalized)


def _exists_error(path: str, kind: Kind | None) -> FilesystemError | None:
    if kind == "file":
        return FileExists(path, "Change it with `edit_file`, or set `overwrite`.")
    return IsDirectory(path) if kind else None


def _complete_page(page: ReadResult, offset: int, limit: int) -> None:
    """Add to a page where the next one begins, or how many lines the file has."""
    file = page.file_data or FileData(content="")
    if not file["content"] or file.get("encoding", "utf-8") != "utf-8":
        return
    has_end = file["content"].endswith("\n")
    if page.next_offset is not None and not has_end:
        # A line that is followed by another ends in a newline, which some backends leave out.
        page.file_data = {**file, "content": file["content"] + "\n"}
    elif page.next_offset is None and page.total_lines is None:
        lines = file["content"].count("\n") + (not has_end)
        if lines < limit:
            page.total_lines = max(0, offset) + lines
        else:
            page.next_offset = max(0, offset) + lines  # there may be more


def _matcher(glob: str | None, directory: str) -> Callable[[str], bool]:
    if glob is None:
        return lambda path: True
    matches, skip = compile_glob(glob), len(directory.rstrip("/")) + 1
    return lambda path: matches(path[skip:])
