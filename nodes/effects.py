"""What an operation changes: in the state by an update, elsewhere at once and once."""

from typing import Any

from langgraph_filesystem.nodes.failures import attempted
from langgraph_filesystem.nodes.node import Io, takes
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.nodes.view import View
from langgraph_filesystem.state.backends.protocol import ExecuteResponse, Outcome
from langgraph_filesystem.state.backends.state import BoundStateBackend
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.files import file_bytes
from langgraph_filesystem.state.mounts import Mount

__all__ = ("Effects",)

_MARKS = "/tmp/langgraph-filesystem"
"""Where it is marked which commands began, in a sandbox that keeps no journal itself."""


class Effects:
    """The changes of one task. `key` names the call that makes them."""

    key: str | None = None

    def __init__(self, view: View, io: Io, once: Once) -> None:
        self._view = view
        self._io = io
        self._once = once

    async def change(
        self, mount: Mount, path: str, method: str, *args: Any, part: str = "", **options: Any
    ) -> Any:
        """Call a method that changes something; `part` tells several effects of a call apart."""
        if not self._is_in_state(mount, path):
            await self._once.ready()
            options["once"] = self._key(part)
        return await self._view.call(mount, path, method, *args, **options)

    async def outcome(self, mount: Mount, path: str, part: str = "") -> Outcome | None:
        """Return what is known of this call from before a crash.

        What was half done, or done and changed by others since, is an error for the model to see.
        """
        backend = self._view.backend_for(mount, path)
        key = self._key(part)
        if key is None or self._is_in_state(mount, path) or not hasattr(backend, "recall"):
            return None
        await self._once.ready()
        outcome: Outcome | None = await self._io.call(backend, "recall", key)
        if outcome is not None and not outcome.finished:
            raise FilesystemError(
                f"{path}: this call was interrupted and may have been carried out already; "
                "something else is there now. Nothing was changed again. Look at it first."
            )
        return outcome

    async def execute(self, backend: Any, command: str, **options: Any) -> ExecuteResponse:
        """Run a command that has not been begun before."""
        await self._once.ready()
        if self.key is not None:
            ended = await self._begun(backend)
            if ended is not None:
                return ended
        result: ExecuteResponse = await self._io.call(
            backend, "execute", command, once=self.key, **options
        )
        return result

    async def _begun(self, backend: Any) -> ExecuteResponse | None:
        """Return what the command of this call printed, if it was run; note that it begins now."""
        if hasattr(backend, "recall"):
            outcome: Outcome | None = await self._io.call(backend, "recall", self.key)
            if outcome is None:
                return None
            if outcome.response is not None:
                return outcome.response
        elif takes(backend.execute, "once") or not await self._was_marked(backend):
            return None
        raise FilesystemError(
            "This command was begun before the run was interrupted. It may have done its work, or "
            "a part of it, so it was not run again. Look at what it did, then decide."
        )

    async def _was_marked(self, backend: Any) -> bool:
        """Mark a command in a sandbox made by others; say whether it was marked before."""
        scope, _, name = str(self.key).partition(".")
        group = name.partition(".")[0] + "."
        path = f"{_MARKS}/{scope}"
        marks = [mark for mark in await self._marks(backend, path) if mark.startswith(group)]
        if name in marks:
            return True
        text = "".join(f"{mark}\n" for mark in [*marks, name])
        # A sandbox that takes no files can still run commands.
        await attempted(self._io.call(backend, "upload_files", [(path, text.encode())]), "mark")
        return False

    async def _marks(self, backend: Any, path: str) -> list[str]:
        read, _ = await attempted(self._io.call(backend, "read", path, 0, 1_000), "read")
        file = getattr(read, "file_data", None)
        return file_bytes(file).decode(errors="replace").split("\n") if file else []

    def _is_in_state(self, mount: Mount, path: str) -> bool:
        return isinstance(self._view.backend_for(mount, path), BoundStateBackend)

    def _key(self, part: str) -> str | None:
        return None if self.key is None else f"{self.key}{part}"
