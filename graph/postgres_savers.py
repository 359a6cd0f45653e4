"""LangGraph's checkpointers for PostgreSQL, which can take back runs, and copy and prune threads.

LangGraph's own can't take back a run or copy a thread, and refuse to prune one whose channels store
changes.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_filesystem.postgres_tables import PostgresTables
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

__all__ = ("AsyncPrunablePostgresSaver", "PrunablePostgresSaver")

_TABLES = PostgresTables()


class PrunablePostgresSaver(PostgresSaver):
    """For graphs that are invoked."""

    def list(self, *args: Any, **kwargs: Any) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints that are states."""
        return (found for found in super().list(*args, **kwargs) if not is_base(found))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Take runs back."""
        self._carry_out(taken_back(_TABLES, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its whole history."""
        self._carry_out(copied(_TABLES, source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete threads, or all states of them but the newest."""
        for thread in check_pruned(thread_ids, strategy):
            if strategy == "keep_latest":
                self._carry_out(pruned(_TABLES, thread))
            else:
                self.delete_thread(thread)

    def _carry_out(self, plan: Plan) -> None:
        with self._cursor() as cursor, cursor.connection.transaction():
            carried_out(cursor, plan)


class AsyncPrunablePostgresSaver(AsyncPostgresSaver):
    """The same for graphs that are awaited."""

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints that are states."""
        async for found in super().alist(*args, **kwargs):
            if not is_base(found):
                yield found

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Take runs back."""
        await self._carry_out(taken_back(_TABLES, run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its whole history."""
        await self._carry_out(copied(_TABLES, source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete threads, or all states of them but the newest."""
        for thread in check_pruned(thread_ids, strategy):
            if strategy == "keep_latest":
                await self._carry_out(pruned(_TABLES, thread))
            else:
                await self.adelete_thread(thread)

    async def _carry_out(self, plan: Plan) -> None:
        async with self._cursor() as cursor, cursor.connection.transaction():
            await acarried_out(cursor, plan)
