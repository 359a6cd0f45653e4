"""How SQLite says what is to be done to threads: for LangGraph's tables, and for views of ours."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_filesystem.lineage import Place
from langgraph_filesystem.threads import BASE, Details, Statement

__all__ = ("SqliteTables",)

_LINKS = """
SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,
    instr(CAST(metadata AS TEXT), :run) > 0 OR instr(CAST(metadata AS TEXT), :base) > 0,
    instr(CAST(metadata AS TEXT), :base) > 0
FROM checkpoints WHERE thread_id IN
    (SELECT thread_id FROM checkpoints WHERE instr(CAST(metadata AS TEXT), :run) > 0)
"""
_PLACE = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_COPY = (
    """
INSERT INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
SELECT :target, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
    CAST(replace(CAST(metadata AS TEXT), :source_is, :target_is) AS BLOB)
FROM checkpoints WHERE thread_id = :source ORDER BY checkpoint_id
""",
    """
INSERT INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
SELECT :target, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value
FROM writes WHERE thread_id = :source
""",
)
_MOVE = f"""
INSERT INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
SELECT thread_id, checkpoint_ns, ?, ?, '', ?, channel, type, value
FROM writes WHERE {_PLACE} AND task_id = ? AND idx = ?
"""
_RELINK = """
INSERT OR REPLACE INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
SELECT thread_id, checkpoint_ns, checkpoint_id, :parent, type, checkpoint,
    CASE WHEN :base AND instr(CAST(metadata AS TEXT), :mark) = 0
        THEN CAST('{' || :mark || ', ' || substr(CAST(metadata AS TEXT), 2) AS BLOB)
        ELSE metadata END
FROM checkpoints
WHERE thread_id = :thread AND checkpoint_ns = :namespace AND checkpoint_id = :id
"""
_DELETE = """
DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = ?
AND checkpoint_id IN (SELECT value FROM json_each(?))
"""
_MARK = f'"{BASE}": true'


class SqliteTables:
    """The tables `checkpoints` and `writes`."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde

    def begin(self, thread: str) -> Statement:
        """Wait until nobody else writes to the file."""
        return "BEGIN IMMEDIATE", ()

    def links(self, run: str) -> Statement:
        """Select `Link`s of the threads of a run."""
        return _LINKS, {"run": _pair("run_id", run), "base": _MARK}

    def copies(self, source: str, target: str) -> Iterable[Statement]:
        """Copy a thread."""
        names = {"source": source, "target": target}
        marks = {f"{key}_is": _pair("thread_id", name) for key, name in names.items()}
        return [(statement, {**names, **marks}) for statement in _COPY]

    def checkpoints(self, thread: str) -> Statement:
        """Select namespace, id and parent of all checkpoints of a thread."""
        return (
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints"
            " WHERE thread_id = ?"
        ), (thread,)

    def details(self, place: Place) -> Statement:
        """Select what `read` reads."""
        return f"SELECT type, checkpoint, metadata FROM checkpoints WHERE {_PLACE}", place

    def read(self, row: Sequence[Any]) -> Details:
        """Return what `details` found."""
        kind, stored, metadata = row
        checkpoint = self._serde.loads_typed((kind, stored))
        about = json.loads(metadata)
        changing = about.get("counters_since_delta_snapshot") or {}
        return Details(
            checkpoint["v"],
            frozenset(checkpoint["channel_values"]),
            frozenset(changing.keys() & checkpoint["channel_versions"].keys()),
            about.get("parents") or {},
        )

    def writes(self, place: Place) -> Statement:
        """Select path, task, number and channel of what was written to a checkpoint."""
        return f"SELECT task_path, task_id, idx, channel FROM writes WHERE {_PLACE}", place

    def move(self, place: Place, task: str, number: int, *, to: tuple[str, str, int]) -> Statement:
        """Add a write to another checkpoint of the namespace."""
        return _MOVE, (*to, *place, task, number)

    def relink(self, place: Place, parent: str | None, *, base: bool) -> Statement:
        """Give a checkpoint another parent, and mark it if it is only a base from now on."""
        named = dict(zip(("thread", "namespace", "id"), place, strict=True))
        return _RELINK, {**named, "parent": parent, "base": base, "mark": _MARK}

    def delete_writes(self, place: Place, *, but: str = "", of: str = "") -> Statement:
        """Delete what was written to a checkpoint."""
        which = "task_id = ?" if of else "task_id <> ?"
        return f"DELETE FROM writes WHERE {_PLACE} AND {which}", (*place, of or but)

    def delete(self, thread: str, namespace: str, ids: Sequence[str]) -> Iterable[Statement]:
        """Delete checkpoints, and what was written to them."""
        which = (thread, namespace, json.dumps(list(ids)))
        return [(_DELETE.format(table=table), which) for table in ("checkpoints", "writes")]

    def tidy(self, thread: str) -> Iterable[Statement]:
        """Do nothing: a checkpoint has all its values in its row."""
        return ()


def _pair(key: str, value: object) -> str:
    """Return how a pair stands in the JSON of metadata: ids have nothing to escape."""
    return f'"{key}": "{value}"'
