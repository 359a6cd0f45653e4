"""The merged view of an overlay: the files of the thread, and the lower files that they don't hide.

A path without links is called real here. Links are followed in the merged view, because their
targets may have changed.
"""

import contextlib
import errno
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property

from langgraph_filesystem.state.backends.disk.errors import LeadsOutside, explain
from langgraph_filesystem.state.backends.disk.grep import show_bytes
from langgraph_filesystem.state.backends.file_store import (
    Entry,
    FileStore,
    Kind,
    MountContext,
    Query,
    Skip,
)
from langgraph_filesystem.state.backends.protocol import (
    FileInfo,
    GlobResult,
    GrepResult,
    LsResult,
)
from langgraph_filesystem.state.backends.search import limit_matches, search
from langgraph_filesystem.state.backends.state import StateBackend
from langgraph_filesystem.state.backends.text_files import size_of
from langgraph_filesystem.state.entries import EntryKind, OverlayEntry
from langgraph_filesystem.state.errors import (
    BackendFailed,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
    PathRefused,
)
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.io import in_thread
from langgraph_filesystem.state.paths import ancestors, is_within
from langgraph_filesystem.state.text import PathPart
from langgraph_filesystem.state.workspace.overlay_changes import OverlayChanges

__all__ = ("MergedView", "renamed", "renaming")

_MAX_LINKS = 40


class MergedView:
    """What can be seen through an overlay, in one run of a node."""

    def __init__(self, open_lower: Callable[[], FileStore], context: MountContext) -> None:
        self._open_lower = open_lower
        self.layer = OverlayChanges(context.files, context.prefix)
        self.upper: FileStore = StateBackend().open(context)
        """The files of the thread, as a store."""

    @cached_property
    def lower(self) -> FileStore:
        """The lower store; opened late, because a factory may need a running node."""
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
            return self._allowed(f"{(await self.real(above or '/')).rstrip('/')}/{name}")
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
                return self._allowed(head)
            elif head == "/":
                raise LeadsOutside(path)
            else:
                pending = "/".join([head.rpartition("/")[0], *rest])
        raise explain(path, OSError(errno.ELOOP, ""))

    def _allowed(self, real: str) -> str:
        if self.layer.is_reserved(real):
            raise PathRefused(real, "the name is reserved. Choose another path.")
        return real

    async def _first_link(self, path: str, real: str) -> tuple[str, str] | None:
        """Return the first link on a path, and the path that it leads to, not yet resolved."""
        top = self.layer.top_hidden(real)
        seen = real if top is None else top.rpartition("/")[0] or "/"
        link, *more = await self.lower.resolve(seen)
        if more:
            [found] = await self.lower.entries(link, below=False)
            target = found.target or ""
            # An absolute link leads outside, unless the store follows it.
            is_outside = target.startswith("/") and (await self.lower.resolve(link))[-1] == link
        elif own := self.layer.first_link(real):
            link, target = own
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
        """Say whether all files of a lower directory are hidden.

        Where directories exist only through their files, it is then gone.
        """
        is_kept = self.lower.capabilities.directories or real == "/"
        if is_kept or not self.layer.hides_inside(real) or self.layer.kind(real) is not None:
            return False
        if await self.lower.kind(real) != "directory":
            return False
        found = (await self.lower.glob("**", real)).matches or ()
        return all(self.layer.hides(info["path"]) for info in found)

    async def has_lower_directory(self, real: str) -> bool:
        """Say whether the lower store has a directory to list; raise if neither store has one."""
        upper, is_hidden = self.layer.kind(real), self.layer.hides(real)
        lower = None if is_hidden or upper == "file" else await self.lower.kind(real)
        if "directory" not in (upper, lower):
            raise NotDirectory(real) if upper or lower else self.missing(real)
        return lower == "directory"

    async def searches_lower(self, real: str) -> bool:
        if not self.layer.hides(real) and await self.lower.kind(real) == "file":
            return True
        return await self.has_lower_directory(real)

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
        """Return every entry at a path or inside it, by its path."""
        above = real.rpartition("/")[0] or "/"
        lower = [] if self.layer.hides(above) else await self.lower.entries(real)
        tops = {one.path: self.layer.top_hidden(one.path) for one in lower}
        tree = {one.path: one for one in lower if tops[one.path] is None}
        # A file keeps the mode of the one that it replaces.
        files = [one for one in lower if one.kind == "file"]
        modes = {one.path: one.mode for one in files if tops[one.path] == one.path}
        if real in tree and await self.is_emptied(real):
            return {}
        own = [real] if self.layer.kind(real) is not None else []
        for path in [*own, *self.layer.below(real)]:
            if path not in tree:
                tree[path] = self.layer.as_entry(path, modes.get(path))
        return tree

    # Steps of a change

    async def based(self, kind: EntryKind, real: str) -> OverlayEntry:
        """Return an entry with the fingerprint of the lower entry that it hides."""
        entry, known = OverlayEntry(kind=kind), self.layer.entry(real)
        base = known.get("base") if known is not None else None
        if known is None and not self.layer.hides(real):
            base = await self.lower.fingerprint(real)
        if base is not None:
            entry["base"] = base
        return entry

    async def remove(self, real: str) -> None:
        """Delete what is at a path; its parent stays, even if empty, where directories do."""
        entry = await self.based("deleted", real)
        self.layer.remove(real, entry if "base" in entry else None)
        above = real.rpartition("/")[0]
        if above and self.lower.capabilities.directories and await self.kind(above) is None:
            self.layer.change({}, {above: await self.based("directory", above)})

    # Lists and searches

    async def ls(self, path: str) -> LsResult:
        """List what is directly in a directory."""
        real = await self.real(path)
        with renaming(real, path):
            result = LsResult(entries=[])
            if await self.has_lower_directory(real):
                result = await self.lower.ls(real)
            shown = {
                info["path"]: info
                for info in result.entries or ()
                if not self.layer.hides(info["path"]) and not await self.is_emptied(info["path"])
            }
            start = real.rstrip("/") + "/"
            for found in self.layer.below(real):
                name, more, _ = found[len(start) :].partition("/")
                is_dir = bool(more) or self.layer.kind(found) == "directory"
                if is_dir or start + name not in shown:
                    shown[start + name] = self.layer.info(start + name, is_dir=is_dir)
            for info in shown.values():
                if info.get("is_link"):
                    info["is_dir"] = await self.leads_to(info["path"]) == "directory"
            if not shown and real != "/" and await self.kind(real) is None:
                raise FileNotFound(real)
        result.entries = [_named(info, real, path) for info in shown.values()]
        return result

    async def glob(self, pattern: str, path: str | None, skips: Skip | None) -> GlobResult:
        """Find files in a directory by a pattern, except some."""
        matches, real = compile_glob(pattern), await self.real(path or "/")
        with renaming(real, path or "/"):
            result = GlobResult(matches=[])
            if await self.has_lower_directory(real):
                place, hidden = None if path is None else real, self._skips(real, path, skips)
                result = await self.lower.glob(pattern, place, skips=hidden)
        start = real.rstrip("/") + "/"
        links = [FileInfo(path=one, is_link=True) for one in result.other_links]
        listed = [*(result.matches or ()), *links]
        found = [info for info in listed if not self.layer.hides(info["path"])]
        found += [
            self.layer.info(one)
            for one in self.layer.below(real)
            if self.layer.kind(one) != "directory" and matches(one[len(start) :])
        ]
        result.matches = [
            _named(info, real, path)
            for info in found
            if not info.get("is_link") or await self.leads_to(info["path"]) == "file"
        ]
        if skips is not None:
            result.matches = [info for info in result.matches if not skips(info["path"])]
        return result

    async def grep(
        self, query: Query, path: str | None, glob: str | None, skips: Skip | None
    ) -> GrepResult:
        """Search the text files in a directory, or one file, except some."""
        real = await self.real(path or "/")
        if glob is not None and path is not None and await self.kind(real) == "file":
            # The name that was given counts, not that of the file which a link leads to.
            if not compile_glob(glob)(path.rpartition("/")[2]):
                return GrepResult(matches=[], counts={})
            glob = None
        hidden = self._skips(real, path, skips)
        texts = [
            (one, text)
            for one, text in self.texts(real, glob)
            if skips is None or not skips(renamed(one, real, path))
        ]
        with renaming(real, path or "/"):
            is_file = self.layer.kind(real) == "file"
            total = GrepResult(matches=[], counts={})
            if not is_file and await self.searches_lower(real):
                place = None if path is None else real
                total = await self.lower.grep(query, place, glob, skips=hidden)
                if total.truncated and any(map(hidden, total.counts or ())):
                    # The store can't leave files out, and their matches have used up the limit.
                    every = replace(query, max_count=None)
                    total = await self.lower.grep(every, place, glob, skips=hidden)
            found = await in_thread(search, texts, query)
        show_bytes(found)
        return _named_lines(_joined(total, found, hidden, query), real, path)

    def _skips(self, real: str, path: str | None, skips: Skip | None) -> Skip:
        """Return a function that says which lower files are left out."""

        def skip(one: str) -> bool:
            if self.layer.hides(one.rstrip("/")):
                return True
            return skips is not None and skips(renamed(one, real, path))

        return skip


