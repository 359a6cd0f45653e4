"""Rows straight into the numbered tables of `layout.py`, in as few statements as there can be.

Each statement lets go of the interpreter and has to get it back from the running graph: measured, a
turn on SQLite takes a third longer with four statements for a row than with one.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from langgraph_filesystem.layout import SHORT_FOR

__all__ = ("CheckpointRow", "Names", "WriteRow", "add_checkpoint", "add_writes")

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

_EXPECT = """
INSERT INTO compact_checkpoints (thread, checkpoint_id)
SELECT id, ? FROM compact_threads WHERE thread_id = ? AND checkpoint_ns = ?
ON CONFLICT (thread, checkpoint_id) DO NOTHING
"""

_PUT_TASK = """
INSERT INTO compact_tasks (checkpoint, task_id, task_path)
SELECT c.id, ?, ? FROM compact_threads t JOIN compact_checkpoints c ON c.thread = t.id
WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND NOT EXISTS
    (SELECT 1 FROM compact_tasks WHERE checkpoint = c.id AND task_id = ?)
"""


class CheckpointRow(NamedTuple):
    """A row of what the saver takes for its table `checkpoints`."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    parent_checkpoint_id: str | None
    type: str
    checkpoint: bytes
    metadata: bytes


class WriteRow(NamedTuple):
    """A row of what the saver takes for its table `writes`, without what its task says."""

    idx: int
    channel: str
    type: str
    value: bytes


class Names:
    """The numbers of names, as far as they are known: a name keeps its number for ever."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def number(self, cursor: sqlite3.Cursor, name: str) -> Any:
        """Return the number of a name, and give it one if it has none."""
        if name in self._known:
            return self._known[name]
        # Inserted before it is asked for: from then on no other process can give it a number.
        insert = "INSERT INTO compact_names (name) VALUES (?) ON CONFLICT (name) DO NOTHING"
        cursor.execute(insert, (name,))
        query = "SELECT id FROM compact_names WHERE name = ?"
        return cursor.execute(query, (name,)).fetchone()[0]

    def learn(self, connection: sqlite3.Connection) -> None:
        """Remember every number, outside a transaction: one that failed would take its own back."""
        self._known.update(connection.execute("SELECT name, id FROM compact_names"))

    def knows(self, *wanted: str) -> bool:
        """Say whether these names need no look-up."""
        return all(name in self._known for name in wanted)


def add_checkpoint(cursor: sqlite3.Cursor, names: Names, row: CheckpointRow) -> bool:
    """Do in one statement what the trigger does in many; say no where the thread is new."""
    metadata = row.metadata
    for words, short in _SHORT_BYTES:
        metadata = metadata.replace(words, short)
    parent = row.parent_checkpoint_id
    kind = names.number(cursor, row.type)
    values = (row.checkpoint_id, parent, parent, kind, row.checkpoint, metadata)
    return cursor.execute(_PUT, (*values, row.thread_id, row.checkpoint_ns)).rowcount > 0


def add_writes(
    cursor: sqlite3.Cursor,
    names: Names,
    place: tuple[str, str, str],
    task: tuple[str, str],
    rows: Sequence[WriteRow],
    replace: bool,
) -> bool:
    """Do the same for the writes of a task; say no where it may have some already.

    A checkpoint and the writes that hang on it are stored by two threads, in either order.
    """
    *thread, checkpoint = place
    cursor.execute(_EXPECT, (checkpoint, *thread))
    if cursor.execute(_PUT_TASK, (*task, *place, task[0])).rowcount == 0:
        return False
    number = cursor.lastrowid
    values: list[Any] = []
    for row in rows:
        channel, kind = names.number(cursor, row.channel), names.number(cursor, row.type)
        values += (number, row.idx, channel, kind, row.value)
    if rows:
        policy = "REPLACE" if replace else "IGNORE"
        marks = ", ".join(["(?, ?, ?, ?, ?)"] * len(rows))
        cursor.execute(f"INSERT OR {policy} INTO compact_writes VALUES {marks}", values)
    return True
