"""LangGraph's checkpointers for SQLite, on a prepared file and told to write less.

A version of a channel is a whole number here, and a row goes straight into the numbered tables
where the file has them. Threads of LangGraph's own savers go on as they are.
"""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_filesystem.compact import (
    CheckpointRow,
    Names,
    WriteRow,
    add_checkpoint,
    add_writes,
)

__all__ = ("AsyncCompactSqliteSaver", "CompactSqliteSaver")


class CompactSqliteSaver(SqliteSaver):
    """LangGraph's saver on a prepared file, with whole numbers as versions."""

    def __init__(self, connection: sqlite3.Connection, *, serde: SerializerProtocol) -> None:
        super().__init__(connection, serde=serde)
        query = "SELECT 1 FROM sqlite_schema WHERE name = 'compact_names'"
        self._names = Names() if connection.execute(query).fetchone() else None

    def setup(self) -> None:
        """Do nothing: the file is prepared before it is opened."""
        self.is_setup = True

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint, with whole numbers as versions."""
        found = super().get_tuple(config)
        return found and _with_whole_versions(found)

    def list(self, *args: Any, **kwargs: Any) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints, with whole numbers as versions."""
        return map(_with_whole_versions, super().list(*args, **kwargs))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next whole number."""
        return BaseCheckpointSaver.get_next_version(self, current, channel)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        place = config["configurable"]
        details = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False)
        row = CheckpointRow(
            str(place["thread_id"]),
            place["checkpoint_ns"],
            checkpoint["id"],
            place.get("checkpoint_id"),
            *self.serde.dumps_typed(checkpoint),
            details.encode("utf-8", "ignore"),
        )
        if not self._stored(add_checkpoint, {row.type}, row):
            return super().put(config, checkpoint, metadata, new_versions)
        stored = {key: place[key] for key in ("thread_id", "checkpoint_ns")}
        return {"configurable": {**stored, "checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote."""
        keys = ("thread_id", "checkpoint_ns", "checkpoint_id")
        place = tuple(str(config["configurable"][key]) for key in keys)
        rows = [
            WriteRow(WRITES_IDX_MAP.get(name, idx), name, *self.serde.dumps_typed(value))
            for idx, (name, value) in enumerate(writes)
        ]
        replace = all(name in WRITES_IDX_MAP for name, _ in writes)
        names = {name for row in rows for name in (row.channel, row.type)}
        task = (task_id, task_path)
        if not self._stored(add_writes, names, place, task, rows, replace):
            super().put_writes(config, writes, task_id, task_path)

    def _stored(self, add: Callable[..., bool], names: set[str], *row: Any) -> bool:
        """Say whether the numbered tables took a row: they may not be there, or lack its parent."""
        if self._names is None:
            return False
        with self.cursor() as cursor:
            if not self._names.knows(*names):
                self._names.learn(self.conn)
            return add(cursor, self._names, *row)


class AsyncCompactSqliteSaver(AsyncSqliteSaver):
    """The same for graphs that are awaited."""

    async def setup(self) -> None:
        """Do nothing: the file is prepared before it is opened."""
        self.is_setup = True

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint, with whole numbers as versions."""
        found = await super().aget_tuple(config)
        return found and _with_whole_versions(found)

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints, with whole numbers as versions."""
        async for found in super().alist(*args, **kwargs):
            yield _with_whole_versions(found)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next whole number."""
        return BaseCheckpointSaver.get_next_version(self, current, channel)


def _with_whole_versions(found: CheckpointTuple) -> CheckpointTuple:
    """Return the checkpoint with versions as `SqliteSaver` writes them cut to their whole part.

    All at once, as LangGraph compares versions of one checkpoint and strings with numbers it can't.
    The fraction is random and decides nothing: a channel's next version is always a whole one up.
    """
    checkpoint = found.checkpoint
    versions = checkpoint.get("channel_versions") or {}
    if any(isinstance(version, str) for version in versions.values()):
        checkpoint["channel_versions"] = _whole(versions)
        checkpoint["versions_seen"] = {
            node: _whole(seen) for node, seen in checkpoint["versions_seen"].items()
        }
    return found


def _whole(versions: dict[str, Any]) -> dict[str, Any]:
    return {
        channel: int(version.partition(".")[0]) if isinstance(version, str) else version
        for channel, version in versions.items()
    }
