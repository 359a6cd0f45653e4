"""What a `CompositeBackend` does: each call over its mounts, written once for sync and async."""

from collections.abc import Callable, Sequence
from typing import Any

from langgraph_filesystem.state.backends.inventory import Inventory
from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    MoveResult,
    Outcome,
    OutputMode,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.deletion import delete
from langgraph_filesystem.state.effects import Effects
from langgraph_filesystem.state.errors import FileExists, FilesystemError, Unsupported
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.inventories import find_all
from langgraph_filesystem.state.io import Io, takes
from langgraph_filesystem.state.loads import download, upload
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.moving import move
from langgraph_filesystem.state.narrow import narrowed
from langgraph_filesystem.state.paths import normalize_path
from langgraph_filesystem.state.remarks import joined
from langgraph_filesystem.state.searches import find_files, find_lines, list_directory
from langgraph_filesystem.state.second_paths import meant
from langgraph_filesystem.state.transfer import LAST
from langgraph_filesystem.state.view import View

__all__ = ("Calls", "answered")

_Changing = WriteResult | EditResult | DeleteResult | MoveResult
_FAILED: dict[str, Callable[..., Any]] = {
    "ls": LsResult,
    "read": ReadResult,
    "write": WriteResult,
    "edit": EditResult,
    "delete": DeleteResult,
    "move": MoveResult,
    "glob": GlobResult,
    "grep": GrepResult,
    "inventory": Inventory,
}


