"""`FilesystemBackend`: files in a directory on disk."""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Self

from langgraph_filesystem.state.backends.disk.copy import Move
from langgraph_filesystem.state.backends.disk.delete import delete_copied
from langgraph_filesystem.state.backends.disk.entries import (
    entries_at,
    fingerprint,
    replace_entry,
    tidy,
)
from langgraph_filesystem.state.backends.disk.grep import grep
from langgraph_filesystem.state.backends.disk.jail import Jail, Unconfined, closing_handle
from langgraph_filesystem.state.backends.disk.journal import DiskJournal
from langgraph_filesystem.state.backends.disk.openat import Resolver
from langgraph_filesystem.state.backends.disk.read import Reader, list_directory
from langgraph_filesystem.state.backends.disk.tree import (
    entries_below,
    find_place,
    kind_of,
    take_inventory,
)
from langgraph_filesystem.state.backends.disk.walk import find_files
from langgraph_filesystem.state.backends.disk.write import Writer, check_not_root
from langgraph_filesystem.state.backends.file_store import (
    Capabilities,
    Entry,
    FileStore,
    Inventory,
    Kind,
    MountContext,
    Query,
    Skip,
)
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
from langgraph_filesystem.state.backends.public import PublicMethods
from langgraph_filesystem.state.errors import FilesystemError
from langgraph_filesystem.state.io import change_in_thread, in_thread
from langgraph_filesystem.state.text import Rename

__all__ = ("DiskStore", "FilesystemBackend")


