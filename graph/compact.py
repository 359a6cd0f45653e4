"""The tables of a new file: every long id once.

LangGraph's two tables repeat the thread, the checkpoint and the task in each row and again in each
index: 2.4 kB of a turn. Here each of them has a number. The saver's own statements run unchanged:
what it takes for its tables are views, and triggers do to the numbered tables what it asks for.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ("CheckpointRow", "Names", "WriteRow", "add_checkpoint", "add_writes", "layout")

_SHORT_FOR = (
    '{"source": "loop", "step": ',
    ', "parents": {}, "counters_since_delta_snapshot": {"messages": [',
    '], "files": [',
    '], "seen": [',
)
"""What the metadata of nearly every checkpoint repeats. A control character stands for each of
them, as JSON never holds one. A file's own views spell them out, so this may change at any time."""


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
        query = "SELECT id FROM compact_names WHERE name = ?"
        if found := cursor.execute(query, (name,)).fetchone():
            return found[0]
        return cursor.execute("INSERT INTO compact_names (name) VALUES (?)", (name,)).lastrowid

    def learn(self, connection: sqlite3.Connection) -> None:
        """Remember every number, outside a transaction: one that failed would take its own back."""
        self._known.update(connection.execute("SELECT name, id FROM compact_names"))

    def knows(self, *wanted: str) -> bool:
        """Say whether these names need no look-up."""
        return all(name in self._known for name in wanted)


def add_checkpoint(cursor: sqlite3.Cursor, names: Names, row: CheckpointRow) -> bool:
    """Do in one statement what the trigger does in many; say no where the thread is new.

    Each statement lets go of the interpreter and has to get it back from the running graph:
    measured, a turn on SQLite takes a third longer with four statements for a row than with one.
    """
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
_SHORT_BYTES = [(words.encode(), bytes([n])) for n, words in enumerate(_SHORT_FOR, start=1)]


def _shortened(column: str) -> str:
    text = f"CAST({column} AS TEXT)"
    for number, words in enumerate(_SHORT_FOR, start=1):
        text = f"replace({text}, '{words}', char({number}))"
    return f"CAST({text} AS BLOB)"


def _spelled_out(column: str) -> str:
    text = f"CAST({column} AS TEXT)"
    for number, words in enumerate(_SHORT_FOR, start=1):
        text = f"replace({text}, char({number}), '{words}')"
    return f"CAST({text} AS BLOB)"