class Calls:
    """The methods of a backend over several mounts. What goes wrong is raised."""

    def __init__(self, view: View, io: Io) -> None:
        self.view = view
        self._io = io

    async def ls(self, path: str) -> LsResult:
        """List the names directly below a directory, those of mounts among them."""
        entries, notes, unnamed = await list_directory(self.view, await self._meant(path))
        return LsResult(entries=entries, note=joined("\n", notes), unnamed=unnamed)

    async def read(
        self,
        file_path: str,
        offset: int = 0,
        limit: int = 2000,
        *,
        column: int = 0,
        max_characters: int | None = None,
    ) -> ReadResult:
        """Return lines of a text file, or a binary file whole."""
        mount, path = await self._located(file_path)
        method = getattr(self.view.backend_for(mount, path), "read", None)
        options = {"column": column, "max_characters": max_characters}
        result: ReadResult = await self.view.call(
            mount, path, "read", mount.inner(path), offset, limit, **options
        )
        if method is not None and not takes(method, "column"):
            return narrowed(path, result, max(0, offset), column, max_characters)
        return result

    async def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file, or with `overwrite` put it in the place of another."""
        mount, path = await self._located(file_path)
        self.view.mounts.refuse_point(path)
        method = getattr(self.view.backend_for(mount, path), "write", None)
        if method is not None and not overwrite and not takes(method, "overwrite"):
            # Others write over what is there without being told to.
            await self._refuse_existing(mount, path)
        options = {"overwrite": overwrite, "once": once}
        await self.view.call(mount, path, "write", mount.inner(path), content, **options)
        return WriteResult(path=file_path)

    async def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        once: str | None = None,
    ) -> EditResult:
        """Replace exact text."""
        mount, path = await self._located(file_path)
        change = mount.inner(path), old_string, new_string, replace_all
        result = await self.view.call(mount, path, "edit", *change, once=once)
        return EditResult(path=file_path, occurrences=result.occurrences)

    async def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or everything below a directory; never what is mounted."""
        await delete(self.view, Effects(self.view, self._io, once), await self._meant(file_path))
        return DeleteResult(path=file_path)

    async def move(
        self,
        source: str,
        destination: str,
        *,
        once: str | None = None,
        copied: str | None = None,
    ) -> MoveResult:
        """Give a file or a directory another path, in the same backend or in another one.

        With `copied`, what goes into the state is first copied only: the result says so, and is to
        be given back as `copied` when the copy is stored.
        """
        effects = Effects(self.view, self._io, once)
        effects.copied = copied
        paths = await self._meant(source), await self._meant(destination)
        moved = await move(self.view, effects, *paths)
        if moved is None:
            return MoveResult(path=destination, copied=effects.copied)
        return MoveResult(path=destination, files=moved.files, note=joined(" ", moved.remarks))

    async def inventory(self, path: str) -> Inventory:
        """Return every file at or below a path, where nothing is mounted."""
        mount, path = await self._located(path)
        self.view.mounts.refuse_point(path)
        found = await find_all(self.view, mount, path)
        files = [item.info for item in found.files]
        return Inventory(files=files, empty=found.empty, links=found.links)

    async def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by a pattern in every backend at or below a directory."""
        result, notes = await find_files(self.view, pattern, await self._meant(path or "/"))
        result.note = joined("\n", notes)
        return result

    async def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        context: int = 0,
        max_count: int | None = None,
        output_mode: OutputMode = "content",
    ) -> GrepResult:
        """Search the text files of every backend at or below a directory, or one file."""
        options: dict[str, Any] = {"regex": regex, "ignore_case": ignore_case, "context": context}
        options |= {"max_count": max_count, "output_mode": output_mode}
        start = await self._meant(path or "/")
        result, notes = await find_lines(self.view, pattern, start, glob, options)
        result.matches = sorted(result.matches or (), key=lambda it: (it["path"], it["line"]))
        result.note = joined("\n", notes)
        return result

    async def upload_files(
        self, files: Sequence[tuple[str, bytes]], *, once: str | None = None
    ) -> list[FileUploadResponse]:
        """Store bytes as files, each in the backend that has its path."""
        return await upload(self.view, files, once)

    async def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        """Return the bytes of files, each from the backend that has its path."""
        return await download(self.view, paths)

    async def digest(self, file_path: str) -> str | None:
        """Return a digest of what a file holds now, or `None` where there is none."""
        try:
            mount, path = await self._located(file_path)
            return await self.view.digest(mount, path)
        except FilesystemError:
            return None

    async def recall(self, once: str) -> Outcome | None:
        """Return what a backend knows of a call that it may have carried out before a crash."""
        for mount in self.view.mounts.all:
            # One that can't be made has done nothing, and must not keep the others from working.
            backend, _ = await attempted(self._opened(mount), f"open {mount.prefix}")
            if not hasattr(backend, "recall"):
                continue
            for key in (once, f"{once}{LAST}"):
                outcome: Outcome | None = await self._io.call(backend, "recall", key)
                if outcome is not None:
                    return outcome
        return None

    async def execute(
        self,
        command: str,
        *,
        timeout: int | None = None,
        on_output: Callable[[str], None] | None = None,
        once: str | None = None,
    ) -> ExecuteResponse:
        """Run a command in the first backend, from `/` downwards, that can."""
        options = {"timeout": timeout, "on_output": on_output, "once": once}
        given = {name: value for name, value in options.items() if value is not None}
        response: ExecuteResponse = await self._io.call(self.shell(), "execute", command, **given)
        return response

    def shell(self) -> Any:
        """Return the backend that runs commands."""
        for mount in reversed(self.view.mounts.all):
            if mount.can("execute") and hasattr(self.view.backend(mount), "execute"):
                return self.view.backend(mount)
        raise Unsupported("No mount can run commands. Work with the file operations.")

    async def _opened(self, mount: Mount) -> Any:
        return self.view.backend(mount)

    async def _located(self, path: str) -> tuple[Mount, str]:
        meant = await self._meant(path)
        return self.view.mounts.locate(meant), meant

    async def _meant(self, path: str) -> str:
        return await meant(self.view, normalize_path(path))

    async def _refuse_existing(self, mount: Mount, path: str) -> None:
        if await self.view.digest(mount, path) is not None:
            raise FileExists(path, "Change it with `edit_file`, or set `overwrite`.")


async def answered(
    calls: Calls, act: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]
) -> Any:
    """Return the result of a call, with what it changes in the state, or with what went wrong."""
    name = act.__name__
    if name not in _FAILED:
        return await act(calls, *args, **options)
    asked = " ".join([name, *map(str, args[:1])])
    result, problem = await attempted(act(calls, *args, **options), asked)
    if problem is not None:
        return _FAILED[name](error=problem)
    if calls.view.update and isinstance(result, _Changing):
        result.files_update = calls.view.update
    return result