class DiskStore(FileStore):
    """The files below one directory of the host."""

    capabilities = Capabilities(lasting=True, journals=True, directories=True, on_machine=True)

    def __init__(self, jail: Jail, limit: int, *, flush: bool = False) -> None:
        self._jail = jail
        self._limit = limit
        self._flush = flush
        self._reader = Reader(jail, limit)
        self._journal = DiskJournal(jail, limit, self._reader.digest)
        self._writer = Writer(jail, limit, self._journal, flush=flush)

    def mounted_at(self, prefix: str) -> Self:
        """Return the store for a mount: commands of a subclass may have to know the path."""
        return self

    def close(self) -> None:
        """Close the directory."""
        self._jail.close()

    def normal(self, path: str) -> str:
        """Return the one spelling of a path; without a jail a relative one is below the root."""
        return self._jail.normal(path)

    async def kind(self, path: str) -> Kind | None:
        """Return what is at a path, links followed; `None` where nothing is."""
        return await in_thread(kind_of, self._jail, path)

    async def resolve(self, path: str) -> list[str]:
        """Return the links that a path goes by, and at last the real path that it leads to."""
        return await in_thread(self._jail.resolve, path)

    async def ls(self, path: str) -> LsResult:
        """List what is directly below a directory."""
        return await in_thread(list_directory, self._jail, path)

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
        read = self._reader.read
        return await in_thread(read, file_path, offset, limit, column, max_characters)

    async def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file with its parents, or with `overwrite` replace one."""
        await change_in_thread(self._writer.write, file_path, content, overwrite, once)
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
        edit = self._writer.edit
        done = await change_in_thread(edit, file_path, old_string, new_string, replace_all, once)
        return EditResult(path=file_path, occurrences=done.count, first_line=done.first_line)

    async def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or a directory with everything in it; of a link, the link."""
        await change_in_thread(self._writer.delete, file_path, once)
        return DeleteResult(path=file_path)

    async def move(self, source: str, destination: str, *, once: str | None = None) -> MoveResult:
        """Rename a file or a directory within the store, to where nothing is."""
        return await self._move(self, source, destination, once, str)

    async def receive(
        self,
        other: FileStore,
        source: str,
        destination: str,
        *,
        once: str | None = None,
        name_source: Rename = str,
    ) -> MoveResult | None:
        """Move a file or a directory of another directory on disk here, to where nothing is."""
        if not isinstance(other, DiskStore):
            return None
        return await self._move(other, source, destination, once, name_source)

    async def _move(
        self,
        other: "DiskStore",
        source: str,
        destination: str,
        once: str | None,
        name_source: Rename,
    ) -> MoveResult:
        move = Move(other._jail, source, self._jail, destination, self._journal, once, self._flush)
        move.name_source = name_source
        return await change_in_thread(move.run)

    async def glob(
        self, pattern: str, path: str | None = None, *, skips: Skip | None = None
    ) -> GlobResult:
        """Find files at or below a directory by a pattern."""
        return await in_thread(find_files, self._jail, pattern, path, skips=skips)

    async def grep(
        self,
        query: Query,
        path: str | None = None,
        glob: str | None = None,
        *,
        skips: Skip | None = None,
    ) -> GrepResult:
        """Search the text files at or below a path."""
        limit = self._limit
        return await in_thread(
            grep, self._jail, query, path, glob, max_file_size=limit, skips=skips
        )

    async def digest(self, file_path: str) -> str | None:
        """Return a digest of what a file holds now, or `None` if it can't be had."""
        return await in_thread(self._reader.digest, file_path)

    async def inventory(self, path: str) -> Inventory:
        """Return every file at or below a path; raise for what another mount can't hold."""
        check_not_root(self._jail, path)
        return await in_thread(take_inventory, self._jail, path)

    async def tree(self, path: str) -> list[FileInfo]:
        """Return all entries below a directory: files, directories and links."""
        return await in_thread(entries_below, self._jail, path)

    async def fetch(self, paths: Sequence[str]) -> list[bytes | FilesystemError]:
        """Return the bytes of each file, or why they can't be had."""
        return await in_thread(lambda: [self._reader.fetch(path) for path in paths])

    async def put(
        self, files: Mapping[str, bytes], *, overwrite: bool = True, once: str | None = None
    ) -> dict[str, FilesystemError]:
        """Write whole files with their parents; return why some of them were not written."""
        return await change_in_thread(self._writer.put, files, overwrite, once)

    async def delete_copied(
        self, path: str, digests: Mapping[str, str], *, once: str | None = None
    ) -> list[str]:
        """Delete what was copied elsewhere, except files that are not what was copied."""
        check_not_root(self._jail, path)

        def delete() -> list[str]:
            self._journal.begin_delete(once, path)
            relative = {one[len(path) + 1 :]: digest for one, digest in digests.items()}
            place = find_place(self._jail, path)
            with closing_handle(place.parent):
                return delete_copied(self._jail, place, relative, follow=True)

        return await change_in_thread(delete)

    async def entries(self, path: str, *, below: bool = True) -> list[Entry]:
        """Return what is at a path and below it, links not followed; nothing if missing."""
        return await in_thread(entries_at, self._jail, path, below=below)

    async def fingerprint(self, path: str) -> str | None:
        """Return what tells versions of an entry apart; `None` where nothing is."""
        return await in_thread(fingerprint, self._jail, self._limit, path)

    async def replace(
        self, path: str, new: Entry | None, content: bytes, before: str | None
    ) -> None:
        """Put an entry at a path, or nothing, if the fingerprint of what is there is `before`."""
        change, flush = (self._jail, self._limit, path, new, content, before), self._flush
        await change_in_thread(replace_entry, *change, flush=flush)

    async def tidy(self, directories: Collection[str]) -> None:
        """Remove what a killed `replace` may have left in directories."""
        await change_in_thread(tidy, self._jail, directories)

    async def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call that was begun before a crash."""
        return await in_thread(self._journal.recall, once)


class FilesystemBackend(PublicMethods):
    """Files below one directory of the host, which has to exist and is held open.

    In virtual mode, the default, paths begin at that directory and nothing leads out of it: no
    path, no link, no race. With `virtual_mode=False` absolute paths are the host's own and only
    relative ones are below the directory: there is no protection at all. `glob` and `grep` without
    a path search the directory in both modes.

    Files up to `max_file_size_mb` are read whole: for an edit, as binary content, for a digest and
    by the search without `rg`. Pages of larger files can be read all the same.

    A write replaces the file as a whole and keeps its mode, owner, access list and extended
    attributes; another hard link of it keeps the old content. A killed process never leaves half a
    file. A power failure may leave an empty one where the host's file system does not order
    renames after writes; with `flush=True` a write waits until the new content is on the disk,
    which takes milliseconds.

    One object serves any number of threads, and any number of processes may have one.
    """

    def __init__(
        self,
        root_dir: str | os.PathLike[str],
        virtual_mode: bool = True,
        max_file_size_mb: float = 10,
        *,
        flush: bool = False,
        resolver: Resolver | None = None,
    ) -> None:
        jail = Jail(root_dir, resolver=resolver) if virtual_mode else Unconfined(root_dir)
        self._disk = DiskStore(jail, int(max_file_size_mb * 1024 * 1024), flush=flush)

    def open(self, context: MountContext) -> FileStore:
        """Return the store, which is the same for every run."""
        return self._disk.mounted_at(context.prefix)

    def close(self) -> None:
        """Close the directory. It happens by itself when the object is no longer used."""
        self._disk.close()
