"""Effects outside the state happen once, whatever is killed and run again.

LangGraph may run a node before the checkpoint that it runs from is stored. If the process dies
then, the thread goes on from an earlier one, and the same effect happens again under another key.
So before a call changes anything outside the state, its checkpoints must be in the saver; and the
backend gets a key, the same when the call is run again, under which it journals what it does.

A guarded graph stores each checkpoint before the next node runs (`sync` durability). The wait here
is for graphs without a guard, and for graphs inside them.
"""

import asyncio
import hashlib
import time
from typing import Any

from langchain_core.runnables import RunnableConfig

from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import call_either
from langgraph_filesystem.state.langgraph_internals import (
    checkpoints_of,
    durability_of,
    graph_namespace,
    has_interrupt,
    saver_of,
)

__all__ = ("NO_REPLY", "UNSAVED", "Once")

UNSAVED = "__langgraph_filesystem_unsaved"
"""Key of `configurable` that is set inside a graph which is compiled with `checkpointer=False`."""
NO_REPLY = "__langgraph_filesystem_no_reply"
"""Key of `configurable` that is set in a run that was not started with a reply to an interrupt."""
_BY_HAND = ("update", "fork")
"""Sources of checkpoints that no run has made on its way."""
_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.05
_PATIENCE = 30.0


class Once:
    """What a task must know to do a thing once: its checkpoints, and a key for each call."""

    def __init__(self, config: RunnableConfig, patience: float = _PATIENCE) -> None:
        configurable = config.get("configurable") or {}
        self._patience = patience
        self._saver: Any = None if configurable.get(UNSAVED) else saver_of(config)
        self._thread = configurable.get("thread_id")
        self._has_no_reply = bool(configurable.get(NO_REPLY))
        self._checkpoints = checkpoints_of(config)
        self._space = graph_namespace(config)
        durability = durability_of(config)
        # With `exit` the caller gives the thread up if the process dies. With `sync` the checkpoint
        # is stored before the node runs, but the parent of a graph may be `async` nevertheless.
        self._waits = durability == "async" or (durability == "sync" and self.is_nested)

    @property
    def is_nested(self) -> bool:
        """Say whether the graph runs within another one, where its like may run beside it."""
        return bool(self._space)

    def key(self, message: str, part: str) -> str | None:
        """Return the key of a part of a message, or `None` where no run can be resumed."""
        if self._saver is None:
            return None
        scope = _digest(f"{self._thread}|{self._space}")
        return f"{scope}.{_digest(message)}.{part}"

    async def ready(self) -> None:
        """Wait until the checkpoints that the task runs from are stored."""
        if self._saver is None or not self._waits:
            return
        for space, checkpoint in self._checkpoints.items():
            await self._stored(space, checkpoint)
        self._waits = False

    async def is_replied(self) -> bool:
        """Say whether a reply that an interrupt of this task returns was meant for it.

        After a crash, and in a graph inside another one that is continued without a reply,
        LangGraph delivers the reply to an earlier interrupt again. A reply that is new comes with
        its run, and after the interrupt was stored, unless somebody edited the state since.
        """
        if self._has_no_reply or self._saver is None or self._space not in self._checkpoints:
            return not self._has_no_reply
        stored = await self._load(self._space, self._checkpoints[self._space])
        if stored is None:
            return False
        return stored.metadata.get("source") in _BY_HAND or has_interrupt(stored)

    async def _load(self, space: str, checkpoint: str) -> Any:
        place = {"thread_id": self._thread, "checkpoint_ns": space, "checkpoint_id": checkpoint}
        saver, config = self._saver, {"configurable": place}
        return await call_either(saver.get_tuple, saver.aget_tuple, config)

    async def _stored(self, space: str, checkpoint: str) -> None:
        gives_up, pause = time.monotonic() + self._patience, _FIRST_PAUSE
        while await self._load(space, checkpoint) is None:
            if time.monotonic() > gives_up:
                raise FilesystemError(
                    "Nothing was changed: the checkpoint of this step was not stored within "
                    f"{self._patience:g} s. Repeat the call, or report that checkpoints can't be "
                    "stored."
                )
            await call_either(time.sleep, _sleep, pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
