"""Channels that store what changed instead of everything, in one place.

`DeltaChannel` is beta in LangGraph: whatever of it changes, changes here.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.channels import DeltaChannel
from langgraph.types import Overwrite

from langgraph_filesystem.state.entries import merge_overlay
from langgraph_filesystem.state.errors import InvalidFiles
from langgraph_filesystem.state.files import merge_files
from langgraph_filesystem.state.langgraph_internals import bare_copy, overwrite_of
from langgraph_filesystem.state.messages import merge_messages

__all__ = (
    "FilesChannel",
    "MessagesChannel",
    "OverlayChannel",
    "SeenChannel",
    "StateChannel",
    "check_files",
    "check_write",
    "latest",
    "merge_seen",
)

_SNAPSHOT_EVERY = 10
"""Updates between two snapshots of a small channel."""
_SHARE = 256
"""Characters of a channel for each update that may pass before its next snapshot, so that snapshots
add about as many to each update."""
_FILES_SHARE = 1_536
"""The same for files: replaying the edits of a large file costs more than reading it.

With a file of 1 MB and 1,000 edits on SQLite, one a turn, an edit costs 13 kB, snapshots included.
With 3,072 it was 14 kB, and half as many edits were replayed."""
_REPLAYED = 2_000_000_000
"""Characters that may be replayed to load a channel. Each edit copies its file: measured, 1,000
edits of a 1 MB file take 0.5 s to replay. Beyond about 1 MB this makes snapshots come sooner, and
an edit dearer, so that no thread takes seconds to load."""

_UNWEIGHED = 8
"""Updates that are kept until their weight is asked for."""


class StateChannel(DeltaChannel[Any]):
    """A delta channel that keeps its declared type, and whose snapshots are spaced by its size.

    The reducers here never change a value in place, so a copy of the channel may share it.
    """

    __slots__ = ("_frequency", "_unweighed", "_weighed", "_weight", "declared")

    _share = _SHARE
    _replayed = sys.maxsize
    """How much may be replayed where an update costs as much as the whole value."""

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any],
        typ: Any = None,
        *,
        snapshot_frequency: int = _SNAPSHOT_EVERY,
    ) -> None:
        self.declared = typ
        self._weight = self._weighed = 0
        self._unweighed: tuple[Any, ...] = ()
        super().__init__(reducer, typ, snapshot_frequency=snapshot_frequency)

    @property
    def weight(self) -> int:
        """Return about how many characters the value holds, at most twice as many.

        To weigh the value at each update would cost a pass over all files; never to weigh it would
        let a file that is written over and over again put off the next snapshot for ever.
        """
        if self._unweighed:
            self._weight += _weigh(self._unweighed)
            self._unweighed = ()
            if self._weight > 2 * self._weighed:
                self._weight = self._weighed = _weigh(self.value)
        return self._weight

    @property
    def snapshot_frequency(self) -> int:
        """Return how many updates may pass until the next snapshot."""
        weight = self.weight
        return max(self._frequency, min(weight // self._share, self._replayed // max(1, weight)))

    @snapshot_frequency.setter
    def snapshot_frequency(self, frequency: int) -> None:
        self._frequency = frequency

    @property
    def ValueType(self) -> Any:
        """Return the declared type: the server builds the state's JSON schema from it."""
        return self.declared

    @property
    def UpdateType(self) -> Any:
        """Return the declared type: the server builds the input's JSON schema from it."""
        return self.declared

    def copy(self) -> Self:
        new = bare_copy(self)
        new.declared, new._frequency = self.declared, self._frequency
        new._unweighed = self._unweighed
        new._weight, new._weighed = self._weight, self._weighed
        return new

    def from_checkpoint(self, checkpoint: Any) -> Self:
        loaded = super().from_checkpoint(checkpoint)
        new = self._empty()
        new.value = loaded.value
        new._weight = new._weighed = _weigh(loaded.value)
        return new

    def replay_writes(self, writes: Sequence[Any]) -> None:
        reduced = [(task, key, self._reduced(value)) for task, key, value in writes]
        super().replay_writes(reduced)
        self._grow([value for _, _, value in reduced])

    def update(self, values: Sequence[Any]) -> bool:
        # LangGraph asks every channel at every step, most of them with nothing.
        if not values:
            return False
        reduced = [self._reduced(value) for value in values]
        changed = super().update(reduced)
        self._grow(reduced)
        return changed

    def _reduced(self, value: Any) -> Any:
        """LangGraph takes the value of an `Overwrite` as it is: here it is reduced too."""
        is_overwrite, new = overwrite_of(value)
        if not is_overwrite:
            return value
        return Overwrite(self.reducer(self.typ(), [] if new is None else [new]))

    def _grow(self, written: Sequence[Any]) -> None:
        """Remember what was written, until somebody asks what it weighs.

        Nobody does where there is no saver, or in the copies for conditional edges.
        """
        self._unweighed = (*self._unweighed, *written)
        if len(self._unweighed) > _UNWEIGHED:
            _ = self.weight  # these may be old contents of files, that nobody else keeps

    def _empty(self) -> Self:
        new = self.__class__(self.reducer, self.declared, snapshot_frequency=self._frequency)
        new.key = self.key
        return new


