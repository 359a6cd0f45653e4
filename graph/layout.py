"""The tables of a new file: every long id once.

LangGraph's two tables repeat the thread, the checkpoint and the task in each row and again in each
index: 2.4 kB of a turn. Here each of them has a number. The saver's own statements run unchanged:
what it takes for its tables, `checkpoints` and `writes`, are views, and triggers do to the numbered
tables what it asks for.
"""

__all__ = ("LAYOUT", "SHORT_FOR")

SHORT_FOR = (
    '{"source": "loop", "step": ',
    ', "parents": {}, "counters_since_delta_snapshot": {"messages": [',
    '], "files": [',
    '], "seen": [',
)
"""What the metadata of nearly every checkpoint repeats. A control character stands for each of
them, as JSON never holds one. They belong to the format: the views of a file spell out those that
it was made with, and `add_checkpoint` shortens by these."""


# Numbers and text, as parts of statements


def _name(column: str) -> str:
    """Return the number of a new row's name."""
    return f"(SELECT id FROM compact_names WHERE name = NEW.{column})"


def _thread(row: str) -> str:
    """Return the number of the thread of a row, `NEW` or `OLD`."""
    return (
        "(SELECT id FROM compact_threads"
        f" WHERE thread_id = {row}.thread_id AND checkpoint_ns = {row}.checkpoint_ns)"
    )


def _checkpoint(row: str) -> str:
    """Return the number of its checkpoint."""
    return (
        "(SELECT id FROM compact_checkpoints"
        f" WHERE thread = {_thread(row)} AND checkpoint_id = {row}.checkpoint_id)"
    )


def _task(row: str) -> str:
    """Return the number of its task."""
    return (
        "(SELECT id FROM compact_tasks"
        f" WHERE checkpoint = {_checkpoint(row)} AND task_id = {row}.task_id)"
    )


def _shortened(column: str) -> str:
    text = f"CAST({column} AS TEXT)"
    for number, words in enumerate(SHORT_FOR, start=1):
        text = f"replace({text}, '{words}', char({number}))"
    return f"CAST({text} AS BLOB)"


def _spelled_out(column: str) -> str:
    text = f"CAST({column} AS TEXT)"
    for number, words in enumerate(SHORT_FOR, start=1):
        text = f"replace({text}, char({number}), '{words}')"
    return f"CAST({text} AS BLOB)"


# Tables

_NAMES = """
CREATE TABLE compact_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)
"""

_THREADS = """
CREATE TABLE compact_threads (
    id INTEGER PRIMARY KEY,
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL,
    UNIQUE (thread_id, checkpoint_ns)
)
"""

_CHECKPOINTS = """
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
"""

_TASKS = """
CREATE TABLE compact_tasks (
    id INTEGER PRIMARY KEY,
    checkpoint INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    task_path TEXT NOT NULL
)
"""

_TASKS_OF_CHECKPOINT = """
CREATE INDEX compact_tasks_of_checkpoint ON compact_tasks (checkpoint)
"""

# With rowids: a table without them moves a row over 1 kB to pages of its own (measured with results
# of 2 kB: 10.3 kB a turn instead of 9.0).
_WRITES = """
CREATE TABLE compact_writes (
    task INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    channel INTEGER NOT NULL,
    type INTEGER,
    value BLOB,
    UNIQUE (task, idx)
)
"""

# Views: what the saver reads. Names and parents are subqueries, as SQLite looks into a view with an
# outer join only after it has read all of it.

_CHECKPOINTS_VIEW = f"""
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
"""

_WRITES_VIEW = """
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
"""

# Triggers: what the saver writes and deletes

# `WHERE ... IS NULL` and not `OR IGNORE`: in a trigger the policy of the saver's own statement
# holds, and its `OR REPLACE` would give the thread a new number.
_NUMBER_CHECKPOINT = f"""
    INSERT INTO compact_threads (thread_id, checkpoint_ns)
        SELECT NEW.thread_id, NEW.checkpoint_ns WHERE {_thread("NEW")} IS NULL;
    INSERT INTO compact_names (name) SELECT NEW.type WHERE {_name("type")} IS NULL;
    INSERT INTO compact_checkpoints (thread, checkpoint_id)
        SELECT {_thread("NEW")}, NEW.checkpoint_id WHERE {_checkpoint("NEW")} IS NULL;
"""

_FORGET_THREAD = f"""
    DELETE FROM compact_threads WHERE id = {_thread("OLD")} AND NOT EXISTS
        (SELECT 1 FROM compact_checkpoints WHERE thread = compact_threads.id);
"""

_PUT = f"""
CREATE TRIGGER compact_put INSTEAD OF INSERT ON checkpoints BEGIN
    {_NUMBER_CHECKPOINT}
    UPDATE compact_checkpoints SET
        parent = coalesce(
            (SELECT p.id FROM compact_checkpoints p WHERE p.thread = {_thread("NEW")}
                AND p.checkpoint_id = NEW.parent_checkpoint_id),
            NEW.parent_checkpoint_id
        ),
        type = {_name("type")},
        checkpoint = NEW.checkpoint,
        metadata = {_shortened("NEW.metadata")}
    WHERE id = {_checkpoint("NEW")};
END
"""

_PUT_WRITE = f"""
CREATE TRIGGER compact_put_write INSTEAD OF INSERT ON writes BEGIN
    {_NUMBER_CHECKPOINT}
    INSERT INTO compact_names (name) SELECT NEW.channel WHERE {_name("channel")} IS NULL;
    INSERT INTO compact_tasks (checkpoint, task_id, task_path)
        SELECT {_checkpoint("NEW")}, NEW.task_id, NEW.task_path
        WHERE {_task("NEW")} IS NULL;
    INSERT INTO compact_writes (task, idx, channel, type, value) VALUES (
        {_task("NEW")}, NEW.idx, {_name("channel")}, {_name("type")}, NEW.value
    );
END
"""

_DELETE = f"""
CREATE TRIGGER compact_delete INSTEAD OF DELETE ON checkpoints BEGIN
    DELETE FROM compact_writes WHERE task IN
        (SELECT id FROM compact_tasks WHERE checkpoint = {_checkpoint("OLD")});
    DELETE FROM compact_tasks WHERE checkpoint = {_checkpoint("OLD")};
    DELETE FROM compact_checkpoints WHERE id = {_checkpoint("OLD")};
    {_FORGET_THREAD}
END
"""

_DELETE_WRITE = f"""
CREATE TRIGGER compact_delete_write INSTEAD OF DELETE ON writes BEGIN
    DELETE FROM compact_writes WHERE task = {_task("OLD")} AND idx = OLD.idx;
    DELETE FROM compact_tasks WHERE id = {_task("OLD")} AND NOT EXISTS
        (SELECT 1 FROM compact_writes WHERE task = compact_tasks.id);
    DELETE FROM compact_checkpoints
        WHERE id = {_checkpoint("OLD")} AND checkpoint IS NULL AND NOT EXISTS
        (SELECT 1 FROM compact_tasks WHERE checkpoint = compact_checkpoints.id);
    {_FORGET_THREAD}
END
"""

LAYOUT = (
    _NAMES,
    _THREADS,
    _CHECKPOINTS,
    _TASKS,
    _TASKS_OF_CHECKPOINT,
    _WRITES,
    _CHECKPOINTS_VIEW,
    _WRITES_VIEW,
    _PUT,
    _PUT_WRITE,
    _DELETE,
    _DELETE_WRITE,
)
"""The statements that make the tables, the views and the triggers, in their order."""
