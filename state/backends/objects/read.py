"""Reading objects: whole files, pages of files that are too large for memory, digests."""

import base64
from dataclasses import replace

from langgraph_filesystem.state.backends.objects.errors import ChangedMeanwhile
from langgraph_filesystem.state.backends.objects.objects import Blob, Changed, Objects
from langgraph_filesystem.state.backends.pages import SMALL, Bookmarks, Page, Window
from langgraph_filesystem.state.backends.protocol import ReadResult
from langgraph_filesystem.state.backends.text_files import is_binary, page_of
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    FileTooLarge,
    IsDirectory,
    NotText,
)
from langgraph_filesystem.state.files import FileData, digest_of

__all__ = ("CHUNK", "Pages", "digest_at", "missing", "read_whole")

CHUNK = SMALL
"""Bytes that are fetched at once. A smaller file is fetched whole by one request."""


async def missing(objects: Objects, path: str) -> FilesystemError:
    """Return the error that says why there is no file at a path."""
    if path == "/" or await objects.is_directory(path):
        return IsDirectory(path)
    return FileNotFound(path)


async def read_whole(objects: Objects, path: str, max_size: int) -> Blob:
    """Return a file whole, if it is not too large."""
    blob = None if path == "/" else await objects.get(path, 0, CHUNK)
    if blob is None:
        raise await missing(objects, path)
    if blob.size > max_size:
        raise FileTooLarge(path, blob.size, max_size)
    return await _completed(objects, path, blob)


async def digest_at(objects: Objects, path: str, max_size: int) -> str | None:
    """Return a digest of a file: of its content, or of its version if it is too large to read."""
    blob = None if path == "/" else await objects.get(path, 0, CHUNK)
    if blob is None:
        return None
    if len(blob.content) < blob.size > max_size:
        return digest_of(f"{blob.size} {blob.version}".encode())
    return digest_of((await _completed(objects, path, blob)).content)


async def _completed(objects: Objects, path: str, blob: Blob) -> Blob:
    """Fetch the rest of a file whose first bytes are known."""
    if len(blob.content) == blob.size:
        return blob
    try:
        rest = await objects.get(path, len(blob.content), None, blob)
    except Changed:
        rest = None
    if rest is None:
        raise ChangedMeanwhile(path)
    return replace(blob, content=blob.content + rest.content)


class Pages:
    """Reads pages of the files of one store."""

    def __init__(self, objects: Objects, max_size: int) -> None:
        self._objects = objects
        self._max_size = max_size
        self._bookmarks = Bookmarks()

    async def read(self, path: str, window: Window) -> ReadResult:
        """Return lines of a text file, or a binary file whole as base64."""
        page, first = await self._first_chunk(path, window)
        if not page.at and is_binary(first.content):
            return await self._binary(path, first, "binary content")
        try:
            if len(first.content) == first.size:
                file = FileData(content=first.content.decode(), encoding="utf-8")
                return _dated(page_of(path, file, *window), first)
            return _dated(await self._fill(path, page, first), first)
        except UnicodeDecodeError:
            return await self._binary(path, first, "text that is not UTF-8")

    async def _first_chunk(self, path: str, window: Window) -> tuple[Page, Blob]:
        """Return the bytes at the bookmark, if it is before the window, or at the beginning."""
        version, start = self._bookmarks.find(path, window)
        page = Page(path, window, start)
        first = None if path == "/" else await self._objects.get(path, page.at, CHUNK)
        if first is not None and page.at and first.version != version:
            page = Page(path, window)
            first = await self._objects.get(path, 0, CHUNK)
        if first is None:
            raise await missing(self._objects, path)
        return page, first

    async def _fill(self, path: str, page: Page, first: Blob) -> ReadResult:
        content = first.content
        try:
            while True:
                page.feed(content)
                if page.is_full or page.at >= first.size:
                    return page.result(first.size)
                content = await self._next_chunk(path, page.at, first)
        finally:
            self._bookmarks.keep(path, first.version, page.end)

    async def _next_chunk(self, path: str, start: int, first: Blob) -> bytes:
        try:
            blob = await self._objects.get(path, start, CHUNK, first)
        except Changed:
            blob = None
        if blob is None or not blob.content:
            raise ChangedMeanwhile(path)
        return blob.content

    async def _binary(self, path: str, first: Blob, why: str) -> ReadResult:
        if first.size > self._max_size:
            raise NotText(path, first.size, why)
        whole = first if len(first.content) == first.size else await self._objects.get(path)
        if whole is None:
            raise ChangedMeanwhile(path)
        content = base64.b64encode(whole.content).decode()
        return _dated(ReadResult(file_data=FileData(content=content, encoding="base64")), whole)


def _dated(result: ReadResult, blob: Blob) -> ReadResult:
    assert result.file_data is not None
    if blob.created_at is not None:
        result.file_data["created_at"] = blob.created_at
    if blob.modified_at is not None:
        result.file_data["modified_at"] = blob.modified_at
    return result
