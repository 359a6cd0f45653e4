"""The SQLite checkpointer as a LangGraph server wants it.

A server hands a checkpointer of one's own to its graphs through an adapter. The adapter numbers the
versions of channels itself, as text of 50 characters.
"""

from collections.abc import AsyncIterator, Callable
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

from langgraph_filesystem.savers import AsyncCompactSqliteSaver

__all__ = ("ServedSqliteSaver",)


class ServedSqliteSaver(AsyncCompactSqliteSaver):
    """A saver whose versions are text outside and numbers inside."""

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