@contextlib.contextmanager
def renaming(real: str, path: str) -> Iterator[None]:
    """Let errors name the path that was given, where links lead to another one."""
    try:
        yield
    except FilesystemError as error:
        raise error.renamed(lambda one: renamed(one, real, path)) from None


def renamed(found: str, real: str, path: str | None) -> str:
    if path is None or path == real or not is_within(found, real):
        return found
    return path.rstrip("/") + found[len(real.rstrip("/")) :]


def _named(info: FileInfo, real: str, path: str | None) -> FileInfo:
    return {**info, "path": renamed(info["path"], real, path)}


def _joined(
    lower: GrepResult, upper: GrepResult, hides: Callable[[str], bool], query: Query
) -> GrepResult:
    """Return the matches in lower files that are not hidden, with those in the thread."""
    counts = {p: n for p, n in (lower.counts or {}).items() if not hides(p)} | (upper.counts or {})
    shown = [one for one in lower.matches or () if not hides(one["path"])]
    total = GrepResult(
        matches=sorted([*shown, *(upper.matches or ())], key=lambda one: one["path"]),
        counts=dict(sorted(counts.items())),
        truncated=lower.truncated or upper.truncated,
        note=lower.note or upper.note,
    )
    return limit_matches(total, query.max_count)


def _named_lines(found: GrepResult, real: str, path: str | None) -> GrepResult:
    if path is not None and path != real:
        found.matches = [{**m, "path": renamed(m["path"], real, path)} for m in found.matches or ()]
        found.counts = {renamed(p, real, path): n for p, n in (found.counts or {}).items()}
    return found
