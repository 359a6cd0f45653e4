"""What can be found and read among the files of a thread."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from langgraph_filesystem.state.backends.inventory import Inventory
from langgraph_filesystem.state.backends.protocol import (
    FileDownloadResponse,
    FileInfo,
    GlobResult,
    GrepResult,
    LsResult,
    OutputMode,
    ReadResult,
)
from langgraph_filesystem.state.backends.reporting import reporting
from langgraph_filesystem.state.errors import (
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
)
from langgraph_filesystem.state.files import FileData, Files, file_bytes
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.lines import cut_lines
from langgraph_filesystem.state.narrow import narrowed
from langgraph_filesystem.state.paths import normalize_path
from langgraph_filesystem.state.search import Query, search

__all__ = ("StateReading",)


class StateReading:
    """The files of one mount in one node run, by their full paths."""

    def __init__(self, files: Files, prefix: str = "/") -> None:
        self._files = files
        self._prefix = "" if prefix == "/" else prefix

    @reporting(LsResult)
    def ls(self, path: str) -> LsResult:
        """List the names directly below a directory."""
        directory = self._key(path)
        if directory in self._files:
            raise NotDirectory(directory)
        start = directory.rstrip("/") + "/"
        entries: dict[str, FileInfo] = {}
        directories: set[str] = set()
        for rest in _below(start, self._files):
            name, slash, _ = rest.partition("/")
            if slash:
                directories.add(start + name)
            else:
                entries[start + name] = self._info(start + name)
        for found in directories - entries.keys():
            entries[found] = FileInfo(path=self._inner(found), is_dir=True)
        if not entries and not self._is_root(directory):
            raise FileNotFound(directory)
        return LsResult(entries=list(entries.values()))

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
        """Return lines of a text file, or a binary file whole."""
        key, file = self._file(file_path)
        if file.get("encoding", "utf-8") == "base64":
            return ReadResult(file_data=file)
        page = cut_lines(file["content"], offset, limit)
        result = ReadResult(
            file_data={**file, "content": page.text},
            total_lines=page.total,
            start_line=page.first if page.text else None,
            end_line=page.last if page.text else None,
            next_offset=page.last if page.last < page.total else None,
        )
        return narrowed(key, result, page.first - 1, column, max_characters)

    @reporting(Inventory)
    def inventory(self, path: str) -> Inventory:
        """Return a file, or every file below a directory."""
        key = self._key(path)
        keys = [key] if key in self._files else list(self._below(self._directory(path)))
        return Inventory(files=[self._info(key) for key in keys])

    @reporting(GlobResult)
    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files below a directory by a pattern."""
        matches = compile_glob(pattern)
        directory = self._directory(path or "/")
        skip = len(directory.rstrip("/")) + 1
        found = [self._info(key) for key in self._below(directory) if matches(key[skip:])]
        return GlobResult(matches=found)

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
        needle = "" if regex or ignore_case else pattern
        return search(self._texts(path or "/", glob, needle), query)

    def digest(self, file_path: str) -> str | None:
        """Return a digest of what a file holds now, or `None` where there is none."""
        file = self._files.get(self._key(file_path))
        if file is None:
            return None
        # Faster than BLAKE2 where the processor knows it: 0.7 against 1.5 ms for 1 MB.
        return hashlib.sha256(file_bytes(file)).hexdigest()[:24]

    def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        """Return the bytes of files."""
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            _, file = self._file(path)
        except IsDirectory:
            return FileDownloadResponse(path, error="is_directory")
        except FileNotFound:
            return FileDownloadResponse(path, error="file_not_found")
        except FilesystemError:
            return FileDownloadResponse(path, error="invalid_path")
        return FileDownloadResponse(path, content=file_bytes(file))

    def _key(self, path: str) -> str:
        return (self._prefix + normalize_path(path)).rstrip("/") or "/"

    def _is_root(self, key: str) -> bool:
        return key == (self._prefix or "/")

    def _inner(self, key: str) -> str:
        return key[len(self._prefix) :]

    def _below(self, directory: str) -> Iterator[str]:
        start = directory.rstrip("/") + "/"
        return (key for key in self._files if key.startswith(start))

    def _file(self, path: str) -> tuple[str, FileData]:
        key = self._key(path)
        file = self._files.get(key)
        if file is not None:
            return key, file
        if self._is_root(key) or next(self._below(key), None) is not None:
            raise IsDirectory(key)
        raise FileNotFound(key)

    def _directory(self, path: str) -> str:
        key = self._key(path)
        if key in self._files:
            raise NotDirectory(key)
        if not self._is_root(key) and next(self._below(key), None) is None:
            raise FileNotFound(key)
        return key

    def _texts(self, path: str, glob: str | None, needle: str) -> Iterator[tuple[str, str]]:
        """Yield the texts that hold `needle`, in the order of their paths."""
        key, files = self._key(path), self._files
        keys = [key] if key in files else self._below(self._directory(path))
        matches = compile_glob(glob) if glob else None
        skip = len(key.rpartition("/")[0] if key in files else key.rstrip("/")) + 1
        # Looked for before they are sorted: most files don't have it.
        for found in sorted(key for key in keys if needle in files[key]["content"]):
            file = files[found]
            if file.get("encoding", "utf-8") == "utf-8" and (not matches or matches(found[skip:])):
                yield self._inner(found), file["content"]

    def _info(self, key: str) -> FileInfo:
        file = self._files[key]
        info = FileInfo(path=self._inner(key), is_dir=False, size=_size(file))
        if "modified_at" in file:
            info["modified_at"] = file["modified_at"]
        return info


def _below(start: str, paths: Iterable[str]) -> list[str]:
    """Return what follows the start of those paths that have it.

    To look for it in all of them at once takes two thirds of the time that asking each one does,
    which counts among thousands of files. No path has a NUL.
    """
    _, *found = ("\0" + "\0".join(paths)).split("\0" + start)
    return [rest.partition("\0")[0] for rest in found]


def _size(file: FileData) -> int:
    content = file["content"]
    if file.get("encoding", "utf-8") == "base64":
        return len(content) * 3 // 4 - content[-2:].count("=")
    return len(content) if content.isascii() else len(content.encode())
