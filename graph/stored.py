"""What a stored visit began with.

The checkpoints of a graph that visits a parent hold what it wrote itself. To show or to edit them
from outside, what it began with is read from the checkpoint of the parent that it was started from.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, PendingWrite

from langgraph_filesystem.parent import SEEN
from langgraph_filesystem.state.channels import FilesChannel, MessagesChannel, SeenChannel
from langgraph_filesystem.state.io import Io
from langgraph_filesystem.state.langgraph_internals import is_external_write, nesting_depth
from langgraph_filesystem.state.seeded import rebuilt, seeded

__all__ = ("marked", "stored_seeds")

_MARK = "filesystem_visit"
"""In the metadata of the checkpoints of a visit: how deep it is nested. A graph inside inherits
the mark and is deeper than that."""
_KINDS: Mapping[str, type[Any]] = {
    "messages": MessagesChannel,
    "files": FilesChannel,
    "seen": SeenChannel,
    SEEN: SeenChannel,
}


def marked(config: RunnableConfig) -> RunnableConfig:
    """Return the configuration of a run whose checkpoints say that they are of a visit."""
    mark = {_MARK: nesting_depth((config.get("configurable") or {}).get("checkpoint_ns", ""))}
    return {**config, "metadata": {**(config.get("metadata") or {}), **mark}}


async def stored_seeds(io: Io, saver: Any, config: RunnableConfig) -> dict[str, Any]:
    """Return what the visit with this checkpoint began with; nothing if it is no visit."""
    found = await io.call(saver, "get_tuple", config)
    return await _seeds(io, saver, found) if found else {}


async def _seeds(io: Io, saver: Any, found: CheckpointTuple) -> dict[str, Any]:
    place = found.config["configurable"]
    metadata: Mapping[str, Any] = found.metadata
    parents = metadata.get("parents") or {}
    if metadata.get(_MARK) != nesting_depth(place["checkpoint_ns"]) or not parents:
        return {}
    above = max(parents, key=len)
    configurable = {**place, "checkpoint_ns": above, "checkpoint_id": parents[above]}
    parent = await io.call(saver, "get_tuple", {"configurable": configurable})
    return await _values(io, saver, parent) if parent else {}


async def _values(io: Io, saver: Any, found: CheckpointTuple) -> dict[str, Any]:
    """Return what the channels of a parent held, whatever of it is stored as changes."""
    stored: Mapping[str, Any] = found.checkpoint["channel_values"]
    versions = found.checkpoint["channel_versions"]
    changes = [key for key in _KINDS if key in versions and key not in stored]
    history: Mapping[str, Any] = {}
    if changes:
        options = {"config": found.config, "channels": changes}
        history = await io.call(saver, "get_delta_channel_history", **options)
    seeds = await _seeds(io, saver, found)
    # A parent that is a visit itself stores what was written to its other channels, not values.
    values = {} if seeds else {k: v for k, v in stored.items() if k not in _KINDS}
    for key, kind in _KINDS.items():
        channel = seeded(key, kind(), seeds[key]) if key in seeds else seeded(key, kind())
        writes = [*history.get(key, {}).get("writes", ()), *_given_later(found, key)]
        values[key] = rebuilt(channel, {**history.get(key, {}), **_seed_of(stored, key)}, writes)
    values["seen"] = values["seen"] or values[SEEN]
    return values


def _seed_of(stored: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {"seed": stored[key]} if key in stored else {}


def _given_later(found: CheckpointTuple, key: str) -> list[PendingWrite]:
    """Return what was written to a checkpoint from outside, with the answer to an interrupt."""
    return [w for w in found.pending_writes or () if is_external_write(w[0]) and w[1] == key]
