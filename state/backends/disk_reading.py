"""Looking at files on disk: lists, pages, searches, bytes, digests."""

import base64
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from langgraph_filesystem.state.backends.contents import (
    HEAD,
    digest_of,
    is_binary,
    modified_at,
    read_whole,
)
from langgraph_filesystem.state.backends.disk.grep import grep
from langgraph_filesystem.state.backends.disk.walk import find_files
from langgraph_filesystem.state.backends.disk_listing import list_directory
from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.marks import Memory
from langgraph_filesystem.state.backends.pages import Page, Window, cut_page, read_page
from langgraph_filesystem.state.backends.protocol import (
    FileDownloadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    OutputMode,
    ReadResult,
)
from langgraph_filesystem.state.backends.refusals import explain
from langgraph_filesystem.state.backends.reporting import reporting
from langgraph_filesystem.state.backends.reports import error_code
from langgraph_filesystem.state.errors import FilesystemError, NotText
from langgraph_filesystem.state.search import Query

__all__ = ("DiskReading",)

R = TypeVar("R")

_MOST = 4 << 20
"""Characters of a page: a file may be one line of gigabytes."""
_SMALL = 1 << 20
"""Files up to this size are read whole for a page: then the number of their lines is known."""


class DiskReading:
    """The operations that change nothing."""

    def __init__(self, jail: Jail, limit: int) -> None:
        self._jail = jail
        self._limit = limit
        self._memory = Memory()

    @reporting(LsResult)
    def ls(self, path: str) -> LsResult:
        """List the names directly below a directory."""
        return list_directory(self._jail, self._jail.normal(path))

    @reporting(ReadResult)
    def read(
        self,
        file_path: str,
        offset: int = 0,
        limit: int = 2000,
        *,
        column: int = 0,
        max_characters: int | None = None,
    ) -> ReadResult:
        """Return lines of a text file, or a binary file whole.

        A page has no more than four million characters, even if more are asked for: it says where
        the next one begins. Whole files come with `download_files`.
        """
        path = self._jail.normal(file_path)
        most = _MOST if max_characters is None else max(1, min(_MOST, max_characters))
        lines = min(max(0, limit), sys.maxsize)
        window = Window(max(0, offset), lines, max(0, column), most)
        return self._look_into(path, partial(self._read, path, window))

    @reporting(GlobResult)
    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files below a directory by a pattern."""
        return find_files(self._jail, pattern, path)

    @reporting(GrepResult)
    def grep(
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
        return grep(self._jail, query, path, glob, max_file_size=self._limit)

    def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        """Return the bytes of files."""
        return [self._download(path) for path in paths]

    def digest(self, file_path: str) -> str | None:
        """Return a digest of what a file holds now, or `None` where there is none to be had."""
        try:
            path = self._jail.normal(file_path)
            return self._look_into(path, lambda handle, _: digest_of(handle, self._limit))
        except FilesystemError:
            return None

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            content = self._look_into(
                self._jail.normal(path), lambda handle, status: read_whole(handle, status.st_size)
            )
        except FilesystemError as error:
            return FileDownloadResponse(path, error=error_code(error))
        return FileDownloadResponse(path, content=content)

    def _look_into(self, path: str, look: Callable[[int, os.stat_result], R]) -> R:
        """Open a file, and say in our words what goes wrong with it."""
        handle, status = self._jail.open_file(path)
        try:
            return look(handle, status)
        except OSError as error:
            raise explain(path, error) from None
        finally:
            os.close(handle)

    def _read(self, path: str, window: Window, handle: int, status: os.stat_result) -> ReadResult:
        page = self._page(path, handle, status, window)
        if page is not None:
            return _shown(page, window, modified_at(status))
        content = base64.b64encode(read_whole(handle, status.st_size)).decode()
        changed = modified_at(status)
        return ReadResult(
            file_data={"content": content, "encoding": "base64", "modified_at": changed}
        )

    def _page(self, path: str, handle: int, status: os.stat_result, window: Window) -> Page | None:
        """Return a page of a text, or nothing for what is not text and can be shown whole."""
        why = "binary content"
        try:
            if status.st_size > _SMALL:
                marks = self._memory.marks_of(status)
                marks.is_text = marks.is_text or not is_binary(os.pread(handle, HEAD, 0))
                if marks.is_text:
                    return read_page(path, handle, status.st_size, window, marks)
            else:
                content = read_whole(handle, status.st_size)
                if not is_binary(content):
                    return cut_page(path, content.decode(), window)
        except UnicodeDecodeError:
            why = "text that is not UTF-8"
        if status.st_size > self._limit:
            raise NotText(path, status.st_size, why)
        return None


def _shown(page: Page, window: Window, changed: str) -> ReadResult:
    result = ReadResult(
        file_data={"content": page.text, "encoding": "utf-8", "modified_at": changed},
        total_lines=page.total,
        next_offset=page.next_line,
        next_column=page.next_column,
    )
    if page.text:
        result.start_line, result.end_line = window.offset + 1, window.offset + page.lines
    return result
