"""A superstep in one statement: what its task wrote, and the checkpoint that this leads to.

Nearly all have one task with a few writes. A trigger then does what would be five statements, of
which the beginning and the end of the transaction are two; `compact.py` says what each one costs.
"""

import sqlite3
from typing import Any

from langgraph_filesystem.compact import CheckpointRow, Names, TaskRow, short_metadata

__all__ = ("add_superstep", "prepare")

_SLOTS = range(4)
"""The writes that a task may have."""
_COLUMNS = (
    *("thread_id", "checkpoint_ns", "parent_checkpoint_id", "task_id", "task_path"),
    *("checkpoint_id", "type", "checkpoint", "metadata"),
    *(f"{column}{slot}" for slot in _SLOTS for column in ("idx", "channel", "type", "value")),
)

# Both belong to the connection: the file has the tables of `layout.py`, and nothing else.

_VIEW = f"""
CREATE TEMP VIEW IF NOT EXISTS compact_supersteps AS
SELECT {", ".join(f"NULL AS {column}" for column in _COLUMNS)}
"""

_PARENT = """
FROM compact_threads t JOIN compact_checkpoints c ON c.thread = t.id
WHERE t.thread_id = NEW.thread_id AND t.checkpoint_ns = NEW.checkpoint_ns
    AND c.checkpoint_id = NEW.parent_checkpoint_id
"""

_WRITES = " UNION ALL ".join(
    f"SELECT NEW.idx{slot} AS idx, NEW.channel{slot}, NEW.type{slot}, NEW.value{slot}"
    for slot in _SLOTS
)

# A checkpoint that is there already breaks a rule of the table, and so stops it too.
_TRIGGER = f"""
CREATE TEMP TRIGGER IF NOT EXISTS compact_put_superstep
INSTEAD OF INSERT ON compact_supersteps BEGIN
    SELECT RAISE(ABORT, 'no plain superstep') WHERE NOT EXISTS (
        SELECT 1 {_PARENT} AND NOT EXISTS
            (SELECT 1 FROM compact_tasks WHERE checkpoint = c.id AND task_id = NEW.task_id)
    );
    INSERT INTO compact_checkpoints (thread, checkpoint_id, parent, type, checkpoint, metadata)
        SELECT t.id, NEW.checkpoint_id, c.id, NEW.type, NEW.checkpoint, NEW.metadata {_PARENT};
    INSERT INTO compact_tasks (checkpoint, task_id, task_path)
        SELECT c.id, NEW.task_id, NEW.task_path {_PARENT};
    INSERT INTO compact_writes (task, idx, channel, type, value)
        SELECT (SELECT max(id) FROM compact_tasks), * FROM ({_WRITES}) WHERE idx IS NOT NULL;
END
"""

_PUT = f"""
INSERT INTO compact_supersteps ({", ".join(_COLUMNS)}) VALUES ({", ".join("?" * len(_COLUMNS))})
"""


def prepare(connection: sqlite3.Connection) -> None:
    """Let a connection to a file with numbered tables take supersteps."""
    connection.execute(_VIEW)
    connection.execute(_TRIGGER)


def add_superstep(
    cursor: sqlite3.Cursor, names: Names, task: TaskRow, checkpoint: CheckpointRow
) -> bool:
    """Add what a task wrote and the checkpoint that follows, outside a transaction.

    Say no, and do nothing, where that is not all that there is to do.
    """
    if len(task.writes) > len(_SLOTS) or not names.know(_names_of(task, checkpoint)):
        return False
    kind = names.number(cursor, checkpoint.type)
    values: list[Any] = [*task[:5], checkpoint.checkpoint_id, kind, checkpoint.checkpoint]
    values.append(short_metadata(checkpoint.metadata))
    for write in task.writes:
        channel, kind = names.number(cursor, write.channel), names.number(cursor, write.type)
        values += (write.idx, channel, kind, write.value)
    values += [None] * (len(_COLUMNS) - len(values))
    try:
        cursor.execute(_PUT, values)
    except sqlite3.IntegrityError:
        return False
    return True


def _names_of(task: TaskRow, checkpoint: CheckpointRow) -> set[str]:
    kinds = {write.type for write in task.writes} | {write.channel for write in task.writes}
    return kinds | {checkpoint.type}
