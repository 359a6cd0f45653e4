"""LangGraph's stores for SQLite, in a file that others write to as well.

A transaction that reads first and writes later fails at once, without waiting, when another
connection has written in between. So what is read and what is written are two transactions.
Measured beside a busy checkpointer: as one, every second such batch failed.
"""

from collections.abc import Iterable

from langgraph.store.base import Op, PutOp, Result
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

__all__ = ("AsyncSharedSqliteStore", "SharedSqliteStore")


class SharedSqliteStore(SqliteStore):
    """The store for graphs that are invoked."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the reads, then the writes."""
        ops = list(ops)
        reads = [op for op in ops if not isinstance(op, PutOp)]
        if not 0 < len(reads) < len(ops):
            return super().batch(ops)
        read = super().batch(reads)
        super().batch([op for op in ops if isinstance(op, PutOp)])
        return _in_order(ops, read)


class AsyncSharedSqliteStore(AsyncSqliteStore):
    """The store for graphs that are awaited: it gathers reads and writes into batches."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the reads, then the writes."""
        ops = list(ops)
        reads = [op for op in ops if not isinstance(op, PutOp)]
        if not 0 < len(reads) < len(ops):
            return await super().abatch(ops)
        read = await super().abatch(reads)
        await super().abatch([op for op in ops if isinstance(op, PutOp)])
        return _in_order(ops, read)


def _in_order(ops: list[Op], read: list[Result]) -> list[Result]:
    """Return the results of the reads where they were asked for; a write results in nothing."""
    results = iter(read)
    return [None if isinstance(op, PutOp) else next(results) for op in ops]
