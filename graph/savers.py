"""LangGraph's checkpointers for SQLite, on a prepared file and told to write less.

A version of a channel is a whole number here, and a row goes straight into the numbered tables
where the file has them. Threads of LangGraph's own savers go on as they are. Runs can be taken
back, threads copied and pruned (`threads.py`), which LangGraph's savers for SQLite can't do.
"""

import json
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import aiosqlite
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

from langgraph_filesystem.compact import CheckpointRow, TaskRow, WriteRow
from langgraph_filesystem.sqlite_tables import SqliteTables
from langgraph_filesystem.threads import (
    Plan,
    acarried_out,
    carried_out,
    check_pruned,
    copied,
    is_base,
    pruned,
    taken_back,
)
from langgraph_filesystem.writer import Writer

__all__ = ("AsyncCompactSqliteSaver", "CompactSqliteSaver")

_JSON = json.JSONEncoder(ensure_ascii=False)

_WAIT_UP_TO = 1_000_000
"""Bytes that may wait for a checkpoint, so that little is held in memory."""


class CompactSqliteSaver(SqliteSaver):
    """LangGraph's saver on a prepared file, with whole numbers as versions."""

    def __init__(self, connection: sqlite3.Connection, *, serde: SerializerProtocol) -> None:
        super().__init__(connection, serde=serde)
        self._writer = Writer(connection, self.lock)
        self._tables = SqliteTables(self.serde)
        # Where a task failed, was interrupted or was resumed: no checkpoint may follow.
        self._halted: deque[str] = deque(maxlen=64)

    def setup(self) -> None:
        """Do nothing: the file is prepared before it is opened."""
        self.is_setup = True

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint, with whole numbers as versions."""
        found = super().get_tuple(config)
        return found and _with_whole_versions(found)

    def list(self, *args: Any, **kwargs: Any) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints that are states, with whole numbers as versions."""
        states = (found for found in super().list(*args, **kwargs) if not is_base(found))
        return map(_with_whole_versions, states)

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
        details = _JSON.encode(get_checkpoint_metadata(config, metadata))
        self._writer.put(
            CheckpointRow(
                str(place["thread_id"]),
                place["checkpoint_ns"],
                checkpoint["id"],
                place.get("checkpoint_id"),
                *self.serde.dumps_typed(checkpoint),
                details.encode("utf-8", "ignore"),
            )
        )
        stored = {key: place[key] for key in ("thread_id", "checkpoint_ns")}
        return {"configurable": {**stored, "checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote, or let it wait for the next checkpoint."""
        if not writes:
            return
        place = config["configurable"]
        special = [name in WRITES_IDX_MAP for name, _ in writes]
        task = TaskRow(
            str(place["thread_id"]),
            str(place["checkpoint_ns"]),
            str(place["checkpoint_id"]),
            task_id,
            task_path,
            [
                WriteRow(WRITES_IDX_MAP.get(name, idx), name, *self.serde.dumps_typed(value))
                for idx, (name, value) in enumerate(writes)
            ],
            "REPLACE" if all(special) else "IGNORE",
        )
        if any(special):
            self._halted.append(task.checkpoint_id)
        if self._may_wait(task):
            self._writer.put_task_later(task)
        else:
            self._writer.put_task(task)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Take runs back."""
        self._carry_out(taken_back(self._tables, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its whole history."""
        self._carry_out(copied(self._tables, source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete threads, or all states of them but the newest."""
        for thread in check_pruned(thread_ids, strategy):
            if strategy == "keep_latest":
                self._carry_out(pruned(self._tables, thread))
            else:
                self.delete_thread(thread)

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor that sees what was put, whether it is stored or waits."""
        self._writer.flush()
        with super().cursor(transaction) as cursor:
            yield cursor

    def close(self) -> None:
        """Store what waits; the connection is closed by whoever opened it."""
        self._writer.close()

    def _carry_out(self, plan: Plan) -> None:
        with self.cursor(transaction=False) as cursor, self.conn:
            carried_out(cursor, plan)

    def _may_wait(self, task: TaskRow) -> bool:
        """Say whether a checkpoint will follow, as after every superstep that ends well.

        `update_state` names no path for what it stores behind its checkpoint. A row that SQLite
        would refuse must be refused here, and not with the rows of others.
        """
        text = "".join((*task[:5], *(write.channel for write in task.writes)))
        size = sum(len(write.value) for write in task.writes)
        return (
            bool(task.task_path)
            and task.checkpoint_id not in self._halted
            and size <= _WAIT_UP_TO
            and _is_text(text)
        )


class AsyncCompactSqliteSaver(AsyncSqliteSaver):
    """The same for graphs that are awaited."""

    def __init__(self, connection: aiosqlite.Connection, *, serde: SerializerProtocol) -> None:
        super().__init__(connection, serde=serde)
        self._tables = SqliteTables(self.serde)

    async def setup(self) -> None:
        """Do nothing: the file is prepared before it is opened."""
        self.is_setup = True

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint, with whole numbers as versions."""
        found = await super().aget_tuple(config)
        return found and _with_whole_versions(found)

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints that are states, with whole numbers as versions."""
        async for found in super().alist(*args, **kwargs):
            if not is_base(found):
                yield _with_whole_versions(found)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next whole number."""
        return BaseCheckpointSaver.get_next_version(self, current, channel)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Take runs back."""
        await self._carry_out(taken_back(self._tables, run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its whole history."""
        await self._carry_out(copied(self._tables, source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete threads, or all states of them but the newest."""
        for thread in check_pruned(thread_ids, strategy):
            if strategy == "keep_latest":
                await self._carry_out(pruned(self._tables, thread))
            else:
                await self.adelete_thread(thread)

    async def _carry_out(self, plan: Plan) -> None:
        async with self.lock, self.conn.cursor() as cursor:
            try:
                await acarried_out(cursor, plan)
            except BaseException:
                await self.conn.rollback()
                raise
            await self.conn.commit()


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


def _is_text(text: str) -> bool:
    """Say whether SQLite takes it: a lone surrogate it does not."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def _whole(versions: dict[str, Any]) -> dict[str, Any]:
    return {
        channel: int(version.partition(".")[0]) if isinstance(version, str) else version
        for channel, version in versions.items()
    }
