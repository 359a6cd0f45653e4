"""What a thread keeps and where files live."""

from langgraph_filesystem.state.backends import StateBackend
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import FileData, FileEdit, merge_files
from langgraph_filesystem.state.messages import merge_messages
from langgraph_filesystem.state.paths import normalize_path
from langgraph_filesystem.state.schema import FilesystemState, Route

__all__ = (
    "FileData",
    "FileEdit",
    "FilesystemError",
    "FilesystemState",
    "Route",
    "StateBackend",
    "merge_files",
    "merge_messages",
    "normalize_path",
)
