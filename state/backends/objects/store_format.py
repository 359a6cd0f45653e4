"""Files as items of a LangGraph store: the format that `deepagents` reads and writes too."""

import base64
from collections.abc import Mapping
from typing import Any, cast

from langgraph.store.base import Item

from langgraph_filesystem.state.backends.objects.objects import Blob
from langgraph_filesystem.state.errors import InvalidFiles, PathRefused
from langgraph_filesystem.state.files import FileData, checked_update, current_time, file_bytes
from langgraph_filesystem.state.paths import normalize_path

__all__ = ("blob_of", "item_value")


def item_value(content: bytes, created_at: str | None = None) -> dict[str, Any]:
    """Return the value of a file: text as text, other bytes as base64."""
    now = current_time()
    return {**_encoded(content), "created_at": created_at or now, "modified_at": now}


def blob_of(item: Item | None) -> Blob | None:
    """Return the file that an item holds, or `None` if it holds something else."""
    file = None if item is None else _file_of(item)
    if item is None or file is None:
        return None
    content = file_bytes(file)
    times = file.get("created_at"), file.get("modified_at")
    return Blob(content, len(content), None, *times)


def _file_of(item: Item) -> FileData | None:
    value: Any = item.value
    if not isinstance(value, Mapping) or "content" not in value or "edits" in value:
        return None
    try:
        if item.key == "/" or normalize_path(item.key) != item.key:
            return None
        return cast("FileData", checked_update({item.key: value})[item.key])
    except (PathRefused, InvalidFiles):
        return None


def _encoded(content: bytes) -> FileData:
    try:
        # PostgreSQL can't hold a NUL in its JSON.
        if b"\0" not in content:
            return FileData(content=content.decode(), encoding="utf-8")
    except UnicodeDecodeError:
        pass
    return FileData(content=base64.b64encode(content).decode(), encoding="base64")
