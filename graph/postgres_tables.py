"""How PostgreSQL says what is to be done to threads, for the tables of LangGraph's saver."""

from collections.abc import Iterable, Sequence
from typing import Any

from langgraph_filesystem.lineage import Place
from langgraph_filesystem.threads import BASE, Details, Statement

__all__ = ("PostgresTables",)

_BEGIN = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 7234982310))::text"
_LINKS = f"""
SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,
    coalesce(metadata ->> 'run_id' = %(run)s, false) OR jsonb_exists(metadata, '{BASE}') AS goes,
    jsonb_exists(metadata, '{BASE}') AS base
FROM checkpoints WHERE thread_id IN
    (SELECT thread_id FROM checkpoints WHERE metadata ->> 'run_id' = %(run)s)
"""
_PLACE = "thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s"
_COPY = (
    """
INSERT INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
SELECT %(target)s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
    CASE WHEN jsonb_exists(metadata, 'thread_id')
        THEN jsonb_set(metadata, '{thread_id}', to_jsonb(%(target)s::text)) ELSE metadata END
FROM checkpoints WHERE thread_id = %(source)s
""",
    """
INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
SELECT %(target)s, checkpoint_ns, channel, version, type, blob
FROM checkpoint_blobs WHERE thread_id = %(source)s
""",
    """
INSERT INTO checkpoint_writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
SELECT %(target)s, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
FROM checkpoint_writes WHERE thread_id = %(source)s
""",
)
# A value stands in the checkpoint itself, or in a row of its own with the version of its channel.
_DETAILS = f"""
SELECT
    (checkpoint ->> 'v')::int AS version,
    ARRAY(
        SELECT v.key FROM jsonb_each_text(checkpoint -> 'channel_versions') AS v
        WHERE jsonb_exists(checkpoint -> 'channel_values', v.key) OR EXISTS (
            SELECT 1 FROM checkpoint_blobs b
            WHERE b.thread_id = c.thread_id AND b.checkpoint_ns = c.checkpoint_ns
            AND b.channel = v.key AND b.version = v.value AND b.type <> 'empty'
        )
    ) AS stored,
    checkpoint -> 'channel_versions' AS versions,
    metadata
FROM checkpoints c WHERE {_PLACE}
"""
_MOVE = f"""
INSERT INTO checkpoint_writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
SELECT thread_id, checkpoint_ns, %s, %s, '', %s, channel, type, blob
FROM checkpoint_writes WHERE {_PLACE} AND task_id = %s AND idx = %s
"""
_RELINK = f"""
UPDATE checkpoints SET parent_checkpoint_id = %s,
    metadata = CASE WHEN %s THEN metadata || '{{"{BASE}": true}}' ELSE metadata END
WHERE {_PLACE}
"""
_DELETE = """
DELETE FROM {table} WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = ANY(%s)
"""
_UNUSED = """
DELETE FROM checkpoint_blobs b WHERE thread_id = %s AND NOT EXISTS (
    SELECT 1 FROM checkpoints c
    WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
    AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version
)
"""


class PostgresTables:
    """The tables `checkpoints`, `checkpoint_blobs` and `checkpoint_writes`."""

    def begin(self, thread: str) -> Statement:
        """Wait until nobody else takes back, copies or prunes here; runs go on."""
        return _BEGIN, (thread,)

    def links(self, run: str) -> Statement:
        """Select `Link`s of the threads of a run."""
        return _LINKS, {"run": run}

    def copies(self, source: str, target: str) -> Iterable[Statement]:
        """Copy a thread."""
        return [(statement, {"source": source, "target": target}) for statement in _COPY]

    def checkpoints(self, thread: str) -> Statement:
        """Select namespace, id and parent of all checkpoints of a thread."""
        return (
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints"
            " WHERE thread_id = %s"
        ), (thread,)

    def details(self, place: Place) -> Statement:
        """Select what `read` reads."""
        return _DETAILS, place

    def read(self, row: Sequence[Any]) -> Details:
        """Return what `details` found."""
        version, stored, versions, metadata = row
        changing = metadata.get("counters_since_delta_snapshot") or {}
        return Details(
            version,
            frozenset(stored),
            frozenset(changing.keys() & versions.keys()),
            metadata.get("parents") or {},
        )

    def writes(self, place: Place) -> Statement:
        """Select path, task, number and channel of what was written to a checkpoint."""
        query = "SELECT task_path, task_id, idx, channel FROM checkpoint_writes"
        return f"{query} WHERE {_PLACE}", place

    def move(self, place: Place, task: str, number: int, *, to: tuple[str, str, int]) -> Statement:
        """Add a write to another checkpoint of the namespace."""
        return _MOVE, (*to, *place, task, number)

    def relink(self, place: Place, parent: str | None, *, base: bool) -> Statement:
        """Give a checkpoint another parent, and mark it if it is only a base from now on."""
        return _RELINK, (parent, base, *place)

    def delete_writes(self, place: Place, *, but: str = "", of: str = "") -> Statement:
        """Delete what was written to a checkpoint."""
        which = "task_id = %s" if of else "task_id <> %s"
        return f"DELETE FROM checkpoint_writes WHERE {_PLACE} AND {which}", (*place, of or but)

    def delete(self, thread: str, namespace: str, ids: Sequence[str]) -> Iterable[Statement]:
        """Delete checkpoints, and what was written to them."""
        tables = ("checkpoints", "checkpoint_writes")
        which = (thread, namespace, list(ids))
        return [(_DELETE.format(table=table), which) for table in tables]

    def tidy(self, thread: str) -> Iterable[Statement]:
        """Delete the values that no checkpoint of the thread refers to any more."""
        return [(_UNUSED, (thread,))]
