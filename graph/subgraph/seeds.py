"""Channels that begin with what another graph holds, and store none of it.

A graph that works as a node of another one is handed the values of its parent when it begins and
again when it goes on after an interrupt or a crash. So its own checkpoints hold only what it wrote
itself, and what it hands back is that.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.channels import BinaryOperatorAggregate
from langgraph.checkpoint.base import CheckpointTuple, PendingWrite
from langgraph.errors import EmptyChannelError
from langgraph.graph import add_messages
from langgraph.types import Overwrite

from langgraph_filesystem.state.channels import (
    FilesChannel,
    MessagesChannel,
    SeenChannel,
    StateChannel,
)
from langgraph_filesystem.state.files import Files, merge_files
from langgraph_filesystem.state.io import call_either
from langgraph_filesystem.state.langgraph_internals import (
    MISSING,
    is_external_write,
    nesting_depth,
    overwrite_of,
    reducer_of,
)
from langgraph_filesystem.state.messages import merge_messages
from langgraph_filesystem.subgraph.changes import SEEN, changed_files, merge_changed

__all__ = (
    "RecordedChannel",
    "SeededChannel",
    "SeededFiles",
    "VisitorsSeen",
    "can_be_seeded",
    "marked",
    "rebuilt",
    "seeded",
    "stored_seeds",
)

_MARK = "filesystem_visit"
"""In the metadata of the checkpoints of a visit: how deep it is nested. A graph inside inherits
the mark and is deeper than that."""
_KINDS: Mapping[str, type[Any]] = {
    "messages": MessagesChannel,
    "files": FilesChannel,
    "seen": SeenChannel,
    SEEN: SeenChannel,
}


class SeededChannel(StateChannel):
    """A channel of changes on top of a value that is given."""

    __slots__ = ("seed",)

    seed: Any

    def from_checkpoint(self, checkpoint: Any) -> Self:
        new = super().from_checkpoint(checkpoint)
        if checkpoint is MISSING:
            new.value = self.seed
            new._grow([self.seed])
        return new

    def _empty(self) -> Self:
        new = super()._empty()
        new.seed = self.seed
        return new


class VisitorsSeen(SeenChannel):
    """What the subgraphs of a graph know of its files; not there until they know something."""

    __slots__ = ()

    def get(self) -> Any:
        if not self.is_available():
            raise EmptyChannelError
        return super().get()

    def is_available(self) -> bool:
        return super().is_available() and bool(self.value)


class SeededFiles(FilesChannel):
    """Files on top of those that are given, which know what was changed."""

    __slots__ = ("seed",)

    seed: Files

    def from_checkpoint(self, checkpoint: Any) -> Self:
        new = super().from_checkpoint(checkpoint)
        # A snapshot holds all files, so that it can be read without those that were given.
        whole = self.seed if checkpoint is MISSING else new.value
        new.value = changed_files(self.seed, whole)
        new._grow([new.value])
        return new

    def _reduced(self, value: Any) -> Any:
        is_overwrite, new = overwrite_of(value)
        if not is_overwrite:
            return value
        files = merge_files({}, [] if new is None else [new])
        return Overwrite(changed_files(self.seed, files))

    def _empty(self) -> Self:
        new = super()._empty()
        new.seed = self.seed
        return new


class RecordedChannel(BinaryOperatorAggregate[Any]):
    """A channel with a reducer of somebody else's, which knows what was written to it."""

    __slots__ = ("live", "seed", "steps")

    seed: Any
    steps: list[list[Any]]
    """What was written, in the steps in which it was: it is stored instead of the value."""
    live: dict[str, "RecordedChannel"]
    """The channels that a run works on, by their names."""

    def written(self) -> list[Any]:
        """Return the updates that do to another value what was done to this one."""
        values = [value for step in self.steps for value in step]
        if any(overwrite_of(value)[0] for value in values):
            return [Overwrite(self.value)]
        return values

    def from_checkpoint(self, checkpoint: Any) -> Self:
        new = self._with(self.seed, [])
        for step in [] if checkpoint is MISSING else checkpoint:
            new.update(step)
        self.live[self.key] = new
        return new

    def update(self, values: Sequence[Any]) -> bool:
        if values:
            self.steps = [*self.steps, list(values)]
        return super().update(values)

    def copy(self) -> Self:
        return self._with(self.value, self.steps)

    def checkpoint(self) -> Any:
        return self.steps

    def _with(self, value: Any, steps: list[list[Any]]) -> Self:
        new = super().copy()
        new.seed, new.live, new.steps = self.seed, self.live, steps
        if value is not MISSING:
            # A reducer may change its value in place, and this one is the parent's.
            new.value = copy(value)
        return new


