"""Read files and directories on disk: lists, pages, bytes, digests."""

import base64
import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TypeAlias, TypeVar

from langgraph_filesystem.state.backends.disk.errors import explaining
from langgraph_filesystem.state.backends.disk.jail import TEMPORARY, Jail
from langgraph_filesystem.state.backends.pages import SMALL, Bookmarks, Page, Window
from langgraph_filesystem.state.backends.protocol import FileInfo, LsResult, ReadResult
from langgraph_filesystem.state.backends.text_files import HEAD, is_binary, page_of
from langgraph_filesystem.state.errors import FilesystemError, NotText
from langgraph_filesystem.state.files import FileData

__all__ = (
    "Reader",
    "content_digest",
    "handle_digest",
    "identity_digest",
    "list_directory",
)

R = TypeVar("R")
_Entry: TypeAlias = "os.DirEntry[str]"

_CHUNK, _PAGE_CHUNK = 1 << 20, 1 << 18
_SUSPICIOUS = ("\\", ":", f"/{TEMPORARY[0]}")
"""In names: what can't be in a path, or may be one of our own names."""


class Reader:
    """Reads the files of a jail."""

    def __init__(self, jail: Jail, limit: int) -> None:
        self._jail = jail
        self._limit = limit
        self._bookmarks = Bookmarks()

    def read(
        self, path: str, offset: int, limit: int, column: int, max_characters: int | None
    ) -> ReadResult:
        """Return lines of a text file, or a binary file whole.

        A page has no more than four million characters: it says where the next one begins.
        """
        window = Window.of(offset, limit, column, max_characters)
        return self._look_into(path, partial(self._read, path, window))

    def fetch(self, path: str) -> bytes | FilesystemError:
        """Return the bytes of a file, or why they can't be had."""
        try:
            return self._look_into(path, lambda handle, status: read_whole(handle, status.st_size))
        except FilesystemError as error:
            return error

    def digest(self, path: str) -> str | None:
        """Return a digest of what a file holds now, or `None` if it can't be had."""
        try:
            return self._look_into(path, lambda handle, _: handle_digest(handle, self._limit))
        except FilesystemError:
            return None

    def _look_into(self, path: str, look: Callable[[int, os.stat_result], R]) -> R:
        handle, status = self._jail.open_file(path)
        try:
            with explaining(path):
                return look(handle, status)
        finally:
            os.close(handle)

    def _read(self, path: str, window: Window, handle: int, status: os.stat_result) -> ReadResult:
        size, why = status.st_size, "binary content"
        try:
            page = self._page(path, handle, status, window)
        except UnicodeDecodeError:
            page, why = None, "text that is not UTF-8"
        if page is None:
            if size > self._limit:
                raise NotText(path, size, why)
            content = base64.b64encode(read_whole(handle, size)).decode()
            page = ReadResult(file_data=FileData(content=content, encoding="base64"))
        assert page.file_data is not None
        page.file_data["modified_at"] = _modified_at(status)
        return page

    def _page(
        self, path: str, handle: int, status: os.stat_result, window: Window
    ) -> ReadResult | None:
        """Return a page of a text, or `None` for a binary file."""
        if status.st_size <= SMALL:
            content = read_whole(handle, status.st_size)
            if is_binary(content):
                return None
            file = FileData(content=content.decode(), encoding="utf-8")
            return page_of(path, file, *window)
        if is_binary(os.pread(handle, HEAD, 0)):
            return None
        # A file that has changed is another file.
        file_key = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        page = Page(path, window, self._bookmarks.find(file_key, window)[1])
        size = min(max(HEAD, window.limit * 100), _PAGE_CHUNK)
        try:
            while not page.is_full and (chunk := os.pread(handle, size, page.at)):
                page.feed(chunk)
                size = _PAGE_CHUNK
            return page.result(status.st_size)
        finally:
            self._bookmarks.keep(file_key, None, page.end)


def list_directory(jail: Jail, path: str) -> LsResult:
    """Return the entries of a directory: their names and kinds, which the directory itself knows.

    Asking for the size of each file would take five times as long as everything else.
    """
    start = path.rstrip("/") + "/"
    with jail.scandir(path) as found, explaining(path):
        entries = list(found)
        unnamed = 0
        if not _are_plain(start, entries):
            visible = [entry for entry in entries if not jail.hides(path, entry.name)]
            entries = [entry for entry in visible if jail.can_name(start + entry.name)]
            unnamed = len(visible) - len(entries)
        # Some file systems have to look up the kind of an entry: the directory must be open.
        infos: list[FileInfo] = [
            {"path": start + entry.name, "is_dir": entry.is_dir(follow_symlinks=False)}
            for entry in entries
        ]
        links = [place for place, entry in enumerate(entries) if entry.is_symlink()]
    for place in links:
        infos[place]["is_link"] = True
        infos[place]["is_dir"] = _leads_to_directory(jail, infos[place]["path"])
        infos[place]["is_link"] = True
    return LsResult(entries=infos, note=_unnamed_note(unnamed))


def handle_digest(handle: int, limit: int) -> str:
    """Return a digest of an open file's content; of a larger one, of its identity.

    The identity is its inode, size and time of change: a rename keeps it.
    """
    status = os.fstat(handle)
    return identity_digest(status) if status.st_size > limit else content_digest(handle)


def content_digest(handle: int) -> str:
    """Return a digest of the content of an open file, as `digest_of` does for bytes."""
    digest, at = hashlib.sha256(), 0
    while piece := os.pread(handle, _CHUNK, at):
        digest.update(piece)
        at += len(piece)
    return digest.hexdigest()[:24]


def identity_digest(status: os.stat_result) -> str:
    """Return what tells an entry from others without reading it."""
    known = f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(known.encode()).hexdigest()[:24]


def _are_plain(start: str, entries: Sequence[_Entry]) -> bool:
    """Say whether no name can be one of ours or an invalid path, which is quick to see."""
    names = "/".join([start, *[entry.name for entry in entries]])
    return len(start) < 3_000 and names.isascii() and not any(odd in names for odd in _SUSPICIOUS)


def _leads_to_directory(jail: Jail, link: str) -> bool:
    """Say whether a link is shown as a directory: one that leads outside is not."""
    try:
        return stat.S_ISDIR(jail.stat(link).st_mode)
    except FilesystemError:
        return False


def _unnamed_note(unnamed: int) -> str | None:
    if not unnamed:
        return None
    what = "1 entry is" if unnamed == 1 else f"{unnamed:,} entries are"
    return (
        f"{what} not listed: a name that is not valid UTF-8, has a backslash or begins like a "
        "drive letter can't be written as a path."
    )


def _modified_at(status: os.stat_result) -> str:
    """Return the time of the last change: ISO 8601, in UTC."""
    seconds, nanoseconds = divmod(status.st_mtime_ns, 1_000_000_000)
    return f"{_iso_time(seconds)}.{nanoseconds // 1_000_000:03}+00:00"


@lru_cache(maxsize=1024)
def _iso_time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return "1970-01-01T00:00:00"  # a time beyond every calendar


def read_whole(handle: int, size: int) -> bytes:
    """Return the content of a file that has about so many bytes."""
    first = os.pread(handle, size + 1, 0)
    if len(first) <= size and not os.pread(handle, 1, len(first)):
        return first
    pieces, at = [first], len(first)
    while piece := os.pread(handle, _CHUNK, at):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)
