"""How rows get into the file: a checkpoint at once, what a task wrote with its checkpoint.

LangGraph stores what the tasks of a superstep wrote, and then the checkpoint that this leads to. A
transaction for each costs more than the rows do. So the writes wait for the checkpoint, which
follows within milliseconds, and go into its transaction.

What no checkpoint may follow does not wait (`savers.py` knows). Where none comes all the same,
because a task of the superstep takes long or the run was cut off, a thread stores what waits, after
50 ms at most. A crash before that has the task run again: LangGraph too stores what a task wrote
some time after the task has ended, and waits for it only before it stores the checkpoint.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langgraph_filesystem.compact import (
    CheckpointRow,
    Names,
    TaskRow,
    add_checkpoint,
    add_task,
)
from langgraph_filesystem.supersteps import add_superstep, prepare

__all__ = ("Writer",)

_LOOK_EVERY = 0.025
"""Seconds between two looks at what waits: what waits at both of them is stored. Each look takes
the interpreter from the running graph for a moment."""

_LOOKS = 20
"""How often the thread looks at nothing before it ends: in a run there is soon more."""


@contextmanager
def _autocommitting(connection: sqlite3.Connection) -> Iterator[None]:
    """Let each statement be a transaction of its own, with no statements around it."""
    usual = connection.isolation_level
    try:
        connection.isolation_level = None
        yield
    finally:
        connection.isolation_level = usual


class Writer:
    """Writes to one connection, under the lock of those who share it."""

    def __init__(self, connection: sqlite3.Connection, lock: threading.Lock) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._lock = lock
        query = "SELECT 1 FROM sqlite_schema WHERE name = 'compact_names'"
        self._names = Names() if connection.execute(query).fetchone() else None
        if self._names:
            prepare(connection)
        self._waiting: list[TaskRow] = []
        self._watched = threading.Lock()
        self._closed = False

    def put(self, row: CheckpointRow) -> None:
        """Store a checkpoint, and what waits for it."""
        parent = (row.thread_id, row.checkpoint_ns, row.parent_checkpoint_id)
        with self._lock:
            # What later supersteps wrote goes on waiting: their checkpoints are not stored yet.
            waiting = [task for task in self._waiting if task[:3] == parent]
            if not self._store_superstep(waiting, row):
                self._store(waiting, checkpoint=row)

    def put_task(self, task: TaskRow) -> None:
        """Store what a task wrote, and what waits."""
        with self._lock:
            self._store(self._waiting[:], task=task)

    def put_task_later(self, task: TaskRow) -> None:
        """Let what a task wrote wait for its checkpoint, or for the thread that watches."""
        self._waiting.append(task)
        if self._closed:
            self.flush()
        else:
            self._watch()

    def flush(self) -> None:
        """Store what waits."""
        if self._waiting:
            with self._lock:
                self._store(self._waiting[:])

    def close(self) -> None:
        """Store what waits, and let nothing wait from now on."""
        self._closed = True
        self.flush()

    def _store_superstep(self, waiting: Sequence[TaskRow], checkpoint: CheckpointRow) -> bool:
        """Store the checkpoint and the one task before it at once, if that is all."""
        if self._names is None or len(waiting) != 1:
            return False
        self._names.learn(self._connection)
        with _autocommitting(self._connection):
            if not add_superstep(self._cursor, self._names, waiting[0], checkpoint):
                return False
        self._waiting.remove(waiting[0])
        return True

    def _store(
        self,
        waiting: Sequence[TaskRow],
        task: TaskRow | None = None,
        checkpoint: CheckpointRow | None = None,
    ) -> None:
        """Store all or nothing. What waited goes on waiting until it is committed."""
        if self._names is not None:
            self._names.learn(self._connection)
        with self._connection:
            for row in waiting if task is None else [*waiting, task]:
                add_task(self._cursor, self._names, row)
            if checkpoint is not None:
                add_checkpoint(self._cursor, self._names, checkpoint)
        for row in waiting:
            self._waiting.remove(row)

    def _watch(self) -> None:
        if self._watched.acquire(blocking=False):
            threading.Thread(target=self._look, name="checkpoint writer", daemon=True).start()

    def _look(self) -> None:
        """Store what waits too long, until nothing comes any more."""
        try:
            self._look_again_and_again()
        except sqlite3.Error:
            # What waits goes with the next row, and so does the error if it lasts.
            self._watched.release()
        else:
            self._watched.release()
            # Something may have come after the last look, and found the thread still there.
            if self._waiting and not self._closed:
                self._watch()

    def _look_again_and_again(self) -> None:
        seen, idle = None, 0
        while idle < _LOOKS and not self._closed:
            time.sleep(_LOOK_EVERY)
            first = next(iter(self._waiting), None)
            if first is not None and first is seen:
                self.flush()
            seen, idle = first, 0 if first else idle + 1
