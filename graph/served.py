"""The SQLite checkpointer as a LangGraph server wants it.

A server hands a checkpointer of one's own to its graphs through an adapter. The adapter numbers the
versions of channels itself, as text of 50 characters, and looks for methods that LangGraph's saver
for SQLite does not have: without them a run that is rolled back stays in its thread, and the
messages of a copied thread may change their order.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_filesystem.lineage import (
    Link,
    Place,
    check_strategy,
    foundations,
    input_task,
    without_heirs,
)
from langgraph_filesystem.savers import AsyncCompactSqliteSaver

__all__ = ("ServedSqliteSaver",)

_LINKS = """
SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,
    instr(CAST(metadata AS TEXT), ?) > 0
FROM checkpoints WHERE thread_id IN
    (SELECT thread_id FROM checkpoints WHERE instr(CAST(metadata AS TEXT), ?) > 0)
"""
_PLACE = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_COPY = (
    """
INSERT INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
SELECT :target, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
    CAST(replace(CAST(metadata AS TEXT), :source_is, :target_is) AS BLOB)
FROM checkpoints WHERE thread_id = :source ORDER BY checkpoint_id
""",
    """
INSERT INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
SELECT :target, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value
FROM writes WHERE thread_id = :source
""",
)


class ServedSqliteSaver(AsyncCompactSqliteSaver):
    """A saver that can roll back, copy and prune; versions are text outside and numbers inside."""

    @classmethod
    def over(cls, saver: BaseCheckpointSaver[Any]) -> Self:
        """Return a saver that takes the place of one that is open."""
        opened = cast("AsyncCompactSqliteSaver", saver)
        return cls(opened.conn, serde=opened.serde)

    @property
    def way_back(self) -> Any:
        """Return what rebuilds a channel in one query: see `lineage.shortened`."""
        return self.aget_delta_channel_history

    def get_next_version(self, current: Any, channel: None) -> str:
        """Return the next version as text, as the server's adapter does."""
        return AsyncSqliteSaver.get_next_version(self, current, channel)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint, with text as versions."""
        found = await super().aget_tuple(config)
        return found and found._replace(checkpoint=_with_versions(found.checkpoint, _as_text))

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints, with text as versions."""
        async for found in super().alist(*args, **kwargs):
            yield found._replace(checkpoint=_with_versions(found.checkpoint, _as_text))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, with numbers as versions."""
        short = _with_versions(checkpoint, _as_number)
        return await super().aput(config, short, metadata, new_versions)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Take runs back: their checkpoints, and their input from where it was given.

        What a later run was built on stays, or its thread could not be read any more.
        """
        async with self.lock, self.conn.cursor() as cursor:
            for run in run_ids:
                mark = _pair("run_id", run)
                await cursor.execute(_LINKS, (mark, mark))
                rows = await cursor.fetchall()
                links = [Link(a, b, c, parent, bool(goes)) for a, b, c, parent, goes in rows]
                gone, freed = without_heirs(links)
                await _delete(cursor, gone)
                await cursor.executemany(
                    f"DELETE FROM writes WHERE {_PLACE} AND task_id = ?",
                    [(*place, input_task(place[2])) for place in freed],
                )
            await self.conn.commit()

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its whole history, in its order."""
        source, target = str(source_thread_id), str(target_thread_id)
        names = {"source": source, "target": target}
        marks = {f"{key}_is": _pair("thread_id", name) for key, name in names.items()}
        async with self.lock, self.conn.cursor() as cursor:
            for statement in _COPY:
                await cursor.execute(statement, {**names, **marks})
            await self.conn.commit()

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete threads, or all of them but the newest checkpoint and what it is rebuilt from."""
        check_strategy(strategy)
        for thread in map(str, thread_ids):
            if strategy == "keep_latest":
                await self._keep_latest(thread)
            else:
                await self.adelete_thread(thread)

    async def _keep_latest(self, thread: str) -> None:
        query = (
            "SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = ?"
        )
        async with self.lock, self.conn.execute(query, (thread,)) as cursor:
            places = [(str(a), str(b), str(c)) for a, b, c in await cursor.fetchall()]
        needed: set[Place] = set()
        for namespace in {place[1] for place in places}:
            needed.update(await foundations(self, thread, namespace))
        async with self.lock, self.conn.cursor() as cursor:
            await _delete(cursor, [place for place in places if place not in needed])
            await self.conn.commit()


async def _delete(cursor: Any, places: Sequence[Place]) -> None:
    for table in ("checkpoints", "writes"):
        await cursor.executemany(f"DELETE FROM {table} WHERE {_PLACE}", places)


def _pair(key: str, value: object) -> str:
    """Return how a pair stands in the JSON of metadata: ids have nothing to escape."""
    return f'"{key}": "{value}"'


def _with_versions(checkpoint: Checkpoint, change: Callable[[Any], Any]) -> Checkpoint:
    def changed(versions: ChannelVersions) -> ChannelVersions:
        return {channel: change(version) for channel, version in versions.items()}

    return {
        **checkpoint,
        "channel_versions": changed(checkpoint["channel_versions"]),
        "versions_seen": {n: changed(seen) for n, seen in checkpoint["versions_seen"].items()},
    }


def _as_text(version: Any) -> str:
    return f"{version:032}"


def _as_number(version: Any) -> int:
    # Behind the point is chance: a channel's next version is always a whole one up.
    return int(str(version).partition(".")[0])
