"""`ObjectStore`: every file operation on objects with keys, written once for all stores.

A change holds a lock of this process on the path. Where the store can compare before it writes,
other processes lose nothing either: an edit of a file that has changed meanwhile is made again on
the new content.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property

from langgraph_filesystem.state.backends.file_store import (
    Capabilities,
    FileStore,
    Inventory,
    Kind,
    Query,
    Skip,
)
from langgraph_filesystem.state.backends.journal import Change
from langgraph_filesystem.state.backends.objects.errors import ChangedMeanwhile
from langgraph_filesystem.state.backends.objects.journal import ObjectJournal
from langgraph_filesystem.state.backends.objects.locks import hold
from langgraph_filesystem.state.backends.objects.objects import (
    Changed,
    Entry,
    Listing,
    Objects,
)
from langgraph_filesystem.state.backends.objects.read import (
    Pages,
    digest_at,
    missing,
    read_whole,
)
from langgraph_filesystem.state.backends.pages import Window
from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    FileInfo,
    GlobResult,
    GrepResult,
    LsResult,
    MoveResult,
    Outcome,
    ReadResult,
    WriteResult,
)
from langgraph_filesystem.state.backends.search import search_fetched
from langgraph_filesystem.state.backends.text_files import decoded, encoded
from langgraph_filesystem.state.edits import PlannedEdit, plan_edit
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
    NotDirectory,
)
from langgraph_filesystem.state.files import digest_of
from langgraph_filesystem.state.globs import compile_glob
from langgraph_filesystem.state.io import gather_limited, in_thread, is_sync
from langgraph_filesystem.state.paths import is_within, normalize_path
from langgraph_filesystem.state.text import PathPart, join_notes

__all__ = ("ObjectStore", "max_bytes")

_MAX_TRIES = 100
"""How often an edit is made again because another writer was faster."""
_SECONDS = 5.0
"""How long listing files, and then searching them, may take before there is an answer."""
_EDIT_INSTEAD = "Change it with `edit_file`, or set `overwrite`."


def max_bytes(max_file_size_mb: float) -> int:
    """Return the limit of a backend in bytes."""
    if max_file_size_mb <= 0:
        raise ValueError(f"`max_file_size_mb` must be more than 0, not {max_file_size_mb!r}.")
    return int(max_file_size_mb * (1 << 20))


class ObjectStore(FileStore):
    """Files as objects."""

    capabilities = Capabilities(lasting=True, journals=True)

    def __init__(self, locate: Callable[[], Objects], max_size: int) -> None:
        self._locate = locate
        self._max_size = max_size
        """Bytes up to which a file is searched, edited, and read if it is binary."""

    @cached_property
    def _objects(self) -> Objects:
        """Located on first use, so that a missing store is an error of a call."""
        return self._locate()

    @cached_property
    def _pages(self) -> Pages:
        return Pages(self._objects, self._max_size)

    @cached_property
    def _journal(self) -> ObjectJournal:
        return ObjectJournal(self._objects, self._max_size)

    # Reading

    async def kind(self, path: str) -> Kind | None:
        """Return what is at a path."""
        self._objects.check(path)
        if path != "/" and await self._objects.info(path) is not None:
            return "file"
        return "directory" if path == "/" or await self._objects.is_directory(path) else None

    async def ls(self, path: str) -> LsResult:
        """List what is directly below a directory."""
        self._objects.check(path)
        found = await self._objects.children(path)
        if not found.files and not found.directories:
            await self._check_directory(path)
        entries = [_info(entry) for entry in found.files]
        entries += [FileInfo(path=name, is_dir=True) for name in sorted(found.directories)]
        return LsResult(entries=entries, note=found.note)

    async def read(
        self,
        file_path: str,
        offset: int = 0,
        limit: int = 2000,
        *,
        column: int = 0,
        max_characters: int | None = None,
    ) -> ReadResult:
        """Return lines of a text file, or a binary file whole as base64."""
        self._objects.check(file_path)
        return await self._pages.read(file_path, Window.of(offset, limit, column, max_characters))

    async def glob(
        self, pattern: str, path: str | None = None, *, skips: Skip | None = None
    ) -> GlobResult:
        """Find files below a directory by a pattern."""
        matches, directory = compile_glob(pattern), path or "/"
        self._objects.check(directory)
        found = await self._below(directory)
        skip = len(directory.rstrip("/")) + 1
        infos = [_info(entry) for entry in found.files if matches(entry.path[skip:])]
        return GlobResult(matches=infos, truncated=not found.complete, note=found.note)

    async def grep(
        self,
        query: Query,
        path: str | None = None,
        glob: str | None = None,
        *,
        skips: Skip | None = None,
    ) -> GrepResult:
        """Search the text files at or below a path."""
        matches, path = compile_glob(glob) if glob else None, path or "/"
        self._objects.check(path)
        entry = None if path == "/" else await self._objects.info(path)
        directory = path if entry is None else path.rpartition("/")[0]
        found = await self._below(path) if entry is None else Listing([entry])
        if matches:
            skip = len(directory.rstrip("/")) + 1
            found.files = [entry for entry in found.files if matches(entry.path[skip:])]
        if skips:
            found.files = [entry for entry in found.files if not skips(entry.path)]
        result = await search_fetched(
            self.fetch,
            [_info(entry) for entry in found.files],
            query,
            max_size=self._max_size,
            seconds=_SECONDS,
        )
        result.note = join_notes(" ", [found.note, result.note])
        result.truncated = result.truncated or not found.complete
        return result

    async def digest(self, file_path: str) -> str | None:
        """Return a digest of the content of a file."""
        self._objects.check(file_path)
        return await digest_at(self._objects, file_path, self._max_size)

    async def inventory(self, path: str) -> Inventory:
        """Return every file at or below a path."""
        self._objects.check(path)
        files = await self._entries_at(path)
        if not files:
            await self._check_directory(path)
        return Inventory([_info(entry) for entry in files])

    async def fetch(self, paths: Sequence[str]) -> list[bytes | FilesystemError]:
        """Return the bytes of each file."""
        found: dict[str, bytes | FilesystemError] = {}
        good = [path for path in paths if self._is_readable(path, found)]
        for path, blob in zip(
            good, await self._objects.get_many(good) if good else (), strict=True
        ):
            if blob is None:
                found[path] = await missing(self._objects, path)
            else:
                found[path] = blob if isinstance(blob, FilesystemError) else blob.content
        return [found[path] for path in paths]

    async def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call that was begun before a crash."""
        return await self._journal.recall(once)

    # Changing

    async def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file, or with `overwrite` replace one."""
        self._objects.check(file_path)
        data = encoded(file_path, content)
        async with self._hold(file_path):
            exists = (await self._objects.survey([file_path])).has_file(file_path)
            if exists and not overwrite:
                raise FileExists(file_path, _EDIT_INSTEAD)
            await self._begin_put(once, {file_path: data}, {file_path} if exists else set())
            failed = await self._objects.put_many({file_path: data}, overwrite=overwrite)
            for error in failed.values():
                if isinstance(error, FileExists):
                    raise FileExists(file_path, _EDIT_INSTEAD)
                raise error
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
        """Replace exact text in a file."""
        self._objects.check(file_path)
        encoded(file_path, new_string)
        async with self._hold(file_path):
            for attempt in range(_MAX_TRIES):
                old = await read_whole(self._objects, file_path, self._max_size)
                edit = file_path, old_string, new_string, replace_all
                data, planned = await in_thread(_edited, old.content, *edit)
                change = Change(file_path, digest_of(old.content), digest_of(data))
                await self._journal.begin(once, [change], planned.count)
                try:
                    await self._objects.update(file_path, data, old)
                except Changed:
                    # Longer each time, and not the same for all writers.
                    await _pause(random.uniform(0, 0.01 * 2 ** min(attempt, 5)))
                    continue
                return EditResult(
                    path=file_path, occurrences=planned.count, first_line=planned.first_line
                )
        raise ChangedMeanwhile(file_path)

    async def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or everything below a directory."""
        self._objects.check(file_path)
        files = [entry.path for entry in await self._entries_at(file_path)]
        async with self._hold(file_path, *files):
            if not await self._is_still_there(file_path, files):
                raise FileNotFound(file_path)
            if files == [file_path]:
                before = None if once is None else await self.digest(file_path)
                await self._journal.begin(once, [Change(file_path, before, None)])
            else:
                await self._journal.begin_tree(once, file_path)
            await self._objects.remove(files)
            if file_path not in files:
                is_gone = await self._objects.remove_directory(file_path)
                if not is_gone and not files:
                    raise FilesystemError(
                        PathPart(file_path),
                        ": is an empty directory, which this store can't delete.",
                    )
        return DeleteResult(path=file_path)

    async def move(self, source: str, destination: str, *, once: str | None = None) -> MoveResult:
        """Rename a file or a directory, to where nothing is."""
        self._objects.check(source)
        self._objects.check(destination)
        if is_within(destination, source):
            raise FilesystemError(
                PathPart(source),
                ": can't be moved to ",
                PathPart(destination),
                ", which is itself or inside it. Choose another destination.",
            )
        files = [entry.path for entry in await self._entries_at(source)]
        if not files:
            raise FileNotFound(source)
        pairs = [(path, destination + path[len(source) :]) for path in files]
        for _, end in pairs:
            self._objects.check(normalize_path(end))  # it may be too long there
        async with self._hold(*(path for pair in pairs for path in pair)):
            count = await self._journal.finish_move(once, source, destination, pairs)
            if count is None:
                survey = await self._objects.survey([destination])
                if survey.has_file(destination):
                    raise FileExists(destination, "Delete it first, or choose another destination.")
                await self._journal.begin_tree(once, source, destination)
                await self._rename(pairs)
        return MoveResult(path=destination, files=count or len(pairs))

    async def put(
        self, files: Mapping[str, bytes], *, overwrite: bool = True, once: str | None = None
    ) -> dict[str, FilesystemError]:
        """Write whole files; return why some of them were not written."""
        failed: dict[str, FilesystemError] = {}
        good, old = await self._checked(files, overwrite, failed)
        if not good:  # a note of an earlier attempt stays as it is
            return failed
        async with self._hold(*good):
            await self._begin_put(once, good, old)
            return failed | await self._objects.put_many(good, overwrite=overwrite)

    # Steps

    def _hold(self, *paths: str) -> AbstractAsyncContextManager[None]:
        return hold(self._objects.identity, *paths)

    def _is_readable(self, path: str, found: dict[str, bytes | FilesystemError]) -> bool:
        try:
            self._objects.check(path)
            if path == "/":
                raise IsDirectory(path)
        except FilesystemError as error:
            found[path] = error
            return False
        return True

    async def _check_directory(self, path: str) -> None:
        """Raise for a path with nothing below it, unless it is an empty directory."""
        if path == "/":
            return
        if await self._objects.info(path) is not None:
            raise NotDirectory(path)
        if not await self._objects.is_directory(path):
            raise FileNotFound(path)

    async def _below(self, directory: str) -> Listing:
        found = await self._objects.below(directory, _SECONDS)
        if not found.files and found.complete:
            await self._check_directory(directory)
        return found

    async def _entries_at(self, path: str) -> list[Entry]:
        """Return a file, or all files below a directory."""
        entry = None if path == "/" else await self._objects.info(path)
        return [entry] if entry is not None else (await self._objects.below(path)).files

    async def _is_still_there(self, path: str, files: Sequence[str]) -> bool:
        """Say whether no other call of this process has deleted it meanwhile."""
        if path in files:
            return await self._objects.info(path) is not None
        return bool(files) or await self._objects.is_directory(path)

    async def _checked(
        self, files: Mapping[str, bytes], overwrite: bool, failed: dict[str, FilesystemError]
    ) -> tuple[dict[str, bytes], set[str]]:
        """Return the files that can be written and which of them exist; note why others can't."""
        objects, good, old = self._objects, dict[str, bytes](), set[str]()
        survey = await objects.survey([*files])
        for path, content in files.items():
            try:
                objects.check(path)
                if survey.has_file(path):
                    if not overwrite:
                        raise FileExists(path)
                    old.add(path)
            except FilesystemError as error:
                failed[path] = error
            else:
                survey.add(path)
                good[path] = content
        return good, old

    async def _begin_put(
        self, once: str | None, contents: Mapping[str, bytes], old: set[str]
    ) -> None:
        if once is None:
            return
        before = dict(zip(old, await gather_limited(self.digest, [*old]), strict=True))
        changes = [Change(p, before.get(p), digest_of(data)) for p, data in contents.items()]
        await self._journal.begin(once, changes)

    async def _rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        try:
            await self._objects.rename(pairs)
        except Changed:
            raise ChangedMeanwhile(pairs[0][0]) from None


def _info(entry: Entry) -> FileInfo:
    info = FileInfo(path=entry.path, is_dir=False, size=entry.size)
    if entry.modified_at is not None:
        info["modified_at"] = entry.modified_at
    return info


def _edited(
    content: bytes, path: str, old: str, new: str, replace_all: bool
) -> tuple[bytes, PlannedEdit]:
    text = decoded(path, content)
    planned = plan_edit(path, text, old, new, replace_all)
    return planned.apply(text).encode(), planned


async def _pause(seconds: float) -> None:
    if is_sync():
        time.sleep(seconds)
    else:
        await asyncio.sleep(seconds)