class CheckedChannel(StateChannel):
    """A channel that refuses invalid values when they are written."""

    __slots__ = ()

    _check: Callable[[Any, Sequence[Any]], Any]

    def replay_writes(self, writes: Sequence[Any]) -> None:
        # `update_state` stores a write before it applies it, so one that was refused may lie in
        # the database: it was refused then, and must not make the thread unreadable now.
        good = [(task, key, value) for task, key, value in writes if self._is_valid(value)]
        super().replay_writes(good)

    def _is_valid(self, value: Any) -> bool:
        is_overwrite, new = overwrite_of(value)
        try:
            type(self)._check({}, [new if is_overwrite else value])
        except InvalidFiles:
            return False
        return True


class FilesChannel(CheckedChannel):
    """The files of a thread. What is not files is refused when it is written."""

    __slots__ = ()

    _share = _FILES_SHARE
    _replayed = _REPLAYED
    _check = staticmethod(merge_files)

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any] = merge_files,
        typ: Any = None,
        *,
        snapshot_frequency: int = _SNAPSHOT_EVERY,
    ) -> None:
        super().__init__(reducer, typ or dict, snapshot_frequency=snapshot_frequency)


class MessagesChannel(StateChannel):
    """The conversation of a thread."""

    __slots__ = ()

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any] = merge_messages,
        typ: Any = None,
        *,
        snapshot_frequency: int = _SNAPSHOT_EVERY,
    ) -> None:
        super().__init__(reducer, typ or list, snapshot_frequency=snapshot_frequency)


def merge_seen(left: dict[str, str], writes: Sequence[dict[str, str | None]]) -> dict[str, str]:
    """Set or, with `None`, forget the digests of paths; the same law as `merge_files`."""
    seen: dict[str, str | None] = dict(left)
    for write in writes:
        seen.update(write)
    return {path: digest for path, digest in seen.items() if digest is not None}


class SeenChannel(StateChannel):
    """What the agent knows of each file."""

    __slots__ = ()

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any] = merge_seen,
        typ: Any = None,
        *,
        snapshot_frequency: int = _SNAPSHOT_EVERY,
    ) -> None:
        super().__init__(reducer, typ or dict, snapshot_frequency=snapshot_frequency)


class OverlayChannel(CheckedChannel):
    """What a thread changed in the trees below its overlay mounts."""

    __slots__ = ()

    _check = staticmethod(merge_overlay)

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any] = merge_overlay,
        typ: Any = None,
        *,
        snapshot_frequency: int = _SNAPSHOT_EVERY,
    ) -> None:
        super().__init__(reducer, typ or dict, snapshot_frequency=snapshot_frequency)


def latest(left: Any, writes: Sequence[Any]) -> Any:
    """Keep what was written last, for a channel that one node writes as a whole."""
    return writes[-1] if writes else left


def check_write(channel: str, value: Any) -> None:
    """Raise what a channel raises for a value that it refuses."""
    if channel in _CHANNELS:
        _CHANNELS[channel]().update([value])


def check_files(value: Any) -> None:
    """Raise `InvalidFiles` for a value that the `files` channel would refuse."""
    is_overwrite, new = overwrite_of(value)
    merge_files({}, [new if is_overwrite else value])


_CHANNELS: dict[str, Callable[[], StateChannel]] = {
    "files": FilesChannel,
    "messages": MessagesChannel,
    "seen": SeenChannel,
}


def _weigh(value: Any) -> int:
    """Return about how many characters a value holds."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_weigh, value.values()))
    if isinstance(value, (list, tuple)):  # a union would be made anew each time
        return sum(map(_weigh, value))
    if isinstance(value, BaseMessage):
        calls = value.tool_calls if isinstance(value, AIMessage) else ()
        return _weigh(value.content) + _weigh(calls)
    return _weigh(value.value) if isinstance(value, Overwrite) else 0