def layout() -> tuple[str, ...]:
    """Return the statements that make the tables of a new file.

    The saver finds its two tables, `checkpoints` and `writes`, as views, and what it does to them
    is done by triggers to tables in which each thread, checkpoint, task and name has a number.
    """
    in_name = "(SELECT id FROM compact_names WHERE name = NEW.{})".format
    in_thread = (
        "(SELECT id FROM compact_threads"
        " WHERE thread_id = {0}.thread_id AND checkpoint_ns = {0}.checkpoint_ns)"
    ).format
    in_checkpoint = (
        "(SELECT id FROM compact_checkpoints"
        f" WHERE thread = {in_thread('{0}')} AND checkpoint_id = {{0}}.checkpoint_id)"
    ).format
    in_task = (
        "(SELECT id FROM compact_tasks"
        f" WHERE checkpoint = {in_checkpoint('{0}')} AND task_id = {{0}}.task_id)"
    ).format
    # `WHERE ... IS NULL` and not `OR IGNORE`: in a trigger the policy of the saver's own statement
    # holds, and its `OR REPLACE` would give the thread a new number.
    number_checkpoint = f"""
        INSERT INTO compact_threads (thread_id, checkpoint_ns)
            SELECT NEW.thread_id, NEW.checkpoint_ns WHERE {in_thread("NEW")} IS NULL;
        INSERT INTO compact_names (name) SELECT NEW.type WHERE {in_name("type")} IS NULL;
        INSERT INTO compact_checkpoints (thread, checkpoint_id)
            SELECT {in_thread("NEW")}, NEW.checkpoint_id WHERE {in_checkpoint("NEW")} IS NULL;
    """
    forget_thread = f"""
        DELETE FROM compact_threads WHERE id = {in_thread("OLD")} AND NOT EXISTS
            (SELECT 1 FROM compact_checkpoints WHERE thread = compact_threads.id);
    """
    return (
        """
        CREATE TABLE compact_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)
        """,
        """
        CREATE TABLE compact_threads (
            id INTEGER PRIMARY KEY,
            thread_id TEXT NOT NULL,
            checkpoint_ns TEXT NOT NULL,
            UNIQUE (thread_id, checkpoint_ns)
        )
        """,
        """
        CREATE TABLE compact_checkpoints (
            id INTEGER PRIMARY KEY,
            thread INTEGER NOT NULL,
            checkpoint_id TEXT NOT NULL,
            parent, -- its number, or its id where it is not stored
            type INTEGER,
            checkpoint BLOB, -- none yet where writes came first
            metadata BLOB,
            UNIQUE (thread, checkpoint_id)
        )
        """,
        """
        CREATE TABLE compact_tasks (
            id INTEGER PRIMARY KEY,
            checkpoint INTEGER NOT NULL,
            task_id TEXT NOT NULL,
            task_path TEXT NOT NULL
        )
        """,
        """
        CREATE INDEX compact_tasks_of_checkpoint ON compact_tasks (checkpoint)
        """,
        # With rowids: a table without them moves a row over 1 kB to pages of its own (measured
        # with results of 2 kB: 10.3 kB a turn instead of 9.0).
        """
        CREATE TABLE compact_writes (
            task INTEGER NOT NULL,
            idx INTEGER NOT NULL,
            channel INTEGER NOT NULL,
            type INTEGER,
            value BLOB,
            UNIQUE (task, idx)
        )
        """,
        # Names and parents as subqueries: SQLite looks into a view with an outer join only after
        # it has read all of it.
        f"""
        CREATE VIEW checkpoints AS
        SELECT
            thread_id,
            checkpoint_ns,
            checkpoint_id,
            CASE typeof(parent)
                WHEN 'integer'
                THEN (SELECT p.checkpoint_id FROM compact_checkpoints p WHERE p.id = c.parent)
                ELSE parent
            END AS parent_checkpoint_id,
            (SELECT name FROM compact_names WHERE id = c.type) AS type,
            checkpoint,
            {_spelled_out("metadata")} AS metadata
        FROM compact_threads t JOIN compact_checkpoints c ON c.thread = t.id
        WHERE checkpoint IS NOT NULL
        """,
        """
        CREATE VIEW writes AS
        SELECT
            thread_id,
            checkpoint_ns,
            checkpoint_id,
            task_id,
            task_path,
            idx,
            (SELECT name FROM compact_names WHERE id = w.channel) AS channel,
            (SELECT name FROM compact_names WHERE id = w.type) AS type,
            value
        FROM compact_threads t
        JOIN compact_checkpoints c ON c.thread = t.id
        JOIN compact_tasks k ON k.checkpoint = c.id
        JOIN compact_writes w ON w.task = k.id
        """,
        f"""
        CREATE TRIGGER compact_put INSTEAD OF INSERT ON checkpoints BEGIN
            {number_checkpoint}
            UPDATE compact_checkpoints SET
                parent = coalesce(
                    (SELECT p.id FROM compact_checkpoints p WHERE p.thread = {in_thread("NEW")}
                        AND p.checkpoint_id = NEW.parent_checkpoint_id),
                    NEW.parent_checkpoint_id
                ),
                type = {in_name("type")},
                checkpoint = NEW.checkpoint,
                metadata = {_shortened("NEW.metadata")}
            WHERE id = {in_checkpoint("NEW")};
        END
        """,
        f"""
        CREATE TRIGGER compact_put_write INSTEAD OF INSERT ON writes BEGIN
            {number_checkpoint}
            INSERT INTO compact_names (name) SELECT NEW.channel WHERE {in_name("channel")} IS NULL;
            INSERT INTO compact_tasks (checkpoint, task_id, task_path)
                SELECT {in_checkpoint("NEW")}, NEW.task_id, NEW.task_path
                WHERE {in_task("NEW")} IS NULL;
            INSERT INTO compact_writes (task, idx, channel, type, value) VALUES (
                {in_task("NEW")}, NEW.idx, {in_name("channel")}, {in_name("type")}, NEW.value
            );
        END
        """,
        f"""
        CREATE TRIGGER compact_delete INSTEAD OF DELETE ON checkpoints BEGIN
            DELETE FROM compact_writes WHERE task IN
                (SELECT id FROM compact_tasks WHERE checkpoint = {in_checkpoint("OLD")});
            DELETE FROM compact_tasks WHERE checkpoint = {in_checkpoint("OLD")};
            DELETE FROM compact_checkpoints WHERE id = {in_checkpoint("OLD")};
            {forget_thread}
        END
        """,
        f"""
        CREATE TRIGGER compact_delete_write INSTEAD OF DELETE ON writes BEGIN
            DELETE FROM compact_writes WHERE task = {in_task("OLD")} AND idx = OLD.idx;
            DELETE FROM compact_tasks WHERE id = {in_task("OLD")} AND NOT EXISTS
                (SELECT 1 FROM compact_writes WHERE task = compact_tasks.id);
            DELETE FROM compact_checkpoints
                WHERE id = {in_checkpoint("OLD")} AND checkpoint IS NULL AND NOT EXISTS
                (SELECT 1 FROM compact_tasks WHERE checkpoint = compact_checkpoints.id);
            {forget_thread}
        END
        """,
    )
