"""What an operation changes: in the state by an update, elsewhere at once and once."""

from typing import Any

from langgraph_filesystem.nodes.node import Io
from langgraph_filesystem.nodes.once import Once
from langgraph_filesystem.state import effects
from langgraph_filesystem.state.backends.protocol import ExecuteResponse, Outcome
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.files import file_bytes
from langgraph_filesystem.state.io import takes
from langgraph_filesystem.state.view import View

__all__ = ("Effects",)

_MARKS = "/tmp/langgraph-filesystem"
"""Where it is marked which commands began, in a sandbox that keeps no journal itself."""


class Effects(effects.Effects):
    """The changes of one task. `key` names the call that makes them."""

    def __init__(self, view: View, io: Io, once: Once) -> None:
        super().__init__(view, io)
        self._once = once

    async def ready(self) -> None:
        """Wait until the checkpoints that the task runs from are stored."""
        await self._once.ready()

    async def execute(self, backend: Any, command: str, **options: Any) -> ExecuteResponse:
        """Run a command that has not been begun before."""
        await self.ready()
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
