"""The graph that a subgraph works for: what it holds, and what it can be handed."""

from collections.abc import Collection, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.channels.base import BaseChannel

from langgraph_filesystem.state.changes import merge_changed
from langgraph_filesystem.state.channels import merge_seen
from langgraph_filesystem.state.files import merge_files
from langgraph_filesystem.state.langgraph_internals import (
    is_entrypoint,
    reducer_of,
    running_channels,
)
from langgraph_filesystem.state.messages import merge_messages

__all__ = ("SEEN", "Parent")

SEEN = "filesystem_seen"
"""Where a parent that has no `seen` like ours keeps what its subgraphs know of files."""


class Parent:
    """The channels of the running graph, as they were when the current step began."""

    def __init__(self, config: RunnableConfig) -> None:
        running = running_channels(config) or {}
        # In the functional API the caller takes what a call returns.
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
        """Say whether a channel takes what changed, and not only whole values."""
        return self._reducer(key) is not None

    @property
    def takes_edits(self) -> bool:
        """Say whether `files` has our reducer: another one would take an edit for a file."""
        return not self._channels or self._reducer("files") in (merge_files, merge_changed)

    @property
    def takes_moves(self) -> bool:
        """Say whether a message that is removed and added in one update goes to the end."""
        return self._reducer("messages") is merge_messages

    def check(self, given: Collection[str]) -> None:
        """Raise where what a subgraph hands back would be lost."""
        if not self._channels:
            return
        if not self.has("files") and "files" not in given:
            raise ValueError(
                "The parent graph has no key `files`: what the agent writes would be lost. Add "
                "`files: Annotated[dict[str, FileData], merge_files]` to its state, or extend "
                "FilesystemState. For files that end with the visit, call `agent.invoke` in a "
                "node of yours."
            )
        for key, reducer in (("files", "merge_files"), ("messages", "add_messages")):
            if self.has(key) and not self.reduces(key):
                raise ValueError(
                    f"The parent graph has no reducer for its key `{key}`: what the agent hands "
                    "back would replace all that is there. Declare it as "
                    f"`{key}: Annotated[..., {reducer}]`, or extend FilesystemState."
                )

    def check_reduced(self, changes: Mapping[str, Any]) -> None:
        """Raise if somebody else's reducer of `files` does not do what the changes ask for."""
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
