"""Looking at files that are objects under keys: lists, pages, searches, bytes."""

import base64
from collections.abc import Sequence

from langgraph_filesystem.state.backends.contents import is_binary
from langgraph_filesystem.state.backends.inventory import Inventory
from langgraph_filesystem.state.backends.many import each
from langgraph_filesystem.state.backends.object_access import CHUNK, Access, ChangedMeanwhile
from langgraph_filesystem.state.backends.object_pages import Page, Place
from langgraph_filesystem.state.backends.object_search import SECONDS, search_objects
from langgraph_filesystem.state.backends.objects import Blob, Changed, Entry, Listing
from langgraph_filesystem.state.backends.protocol import (
    FileDownloadResponse,
    FileInfo,
    GlobResult,
    GrepResult,
    LsResult,
    OutputMode,
    ReadResult,
)
from langgraph_filesystem.state.backends.reports import error_code, reports
from langgraph_filesystem.state.errors import FilesystemError, NotText
from langgraph_filesystem.state.files import FileData
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.search import Query

__all__ = ("Reading",)


class Reading(Access):
    """The operations that change nothing."""

    @reports(LsResult)
    async def ls(self, path: str) -> LsResult:
        """List the names directly below a directory."""
        directory = self._path(path)
        found = await self._objects.children(directory)
        if not found.files and not found.directories:
            await self._check_directory(directory)
        entries = [_info(entry) for entry in found.files]
        entries += [FileInfo(path=name, is_dir=True) for name in sorted(found.directories)]
        return LsResult(entries=entries, note=found.note)

    @reports(ReadResult)
    async def read(
        self,
        file_path: str,
        offset: int = 0,
        limit: int = 2000,
        *,
        column: int = 0,
        max_characters: int | None = None,
    ) -> ReadResult:
        """Return lines of a text file, or a binary file whole."""
        path = self._path(file_path)
        start, first = await self._first(path, offset, column)
        if not start.byte and is_binary(first.content):
            return await self._binary(path, first)
        page = Page(offset, limit, column, max_characters, start)
        try:
            if len(first.content) == first.size:
                first.content.decode()  # a file is text as a whole, not page by page
            return await self._page(path, page, start, first)
        except UnicodeDecodeError:
            return await self._binary(path, first, "text that is not UTF-8")

    @reports(GlobResult)
    async def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files below a directory by a pattern."""
        matches = compile_glob(pattern)
        directory = self._path(path or "/")
        found = await self._below(directory)
        skip = len(directory.rstrip("/")) + 1
        infos = [_info(entry) for entry in found.files if matches(entry.path[skip:])]
        return GlobResult(matches=infos, truncated=not found.whole, note=found.note)

    @reports(GrepResult)
    async def grep(
        self,
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
        matches = compile_glob(glob) if glob else None
        found, skip = await self._searched(self._path(path or "/"))
        if matches:
            found.files = [entry for entry in found.files if matches(entry.path[skip:])]
        return await search_objects(self._objects, self._io, found, query, self._limit)

    @reports(Inventory)
    async def inventory(self, path: str) -> Inventory:
        """Return a file, or every file below a directory."""
        normal = self._path(path)
        entry = None if normal == "/" else await self._objects.info(normal)
        if entry is not None:
            return Inventory(files=[_stamped(entry)])
        found = await self._objects.below(normal)
        if not found.files:
            await self._check_directory(normal)
        return Inventory(files=[_stamped(entry) for entry in found.files])

    async def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        """Return the bytes of files."""
        return await each(self._io, self._download, paths)

    async def _download(self, path: str) -> FileDownloadResponse:
        try:
            normal = self._path(path)
            blob = None if normal == "/" else await self._objects.get(normal)
            if blob is None:
                raise await self._missing(normal)
        except FilesystemError as error:
            return FileDownloadResponse(path, error=error_code(error))
        return FileDownloadResponse(path, content=blob.content)

    async def _below(self, directory: str) -> Listing:
        found = await self._objects.below(directory, SECONDS)
        if not found.files and found.whole:
            await self._check_directory(directory)
        return found

    async def _searched(self, path: str) -> tuple[Listing, int]:
        """Return the files to search at a path, and how much of their paths is not theirs."""
        if path != "/" and (entry := await self._objects.info(path)) is not None:
            return Listing([entry]), len(path.rpartition("/")[0]) + 1
        return await self._below(path), len(path.rstrip("/")) + 1

    # Pages

    async def _first(self, path: str, offset: int, column: int) -> tuple[Place, Blob]:
        """Return the bytes at the last bookmark before a page, or at the beginning."""
        version, start = self._bookmarks.find(path, offset, column)
        first = await self._objects.get(path, start.byte, CHUNK)
        if first is not None and start.byte and first.version != version:
            start = Place()
            first = await self._objects.get(path, 0, CHUNK)
        if first is None:
            raise await self._missing(path)
        return start, first

    async def _page(self, path: str, page: Page, start: Place, first: Blob) -> ReadResult:
        at, content = start.byte, first.content
        while True:
            page.feed(content)
            at += len(content)
            if page.is_full or at >= first.size:
                break
            content = await self._chunk(path, at, first)
        if not page.is_full:
            page.finish()
        is_whole = len(first.content) == first.size
        total = _count_lines(first.content) if is_whole else None
        result, place = page.result(first.size, total)
        if not is_whole:
            self._bookmarks.keep(path, first.version, place)
        return _dated(result, first)

    async def _chunk(self, path: str, start: int, first: Blob) -> bytes:
        try:
            blob = await self._objects.get(path, start, CHUNK, first)
        except Changed:
            blob = None
        if blob is None or not blob.content:
            raise ChangedMeanwhile(path)
        return blob.content

    async def _binary(self, path: str, first: Blob, why: str = "binary content") -> ReadResult:
        if first.size > self._limit:
            raise NotText(path, first.size, why)
        whole = first if len(first.content) == first.size else await self._objects.get(path)
        if whole is None:
            raise ChangedMeanwhile(path)
        content = base64.b64encode(whole.content).decode()
        return _dated(ReadResult(file_data=FileData(content=content, encoding="base64")), whole)


def _info(entry: Entry) -> FileInfo:
    info = FileInfo(path=entry.path, is_dir=False, size=entry.size)
    if entry.modified_at is not None:
        info["modified_at"] = entry.modified_at
    return info


def _stamped(entry: Entry) -> FileInfo:
    """Say of a file what changes with it: the time of some stores has whole seconds only."""
    info = _info(entry)
    if entry.version is not None:
        info["modified_at"] = f"{entry.modified_at} {entry.version}"
    return info


def _dated(result: ReadResult, blob: Blob) -> ReadResult:
    assert result.file_data is not None
    if blob.created_at is not None:
        result.file_data["created_at"] = blob.created_at
    if blob.modified_at is not None:
        result.file_data["modified_at"] = blob.modified_at
    return result


def _count_lines(content: bytes) -> int:
    return content.count(b"\n") + (content != b"" and not content.endswith(b"\n"))
