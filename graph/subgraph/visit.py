"""One visit, a run of a graph as a node of its parent: what it is given, and what it returns.

The values of channels with a reducer are not passed as input, where they would be stored again.
Instead the channel of the visiting graph starts with the value (its seed), and the writes to the
channel are returned to the parent.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.channels.base import BaseChannel
from langgraph.types import Command, Overwrite

from langgraph_filesystem.state.channels import merge_seen
from langgraph_filesystem.state.entries import changed_entries, merge_overlay
from langgraph_filesystem.state.files import merge_files
from langgraph_filesystem.state.langgraph_internals import (
    command_writes,
    is_entrypoint,
    reducer_of,
    running_channels,
)
from langgraph_filesystem.state.messages import merge_messages
from langgraph_filesystem.subgraph.changes import (
    SEEN,
    ChangedFiles,
    changed_messages,
    changed_seen,
    differences,
    merge_changed,
    whole_files,
    with_given,
)
from langgraph_filesystem.subgraph.seeds import RecordedChannel

__all__ = ("Parent", "Visit")

_OURS = frozenset(
    {"messages", "files", "overlay", "overlay_scratch", "seen", "routes", "decisions", SEEN}
)
_BY_VALUE = ("messages", "files")
"""Channels that are stored if they are given as input, so that people see them at an interrupt."""


class Visit:
    """The input of one visit, and its result."""

    def __init__(
        self,
        parent: "Parent",
        given: Mapping[str, Any],
        *,
        seeded: Collection[str],
        inputs: Collection[str],
    ) -> None:
        parent.check(given, needs_overlay="overlay" in seeded)
        self.values: dict[str, Any] = {}
        """The latest values of the channels of the visiting graph, interrupts included."""
        self.live: dict[str, RecordedChannel] = {}
        """Its channels with a reducer that is not ours."""
        self._parent = parent
        self._own = {k: _normal(k, v) for k, v in given.items() if not self._is_parents(k, v)}
        self.seeds = dict(self._seeds(seeded))
        self.input = dict(self._inputs(seeded, inputs))

    def update(self) -> Any:
        """Return what the visit changed, as an update of the parent."""
        writes = list(self._writes())
        # A mapping can't have several writes to one key.
        return dict(writes) if len(dict(writes)) == len(writes) else Command(update=writes)

    def followed_by(self, command: Command[Any]) -> Command[Any]:
        """Return the command that ended the visit, with the changes before it."""
        return replace(command, update=[*self._writes(), *command_writes(command)])

    def _is_parents(self, key: str, value: Any) -> bool:
        """Say whether a value comes from the parent's state, as in the input of each node."""
        return key == SEEN or (self._parent.holds(key) and self._parent.get(key) is value)

    def _source(self, key: str) -> str:
        return self._parent.seen if key == "seen" else key

    def _seeds(self, seeded: Collection[str]) -> Iterator[tuple[str, Any]]:
        for key in seeded:
            if key in self._own and key not in _BY_VALUE:
                yield key, self._own[key]
            elif self._parent.holds(self._source(key)):
                value = self._parent.get(self._source(key))
                known = key != "files" or self._parent.takes_edits
                yield key, value if known else _normal(key, value)

    def _inputs(
        self, seeded: Collection[str], inputs: Collection[str]
    ) -> Iterator[tuple[str, Any]]:
        for key in inputs:
            if key in seeded and key in _BY_VALUE and key in self._own:
                # It replaces the seed of the channel.
                yield key, Overwrite(self._own[key])
            elif key not in seeded and key in self._own:
                yield key, self._own[key]
            elif key not in seeded and self._parent.holds(key):
                yield key, self._parent.get(key)

    def _initial(self, key: str, empty: Any) -> Any:
        return self._own.get(key, self.seeds.get(key, empty))

    def _writes(self) -> Iterator[tuple[str, Any]]:
        """Yield all changes; the parent ignores keys that it does not have."""
        yield from self._messages()
        if files := self.files():
            yield "files", files
        if entries := self.overlay():
            yield "overlay", entries
        if self._parent.has(self._parent.seen) and (seen := self._seen()):
            yield self._parent.seen, seen
        for key in [key for key in self.values if key not in _OURS]:
            yield from self._others(key)

    def _messages(self) -> Iterator[tuple[str, Any]]:
        before, after = self._initial("messages", []), self.values.get("messages", [])
        if not self._parent.takes_moves:
            after = with_given(before, after)
        removed, messages = changed_messages(before, after)
        if removed and not self._parent.takes_moves:
            yield "messages", removed
            removed = []
        if removed or messages:
            yield "messages", [*removed, *messages]

    def files(self) -> dict[str, Any]:
        """Return what the visit changed in the files."""
        files = self.values.get("files", {})
        if isinstance(files, ChangedFiles) and "files" not in self._own:
            changes = files.changes
        else:
            changes = differences(self._initial("files", {}), files)
        if changes and not self._parent.takes_edits:
            changes = whole_files(changes, files)
            self._parent.check_reduced(changes)
        return changes

    def overlay(self) -> dict[str, Any]:
        """Return what the visit changed below overlay mounts."""
        return changed_entries(self._initial("overlay", {}), self.values.get("overlay", {}))

    def _seen(self) -> dict[str, str | None]:
        return changed_seen(self._initial("seen", {}), self.values.get("seen", {}))

    def _others(self, key: str) -> Iterator[tuple[str, Any]]:
        written = self.live[key].written() if key in self.live else None
        before = {**self.seeds, **self.input}
        if written and self._parent.reduces(key):
            yield from ((key, value) for value in written)
        elif written != [] and not (key in before and _is_same(self.values[key], before[key])):
            yield key, self.values[key]