def can_be_seeded(channel: Any) -> bool:
    """Say whether what is written to a channel can be told from what it began with."""
    return isinstance(channel, StateChannel | BinaryOperatorAggregate)


def seeded(
    key: str, channel: Any, seed: Any = MISSING, live: dict[str, RecordedChannel] | None = None
) -> Any:
    """Return a channel like this one that begins with a seed, or else with nothing."""
    if key == "files":
        files = SeededFiles(merge_changed, channel.ValueType)
        files.key, files.seed = key, {} if seed is MISSING else seed
        return files
    reducer = reducer_of(channel)
    if isinstance(channel, StateChannel) or reducer is add_messages:
        reducer = merge_messages if reducer is add_messages else reducer
        like = SeededChannel(reducer, channel.ValueType)
        like.key, like.seed = key, like.typ() if seed is MISSING else seed
        return like
    recorded = RecordedChannel(channel.typ, reducer)
    recorded.key, recorded.seed, recorded.steps = key, seed, []
    recorded.live = {} if live is None else live
    return recorded


def rebuilt(channel: StateChannel, history: Mapping[str, Any], writes: Sequence[Any]) -> Any:
    """Return the value of a channel from what a saver has of it."""
    loaded = channel.from_checkpoint(history.get("seed", MISSING))
    loaded.replay_writes(writes)
    return loaded.get()


# Seeds of a visit that is stored: read from the checkpoint of the parent that it started from.


def marked(config: RunnableConfig) -> RunnableConfig:
    """Return the configuration of a run whose checkpoints say that they are of a visit."""
    mark = {_MARK: nesting_depth((config.get("configurable") or {}).get("checkpoint_ns", ""))}
    return {**config, "metadata": {**(config.get("metadata") or {}), **mark}}


async def stored_seeds(saver: Any, config: RunnableConfig) -> dict[str, Any]:
    """Return what the visit with this checkpoint began with; nothing if it is no visit."""
    found = await call_either(saver.get_tuple, saver.aget_tuple, config)
    return await _seeds(saver, found) if found else {}


async def _seeds(saver: Any, found: CheckpointTuple) -> dict[str, Any]:
    place = found.config["configurable"]
    metadata: Mapping[str, Any] = found.metadata
    parents = metadata.get("parents") or {}
    if metadata.get(_MARK) != nesting_depth(place["checkpoint_ns"]) or not parents:
        return {}
    above = max(parents, key=len)
    configurable = {**place, "checkpoint_ns": above, "checkpoint_id": parents[above]}
    parent = await call_either(saver.get_tuple, saver.aget_tuple, {"configurable": configurable})
    return await _values(saver, parent) if parent else {}


async def _values(saver: Any, found: CheckpointTuple) -> dict[str, Any]:
    """Return what the channels of a parent held, whatever of it is stored as changes."""
    stored: Mapping[str, Any] = found.checkpoint["channel_values"]
    versions = found.checkpoint["channel_versions"]
    changes = [key for key in _KINDS if key in versions and key not in stored]
    history: Mapping[str, Any] = {}
    if changes:
        history = await call_either(
            saver.get_delta_channel_history,
            saver.aget_delta_channel_history,
            config=found.config,
            channels=changes,
        )
    seeds = await _seeds(saver, found)
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
