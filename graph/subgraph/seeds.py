"""Channels that start with a value of another graph, the seed, and don't store it.

A graph that runs as a node of another one gets the values of its parent when it starts, and again
when it resumes after an interrupt or a crash. So its own checkpoints hold only what it wrote
itself.
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
    OverlayChannel,
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
    "VisitorsSeen",
    "can_be_seeded",
    "marked",
    "rebuilt",
    "seeded",
    "stored_seeds",
)

_MARK = "filesystem_visit"
"""The metadata key for the nesting depth of a visit. A graph inside of the visit inherits the value
but is nested deeper, so the two can be told apart."""
_KINDS: Mapping[str, type[Any]] = {
    "messages": MessagesChannel,
    "files": FilesChannel,
    "overlay": OverlayChannel,
    "seen": SeenChannel,
    SEEN: SeenChannel,
}


class SeededChannel(StateChannel):
    """A channel that stores the changes of a seed."""

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
    """The `seen` of subgraphs, in a parent without that channel; unavailable while it is empty."""

    __slots__ = ()

    def get(self) -> Any:
        if not self.is_available():
            raise EmptyChannelError
        return super().get()

    def is_available(self) -> bool:
        return super().is_available() and bool(self.value)


class SeededFiles(FilesChannel):
    """Files that start with a seed, and know what was changed."""

    __slots__ = ("seed",)

    seed: Files

    def from_checkpoint(self, checkpoint: Any) -> Self:
        new = super().from_checkpoint(checkpoint)
        # A snapshot has all files, so that it can be read without the seed.
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
    """A channel with a reducer that is not ours, which records what was written to it."""

    __slots__ = ("live", "seed", "steps")

    seed: Any
    steps: list[list[Any]]
    """The writes of each superstep, which are stored instead of the value."""
    live: dict[str, "RecordedChannel"]
    """The channels of the run, by name."""

    def written(self) -> list[Any]:
        """Return the writes, which have the same effect on another value."""
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
            # A reducer may change the value in place, and this one belongs to the parent.
            new.value = copy(value)
        return new


def can_be_seeded(channel: Any) -> bool:
    """Say whether writes to a channel can be told apart from its seed."""
    return isinstance(channel, StateChannel | BinaryOperatorAggregate)


def seeded(
    key: str, channel: Any, seed: Any = MISSING, live: dict[str, RecordedChannel] | None = None
) -> Any:
    """Return a channel of the same kind that starts with a seed, or empty without one."""
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
    """Return the value of a channel, rebuilt from its history in a saver."""
    loaded = channel.from_checkpoint(history.get("seed", MISSING))
    loaded.replay_writes(writes)
    return loaded.get()


# Seeds of a stored visit: read from the checkpoint of the parent that the visit started from.


def marked(config: RunnableConfig) -> RunnableConfig:
    """Return a config that marks the checkpoints of a run as those of a visit."""
    mark = {_MARK: nesting_depth((config.get("configurable") or {}).get("checkpoint_ns", ""))}
    return {**config, "metadata": {**(config.get("metadata") or {}), **mark}}


async def stored_seeds(saver: Any, config: RunnableConfig) -> dict[str, Any]:
    """Return the seeds of the visit with this checkpoint; nothing if it is not a visit."""
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
    """Return the values of the channels of a parent, rebuilt where only changes are stored."""
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
    # A parent that is a visit itself stores the writes to its other channels, not their values.
    values = {} if seeds else {k: v for k, v in stored.items() if k not in _KINDS}
    for key, kind in _KINDS.items():
        channel = seeded(key, kind(), seeds[key]) if key in seeds else seeded(key, kind())
        writes = [*history.get(key, {}).get("writes", ()), *_external_writes(found, key)]
        values[key] = rebuilt(channel, {**history.get(key, {}), **_seed_of(stored, key)}, writes)
    values["seen"] = values["seen"] or values[SEEN]
    return values


def _seed_of(stored: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {"seed": stored[key]} if key in stored else {}


def _external_writes(found: CheckpointTuple, key: str) -> list[PendingWrite]:
    """Return what was written to a checkpoint from outside, with the resume of an interrupt."""
    return [w for w in found.pending_writes or () if is_external_write(w[0]) and w[1] == key]
