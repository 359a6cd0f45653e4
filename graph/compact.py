"""Rows straight into the numbered tables of `layout.py`, in as few statements as there can be.

Each statement lets go of the interpreter and has to get it back from the running graph: measured, a
turn on SQLite takes a third longer with four statements for a row than with one.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from langgraph_filesystem.layout import SHORT_FOR

__all__ = (
    "CheckpointRow",
    "Names",
    "TaskRow",
    "WriteRow",
    "add_checkpoint",
    "add_task",
    "short_metadata",
)

_SHORT_BYTES = [(words.encode(), bytes([n])) for n, words in enumerate(SHORT_FOR, start=1)]

_PUT = """
INSERT INTO compact_checkpoints (thread, checkpoint_id, parent, type, checkpoint, metadata)
SELECT
    t.id,
    ?,
    coalesce((SELECT id FROM compact_checkpoints WHERE thread = t.id AND checkpoint_id = ?), ?),
    ?,
    ?,
    ?
FROM compact_threads t WHERE thread_id = ? AND checkpoint_ns = ?
ON CONFLICT (thread, checkpoint_id) DO UPDATE SET
    parent = excluded.parent,
    type = excluded.type,
    checkpoint = excluded.checkpoint,
    metadata = excluded.metadata
"""

_PUT_TASK = """
INSERT INTO compact_tasks (checkpoint, task_id, task_path)
SELECT c.id, ?, ? FROM compact_threads t JOIN compact_checkpoints c ON c.thread = t.id
WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND NOT EXISTS
    (SELECT 1 FROM compact_tasks WHERE checkpoint = c.id AND task_id = ?)
"""


_PUT_IN_VIEW = """
INSERT OR REPLACE INTO checkpoints (
    thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
) VALUES (?, ?, ?, ?, ?, ?, ?)
"""

_PUT_WRITE_IN_VIEW = """
INSERT OR {policy} INTO writes (
    thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class CheckpointRow(NamedTuple):
    """A row of what LangGraph takes for its table `checkpoints`."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    parent_checkpoint_id: str | None
    type: str
    checkpoint: bytes
    metadata: bytes


class WriteRow(NamedTuple):
    """A row of what LangGraph takes for its table `writes`, without what its task says."""

    idx: int
    channel: str
    type: str
    value: bytes


class TaskRow(NamedTuple):
    """What the rows of a task have in common, and the rows."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    task_id: str
    task_path: str
    writes: Sequence[WriteRow]
    policy: str
    """What becomes of a write that is there already: `REPLACE` or `IGNORE`, as LangGraph says."""


class Names:
    """The numbers of names, as far as they are known: a name keeps its number for ever."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._missed = True

    def number(self, cursor: sqlite3.Cursor, name: str) -> Any:
        """Return the number of a name, and give it one if it has none."""
        if name in self._known:
            return self._known[name]
        self._missed = True
        # Inserted before it is asked for: from then on no other process can give it a number.
        insert = "INSERT INTO compact_names (name) VALUES (?) ON CONFLICT (name) DO NOTHING"
        cursor.execute(insert, (name,))
        query = "SELECT id FROM compact_names WHERE name = ?"
        return cursor.execute(query, (name,)).fetchone()[0]

    def know(self, names: set[str]) -> bool:
        """Say whether the numbers of these are known."""
        return names <= self._known.keys()

    def learn(self, connection: sqlite3.Connection) -> None:
        """Remember every number, if one was missed.

        Outside a transaction: one that fails takes its own numbers back.
        """
        if self._missed:
            self._known.update(connection.execute("SELECT name, id FROM compact_names"))
            self._missed = False


def add_checkpoint(cursor: sqlite3.Cursor, names: Names | None, row: CheckpointRow) -> None:
    """Add a checkpoint, or replace it; without `names` the file has LangGraph's own tables."""
    if names is None or not _numbered_checkpoint(cursor, names, row):
        cursor.execute(_PUT_IN_VIEW, row)


def add_task(cursor: sqlite3.Cursor, names: Names | None, task: TaskRow) -> None:
    """Add what a task wrote; without `names` the file has LangGraph's own tables."""
    if names is None or not _numbered_task(cursor, names, task):
        statement = _PUT_WRITE_IN_VIEW.format(policy=task.policy)
        cursor.executemany(statement, [(*task[:5], *write) for write in task.writes])


def _numbered_checkpoint(cursor: sqlite3.Cursor, names: Names, row: CheckpointRow) -> bool:
    """Do in one statement what the trigger does in many; say no where the thread is new."""
    parent = row.parent_checkpoint_id
    kind = names.number(cursor, row.type)
    values = (row.checkpoint_id, parent, parent, kind, row.checkpoint, short_metadata(row.metadata))
    return cursor.execute(_PUT, (*values, row.thread_id, row.checkpoint_ns)).rowcount > 0


def _numbered_task(cursor: sqlite3.Cursor, names: Names, task: TaskRow) -> bool:
    """Do the same for a task; say no where it is there already, or its checkpoint is not."""
    place, (task_id, path) = task[:3], task[3:5]
    if cursor.execute(_PUT_TASK, (task_id, path, *place, task_id)).rowcount == 0:
        return False
    number = cursor.lastrowid
    values: list[Any] = []
    for row in task.writes:
        channel, kind = names.number(cursor, row.channel), names.number(cursor, row.type)
        values += (number, row.idx, channel, kind, row.value)
    marks = ", ".join(["(?, ?, ?, ?, ?)"] * len(task.writes))
    cursor.execute(f"INSERT OR {task.policy} INTO compact_writes VALUES {marks}", values)
    return True


def short_metadata(metadata: bytes) -> bytes:
    """Return metadata as the numbered tables hold it."""
    for words, short in _SHORT_BYTES:
        metadata = metadata.replace(words, short)
    return metadata
