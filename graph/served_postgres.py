"""The PostgreSQL checkpointer as a LangGraph server wants it (extra `postgres`).

LangGraph's saver can't take back a run or copy a thread, and refuses to prune one whose channels
store changes.
"""

from collections.abc import Sequence
from typing import Any, Self, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_filesystem.lineage import (
    Link,
    Place,
    check_strategy,
    foundations,
    input_task,
    without_heirs,
)

__all__ = ("ServedPostgresSaver",)

_LINKS = """
SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,
    coalesce(metadata ->> 'run_id' = %(run)s, false) AS goes
FROM checkpoints WHERE thread_id IN
    (SELECT thread_id FROM checkpoints WHERE metadata ->> 'run_id' = %(run)s)
"""
_PLACE = "thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s"
_UNUSED = """
DELETE FROM checkpoint_blobs b WHERE thread_id = %s AND NOT EXISTS (
    SELECT 1 FROM checkpoints c
    WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
    AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version
)
"""
_COPY = (
    """
INSERT INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
SELECT %(target)s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
    CASE WHEN jsonb_exists(metadata, 'thread_id')
        THEN jsonb_set(metadata, '{thread_id}', to_jsonb(%(target)s::text)) ELSE metadata END
FROM checkpoints WHERE thread_id = %(source)s
""",
    """
INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
SELECT %(target)s, checkpoint_ns, channel, version, type, blob
FROM checkpoint_blobs WHERE thread_id = %(source)s
""",
    """
INSERT INTO checkpoint_writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
SELECT %(target)s, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
FROM checkpoint_writes WHERE thread_id = %(source)s
""",
)


class ServedPostgresSaver(AsyncPostgresSaver):
    """A saver that can roll back, copy and prune."""

    @classmethod
    def over(cls, saver: BaseCheckpointSaver[Any]) -> Self:
        """Return a saver that takes the place of one that is open."""
        opened = cast("AsyncPostgresSaver", saver)
        return cls(opened.conn, serde=opened.serde)

    @property
    def way_back(self) -> Any:
        """Return what rebuilds a channel in one query: see `lineage.shortened`."""
        return self.aget_delta_channel_history

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Take runs back: their checkpoints, and their input from where it was given.

        What a later run was built on stays, or its thread could not be read any more.
        """
        async with self._cursor() as cursor, cursor.connection.transaction():
            for run in map(str, run_ids):
                await cursor.execute(_LINKS, {"run": run})
                links = [Link(*row.values()) for row in await cursor.fetchall()]
                gone, freed = without_heirs(links)
                await _delete(cursor, gone)
                await cursor.executemany(
                    f"DELETE FROM checkpoint_writes WHERE {_PLACE} AND task_id = %s",
                    [(*place, input_task(place[2])) for place in freed],
                )

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its whole history, in its order."""
        names = {"source": str(source_thread_id), "target": str(target_thread_id)}
        async with self._cursor() as cursor, cursor.connection.transaction():
            for statement in _COPY:
                await cursor.execute(statement, names)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete threads, or all of them but the newest checkpoint and what it is rebuilt from."""
        check_strategy(strategy)
        for thread in map(str, thread_ids):
            if strategy == "keep_latest":
                await self._keep_latest(thread)
            else:
                await self.adelete_thread(thread)

    async def _keep_latest(self, thread: str) -> None:
        query = "SELECT checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = %s"
        async with self._cursor() as cursor:
            await cursor.execute(query, (thread,))
            rows = await cursor.fetchall()
        places = [(thread, row["checkpoint_ns"], row["checkpoint_id"]) for row in rows]
        needed: set[Place] = set()
        for namespace in {place[1] for place in places}:
            needed.update(await foundations(self, thread, namespace))
        async with self._cursor() as cursor, cursor.connection.transaction():
            await _delete(cursor, [place for place in places if place not in needed])


async def _delete(cursor: Any, places: Sequence[Place]) -> None:
    for table in ("checkpoints", "checkpoint_writes"):
        await cursor.executemany(f"DELETE FROM {table} WHERE {_PLACE}", places)
    for thread in sorted({place[0] for place in places}):
        await cursor.execute(_UNUSED, (thread,))
