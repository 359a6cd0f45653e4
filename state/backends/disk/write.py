"""Change files on disk: each change whole or not at all, and noted in the journal first."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping

from langgraph_filesystem.state.backends.disk.delete import remove_tree
from langgraph_filesystem.state.backends.disk.errors import explaining
from langgraph_filesystem.state.backends.disk.jail import Jail, closing_handle
from langgraph_filesystem.state.backends.disk.journal import DiskJournal
from langgraph_filesystem.state.backends.disk.read import read_whole
from langgraph_filesystem.state.backends.disk.replace import Begin, Plan, locked, replace
from langgraph_filesystem.state.backends.text_files import decoded, encoded
from langgraph_filesystem.state.edits import PlannedEdit, plan_edit
from langgraph_filesystem.state.errors import (
    FileExists,
    FileNotFound,
    FilesystemError,
    FileTooLarge,
)
from langgraph_filesystem.state.text import PathPart

__all__ = ("Writer", "check_not_root", "locked_unless_full", "new_parents")

_FULL = (errno.ENOSPC, errno.EDQUOT)


class Writer:
    """Changes the files of a jail."""

    def __init__(
        self, jail: Jail, limit: int, journal: DiskJournal, *, flush: bool = False
    ) -> None:
        self._jail = jail
        self._limit = limit
        self._journal = journal
        self._flush = flush

    def write(self, path: str, content: str, overwrite: bool, once: str | None) -> None:
        """Create a file, or with `overwrite` replace one."""
        data = encoded(path, content)

        def plan(old: int | None) -> bytes:
            if old is not None and not overwrite:
                raise FileExists(path, "Change it with `edit_file`, or set `overwrite`.")
            return data

        def begin(old: int | None, new: int) -> None:
            self._journal.begin_replace(once, path, old, new, None)

        self._create(path, plan, begin)

    def edit(
        self, path: str, old_string: str, new_string: str, replace_all: bool, once: str | None
    ) -> PlannedEdit:
        """Replace exact text in a file; return what was done."""
        encoded(path, new_string)
        planned: PlannedEdit | None = None

        def plan(old: int | None) -> bytes:
            nonlocal planned
            text = self._text(path, old)
            planned = plan_edit(path, text, old_string, new_string, replace_all)
            return planned.apply(text).encode()

        def begin(old: int | None, new: int) -> None:
            count = None if planned is None else planned.count
            self._journal.begin_replace(once, path, old, new, count)

        parent, name = self._jail.open_parent(path)
        with closing_handle(parent), explaining(path):
            try:
                replace(parent, name, plan, begin, flush=self._flush)
            except PermissionError:
                os.stat(
                    name, dir_fd=parent, follow_symlinks=False
                )  # raises if it does not exist at all
                raise
        assert planned is not None
        return planned

    def delete(self, path: str, once: str | None) -> None:
        """Delete a file, or a directory with everything in it; of a link, the link."""
        check_not_root(self._jail, path)
        parent, name = self._jail.open_entry(path)
        with closing_handle(parent), explaining(path):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                self._journal.begin_delete(once, path)
                remove_tree(parent, name)
                return
            with locked_unless_full(parent, name):  # or a writer would bring the file back
                self._journal.begin_delete(once, path)
                os.unlink(name, dir_fd=parent)

    def put(
        self, files: Mapping[str, bytes], overwrite: bool, once: str | None
    ) -> dict[str, FilesystemError]:
        """Write whole files; return why some of them were not written."""
        try:
            self._journal.begin_put(once, files)
        except FilesystemError as error:
            return dict.fromkeys(files, error)
        failed = {}
        for path, content in files.items():
            try:
                self._put(path, content, overwrite)
            except FilesystemError as error:
                failed[path] = error
        return failed

    def _put(self, path: str, content: bytes, overwrite: bool) -> None:
        def plan(old: int | None) -> bytes:
            if old is not None and not overwrite:
                raise FileExists(path)
            return content

        self._create(path, plan)

    def _text(self, path: str, handle: int | None) -> str:
        if handle is None:
            raise FileNotFound(path)
        size = os.fstat(handle).st_size
        if size > self._limit:
            raise FileTooLarge(path, size, self._limit)
        return decoded(path, read_whole(handle, size))

    def _create(self, path: str, plan: Plan, begin: Begin | None = None) -> None:
        with new_parents(self._jail, path):
            parent, name = self._jail.open_parent(path)
            with closing_handle(parent), explaining(path):
                replace(parent, name, plan, begin, flush=self._flush)


def check_not_root(jail: Jail, path: str) -> None:
    """Raise if a path is the root, which can't be moved or deleted."""
    if path in ("/", jail.home):
        raise FilesystemError(PathPart(path), ": is the root, and can't be moved or deleted.")


@contextlib.contextmanager
def new_parents(jail: Jail, path: str) -> Iterator[None]:
    """Make the directories above a path; if the body fails, remove them again."""
    made = jail.make_parents(path)
    try:
        yield
    except (FilesystemError, OSError):
        for directory in reversed(made):
            with contextlib.suppress(FilesystemError, OSError):
                parent, name = jail.open_entry(directory)
                with closing_handle(parent):
                    os.rmdir(name, dir_fd=parent)
        raise


@contextlib.contextmanager
def locked_unless_full(parent: int, name: str) -> Iterator[None]:
    """Hold the lock of a file.

    On a full disk there is no space for the lock: deleting goes on without, as it frees some.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(parent, name))
        except OSError as error:
            if error.errno not in _FULL:
                raise
        yield
