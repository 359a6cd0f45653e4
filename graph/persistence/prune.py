"""`prune`: keep the newest state of a thread, and delete the checkpoints before it.

    prune(agent, {"configurable": {"thread_id": "1"}})

A thread grows with every superstep, and a delta channel is rebuilt from the checkpoints before it,
so they can't just be deleted. First each delta channel is written once as a whole; then everything
that the newest checkpoint does not need is deleted, in one transaction.

The thread must be at rest, and no run may be going on in it. A thread with an open interrupt or a
pending task is an error, because its next step is stored in what would be deleted. The values of
the thread stay exactly as they are; its history, its forks and the checkpoints of finished
subgraphs are deleted. A SQLite file does not shrink, but reuses the space.
"""

import importlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite

from langgraph_filesystem.state.io import awaiting, call_either, run_sync

__all__ = ("aprune", "prune")

Graph = CompiledStateGraph[Any, Any, Any, Any]


def prune(graph: Graph, config: RunnableConfig, *, as_node: str = "model") -> int:
    """Delete all checkpoints of a thread but the newest, and return how many were deleted.

    Args:
        graph: The graph of the thread, compiled with a `SqliteSaver` or a `PostgresSaver`.
        config: Names the thread: `{"configurable": {"thread_id": ...}}`.
        as_node: The node whose update the new checkpoint is recorded as. The agents of this
            package have `model`; name a node of your own graph if it has none of that name.

    Raises:
        ValueError: The graph has another checkpointer, or the thread is not at rest. Nothing was
            deleted.
    """
    rows = _rows_of(graph, {SqliteSaver: _SqliteRows, _postgres("PostgresSaver"): _PostgresRows})
    return run_sync(_pruned(graph, config, as_node, rows))


async def aprune(graph: Graph, config: RunnableConfig, *, as_node: str = "model") -> int:
    """Do the same as `prune`, with an `AsyncSqliteSaver` or an `AsyncPostgresSaver`."""
    kinds = {AsyncSqliteSaver: _SqliteRows, _postgres("AsyncPostgresSaver"): _PostgresRows}
    with awaiting():
        return await _pruned(graph, config, as_node, _rows_of(graph, kinds))


async def _pruned(graph: Graph, config: RunnableConfig, as_node: str, rows: "_Rows") -> int:
    thread = str((config.get("configurable") or {}).get("thread_id") or "")
    if not thread:
        raise ValueError('prune needs a thread: {"configurable": {"thread_id": ...}}.')
    if as_node not in graph.nodes:
        raise ValueError(
            f"The graph has no node {as_node!r} to record the update as. Pass `as_node` with one "
            f"of its nodes: {', '.join(sorted(graph.nodes))}."
        )
    place: RunnableConfig = {"configurable": {"thread_id": thread}}
    state = await call_either(graph.get_state, graph.aget_state, place)
    # `state.next` leaves out a task that has ended in a step that has not, as after a crash.
    if state.tasks:
        names = ", ".join(sorted({task.name for task in state.tasks}))
        raise ValueError(
            f"Thread {thread!r} is not at rest: the step of {names} has not ended. Resume it, or "
            "end it with `update_state(config, None, as_node=END)`, and prune it then."
        )
    if not state.values:
        return 0
    deltas = [name for name, spec in graph.channels.items() if isinstance(spec, DeltaChannel)]
    whole = {name: Overwrite(state.values[name]) for name in deltas if name in state.values}
    await call_either(graph.update_state, graph.aupdate_state, place, whole, as_node)
    if (await call_either(graph.get_state, graph.aget_state, place)).next:
        # An edge leads on from that node, such as to `respond`: the thread was at rest before.
        await call_either(graph.update_state, graph.aupdate_state, place, None, END)
    kept = await _needed(graph.checkpointer, place, deltas)
    deleted: int = await call_either(rows.delete, rows.adelete, thread, kept)
    return deleted


async def _needed(saver: Any, place: RunnableConfig, deltas: Sequence[str]) -> list[str]:
    """Return the newest checkpoint and those that its delta channels are rebuilt from."""
    found = await call_either(saver.get_tuple, saver.aget_tuple, place)
    missing = set(deltas) & found.checkpoint["channel_versions"].keys()
    kept = []
    while found is not None:
        kept.append(found.checkpoint["id"])
        missing -= found.checkpoint["channel_values"].keys()
        if not missing or found.parent_config is None:
            break
        found = await call_either(saver.get_tuple, saver.aget_tuple, found.parent_config)
    return kept


class _Statement(NamedTuple):
    sql: str
    values: tuple[Any, ...]


