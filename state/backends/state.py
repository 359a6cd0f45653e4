"""`StateBackend`: files that live in the `files` channel, as long as the thread."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from datetime import UTC, datetime
from typing import Any

from langgraph_filesystem.state.backends.contents import not_text_of
from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    FileUploadResponse,
    MoveResult,
    WriteResult,
)
from langgraph_filesystem.state.backends.reporting import reporting
from langgraph_filesystem.state.backends.state_reading import StateReading
from langgraph_filesystem.state.edits import plan_edit
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
)
from langgraph_filesystem.state.files import FileData, FileEdit, Files
from langgraph_filesystem.state.paths import ancestors, normalize_path

__all__ = ("BoundStateBackend", "OverFiles", "StateBackend")


class StateBackend:
    """Files in the state of the thread. Mount it; the graph hands it the files when a node runs."""

    ls: Any = None
    read: Any = None
    write: Any = None
    edit: Any = None
    glob: Any = None
    grep: Any = None
    """Named so that it counts as a `Backend`; the methods are those of what `bind` returns."""

    def bind(self, files: Files, prefix: str = "/") -> "BoundStateBackend":
        """Return the backend over the files of a running thread."""
        return BoundStateBackend(files, prefix)


class OverFiles(ABC):
    """A backend over the files of a running thread."""

    @abstractmethod
    def rebound(self, files: Files) -> "OverFiles":
        """Return the same backend over other files."""


class BoundStateBackend(StateReading, OverFiles):
    """The files of one mount in one node run. Changes come back as `files_update`.

    Keys of the channel are full paths, so mounts over the same channel never share a file.
    """

    instant = frozenset({"read", "write", "edit", "delete", "digest", "download_files"})
    """Methods that take microseconds: an event loop may call them without a thread."""

    def rebound(self, files: Files) -> "BoundStateBackend":
        """Return the same backend over other files."""
        return BoundStateBackend(files, self._prefix or "/")

    @reporting(WriteResult)
    def write(self, file_path: str, content: str, *, overwrite: bool = False) -> WriteResult:
        """Create a file, or with `overwrite` put it in the place of another."""
        key = self._writable(file_path)
        if key in self._files and not overwrite:
            raise FileExists(key, "Change it with `edit_file`, or set `overwrite`.")
        file = FileData(content=_encodable(key, content), encoding="utf-8")
        return WriteResult(path=file_path, files_update={key: self._dated(key, file)})

    @reporting(EditResult)
    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Replace exact text; the update holds the edit, not the file."""
        key, file = self._file(file_path)
        if file.get("encoding", "utf-8") == "base64":
            raise not_text_of(key, file["content"])
        _encodable(key, new_string)
        edit, count = plan_edit(key, file["content"], old_string, new_string, replace_all)
        update = FileEdit(edits=[edit], modified_at=_now())
        return EditResult(path=file_path, occurrences=count, files_update={key: update})

    @reporting(DeleteResult)
    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file, or everything below a directory."""
        key = self._key(file_path)
        gone = [key] if key in self._files else list(self._below(key))
        if not gone:
            raise FileNotFound(key)
        return DeleteResult(path=file_path, files_update=dict.fromkeys(gone))

    @reporting(MoveResult)
    def move(self, source: str, destination: str) -> MoveResult:
        """Give a file or a directory another path."""
        start = self._key(source)
        moved = [start] if start in self._files else list(self._below(start))
        if not moved:
            raise FileNotFound(start)
        end = self._writable(destination)
        if end in self._files:
            raise FileExists(end, "Delete it first, or choose another destination.")
        update: dict[str, FileData | FileEdit | None] = dict.fromkeys(moved)
        for key in moved:
            # A directory may hold paths that get too long at another place.
            update[normalize_path(end + key[len(start.rstrip("/")) :])] = self._files[key]
        return MoveResult(path=destination, files_update=update, files=len(moved))

    def upload_files(self, files: Sequence[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store bytes as files: as text where they are text."""
        # Found once for many: to look for each among thousands of files takes far longer.
        many = len(files) > 1
        directories = {above for key in self._files for above in ancestors(key)} if many else None
        return [self._upload(path, content, directories) for path, content in files]

    def _upload(
        self, path: str, content: bytes, directories: Set[str] | None
    ) -> FileUploadResponse:
        try:
            key = self._writable(path, directories)
        except IsDirectory:
            return FileUploadResponse(path, error="is_directory")
        except FilesystemError:
            return FileUploadResponse(path, error="invalid_path")
        file = self._dated(key, _file_of(content))
        return FileUploadResponse(path, files_update={key: file})

    def _writable(self, path: str, directories: Set[str] | None = None) -> str:
        key = self._key(path)
        if key in self._files:
            return key
        if directories is None:
            is_directory = next(self._below(key), None) is not None
        else:
            is_directory = key in directories
        if is_directory or self._is_root(key):
            raise IsDirectory(key)
        for above in ancestors(key):
            if above in self._files:
                raise NotDirectory(key, above)
        return key

    def _dated(self, key: str, file: FileData) -> FileData:
        now = _now()
        old = self._files.get(key)
        born = old.get("created_at", now) if old else now
        return {**file, "created_at": born, "modified_at": now}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _encodable(path: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FilesystemError(
            f"{path}: the text has a lone surrogate at character {error.start:,}, which no file "
            "can hold. Write it without."
        ) from None
    return text


def _file_of(content: bytes) -> FileData:
    try:
        return FileData(content=content.decode(), encoding="utf-8")
    except UnicodeDecodeError:
        return FileData(content=base64.b64encode(content).decode(), encoding="base64")
