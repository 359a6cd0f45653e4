"""Files that a move writes where none were, so that they can be taken back if it fails.

Others may write at the same place meanwhile. What they wrote is neither overwritten, as far as the
backend can look and write at once, nor deleted: a file is ours as long as it holds what we wrote.
"""

import hashlib
import inspect
from collections.abc import Sequence

from langgraph_filesystem.state.effects import Effects
from langgraph_filesystem.state.errors import BackendFailed, Unsupported
from langgraph_filesystem.state.failures import attempted
from langgraph_filesystem.state.files import FileData, FileEdit, checked_update
from langgraph_filesystem.state.inventories import can, find_all
from langgraph_filesystem.state.mounts import Mount
from langgraph_filesystem.state.paths import ancestors
from langgraph_filesystem.state.places import first_missing, is_there
from langgraph_filesystem.state.view import View, renamed

__all__ = ("NewFiles",)


class NewFiles:
    """What is written at and below one path of a mount."""

    def __init__(self, view: View, effects: Effects, mount: Mount, top: str) -> None:
        self._view = view
        self._effects = effects
        self._mount = mount
        self._top = top
        self._tops: list[str] = []
        """The topmost paths that come into being: deleted with all that is below."""
        self._begun: list[dict[str, str]] = []
        """Of each part the paths that were free, and the digests of what they get."""

    @property
    def are_looked_for(self) -> bool:
        """Whether the backend itself looks whether a file is there before it writes it."""
        upload = getattr(self._view.backend_for(self._mount, self._top), "upload_files", None)
        try:
            # By its name: who takes any option need not heed this one.
            return upload is not None and "overwrite" in inspect.signature(upload).parameters
        except (TypeError, ValueError):
            return False

    async def look(self, paths: Sequence[str]) -> None:
        """See what will come into being with files, before they are written."""
        top = await self._missing_top()
        if top is not None:
            self._tops = [top]
            return
        work = self._view.call(self._mount, self._top, "ls", self._mount.inner(self._top))
        listed, _ = await attempted(work, f"ls {self._top}")
        if listed is not None:
            inside = [path[len(self._top) + 1 :].partition("/") for path in paths]
            names = {f"{self._top}/{name}" for name, slash, _ in inside if slash}
            there = {self._mount.outer(entry["path"]) for entry in listed.entries or ()}
            self._tops = sorted(names - there)

    async def write(self, contents: dict[str, bytes], part: str) -> list[str]:
        """Write files; return the paths at which the backend has found one instead."""
        begun = {path: _digest(content) for path, content in contents.items()}
        self._begun.append(begun)
        try:
            return await self._upload(contents, part, begun)
        except Unsupported:
            for number, (path, content) in enumerate(contents.items()):
                text, own = _text(path, content), f"{part}.{number}" if number else part
                change = self._mount.inner(path), text
                await self._effects.change(self._mount, path, "write", *change, part=own)
        return []

    async def take_back(self) -> list[str]:
        """Delete what is still as it was written; return the paths of what could not be deleted."""
        left: list[str] = []
        single: list[str] = []
        whole: dict[str, set[str]] = {top: set() for top in self._tops}
        for begun in filter(None, self._begun):
            found = await self._still_ours(begun)
            left += begun if found is None else ()
            for path in found or ():
                top = next((step for step in (path, *ancestors(path)) if step in whole), None)
                single.append(path) if top is None else whole[top].add(path)
        for top, paths in whole.items():
            if not await self._has_only(top, paths):
                single += paths
            elif not await self._delete(top):
                left += paths
        left += [path for path in sorted(single) if not await self._delete(path)]
        return sorted(left)

    async def _has_only(self, top: str, paths: set[str]) -> bool:
        """Say whether nothing of others is at or below a path: then it goes at once."""
        found, _ = await attempted(find_all(self._view, self._mount, top), f"look at {top}")
        return found is not None and paths.issuperset(item.path for item in found.files)

    async def _missing_top(self) -> str | None:
        backend = self._view.backend_for(self._mount, self._top)
        if can(backend, "can_receive"):
            return await first_missing(self._view, self._mount, self._top)
        if hasattr(backend, "digest"):  # one of ours, which knows what is not there
            work = self._view.call(self._mount, self._top, "ls", self._mount.inner(self._top))
            listed, _ = await attempted(work, f"ls {self._top}")
            return self._top if listed is None else None
        return None if await is_there(self._view, self._mount, self._top) else self._top

    async def _upload(
        self, contents: dict[str, bytes], part: str, begun: dict[str, str]
    ) -> list[str]:
        mount, paths = self._mount, list(contents)
        given = [(mount.inner(path), content) for path, content in contents.items()]
        arrived = await self._effects.change(
            mount, paths[0], "upload_files", given, part=part, overwrite=False
        )
        answers = dict(zip(paths, arrived, strict=True))
        there = [path for path, one in answers.items() if one.error == "file_exists"]
        for path in there:
            del begun[path], answers[path]
        update: dict[str, FileData | FileEdit | None] = {}
        for path, one in answers.items():
            if one.error:
                raise _not_written(mount, path, one.error)
            update |= getattr(one, "files_update", None) or {}
        if update:
            self._view.take(checked_update(update))
        return there

    async def _still_ours(self, begun: dict[str, str]) -> set[str] | None:
        """Return the paths of files that hold what was written; `None` if that can't be said."""
        work = self._view.fetch(self._mount, self._top, list(begun))
        found, _ = await attempted(work, f"look at {self._top}")
        if found is None:
            return None
        now = {p: f.content for p, f in zip(begun, found, strict=True) if f.content is not None}
        return {path for path, content in now.items() if _digest(content) == begun[path]}

    async def _delete(self, path: str) -> bool:
        change = self._mount, path, "delete", self._mount.inner(path)
        _, problem = await attempted(self._effects.change(*change, part="-undo"), f"delete {path}")
        return problem is None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _not_written(mount: Mount, path: str, said: str) -> BackendFailed:
    problem = renamed(said, mount, path)
    told = path in problem
    return BackendFailed(problem if told else f"{path}: could not be written ({problem}).")


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unsupported(f"{path}: is no text, and the backend there takes only text.") from None
