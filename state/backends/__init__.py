"""Backends: where the files of a mount are stored."""

from langgraph_filesystem.state.backends.protocol import (
    Backend,
    BackendFactory,
    CommandBackend,
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    MoveResult,
    Outcome,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.backends.state import StateBackend

__all__ = (
    "Backend",
    "BackendFactory",
    "CommandBackend",
    "DeleteResult",
    "EditResult",
    "ExecuteResponse",
    "FileDownloadResponse",
    "FileInfo",
    "FileUploadResponse",
    "GlobResult",
    "GrepMatch",
    "GrepResult",
    "LsResult",
    "MoveResult",
    "Outcome",
    "ReadResult",
    "StateBackend",
    "WriteResult",
)
