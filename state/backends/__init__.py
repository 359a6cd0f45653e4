"""Backends: where the files of a mount live."""

from langgraph_filesystem.state.backends.protocol import (
    Backend,
    BackendFactory,
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
    ReadResult,
    SandboxBackend,
    WriteResult,
)
from langgraph_filesystem.state.backends.state import StateBackend

__all__ = (
    "Backend",
    "BackendFactory",
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
    "ReadResult",
    "SandboxBackend",
    "StateBackend",
    "WriteResult",
)
