"""Changing files on disk: each change whole or not at all, and noted before it is made."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence

from langgraph_filesystem.state.backends.contents import (
    FileTooLarge,
    decoded,
    encoded,
    read_whole,
)
from langgraph_filesystem.state.backends.disk_inventory import count_files
from langgraph_filesystem.state.backends.disk_journal import DiskJournal
from langgraph_filesystem.state.backends.disk_reading import DiskReading
from langgraph_filesystem.state.backends.jail import Jail
from langgraph_filesystem.state.backends.protocol import (
    DeleteResult,
    EditResult,
    FileUploadResponse,
    MoveResult,
    Outcome,
    WriteResult,
)
from langgraph_filesystem.state.backends.refusals import explaining
from langgraph_filesystem.state.backends.removal import remove_tree
from langgraph_filesystem.state.backends.renames import rename_new
from langgraph_filesystem.state.backends.replace import Begin, Plan, locked, replace
from langgraph_filesystem.state.backends.reporting import reporting
from langgraph_filesystem.state.backends.reports import error_code
from langgraph_filesystem.state.edits import apply_edits, plan_edit
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    IsDirectory,
)
from langgraph_filesystem.state.paths import is_within

__all__ = ("DiskWriting", "held", "locked_if_room")

_FULL = (errno.ENOSPC, errno.EDQUOT)
_MOST_COUNTED = 10_000
"""Entries of a directory that are counted when it is renamed: some 20 ms."""


class DiskWriting(DiskReading):
    """The operations that change files."""

    def __init__(self, jail: Jail, limit: int, *, flush: bool = False) -> None:
        super().__init__(jail, limit)
        self._flush = flush
        self._journal = DiskJournal(jail, limit, self.digest)

    @reporting(WriteResult)
    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, once: str | None = None
    ) -> WriteResult:
        """Create a file, or with `overwrite` put it in the place of another."""
        path = self._jail.normal(file_path)
        data = encoded(path, content)

        def plan(old: int | None) -> bytes:
            if old is not None and not overwrite:
                raise FileExists(path, "Change it with `edit_file`, or set `overwrite`.")
            return data

        def begin(old: int | None, new: int) -> None:
            self._journal.begin_replace(once, path, old, new, None)

        self._create(path, plan, begin)
        return WriteResult(path=file_path)

    @reporting(EditResult)
    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        once: str | None = None,
    ) -> EditResult:
        """Replace exact text in a file."""
        path = self._jail.normal(file_path)
        encoded(path, new_string)
        count = 0

        def plan(old: int | None) -> bytes:
            nonlocal count
            text = self._text(path, old)
            edit, count = plan_edit(path, text, old_string, new_string, replace_all)
            return apply_edits(text, [edit]).encode()

        def begin(old: int | None, new: int) -> None:
            self._journal.begin_replace(once, path, old, new, count)

        with held(self._jail.open_parent(path)) as (parent, name), explaining(path):
            try:
                replace(parent, name, plan, begin, flush=self._flush)
            except PermissionError:
                os.stat(name, dir_fd=parent, follow_symlinks=False)  # or is it not there at all?
                raise
        return EditResult(path=file_path, occurrences=count)

    @reporting(DeleteResult)
    def delete(self, file_path: str, *, once: str | None = None) -> DeleteResult:
        """Delete a file, or a directory with all that is in it; of a link, the link."""
        path = self._changeable(file_path)
        with (
            held(self._jail.open_entry(path)) as (parent, name),
            explaining(path),
            _kept_from_writers(parent, name) as is_directory,
        ):
            self._journal.begin_delete(once, path)
            if is_directory:
                remove_tree(parent, name)
            else:
                os.unlink(name, dir_fd=parent)
        return DeleteResult(path=file_path)

    @reporting(MoveResult)
    def move(self, source: str, destination: str, *, once: str | None = None) -> MoveResult:
        """Give a file or a directory another path, at which there is nothing yet."""
        start, end = self._changeable(source), self._changeable(destination)
        if is_within(end, start):
            raise FilesystemError(f"{start}: can't be moved to {end}, which is itself.")
        with (
            held(self._jail.open_entry(start)) as entry,
            explaining(start),
            _kept_from_writers(*entry) as is_directory,
            self._parents_of(end),
            held(self._jail.open_entry(end)) as target,
        ):
            self._journal.begin_move(once, start, end)
            _rename(*entry, *target, start, end)
            files = self._count(*target) if is_directory else 1
        note = None if files is not None else "It is a directory with more files than were counted."
        return MoveResult(path=destination, files=files, note=note)

    def upload_files(
        self,
        files: Sequence[tuple[str, bytes]],
        *,
        overwrite: bool = True,
        once: str | None = None,
    ) -> list[FileUploadResponse]:
        """Store bytes as files, in the place of what is there, or only where nothing is."""
        try:
            self._journal.begin_upload(once, files)
        except FilesystemError as error:
            return [FileUploadResponse(path, error=error_code(error)) for path, _ in files]
        return [self._upload(path, content, overwrite) for path, content in files]

    def recall(self, once: str) -> Outcome | None:
        """Return what is known of a call that was begun before a crash."""
        return self._journal.recall(once)

    def _upload(self, path: str, content: bytes, overwrite: bool) -> FileUploadResponse:
        def plan(old: int | None) -> bytes:
            if old is not None and not overwrite:
                raise FileExists(path, "Choose another path.")
            return content

        try:
            self._create(self._jail.normal(path), plan)
        except FilesystemError as error:
            return FileUploadResponse(path, error=error_code(error))
        return FileUploadResponse(path)

    def _count(self, parent: int, name: str) -> int | None:
        """Return how many files are in a directory, if it is not too much to count."""
        try:
            return count_files(self._jail, parent, name, _MOST_COUNTED)
        except OSError:  # it is moved already: the answer goes without
            return None

    def _changeable(self, path: str) -> str:
        path = self._jail.normal(path)
        if path in ("/", self._jail.home):
            raise FilesystemError(f"{path}: is the root, and can't be moved or deleted.")
        return path

    def _text(self, path: str, handle: int | None) -> str:
        if handle is None:
            raise FileNotFound(path)
        size = os.fstat(handle).st_size
        if size > self._limit:
            raise FileTooLarge(path, size, self._limit)
        return decoded(path, read_whole(handle, size))

    def _create(self, path: str, plan: Plan, begin: Begin | None = None) -> None:
        with (
            self._parents_of(path),
            held(self._jail.open_parent(path)) as (parent, name),
            explaining(path),
        ):
            replace(parent, name, plan, begin, flush=self._flush)

    @contextlib.contextmanager
    def _parents_of(self, path: str) -> Iterator[None]:
        """Make the directories above a path; if what is done there fails, they go again."""
        made = self._jail.make_parents(path)
        try:
            yield
        except (FilesystemError, OSError):
            for directory in reversed(made):
                with contextlib.suppress(FilesystemError, OSError):
                    self._remove_empty(directory)
            raise

    def _remove_empty(self, directory: str) -> None:
        with held(self._jail.open_entry(directory)) as (parent, name):
            os.rmdir(name, dir_fd=parent)


@contextlib.contextmanager
def held(opened: tuple[int, str]) -> Iterator[tuple[int, str]]:
    """Close the handle of a directory when what is done with a name in it is done."""
    try:
        yield opened
    finally:
        os.close(opened[0])


@contextlib.contextmanager
def _kept_from_writers(parent: int, name: str) -> Iterator[bool]:
    """Let nobody write a file meanwhile, or it would be there again; say if it is none."""
    is_directory = _is_directory(parent, name)
    with contextlib.nullcontext() if is_directory else locked_if_room(parent, name):
        yield is_directory


@contextlib.contextmanager
def locked_if_room(parent: int, name: str) -> Iterator[None]:
    """Be the only one who changes an entry.

    On a full disk there is no room for the lock: deleting goes on without, as it makes some.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(parent, name))
        except OSError as error:
            if error.errno not in _FULL:
                raise
        yield


def _is_directory(parent: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _rename(
    source_dir: int, source: str, target_dir: int, target: str, start: str, end: str
) -> None:
    try:
        rename_new(source_dir, source, target_dir, target)
    except FileExistsError:
        if _is_directory(target_dir, target):
            raise IsDirectory(end) from None
        raise FileExists(end, "Delete it first, or choose another destination.") from None
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise FilesystemError(f"{start}: can't be moved to {end}, which is itself.") from None
        raise
