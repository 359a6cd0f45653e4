"""The PostgreSQL checkpointer as a LangGraph server wants it (extra `postgres`)."""

from typing import Any, Self, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_filesystem.postgres_savers import AsyncPrunablePostgresSaver

__all__ = ("ServedPostgresSaver",)


class ServedPostgresSaver(AsyncPrunablePostgresSaver):
    """A saver that shows the server's adapter a shorter way through a thread."""

    @classmethod
    def over(cls, saver: BaseCheckpointSaver[Any]) -> Self:
        """Return a saver that takes the place of one that is open."""
        opened = cast("AsyncPostgresSaver", saver)
        return cls(opened.conn, serde=opened.serde)

    @property
    def way_back(self) -> Any:
        """Return what rebuilds a channel in one query: see `lineage.shortened`."""
        return self.aget_delta_channel_history
