"""Effects outside the state happen once, whatever is killed and run again.

LangGraph may run a node before the checkpoint that it runs from is stored. If the process dies
then, the thread goes on from an earlier one and the same effect comes again under another name. So
before a call changes anything outside the state, its checkpoints must be in the saver; and its
backend gets a key, the same when the call is run again, under which it notes what it begins.
"""

import asyncio
import hashlib
import time
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from langgraph_filesystem.state.io import call_either
from langgraph_filesystem.state.langgraph_internals import durability_of, saver_of

__all__ = ("Once",)

_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.05
_PATIENCE = 30.0
"""Seconds for a checkpoint to be stored; a saver that takes longer has failed, and says so."""
_PATIENCE_WITH_NONE = 0.5
"""Seconds after which a graph of which nothing is stored counts as one that stores nothing."""


class Once:
    """What a task must know to do a thing once: its checkpoints, and a key for each call."""

    def __init__(self, config: RunnableConfig) -> None:
        configurable = config.get("configurable") or {}
        self._saver = saver_of(config)
        self._thread = configurable.get("thread_id")
        self._checkpoints: Mapping[str, str] = configurable.get("checkpoint_map") or {}
        self._space = str(configurable.get("checkpoint_ns") or "").rpartition("|")[0]
        # Then the caller gives the thread up if the process dies: there is nothing to wait for.
        self._waits = durability_of(config) != "exit"

    @property
    def is_nested(self) -> bool:
        """Say whether the graph runs within another one, where its like may run beside it."""
        return bool(self._space)

    def key(self, message: str, part: str) -> str | None:
        """Return the key of a part of a message, or `None` where no run can be taken up again."""
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

    async def _stored(self, space: str, checkpoint: str) -> None:
        place = {"thread_id": self._thread, "checkpoint_ns": space}
        began, pause = time.monotonic(), _FIRST_PAUSE
        while not await self._has({**place, "checkpoint_id": checkpoint}):
            waited = time.monotonic() - began
            if waited > _PATIENCE:
                raise TimeoutError("the checkpoint of this step could not be stored")
            if waited > _PATIENCE_WITH_NONE and not await self._has(place):
                return
            await call_either(time.sleep, asyncio.sleep, pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _has(self, place: dict[str, Any]) -> bool:
        found = await call_either(
            self._saver.get_tuple, self._saver.aget_tuple, {"configurable": place}
        )
        return found is not None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