class _Rows:
    """The rows of a saver, which are deleted in one transaction."""

    tables: tuple[str, str]
    mark: str
    """How a parameter is written in SQL."""

    def __init__(self, saver: Any) -> None:
        self.saver = saver

    def delete(self, thread: str, kept: Sequence[str]) -> int:
        """Delete everything of a thread but some checkpoints; return how many were deleted."""
        raise NotImplementedError

    async def adelete(self, thread: str, kept: Sequence[str]) -> int:
        """Do the same, awaited."""
        raise NotImplementedError

    def newest(self, thread: str) -> _Statement:
        """Select the newest checkpoint of the graph itself."""
        query = "SELECT max(checkpoint_id) AS newest FROM checkpoints"
        return _Statement(
            f"{query} WHERE thread_id = {self.mark} AND checkpoint_ns = ''", (thread,)
        )

    def deletions(self, thread: str, kept: Sequence[str]) -> Iterator[_Statement]:
        """Yield what deletes the rows; the first statement is about the checkpoints.

        The namespace of one call of a subgraph has the id of its task, behind a colon. One without
        is of a subgraph that keeps its state from call to call, and stays.
        """
        marks = ", ".join([self.mark] * len(kept))
        for table in self.tables:
            yield _Statement(
                f"DELETE FROM {table} WHERE thread_id = {self.mark} AND (checkpoint_ns LIKE "
                f"{self.mark} OR checkpoint_ns = '' AND checkpoint_id NOT IN ({marks}))",
                (thread, "%:%", *kept),
            )
        yield _Statement(
            f"UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE thread_id = {self.mark}"
            f" AND checkpoint_ns = '' AND checkpoint_id = {self.mark}",
            (thread, kept[-1]),
        )

    def check(self, thread: str, newest: object, kept: Sequence[str]) -> None:
        """Raise if the thread has gone on meanwhile: what it went on from must stay."""
        if newest != kept[0]:
            raise ValueError(
                f"Thread {thread!r} went on while it was pruned, so nothing was deleted. "
                "Prune it when no run is going on."
            )


class _SqliteRows(_Rows):
    tables = ("checkpoints", "writes")
    mark = "?"

    def delete(self, thread: str, kept: Sequence[str]) -> int:
        # Not through `saver.cursor()`, which commits after an error too.
        with self.saver.lock, self.saver.conn as connection:
            connection.execute("BEGIN IMMEDIATE")
            self.check(thread, connection.execute(*self.newest(thread)).fetchone()[0], kept)
            done = [connection.execute(*s).rowcount for s in self.deletions(thread, kept)]
        return int(done[0])

    async def adelete(self, thread: str, kept: Sequence[str]) -> int:
        connection = self.saver.conn
        async with self.saver.lock:
            await connection.execute("BEGIN IMMEDIATE")
            try:
                found = await (await connection.execute(*self.newest(thread))).fetchone()
                self.check(thread, found[0], kept)
                done = [(await connection.execute(*s)) for s in self.deletions(thread, kept)]
            except BaseException:
                await connection.rollback()
                raise
            await connection.commit()
        return int(done[0].rowcount)


class _PostgresRows(_Rows):
    tables = ("checkpoints", "checkpoint_writes")
    mark = "%s"

    def deletions(self, thread: str, kept: Sequence[str]) -> Iterator[_Statement]:
        yield from super().deletions(thread, kept)
        # The values of channels have a table of their own.
        yield _Statement(
            "DELETE FROM checkpoint_blobs b WHERE thread_id = %s AND NOT EXISTS ("
            " SELECT 1 FROM checkpoints c"
            " WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns"
            " AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version)",
            (thread,),
        )

    def delete(self, thread: str, kept: Sequence[str]) -> int:
        with self.saver.lock, self._connection() as connection, connection.transaction():
            found = connection.execute(*self.newest(thread)).fetchone()
            self.check(thread, found["newest"], kept)
            done = [connection.execute(*s).rowcount for s in self.deletions(thread, kept)]
        return int(done[0])

    async def adelete(self, thread: str, kept: Sequence[str]) -> int:
        async with self.saver.lock, self._connection() as connection, connection.transaction():
            found = await (await connection.execute(*self.newest(thread))).fetchone()
            self.check(thread, found["newest"], kept)
            done = [(await connection.execute(*s)) for s in self.deletions(thread, kept)]
        return int(done[0].rowcount)

    def _connection(self) -> Any:
        """Return a connection of the saver's pool, or its only one, as a context manager."""
        held = self.saver.conn
        return held.connection() if hasattr(held, "getconn") else nullcontext(held)


def _postgres(name: str) -> type:
    """Return a class of LangGraph's PostgreSQL savers, or one without instances."""
    module = "langgraph.checkpoint.postgres" + (".aio" if name.startswith("Async") else "")
    try:
        kind: type = getattr(importlib.import_module(module), name)
    except ImportError:
        return _Rows
    return kind


def _rows_of(graph: Graph, kinds: dict[type, type[_Rows]]) -> _Rows:
    saver = graph.checkpointer
    for kind, rows in kinds.items():
        if isinstance(saver, kind):
            return rows(saver)
    name = type(saver).__name__
    names = " or ".join(sorted(kind.__name__ for kind in kinds if kind is not _Rows))
    raise ValueError(
        f"This needs a graph that is compiled with {names}, not {name}. "
        "Use `prune` with a sync and `aprune` with an async checkpointer, from `open_sqlite`, "
        "`aopen_sqlite`, `open_postgres` or `aopen_postgres`."
    )
