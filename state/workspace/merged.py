"""The merged view of an overlay: what the thread has, and what it does not hide of the store below.

A path without links is called real here. Links are followed in the merged view, because what they
lead to may have changed.
"""

import errno
from collections.abc import Callable, Iterator
from functools import cached_property

from langgraph_filesystem.state.backends.disk.errors import LeadsOutside, explain
from langgraph_filesystem.state.backends.file_store import Entry, FileStore, Kind, MountContext
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.backends.text_files import size_of
from langgraph_filesystem.state.entries import EntryKind, OverlayEntry
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
)
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.paths import ancestors
from langgraph_filesystem.state.text import PathPart
from langgraph_filesystem.state.workspace.layer import Layer

__all__ = ("MergedView",)

_MAX_LINKS = 40


class MergedView:
    """What can be seen through an overlay, in one run of a node."""

    def __init__(self, open_lower: Callable[[], FileStore], context: MountContext) -> None:
        self._open_lower = open_lower
        self.layer = Layer(context.files, context.prefix)
        self.upper: FileStore = StateBackend().open(context)
        """The files of the thread, as a store."""

    @cached_property
    def lower(self) -> FileStore:
        """The store below; opened late, as a factory may need a running node."""
        return self._open_lower()

    # Links

    def missing(self, real: str) -> FilesystemError:
        """Return the error for a path at which the thread has nothing."""
        above = (one for one in ancestors(real) if self.layer.kind(one) == "file")
        file = next(above, None)
        return FileNotFound(real) if file is None else NotDirectory(real, file)

    async def real(self, path: str, *, last: bool = True, links: list[str] | None = None) -> str:
        """Return the path without links; if not `last`, the last name stays as it is.

        The links that it goes by are added to `links`.
        """
        if path == "/":
            return path
        if not last:
            above, _, name = path.rpartition("/")
            return f"{(await self.real(above or '/')).rstrip('/')}/{name}"
        pending = path
        for _ in range(_MAX_LINKS):
            parts = [part for part in pending.split("/") if part not in ("", ".")]
            up = parts.index("..") if ".." in parts else len(parts)
            head, rest = "/" + "/".join(parts[:up]), parts[up + 1 :]
            if link := await self._first_link(path, head):
                place, target = link
                if links is not None:
                    links.append(place)
                pending = "/".join([target, head[len(place) + 1 :], *parts[up:]])
            elif up == len(parts):
                return head
            elif head == "/":
                raise LeadsOutside(path)
            else:
                pending = "/".join([head.rpartition("/")[0], *rest])
        raise explain(path, OSError(errno.ELOOP, ""))

    async def _first_link(self, path: str, real: str) -> tuple[str, str] | None:
        """Return the first link on a path, and the path that it leads to, not yet resolved."""
        top = self.layer.top_hidden(real)
        seen = real if top is None else top.rpartition("/")[0] or "/"
        link, *more = await self.lower.resolve(seen)
        entry = None if top is None else self.layer.entry(top)
        if more:
            [found] = await self.lower.entries(link, below=False)
            target = found.target or ""
            # An absolute link leads outside, unless the store follows it.
            is_outside = target.startswith("/") and (await self.lower.resolve(link))[-1] == link
        elif top is not None and entry is not None and entry["kind"] == "link":
            link, target = top, entry["target"]
            is_outside = target.startswith("/")
        else:
            return None
        if is_outside:
            raise LeadsOutside(path)
        return link, target if target[:1] == "/" else f"{link.rpartition('/')[0]}/{target}"

    async def leads_to(self, link: str) -> Kind | None:
        """Return what a link leads to; `None` if nowhere, or outside."""
        try:
            return await self.kind(await self.real(link))
        except FilesystemError:
            return None

    async def linked_size(self, link: str) -> int:
        if await self.leads_to(link) != "file":
            raise BackendFailed(
                PathPart(link),
                ": is a symbolic link that does not lead to a file in its mount, which can't be "
                "taken to another mount. Nothing was moved. Delete it, or move the rest without "
                "it.",
            )
        real = await self.real(link)
        file = self.layer.file(real)
        if file is not None:
            return size_of(file)
        return sum(one.size for one in await self.lower.entries(real, below=False))

    # The merged view of real paths

    def holder(self, real: str) -> FileStore:
        """Return the store that has the file at a path, or may have it."""
        kind = self.layer.kind(real)
        if kind is None and not self.layer.hides(real):
            return self.lower
        if kind != "file":
            raise IsDirectory(real) if kind == "directory" else self.missing(real)
        return self.upper

    async def kind(self, real: str) -> Kind | None:
        kind = self.layer.kind(real)
        if kind is None and not self.layer.hides(real):
            kind = await self.lower.kind(real)
            if kind == "directory" and await self.is_emptied(real):
                return None
        return None if kind == "link" else kind

    async def exists(self, real: str) -> bool:
        """Say whether an entry is at a path, such as a link that leads nowhere."""
        if self.layer.kind(real) is not None or self.layer.hides(real):
            return self.layer.kind(real) is not None
        found = await self.lower.entries(real, below=False)
        return bool(found) and not await self.is_emptied(real)

    async def is_emptied(self, real: str) -> bool:
        """Say whether all files of a directory below are hidden, so that it is no directory."""
        is_kept = self.lower.capabilities.directories or real == "/"
        if is_kept or not self.layer.hides_below(real) or self.layer.kind(real) is not None:
            return False
        if await self.lower.kind(real) != "directory":
            return False
        found = (await self.lower.glob("**", real)).matches or ()
        return all(self.layer.hides(info["path"]) for info in found)

    async def is_directory_below(self, real: str) -> bool:
        """Say whether the store below has a directory to list; raise if there is none at all."""
        upper, is_hidden = self.layer.kind(real), self.layer.hides(real)
        lower = None if is_hidden or upper == "file" else await self.lower.kind(real)
        if "directory" not in (upper, lower):
            raise NotDirectory(real) if upper or lower else self.missing(real)
        return lower == "directory"

    async def is_searched_below(self, real: str) -> bool:
        if not self.layer.hides(real) and await self.lower.kind(real) == "file":
            return True
        return await self.is_directory_below(real)

    def texts(self, real: str, glob: str | None) -> Iterator[tuple[str, str]]:
        """Yield the texts of the thread to search, in the order of their paths."""
        is_file = self.layer.kind(real) == "file"
        start = (real.rpartition("/")[0] if is_file else real.rstrip("/")) + "/"
        matches = compile_glob(glob) if glob else None
        for path in [real] if is_file else sorted(self.layer.below(real)):
            text = self.layer.searched_text(path)
            if text is not None and (matches is None or matches(path[len(start) :])):
                yield path, text

    async def tree(self, real: str) -> dict[str, Entry]:
        """Return every entry at or below a path, by its path."""
        above = real.rpartition("/")[0] or "/"
        lower = [] if self.layer.hides(above) else await self.lower.entries(real)
        modes = {one.path: one.mode for one in lower if one.kind == "file"}
        tree = {one.path: one for one in lower if not self.layer.hides(one.path)}
        if real in tree and await self.is_emptied(real):
            return {}
        own = [real] if self.layer.kind(real) is not None else []
        for path in [*own, *self.layer.below(real)]:
            if path not in tree:
                tree[path] = self.layer.as_entry(path, modes.get(path))
        return tree

    # Steps of a change

    async def based(self, kind: EntryKind, real: str) -> OverlayEntry:
        """Return an entry that knows what it hides below."""
        entry, known = OverlayEntry(kind=kind), self.layer.entry(real)
        base = known.get("base") if known is not None else None
        if known is None and not self.layer.hides(real):
            base = await self.lower.fingerprint(real)
        if base is not None:
            entry["base"] = base
        return entry

    async def remove(self, real: str) -> None:
        """Delete what is at a path; a directory above it stays where directories do."""
        entry = await self.based("deleted", real)
        self.layer.remove(real, entry if "base" in entry else None)
        above = real.rpartition("/")[0]
        if above and self.lower.capabilities.directories and await self.kind(above) is None:
            self.layer.change({}, {above: await self.based("directory", above)})