def _normal(key: str, value: Any) -> Any:
    if key == "files":
        return merge_files({}, [value])
    return merge_messages([], [value]) if key == "messages" else value


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return bool(one == other)
    except ValueError:
        # Comparing arrays gives an array, which has no truth value.
        return False


class Parent:
    """The channels of the running graph, as they were when the current step began."""

    def __init__(self, config: RunnableConfig) -> None:
        running = running_channels(config) or {}
        # In the functional API the caller uses the returned value instead of channels.
        found = {} if is_entrypoint(running) else running
        self._channels = {k: v for k, v in found.items() if isinstance(v, BaseChannel)}
        self.seen = "seen" if self._reducer("seen") is merge_seen else SEEN

    def has(self, key: str) -> bool:
        """Say whether there is a channel of this name."""
        return key in self._channels

    def holds(self, key: str) -> bool:
        """Say whether a channel has a value."""
        return self.has(key) and self._channels[key].is_available()

    def get(self, key: str) -> Any:
        """Return the value of a channel."""
        return self._channels[key].get()

    def reduces(self, key: str) -> bool:
        """Say whether a channel has a reducer, so that changes can be written to it."""
        return self._reducer(key) is not None

    @property
    def takes_edits(self) -> bool:
        """Say whether `files` has our reducer, which understands edits."""
        return not self.has("files") or self._reducer("files") in (merge_files, merge_changed)

    @property
    def takes_moves(self) -> bool:
        """Say whether a message that is removed and added in one update goes to the end."""
        return self._reducer("messages") is merge_messages

    def check(self, given: Collection[str], *, needs_overlay: bool) -> None:
        """Raise if the result of the visit would be lost."""
        if not self._channels:
            return
        if needs_overlay and self.has("files") and self._reducer("overlay") is not merge_overlay:
            raise ValueError(
                "The agent has an overlay mount, and the graph that calls it has no channel for "
                "what the agent deletes there. Make the agent a node with `filesystem_node`, which "
                "adds the channel."
            )
        if not self.has("files") and "files" not in given:
            raise ValueError(
                "The parent graph has no key `files`, so files of the agent would be lost. Add "
                "`files: Annotated[dict[str, FileData], merge_files]` to its state, or extend "
                "FilesystemState. If you don't need the files, call `agent.invoke` in a node."
            )
        for key, reducer in (("files", "merge_files"), ("messages", "add_messages")):
            if self.has(key) and not self.reduces(key):
                raise ValueError(
                    f"The parent graph has no reducer for its key `{key}`: the result of the agent "
                    "would replace everything there. Declare it as "
                    f"`{key}: Annotated[..., {reducer}]`, or extend FilesystemState."
                )

    def check_reduced(self, changes: Mapping[str, Any]) -> None:
        """Raise if another reducer of `files` does not apply the changes."""
        channel: Any = self._channels["files"].copy()
        channel.value = dict(channel.get() or {}) if channel.is_available() else {}
        channel.update([changes])
        after = channel.get()
        for path, file in changes.items():
            if file is None and after.get(path) is not None:
                raise ValueError(
                    f"The agent deleted {path}, and the reducer of the parent's key `files` keeps "
                    "it. Use the reducer `merge_files`, which takes `None` for a deletion."
                )

    def _reducer(self, key: str) -> Any:
        return reducer_of(self._channels.get(key))
