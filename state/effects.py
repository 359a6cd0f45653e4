"""Changes under the key of the call that makes them, so that one made again is recognised."""

from typing import Any

from langgraph_filesystem.state.backends.protocol import Outcome
from langgraph_filesystem.state.backends.state import BoundStateBackend
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import Io
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.view import View

__all__ = ("Effects",)


class Effects:
    """What calls change: in the state by an update, elsewhere at once and once."""

    def __init__(self, view: View, io: Io, key: str | None = None) -> None:
        self.key = key
        self.copied: str | None = None
        """How many files a move has copied in an earlier step: `""` for none yet, `None` if it is
        to be done in one step because nobody would call it again."""
        self._view = view
        self._io = io

    async def ready(self) -> None:
        """Wait until something outside the state may be changed."""

    async def change(
        self, mount: Mount, path: str, method: str, *args: Any, part: str = "", **options: Any
    ) -> Any:
        """Call a method that changes something; `part` tells several effects of a call apart."""
        if not self.is_in_state(mount, path):
            await self.ready()
            options["once"] = self._key(part)
        return await self._view.call(mount, path, method, *args, **options)

    async def outcome(self, mount: Mount, path: str, part: str = "") -> Outcome | None:
        """Return what is known of this call from before a crash.

        What was half done, or done and changed by others since, is an error for the model to see.
        """
        backend = self._view.backend_for(mount, path)
        key = self._key(part)
        if key is None or self.is_in_state(mount, path) or not hasattr(backend, "recall"):
            return None
        await self.ready()
        outcome: Outcome | None = await self._io.call(backend, "recall", key)
        if outcome is not None and not outcome.finished:
            raise FilesystemError(
                f"{path}: this call was interrupted and may have been carried out already; "
                "something else is there now. Nothing was changed again. Look at it first."
            )
        return outcome

    def is_in_state(self, mount: Mount, path: str) -> bool:
        """Say whether what has a path keeps its files in the state."""
        return isinstance(self._view.backend_for(mount, path), BoundStateBackend)

    def _key(self, part: str) -> str | None:
        return None if self.key is None else f"{self.key}{part}"
